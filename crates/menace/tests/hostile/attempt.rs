//! What every attempt has, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

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

/// The grounds that this user can stand on, and the names of the others: without root, no other
/// user can be taken on either.
pub(crate) fn reachable_grounds() -> (Vec<AttackGround>, Vec<&'static str>) {
    if nix::unistd::geteuid().is_root() {
        return (GROUNDS.to_vec(), Vec::new());
    }
    let (reachable, others): (Vec<_>, Vec<_>) =
        GROUNDS.into_iter().partition(|ground| ground.user.is_some());
    let reachable = reachable.into_iter().map(|ground| AttackGround { user: None, ..ground });
    (reachable.collect(), others.iter().map(|ground| ground.name).collect())
}

/// The grounds in a list of names; all of them without one.
pub(crate) fn is_on_ground(names: Option<&str>, ground: &str) -> bool {
    names.is_none_or(|names| names.split(' ').any(|name| name == ground))
}

/// Panics at a name that is none.
pub(crate) fn check_ground_names(names: Option<&str>) {
    for name in names.iter().flat_map(|names| names.split(' ')) {
        let is_known = name == USER_GROUND || GROUNDS.iter().any(|ground| ground.name == name);
        assert!(is_known, "`{name}` is no ground");
    }
}

/// Where attempts are made that have no tier of their own.
pub(crate) const USER_GROUND: &str = "user";

/// What was not contained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptFailure {
    pub(crate) what: String,
    /// The attempt did not do what it says, or the suite itself failed: never to be expected.
    pub(crate) is_broken: bool,
}

impl AttemptFailure {
    pub(crate) fn broken(what: String) -> Self {
        Self { what, is_broken: true }
    }
}

impl From<String> for AttemptFailure {
    fn from(what: String) -> Self {
        Self { what, is_broken: false }
    }
}

/// What came of an attempt on one ground.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AttemptResult {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) ground: String,
    /// Why it is known not to be contained here.
    pub(crate) open: Option<String>,
    pub(crate) failure: Option<AttemptFailure>,
}

impl AttemptResult {
    fn describe(&self) -> String {
        let failure = self.failure.as_ref().map_or("contained", |failure| &failure.what);
        format!("{}: {} ({}): {failure}", self.class, self.name, self.ground)
    }

    fn is_broken(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_broken)
    }
}

/// How many attempts with names of their own were made on each ground.
pub(crate) fn count_names(results: &[AttemptResult]) -> BTreeMap<&str, usize> {
    let mut names: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for result in results {
        names.entry(&result.ground).or_default().insert((&result.class, &result.name));
    }
    names.into_iter().map(|(ground, names)| (ground, names.len())).collect()
}

/// The results as lines to print, and whether all is as it must be.
pub(crate) fn summarize(results: &[AttemptResult]) -> (Vec<String>, bool) {
    let mut lines = Vec::new();
    let is_open = |it: &&AttemptResult| it.open.is_some() && !it.is_broken();
    let (open, closed): (Vec<_>, Vec<_>) = results.iter().partition(is_open);
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
        let word = if result.is_broken() { "BROKEN" } else { "NOT CONTAINED" };
        lines.push(format!("{word}: {}", result.describe()));
    }
    for (ground, count) in count_names(results) {
        lines.push(format!("{count} attempts as `{ground}`"));
    }
    lines.push(format!("{contained} of {} contained", closed.len()));
    (lines, is_right)
}

#[test]
fn a_broken_attempt_fails_the_suite_though_it_is_known_to_be_open() {
    let result = |open: bool, failure: Option<AttemptFailure>| AttemptResult {
        class: "lies".to_owned(),
        name: "lie".to_owned(),
        ground: "root".to_owned(),
        open: open.then(|| "a reason".to_owned()),
        failure,
    };
    let escaped = AttemptFailure::from("it escaped".to_owned());
    let broken = AttemptFailure::broken("no mailbox".to_owned());
    for (open, failure, is_right, last) in [
        (false, None, true, "1 of 1 contained"),
        (false, Some(escaped.clone()), false, "0 of 1 contained"),
        (true, Some(escaped), true, "0 of 0 contained"),
        (true, None, false, "0 of 0 contained"),
        (true, Some(broken.clone()), false, "0 of 1 contained"),
        (false, Some(broken), false, "0 of 1 contained"),
    ] {
        let results = [result(open, failure)];
        let (lines, found) = summarize(&results);
        assert_eq!((found, lines.last().map(String::as_str)), (is_right, Some(last)), "{lines:?}");
    }
}
