//! The data types of Menace: sections, parameters, calls, outcomes, findings.
//!
//! Data only. Reading Python belongs to `menace-source`, choosing calls to
//! `menace-scenario`, running them to `menace-sandbox`. Nothing here does I/O; [`now_ms`] reads the
//! clock.

mod assessment;
mod call;
mod class;
mod clock;
mod code_metrics;
mod conditions;
mod construction;
mod exposure;
mod failure;
mod finding;
mod hints;
mod import;
mod input;
mod limits;
mod module;
mod named_enum;
mod names;
mod outcome;
mod random;
mod sandbox_spec;
mod section;
mod security_level;
mod step;
mod strategy;
mod text;
mod types;
mod untrusted_text;
mod value;
mod verdict;
mod weakness;
mod word_list;

pub use assessment::FindingAssessment;
pub use call::{Call, CallTarget, ModuleRef, TargetKind, format_snippet};
pub use class::{ClassField, ClassIndex, ClassInfo, ClassKind, ClassMethod, NamedTypeIndex};
pub use clock::{format_utc, now_ms};
pub use code_metrics::{CodeMetrics, HalsteadCounts, LineCounts};
pub use conditions::{
    CallConditions, ConcurrencyBurst, FailureMode, FaultMode, FaultSpec, FaultTrigger,
    MockResponse, NetworkConditions, PartitionPeer, ScenarioSeverity, UpstreamConfig,
    UpstreamFailure,
};
pub use construction::{ConstructionBlocker, ConstructionPlan, ConstructorCall};
pub use exposure::{ExposureEvidence, ExposureLevel, SectionExposure, is_outside_product};
pub use failure::{Failure, FailureId, SourceLocation};
pub use finding::{FindingConfidence, FindingSeverity, LintWarning, StaticFinding};
pub use hints::{
    CallSite, ParamHints, ParamPart, ParamUse, PatternMethod, PatternUse, SectionHints,
    SourceLiterals,
};
pub use import::{ImportKind, ModuleImport};
pub use input::{CallFixtures, FixtureFile, InputIntent};
pub use limits::{CallLimits, Limit, LimitEnforcement, LimitMechanism};
pub use module::{AnalyzedModule, ModuleError, RepositoryTotals, is_test_path};
pub use names::{
    closest_name, closest_names, format_suggestion_or, suggest_names, suggest_names_or,
};
pub use outcome::{
    BurstReport, CallCoverage, CallResult, CallStage, FaultStats, FileChangeKind, FileCoverage,
    HangLocation, LeakedResources, Outcome, PolicyViolation, ProcessExit, RaisedException,
    ReturnedValue, RuntimeMetrics, StackFrame, StateChanges, StreamOutput, TouchedFile,
    TouchedFiles, UpstreamReport, UpstreamRequest,
};
pub use random::{Seed, SeededRng};
pub use sandbox_spec::{CallConfinement, SandboxSpec, SyscallInterposition};
pub use section::{CallEdge, ParamKind, Section, SectionId, SectionKind, SignatureParam};
pub use security_level::{SecurityLevel, SecurityLevelError};
pub use step::{CallStep, CallStepReport};
pub use strategy::InputStrategy;
pub use text::{
    format_bytes, format_count, format_error_chain, format_millis, pluralize, truncate_chars,
};
pub use types::TypeExpr;
pub use untrusted_text::{
    escape_but_lines, escape_but_styles, escape_deceptive_in_json, escape_for_terminal,
    is_unprintable, to_json, write_json,
};
pub use value::{
    MethodCall, PyBigInt, PyReference, PyReferenceError, PyString, PythonParts, PythonSource,
    Value, ValueError, decode_base64,
};
pub use verdict::Verdict;
pub use weakness::WeaknessKind;
