//! Reads a Python repository: its modules, what can be called in them, and the import graph.
//!
//! The way of a file: [`file_discovery`] finds it, [`decode`] makes it text, `parse` a tree,
//! `facts` collects what follows from it alone, `link` what follows together with the other files.
//! `survey` computes details on request: how parameters are used, which arguments callers pass.
//! Nothing is ever executed.
//!
//! Invariant: any bytes in a `.py` file result in a [`menace_model::AnalyzedModule`], if necessary
//! one with an `error`; never in a panic and never in an `Err`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

mod analyze;
mod cache;
pub mod check;
pub mod code_metrics;
pub mod decode;
mod facts;
pub mod file_discovery;
mod ignore_files;
mod link;
mod loops;
mod parse;
mod stack;
mod survey;

pub use analyze::{
    Analysis, AnalysisOptions, AnalyzeError, MAX_FILE_BYTES, ScannerChoice, analyze,
};
pub use loops::{LoopStatement, find_loops};
pub use survey::{RepositorySurvey, SurveyError};
