//! The nouns of Menace: what a section, a parameter, an import or a finding is.
//!
//! Data only. Reading Python belongs to `menace-source`, choosing calls to
//! `menace-scenario`, running them to `menace-sandbox`. Nothing here does I/O.

mod construction;
mod finding;
mod import;
mod module;
mod numbers;
mod section;
mod types;

pub use construction::{Blocked, Construction, Step};
pub use finding::{Confidence, Finding, Lint, Severity};
pub use import::{Import, ImportHow};
pub use module::{ModuleError, ModuleReport, Totals};
pub use numbers::{Halstead, Lines, Numbers};
pub use section::{CallEdge, Param, ParamKind, Section, SectionId, SectionKind};
pub use types::TypeExpr;
