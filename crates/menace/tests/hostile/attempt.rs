//! What every attempt has, and what came of it.

use std::collections::BTreeMap;

use menace_sandbox::Tier;
use serde::{Deserialize, Serialize};

/// A tier, and whether Menace runs as root in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttackGround {
    pub(crate) name: &'static str,
    pub(crate) tier: Tier,
    /// The user that Menace runs as, where that is not root: one that owns nothing of the host.
    pub(crate) user: Option<u32>,
}

/// Everything that a machine must have; a missing tier fails the suite.
pub(crate) const GROUNDS: [AttackGround; 5] = [
    AttackGround { name: "root", tier: Tier::Root, user: None },
    AttackGround { name: "user_namespaces", tier: Tier::UserNamespaces, user: None },
    AttackGround { name: "landlock", tier: Tier::Landlock, user: None },
    AttackGround {
        name: "user_namespaces_without_root",
        tier: Tier::UserNamespaces,
        user: Some(32345),
    },
    AttackGround { name: "landlock_without_root", tier: Tier::Landlock, user: Some(42345) },
];

/// What came of an attempt on one ground.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AttemptResult {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) ground: String,
    /// Why it is known not to be contained here.
    pub(crate) open: Option<String>,
    /// What was not contained.
    pub(crate) failure: Option<String>,
}

impl AttemptResult {
    fn describe(&self) -> String {
        let failure = self.failure.as_deref().unwrap_or("contained");
        format!("{}: {} ({}): {failure}", self.class, self.name, self.ground)
    }
}

/// The results as lines to print, and whether all is as it must be.
pub(crate) fn summarize(results: &[AttemptResult]) -> (Vec<String>, bool) {
    let mut lines = Vec::new();
    let (open, closed): (Vec<_>, Vec<_>) = results.iter().partition(|it| it.open.is_some());
    let mut by_name: BTreeMap<(&str, &str), Vec<&AttemptResult>> = BTreeMap::new();
    for result in open {
        by_name.entry((&result.class, &result.name)).or_default().push(result);
    }
    let mut is_right = true;
    for ((class, name), results) in by_name {
        if results.iter().all(|result| result.failure.is_none()) {
            is_right = false;
            lines.push(format!("MOVE ME: {class}: {name} is contained: it is not open any more"));
        } else {
            let reason = results[0].open.as_deref().unwrap_or_default();
            lines.push(format!("open: {class}: {name}: {reason}"));
        }
    }
    let contained = closed.iter().filter(|result| result.failure.is_none()).count();
    for result in closed.iter().filter(|result| result.failure.is_some()) {
        is_right = false;
        lines.push(format!("NOT CONTAINED: {}", result.describe()));
    }
    let mut names: Vec<_> = results.iter().map(|it| (&it.class, &it.name)).collect();
    names.sort_unstable();
    names.dedup();
    lines.push(format!("{} attempts, each counted once for each tier and user", names.len()));
    lines.push(format!("{contained} of {} contained", closed.len()));
    (lines, is_right)
}
