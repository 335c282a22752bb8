//! Reads a Python repository: its modules, what can be called in them, and who uses whom.
//!
//! The way of a file: [`walk`] finds it, [`decode`] makes it text, `parse` a tree, `facts` what
//! it says on its own, `link` what it means among the others. `survey` looks closer at what is
//! asked for: how parameters are used, who calls with what. Nothing is ever executed.
//!
//! Invariant: any bytes in a `.py` file end in a [`menace_model::ModuleReport`], if need be one
//! with an `error`; never in a panic and never in an `Err`.

mod analyze;
mod cache;
pub mod check;
pub mod decode;
mod facts;
mod link;
mod loops;
pub mod numbers;
mod parse;
mod stack;
mod survey;
pub mod walk;

pub use analyze::{Analysis, AnalyzeError, MAX_FILE_BYTES, Options, ScannerChoice, analyze};
pub use loops::{Loop, loops};
pub use survey::{Survey, SurveyError};
