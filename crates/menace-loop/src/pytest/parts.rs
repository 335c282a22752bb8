//! The Python code that generated tests share.

/// A part of that code. Later ones build on earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestHelper {
    Consume,
    WriteFile,
    Subprocess,
    MemoryLimit,
    Leaks,
    RetainedMemory,
    SharedState,
    Concurrency,
    Scaling,
    FullDisk,
    Redirect,
    BadReplies,
    SilentService,
    Injection,
}

/// Finds the repository; every file begins with it.
pub(super) const ROOT: &str = include_str!("parts/repository.py");

impl TestHelper {
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Consume => include_str!("parts/consume.py"),
            Self::WriteFile => include_str!("parts/write_file.py"),
            Self::Subprocess => include_str!("parts/subprocess_run.py"),
            Self::MemoryLimit => include_str!("parts/memory_limit.py"),
            Self::Leaks => include_str!("parts/leaks.py"),
            Self::RetainedMemory => include_str!("parts/retained_memory.py"),
            Self::SharedState => include_str!("parts/shared_state.py"),
            Self::Concurrency => include_str!("parts/concurrency.py"),
            Self::Scaling => include_str!("parts/scaling.py"),
            Self::FullDisk => include_str!("parts/full_disk.py"),
            Self::Redirect => include_str!("parts/redirect.py"),
            Self::BadReplies => include_str!("parts/bad_replies.py"),
            Self::SilentService => include_str!("parts/silent_service.py"),
            Self::Injection => include_str!("parts/injection.py"),
        }
    }
}
