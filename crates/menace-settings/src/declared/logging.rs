//! What is logged, how, and where to.

use std::path::PathBuf;

use crate::group::group;
use crate::{LogLevel, PresenceSwitch};

group! {
    /// What is logged, how, and where to.
    pub struct LoggingSettings = "Logs" {
        /// The least important messages that are shown.
        level: LogLevel = "SANDBOX_LOG_LEVEL".user().default("info").flags(&["--log-level"])
            .synonyms(&["LOG_LEVEL"]);

        /// Show debug messages. The flag wins over any level, the variable only when no level is
        /// set.
        debug: bool = "SANDBOX_DEBUG".repository().default("0").flags(&["--verbose"])
            .synonyms(&["SANDBOX_VERBOSE"]);

        /// One JSON object per line instead of text for people.
        json: bool = "SANDBOX_JSON_LOGS".repository().default("0");

        /// A file that gets every message too. It is rotated at 1 MB; three older ones are kept.
        file: Option<PathBuf> = "SANDBOX_LOG_FILE".user().flags(&["--log-file"]);

        /// Copy the logs of the services into the audit trail. Unset, autonomous runs and the
        /// synergy tools do and nothing else does.
        central: Option<bool> = "SANDBOX_CENTRAL_LOGGING".user().planned();

        /// The file of the audit trail.
        audit_log_path: PathBuf = "AUDIT_LOG_PATH"
            .user().default_in_data_dir("sandbox_data/audit.jsonl")
            .planned();

        /// Kafka brokers as `host:port`; when set, they get the audit trail instead of the file.
        kafka_hosts: Option<Vec<String>> = "KAFKA_HOSTS".user().planned();

        /// Set to anything to print without colour.
        no_color: Option<PresenceSwitch> = "NO_COLOR".repository();
    }
}
