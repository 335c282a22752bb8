//! Findings with the same cause: equal raising line and exception, equal loop, equal attribute that
//! a class does not have. One of them is shown, with the other ways in.

use std::collections::BTreeMap;

use menace_model::{
    ExposureLevel, Failure, FindingAssessment, RaisedException, SectionId, StackFrame, WeaknessKind,
};

/// What findings of one cause have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum RootKey {
    /// A line that raises, and the class of the exception.
    RaisingLine { file: String, line: u32, exception: String },
    /// `'Cart' object has no attribute 'size'`.
    MissingAttribute { message: String },
    /// A module whose functions call themselves.
    RecursiveModule { file: String },
    /// A function that takes long.
    SlowFunction { file: String, function: String },
    /// A class or module whose state is not protected, and the kind of weakness.
    UnprotectedState { owner: String, kind: WeaknessKind },
    /// A place and the kind of weakness.
    Place { file: String, line: u32, kind: WeaknessKind },
}

impl RootKey {
    fn of(failure: &Failure) -> Self {
        let file = failure.location.file.clone();
        match failure.kind {
            WeaknessKind::Unhandled | WeaknessKind::Encoding | WeaknessKind::UncheckedResponse => {
                let raised = failure.outcome.exception.as_ref();
                let exception = raised.map_or_else(String::new, |exception| exception.kind.clone());
                if let Some(message) = raised.and_then(missing_attribute) {
                    return Self::MissingAttribute { message };
                }
                let frame = raised.and_then(innermost_own_frame);
                let (file, line) = frame.map_or((file, failure.location.line), |frame| {
                    (frame.file.clone(), frame.line)
                });
                Self::RaisingLine { file, line, exception }
            }
            WeaknessKind::Recursion => Self::RecursiveModule { file },
            WeaknessKind::Hang | WeaknessKind::Slow | WeaknessKind::Memory => {
                let frames = failure.outcome.hang_location.as_ref().map(|at| &at.frames);
                let own = frames.and_then(|frames| frames.iter().rfind(|one| one.in_repository));
                let function = own.map_or(failure.section.qualname(), |frame| &frame.function);
                let file = own.map_or(failure.section.path(), |frame| &frame.file);
                let function = function.rsplit('.').next().unwrap_or(function);
                Self::SlowFunction { file: file.to_owned(), function: function.to_owned() }
            }
            WeaknessKind::Race | WeaknessKind::Deadlock | WeaknessKind::SharedState => {
                let owner = owner_of(&failure.section);
                Self::UnprotectedState { owner, kind: failure.kind }
            }
            kind => Self::Place { file, line: failure.location.line, kind },
        }
    }
}

/// Marks all findings but one of each root as duplicates. The one that is shown is the most likely
/// one, then the most exposed one, then the one with the smallest input.
pub(super) fn group_by_root(failures: &[&Failure], assessments: &mut [FindingAssessment]) {
    let mut roots: BTreeMap<RootKey, Vec<usize>> = BTreeMap::new();
    for (index, failure) in failures.iter().enumerate() {
        roots.entry(RootKey::of(failure)).or_default().push(index);
    }
    for members in roots.into_values() {
        let rank = |index: &usize| {
            let assessment = &assessments[*index];
            let depth = assessment.exposure.level;
            let confidence = (assessment.confidence * 20.0).round() as i64;
            let size = failures[*index].call.to_python().len();
            (depth == ExposureLevel::Test, -confidence, depth, size, *index)
        };
        let Some(shown) = members.iter().copied().min_by_key(rank) else { continue };
        let mut ways_in: Vec<SectionId> =
            members.iter().map(|index| failures[*index].section.clone()).collect();
        ways_in.sort();
        ways_in.dedup();
        ways_in.retain(|section| *section != failures[shown].section);
        assessments[shown].ways_in = ways_in;
        for index in members {
            if index != shown {
                assessments[index].duplicate_of = Some(failures[shown].id.clone());
            }
        }
    }
}

/// The message without the parts that differ from call to call.
fn missing_attribute(exception: &RaisedException) -> Option<String> {
    let is_missing =
        exception.kind == "AttributeError" && exception.message.contains("has no attribute");
    is_missing.then(|| exception.message.clone())
}

fn innermost_own_frame(exception: &RaisedException) -> Option<&StackFrame> {
    exception.frames.iter().rfind(|frame| frame.in_repository)
}

/// The class of a method; the function itself otherwise.
fn owner_of(section: &SectionId) -> String {
    let qualname = section.qualname();
    let class = qualname.rsplit_once('.').map_or(qualname, |(class, _)| class);
    format!("{}::{class}", section.path())
}
