//! The isolation tiers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The tiers from strongest to weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Namespaces, seccomp, Landlock and control groups; the guest is another user than Menace.
    Root,
    /// As `Root`, but in an unprivileged user namespace.
    UserNamespaces,
    /// No namespaces: Landlock, seccomp and resource limits around a copy of the repository.
    Landlock,
    /// Nothing but resource limits; only when explicitly asked for.
    Unsafe,
}

impl Tier {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::UserNamespaces => "user_namespaces",
            Self::Landlock => "landlock",
            Self::Unsafe => "unsafe",
        }
    }

    pub fn has_namespaces(self) -> bool {
        matches!(self, Self::Root | Self::UserNamespaces)
    }

    pub fn description(self) -> &'static str {
        match self {
            Self::Root => "namespaces, seccomp, Landlock and control groups, as root",
            Self::UserNamespaces => "namespaces, seccomp and Landlock, without root",
            Self::Landlock => "Landlock, seccomp and resource limits, without namespaces",
            Self::Unsafe => "no isolation",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
