//! The macro behind lists of words.

/// An array of words that need no quotes: `words![add append]` is `["add", "append"]`.
#[macro_export]
macro_rules! words {
    ($($word:tt)+) => {
        [$(stringify!($word)),+]
    };
}
