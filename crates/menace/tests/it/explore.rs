//! Exploring finds weaknesses, reports no sound section, and does the same each time.

use std::collections::{BTreeMap, BTreeSet};

use menace_loop::{ExploreOptions, explore};
use menace_model::{Seed, Verdict};
use menace_sandbox::CancelToken;
use menace_scenario::explore::ExploreBudget;
use menace_scenario::input::InputSettings;

use crate::single_module::SingleModuleSandbox;

const EXPLORED_MODULE: &str = r#"
import json
import os
import threading
import urllib.request
from typing import Dict, List


def mean(values: List[float]) -> float:
    return sum(values) / len(values)


def mean_or_refusal(values: List[float]) -> float:
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)


def mode(config: Dict[str, str]) -> str:
    if config.get("mode") == "strict-77":
        return [][0]
    return "lax"


def unique(items: List[int]) -> List[int]:
    found = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def unique_at_once(items: List[int]) -> List[int]:
    return list(dict.fromkeys(items))


def save(data: Dict[str, int]) -> None:
    with open("state.json", "w") as file:
        json.dump(data, file)


def save_whole(data: Dict[str, int]) -> None:
    name = "whole.json.%d" % threading.get_ident()
    try:
        with open(name, "w") as file:
            json.dump(data, file)
        os.replace(name, "whole.json")
    except BaseException:
        if os.path.exists(name):
            os.unlink(name)
        raise


def weather(city: str) -> str:
    with urllib.request.urlopen("http://weather.example/") as answer:
        return answer.read().decode("utf-8", "replace")[:4]


def greeting(name: str) -> int:
    return os.system("echo " + name)


class Seats:
    def __init__(self) -> None:
        self.free = 1000

    async def book(self, count: int) -> int:
        import asyncio
        if count <= 0 or count > self.free:
            raise ValueError("so many there are not")
        await asyncio.sleep(0)
        self.free -= count
        return self.free
"#;

type ExploredVerdicts = BTreeMap<(String, usize), Verdict>;

fn explore_module(
    trial: &SingleModuleSandbox,
) -> (BTreeMap<String, Vec<String>>, ExploredVerdicts) {
    let exploration = ExploreOptions {
        seed: Seed(7),
        budget: ExploreBudget::default(),
        workers: 2,
        cancel: CancelToken::default(),
        input_settings: InputSettings::default(),
    };
    let mut verdicts = BTreeMap::new();
    let explored = explore(&trial.analysis, &trial.backend, &exploration, &mut |made| {
        // How many calls measure time depends on how long they take.
        if made.call.coverage {
            verdicts.insert((made.section.to_string(), made.number), made.outcome.verdict);
        }
    });
    let kinds = explored.expect("an exploration").into_iter().map(|one| {
        let kinds = one.findings.iter().map(|finding| finding.weakness.kind.to_string());
        (one.section.qualname().to_owned(), kinds.collect())
    });
    (kinds.collect(), verdicts)
}

#[test]
fn weaknesses_are_found_and_sound_sections_are_not_reported() {
    let trial = SingleModuleSandbox::new("desk.py", EXPLORED_MODULE);
    let (found, verdicts) = explore_module(&trial);
    for (section, kind) in [
        ("mean", "unhandled"),
        ("mode", "unhandled"),
        ("unique", "slow"),
        ("save", "partial_write"),
        ("weather", "no_timeout"),
        ("greeting", "injection"),
        ("Seats.book", "race"),
    ] {
        assert!(found[section].iter().any(|one| one == kind), "{section}: {:?}", found[section]);
    }
    for section in ["mean_or_refusal", "unique_at_once", "save_whole", "Seats.__init__"] {
        assert_eq!(found[section], Vec::<String>::new(), "{section}");
    }
    let first = (without_slow(found), verdicts);
    let again = explore_without_slow(&trial);
    if first == again {
        return;
    }
    // On a machine that stands still for a second, a call that does not hang times out, and the
    // calls that follow from its outcome change, too.
    let differences = list_differences(&first.1, &again.1);
    let is_from_stall = differences.iter().any(|(_, one, other)| {
        (*one == Some(Verdict::TimedOut)) != (*other == Some(Verdict::TimedOut))
    });
    assert!(is_from_stall, "{:?}, then {:?}; calls: {differences:?}", first.0, again.0);
    let third = explore_without_slow(&trial);
    assert!(third == first || third == again, "three explorations differ: {differences:?}");
}

/// Whether growth is steep enough for `slow` depends on measured times.
fn without_slow(found: BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let without = |kinds: Vec<String>| kinds.into_iter().filter(|kind| kind != "slow").collect();
    found.into_iter().map(|(section, kinds)| (section, without(kinds))).collect()
}

fn explore_without_slow(
    trial: &SingleModuleSandbox,
) -> (BTreeMap<String, Vec<String>>, ExploredVerdicts) {
    let (found, verdicts) = explore_module(trial);
    (without_slow(found), verdicts)
}

type VerdictDifference = ((String, usize), Option<Verdict>, Option<Verdict>);

fn list_differences(one: &ExploredVerdicts, other: &ExploredVerdicts) -> Vec<VerdictDifference> {
    let calls: BTreeSet<_> = one.keys().chain(other.keys()).cloned().collect();
    let pairs = calls.into_iter().map(|call| {
        let (verdict, other_verdict) = (one.get(&call).copied(), other.get(&call).copied());
        (call, verdict, other_verdict)
    });
    pairs.filter(|(_, one, other)| one != other).collect()
}
