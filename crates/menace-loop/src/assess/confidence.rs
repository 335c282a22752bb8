//! How likely a maintainer takes a finding for a bug: signs for and against it.
//!
//! Each sign multiplies the odds. Invariant: a finding whose confidence is lowered says why.

use menace_model::{
    AnalyzedModule, ExposureEvidence, ExposureLevel, Failure, InputIntent, RaisedException,
    Section, SectionExposure, WeaknessKind,
};
use menace_scenario::domain::{
    DomainEvidence, DomainFit, InputDomain, is_documented_exception, is_protocol_exception,
};

/// Imports of a module that is meant for concurrent use.
const CONCURRENCY_MODULES: [&str; 9] = menace_model::words![
    threading asyncio concurrent multiprocessing queue _thread contextvars trio anyio
];
/// Decorators that share results between callers.
const SHARING_DECORATORS: [&str; 4] =
    ["functools.lru_cache", "functools.cache", "lru_cache", "cache"];

/// Everything that is known about a finding.
#[derive(Debug, Clone, Copy)]
pub(super) struct FindingSigns<'a> {
    pub failure: &'a Failure,
    pub exposure: SectionExposure,
    pub module: Option<&'a AnalyzedModule>,
    pub section: Option<&'a Section>,
    pub domain: &'a InputDomain,
    /// Of the sections on the way to the raising line.
    pub docstrings: &'a [&'a str],
}

/// A sign for a finding (above 1) or against it (below).
struct Sign {
    odds: f64,
    reason: String,
}

/// The confidence, and the reasons for it, strongest first.
pub(super) fn rate_confidence(signs: &FindingSigns<'_>) -> (f64, Vec<String>) {
    let prior = prior_of_kind(signs.failure.kind);
    let mut odds = prior / (1.0 - prior);
    let mut found = signs.collect();
    for sign in &found {
        odds *= sign.odds;
    }
    found.sort_by(|one, other| other.odds.ln().abs().total_cmp(&one.odds.ln().abs()));
    let reasons = found.into_iter().map(|sign| sign.reason).collect();
    (odds / (1.0 + odds), reasons)
}

/// The share of confirmed findings of this kind that are bugs, without further knowledge.
fn prior_of_kind(kind: WeaknessKind) -> f64 {
    match kind {
        WeaknessKind::Crash | WeaknessKind::Import => 0.8,
        WeaknessKind::Hang
        | WeaknessKind::Slow
        | WeaknessKind::Injection
        | WeaknessKind::Traversal
        | WeaknessKind::NoTimeout
        | WeaknessKind::Deadlock => 0.6,
        WeaknessKind::Recursion
        | WeaknessKind::Memory
        | WeaknessKind::PartialWrite
        | WeaknessKind::SilentFailure
        | WeaknessKind::SharedState
        | WeaknessKind::Unhandled
        | WeaknessKind::UncheckedResponse
        | WeaknessKind::Race => 0.5,
        WeaknessKind::Encoding | WeaknessKind::Leak => 0.4,
    }
}

