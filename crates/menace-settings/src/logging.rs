//! The log level in effect, from the three settings that have a say.

use crate::{LogLevel, SettingOrigin, Settings};

impl Settings {
    /// `--verbose` beats everything; else a level that was set; else `SANDBOX_DEBUG` asks for
    /// `debug`; else the default.
    pub fn log_level(&self) -> LogLevel {
        let (debug, level) = (&self.logging.debug, &self.logging.level);
        let verbose = matches!(debug.origin, SettingOrigin::Flag { .. });
        if debug.value && (verbose || !level.is_explicit()) {
            return level.value.max(LogLevel::Debug);
        }
        level.value
    }
}
