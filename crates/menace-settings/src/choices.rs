//! The settings that take one of a few words.

use menace_model::{FailureMode, InputStrategy, ScenarioSeverity};

use crate::kinds::{choice, word_setting};

word_setting!(FailureMode, FailureMode::ALL);
word_setting!(InputStrategy, InputStrategy::DEFAULT_ORDER);
word_setting!(ScenarioSeverity, ScenarioSeverity::ALL);

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
    /// What happens to a workflow whose risk-adjusted value is in doubt.
    pub enum MicropilotMode {
        Auto = "auto",
        Queue = "queue",
        Off = "off",
    }
}

choice! {
    /// The operating system that a call believes to run on.
    pub enum GuestOsType {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::laws;
    use crate::{ParseContext, ParseRefusal, SettingType};

    #[test]
    fn words_are_read_in_any_case_and_by_their_other_names() {
        assert_eq!("WARNING".parse(), Ok(LogLevel::Warn));
        assert_eq!("Double-DQN".parse(), Ok(LearningStrategy::DoubleDqn));
    }

    #[test]
    fn every_word_reads_back_as_itself() {
        for mode in FailureMode::ALL {
            laws::assert_reads_back(&mode);
        }
        for strategy in InputStrategy::DEFAULT_ORDER {
            laws::assert_reads_back(&strategy);
        }
        for severity in ScenarioSeverity::ALL {
            laws::assert_reads_back(&severity);
        }
    }

    #[test]
    fn a_strategy_that_only_menace_may_choose_is_no_value() {
        let refusal = InputStrategy::parse("mutated", &ParseContext::default()).unwrap_err();
        assert_eq!(refusal, ParseRefusal::default());
    }
}