impl FindingSigns<'_> {
    fn collect(&self) -> Vec<Sign> {
        let rules: [fn(&Self) -> Option<Sign>; 9] = [
            Self::judge_exposure,
            Self::judge_made_up,
            Self::judge_domain,
            Self::judge_intent,
            Self::judge_answer,
            Self::judge_wrong_kind,
            Self::judge_concurrency,
            Self::judge_overflow,
            Self::judge_recursion,
        ];
        rules.iter().filter_map(|rule| rule(self)).collect()
    }

    fn judge_exposure(&self) -> Option<Sign> {
        let odds = match (self.exposure.level, self.exposure.evidence) {
            (ExposureLevel::Public, ExposureEvidence::Documented) => 1.8,
            (ExposureLevel::Public, ExposureEvidence::Exported) => 1.5,
            (ExposureLevel::Public, _) => 1.2,
            (ExposureLevel::Internal, _) => 0.25,
            (ExposureLevel::Private, _) => 0.15,
            (ExposureLevel::Test, _) => 0.02,
        };
        sign(odds, self.exposure.describe())
    }

    fn judge_made_up(&self) -> Option<Sign> {
        let argument = self.domain.made_up()?;
        sign(0.1, format!("{} was made up", argument.name))
    }

    fn judge_domain(&self) -> Option<Sign> {
        let Some(worst) = self.domain.worst() else {
            return sign(1.2, "it takes no arguments".to_owned());
        };
        let name = &worst.name;
        let evidence = worst.evidence.map_or("", DomainEvidence::as_str);
        match worst.fit {
            DomainFit::Inside => {
                let odds = match worst.evidence {
                    Some(DomainEvidence::Annotation) => 2.0,
                    Some(DomainEvidence::Docstring) => 1.8,
                    _ => 1.5,
                };
                sign(odds, format!("its input is inside of the domain ({evidence})"))
            }
            DomainFit::Edge => sign(0.5, format!("`{name}` is at the edge of its domain")),
            DomainFit::Unknown => sign(0.6, format!("nothing says which values `{name}` takes")),
            DomainFit::Outside => {
                sign(0.1, format!("`{name}` is outside of its domain ({evidence})"))
            }
        }
    }

    fn judge_intent(&self) -> Option<Sign> {
        match self.failure.call.intent {
            InputIntent::Misuse | InputIntent::Drifted if self.failure.kind.is_about_input() => {
                sign(0.15, "its input is wrong on purpose".to_owned())
            }
            _ => None,
        }
    }

    fn exception(&self) -> Option<&RaisedException> {
        let is_raised =
            matches!(self.failure.kind, WeaknessKind::Unhandled | WeaknessKind::Encoding);
        self.failure.outcome.exception.as_ref().filter(|_| is_raised)
    }

    fn judge_answer(&self) -> Option<Sign> {
        let exception = self.exception()?;
        let docstring = self.section.and_then(|section| section.docstring.as_deref());
        let mut docstrings = docstring.into_iter().chain(self.docstrings.iter().copied());
        if docstrings.any(|text| is_documented_exception(text, exception)) {
            return sign(0.03, "its documentation promises this exception".to_owned());
        }
        let qualname = self.failure.section.qualname();
        is_protocol_exception(qualname, exception)
            .then(|| sign(0.03, "Python's protocol promises this exception".to_owned()))?
    }

    /// A `TypeError` about an argument of which nothing says that its type is right.
    fn judge_wrong_kind(&self) -> Option<Sign> {
        let exception = self.exception()?;
        let is_about_type = ["TypeError", "AttributeError"].contains(&exception.kind.as_str());
        let worst = self.domain.worst()?;
        (is_about_type && worst.fit >= DomainFit::Unknown)
            .then(|| sign(0.15, "it is about a type that nothing promises".to_owned()))?
    }

    fn judge_concurrency(&self) -> Option<Sign> {
        if !self.failure.kind.is_about_concurrency() {
            return None;
        }
        if self.failure.kind == WeaknessKind::Race && self.is_iterator() {
            return sign(0.1, "iterators are not meant for concurrent use".to_owned());
        }
        if self.is_meant_for_concurrency() {
            return sign(2.0, "its module is meant for concurrent use".to_owned());
        }
        sign(0.03, "nothing says that it is meant for concurrent use".to_owned())
    }

    /// Whether its class is an iterator.
    fn is_iterator(&self) -> bool {
        let Some((class, _)) = self.failure.section.qualname().rsplit_once('.') else {
            return false;
        };
        let next = format!("{class}.__next__");
        self.module.is_some_and(|module| {
            module.sections.iter().any(|section| section.id.qualname() == next)
        })
    }

    fn is_meant_for_concurrency(&self) -> bool {
        let imports = self.module.is_some_and(|module| {
            module.imports.iter().any(|import| {
                let top = import.module.split('.').next().unwrap_or_default();
                CONCURRENCY_MODULES.contains(&top)
            })
        });
        let section = self.section.is_some_and(|section| {
            let shares = section.decorators.iter().any(|name| {
                SHARING_DECORATORS.contains(&name.split('(').next().unwrap_or_default())
            });
            let docstring = section.docstring.as_deref().unwrap_or_default();
            section.is_async || shares || docstring.to_ascii_lowercase().contains("thread")
        });
        imports || section
    }

    fn judge_overflow(&self) -> Option<Sign> {
        let exception = self.exception()?;
        (exception.kind == "OverflowError")
            .then(|| sign(0.2, "Python refuses numbers of this size".to_owned()))?
    }

    fn judge_recursion(&self) -> Option<Sign> {
        let is_recursion = self.failure.kind == WeaknessKind::Recursion;
        let is_short = self.failure.call.to_python().chars().count() <= MAX_SHORT_INPUT_CHARS;
        match (is_recursion, is_short) {
            (true, true) => sign(2.0, "a short input is enough".to_owned()),
            (true, false) => sign(0.5, "the input is nested deeply".to_owned()),
            _ => None,
        }
    }
}

const MAX_SHORT_INPUT_CHARS: usize = 120;

#[expect(clippy::unnecessary_wraps, reason = "rules end with it")]
fn sign(odds: f64, reason: String) -> Option<Sign> {
    Some(Sign { odds, reason })
}
