//! The nouns of Menace: what a section, a parameter, an import or a finding is.
//!
//! Data only. Reading Python belongs to `menace-source`, choosing calls to
//! `menace-scenario`, running them to `menace-sandbox`. Nothing here does I/O.

mod call;
mod class;
mod conditions;
mod construction;
mod failure;
mod finding;
mod hints;
mod import;
mod input;
mod limits;
mod module;
mod numbers;
mod outcome;
mod random;
mod section;
mod step;
mod types;
mod value;
mod verdict;
mod weakness;

pub use call::{Call, Confinement, How, ModuleRef, Target};
pub use class::{Class, ClassField, ClassKind, ClassMethod, Classes, TypeNames};
pub use conditions::{
    Burst, Conditions, Fault, FaultMode, Mock, Network, Peer, Upstream, UpstreamFailure, When,
};
pub use construction::{Blocked, Construction, ConstructorCall};
pub use failure::{Failure, FailureId, Place};
pub use finding::{Confidence, Finding, Lint, Severity};
pub use hints::{CallSite, Hints, Literals, ParamHints, Part, Use};
pub use import::{Import, ImportHow};
pub use input::{FixtureFile, Fixtures, Intent};
pub use limits::{EnforcedBy, Limit, Limits, Mechanism};
pub use module::{ModuleError, ModuleReport, Totals};
pub use numbers::{Halstead, Lines, Numbers};
pub use outcome::{
    Asked, BurstReport, Changed, Coverage, Exit, Felt, FileChange, FileCoverage, Files, Frame,
    Left, Outcome, Output, Raised, Returned, RuntimeMetrics, Stage, Stood, Touched, UpstreamReport,
    Violation,
};
pub use random::{Random, Seed};
pub use section::{CallEdge, Param, ParamKind, Section, SectionId, SectionKind};
pub use step::{Step, StepReport};
pub use types::TypeExpr;
pub use value::{
    BadReference, BigInt, MethodCall, PyStr, PythonSource, Reference, Value, ValueError,
};
pub use verdict::Verdict;
pub use weakness::WeaknessKind;
