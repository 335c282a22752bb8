//! How bad a finding is, by its kind and its exposure.

use menace_model::{ExposureLevel, Failure, SectionExposure, WeaknessKind};

/// Severity of a finding in a public section.
fn severity_of_kind(kind: WeaknessKind) -> f64 {
    match kind {
        WeaknessKind::Injection => 1.0,
        WeaknessKind::Traversal => 0.9,
        WeaknessKind::Crash => 0.85,
        WeaknessKind::Deadlock | WeaknessKind::Hang | WeaknessKind::Memory => 0.8,
        WeaknessKind::PartialWrite | WeaknessKind::SilentFailure => 0.75,
        WeaknessKind::Slow | WeaknessKind::NoTimeout => 0.7,
        WeaknessKind::Recursion | WeaknessKind::Race | WeaknessKind::Import => 0.6,
        WeaknessKind::SharedState | WeaknessKind::UncheckedResponse | WeaknessKind::Leak => 0.5,
        WeaknessKind::Unhandled => 0.4,
        WeaknessKind::Encoding => 0.3,
    }
}

pub(super) fn rate_severity(failure: &Failure, exposure: SectionExposure) -> f64 {
    let by_exposure = match exposure.level {
        ExposureLevel::Public => 1.0,
        ExposureLevel::Internal => 0.6,
        ExposureLevel::Private => 0.5,
        ExposureLevel::Test => 0.2,
    };
    severity_of_kind(failure.kind) * by_exposure
}

/// The number of the common weakness that the finding is an instance of.
pub(super) fn common_weakness(failure: &Failure) -> Option<u16> {
    Some(match failure.kind {
        WeaknessKind::Unhandled if failure.exception.as_deref() == Some("ZeroDivisionError") => 369,
        WeaknessKind::Unhandled | WeaknessKind::Crash => 248,
        WeaknessKind::Encoding => 172,
        WeaknessKind::Recursion => 674,
        WeaknessKind::Hang => 835,
        WeaknessKind::Slow => 407,
        WeaknessKind::Memory => 789,
        WeaknessKind::Leak => 772,
        WeaknessKind::SharedState => 471,
        WeaknessKind::Race => 362,
        WeaknessKind::Deadlock => 833,
        WeaknessKind::PartialWrite | WeaknessKind::SilentFailure => 392,
        WeaknessKind::UncheckedResponse => 252,
        WeaknessKind::NoTimeout => 1088,
        WeaknessKind::Injection => 74,
        WeaknessKind::Traversal => 22,
        WeaknessKind::Import => return None,
    })
}
