//! What each security level allows; shared by presets, settings and the sandbox.

use serde::{Deserialize, Serialize};

/// `SECURITY_LEVEL`, 1 (loosest) to 5 (strictest).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct SecurityLevel(u8);

#[derive(Debug, thiserror::Error)]
#[error("security level {0} does not exist: choose 1 (loosest) to 5 (strictest)")]
pub struct SecurityLevelError(u8);

impl SecurityLevel {
    pub const LOOSEST: Self = Self(1);
    pub const DEFAULT: Self = Self(3);
    pub const STRICTEST_WITH_NETWORK: Self = Self(3);
    pub const STRICTEST: Self = Self(5);

    /// Whether the guest may create sockets other than pairs.
    pub fn allows_network(self) -> bool {
        self <= Self::STRICTEST_WITH_NETWORK
    }

    /// Whether the guest may start programs.
    pub fn allows_programs(self) -> bool {
        self.0 < 4
    }

    /// Whether the guest may fork.
    pub fn allows_processes(self) -> bool {
        self.0 < 5
    }

    /// Whether the guest may write to its copy of the repository.
    pub fn allows_repository_writes(self) -> bool {
        self.0 < 5
    }

    /// Whether the guest may use kernel interfaces that few programs need.
    pub fn allows_rare_syscalls(self) -> bool {
        self.0 < 3
    }

    /// Whether Landlock restricts files in addition to namespaces.
    pub fn restricts_files(self) -> bool {
        self.0 >= 2
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for SecurityLevel {
    type Error = SecurityLevelError;

    fn try_from(number: u8) -> Result<Self, SecurityLevelError> {
        let range = Self::LOOSEST.0..=Self::STRICTEST.0;
        if range.contains(&number) { Ok(Self(number)) } else { Err(SecurityLevelError(number)) }
    }
}

impl From<SecurityLevel> for u8 {
    fn from(level: SecurityLevel) -> Self {
        level.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_forbids_what_the_one_below_forbids() {
        let allowed = |number: u8| {
            let level = SecurityLevel::try_from(number).unwrap();
            [
                !level.restricts_files(),
                level.allows_rare_syscalls(),
                level.allows_network(),
                level.allows_programs(),
                level.allows_processes(),
                level.allows_repository_writes(),
            ]
        };
        for number in 1..5 {
            let (looser, stricter) = (allowed(number), allowed(number + 1));
            assert!(looser.iter().zip(stricter).all(|(looser, stricter)| *looser >= stricter));
            assert_ne!(looser, stricter, "{number}");
        }
    }

    #[test]
    fn there_are_five_levels() {
        assert!(SecurityLevel::try_from(0).is_err());
        assert_eq!(
            SecurityLevel::try_from(6).unwrap_err().to_string(),
            "security level 6 does not exist: choose 1 (loosest) to 5 (strictest)"
        );
        assert!(serde_json::from_str::<SecurityLevel>("6").is_err());
        assert_eq!(serde_json::to_string(&SecurityLevel::DEFAULT).unwrap(), "3");
    }
}
