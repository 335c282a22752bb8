//! The settings that take one of a few words.

use crate::kinds::choice;

choice! {
    /// How much is logged, from nothing to everything.
    pub enum LogLevel {
        Off = "off",
        Error = "error" | "critical" | "fatal",
        Warn = "warn" | "warning",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

choice! {
    /// How presets come about when none are given.
    pub enum PresetMode {
        Random = "random",
        Canonical = "canonical",
    }
}

choice! {
    /// How hard a scenario is on the code.
    pub enum ScenarioSeverity {
        Low = "low",
        High = "high",
    }
}

choice! {
    /// How the arguments of a call are made.
    pub enum StubStrategy {
        History = "history",
        Templates = "templates",
        Signature = "signature",
        Smart = "smart",
        Synthetic = "synthetic",
        Hostile = "hostile",
        Misuse = "misuse",
        Random = "random",
    }
}

choice! {
    /// What happens to a workflow whose risk-adjusted value is in doubt.
    pub enum MicropilotMode {
        Auto = "auto",
        Queue = "queue",
        Off = "off",
    }
}

choice! {
    /// The operating system that a call believes to run on.
    pub enum OsType {
        Linux = "linux",
        Windows = "windows",
        Macos = "macos" | "darwin",
    }
}

choice! {
    /// The algorithm behind a learnt policy.
    pub enum LearningStrategy {
        QLearning = "q_learning",
        Sarsa = "sarsa",
        ActorCritic = "actor_critic",
        Dqn = "dqn",
        DoubleDqn = "double_dqn",
    }
}

choice! {
    /// A fault that is injected into a call.
    pub enum FailureMode {
        Disk = "disk",
        DiskCorruption = "disk_corruption",
        Network = "network",
        NetworkPartition = "network_partition",
        Cpu = "cpu",
        CpuSpike = "cpu_spike",
        ConcurrencySpike = "concurrency_spike",
        Memory = "memory",
        Timeout = "timeout",
        HostileInput = "hostile_input",
        UserMisuse = "user_misuse",
        SchemaDrift = "schema_drift",
        FlakyUpstream = "flaky_upstream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_case_and_by_their_other_names() {
        assert_eq!("WARNING".parse(), Ok(LogLevel::Warn));
        assert_eq!("Double-DQN".parse(), Ok(LearningStrategy::DoubleDqn));
    }

    #[test]
    fn every_word_reads_back_as_itself() {
        for mode in FailureMode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(*mode));
        }
    }
}
