//! The effective log level, from the three settings that determine it.

use crate::{LogLevel, SettingOrigin, Settings};

impl Settings {
    /// `--verbose` has priority; then an explicit level; then `SANDBOX_DEBUG`, which means `debug`;
    /// then the default.
    pub fn log_level(&self) -> LogLevel {
        let (debug, level) = (&self.logging.debug, &self.logging.level);
        let verbose = matches!(debug.origin, SettingOrigin::Flag { .. });
        if debug.value && (verbose || !level.is_explicit()) {
            return level.value.max(LogLevel::Debug);
        }
        level.value
    }
}
