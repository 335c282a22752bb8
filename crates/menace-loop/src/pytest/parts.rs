//! What generated tests have in common, in Python.

/// A piece of Python that tests use. In the order in which they build on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Answers,
    Plant,
    Alone,
    Frugal,
    Left,
    Kept,
    State,
    Company,
    Growth,
    Disk,
    Redirect,
    Service,
    Silence,
    Harm,
}

/// Where the repository is; every file begins with it.
pub(super) const ROOT: &str = include_str!("parts/root.py");

impl Part {
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Answers => include_str!("parts/answers.py"),
            Self::Plant => include_str!("parts/plant.py"),
            Self::Alone => include_str!("parts/alone.py"),
            Self::Frugal => include_str!("parts/frugal.py"),
            Self::Left => include_str!("parts/left.py"),
            Self::Kept => include_str!("parts/kept.py"),
            Self::State => include_str!("parts/state.py"),
            Self::Company => include_str!("parts/company.py"),
            Self::Growth => include_str!("parts/growth.py"),
            Self::Disk => include_str!("parts/disk.py"),
            Self::Redirect => include_str!("parts/redirect.py"),
            Self::Service => include_str!("parts/service.py"),
            Self::Silence => include_str!("parts/silence.py"),
            Self::Harm => include_str!("parts/harm.py"),
        }
    }
}
