//! The numbers of `menace run` mean something: what is planted in a sound repository lowers them and
//! is named, what is mended raises them again, and what changes nothing leaves them alone.
//!
//! The bugs are in `validity/plants.yaml`. Bugs in different modules are planted at once: no module of
//! the fixture knows another one. The usual tests plant some of them, `cargo xtask long` all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::program::{Place, SANDBOXES};

const PLANTS: &str = include_str!("validity/plants.yaml");
const NOTHING: &str = include_str!("validity/nothing.yaml");
const LEAKS: &str = include_str!("validity/leaks.yaml");

/// How far ROI of a module may move when nothing changed: efficiency is made of clocks. Four runs of one
/// small function with one seed, on a machine with eight times as much to do as it has processors, were
/// between 0.705 and 0.714; of three of them, only metrics of clocks differed.
const TOLERANCE: f64 = 0.01;

/// One plant of so many is enough every day.
const SOME: usize = 7;

/// A replacement in one file of the fixture.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: String,
    file: String,
    section: String,
    /// What the failure may be called.
    #[serde(default)]
    kinds: Vec<String>,
    find: String,
    replace: String,
    /// A piece of the line that the failure names; without it, the first line of the section.
    line: Option<String>,
}

/// What is looked at of a report.
#[derive(Debug, Deserialize)]
struct Report {
    modules: Vec<Module>,
    failures: Vec<Failure>,
    discrepancies: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Module {
    path: String,
    roi: f64,
    roi_delta: Option<f64>,
    metrics: BTreeMap<String, f64>,
    risk_flags: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    section: String,
    kind: String,
    location: String,
}

impl Report {
    fn module(&self, path: &str) -> &Module {
        let found = self.modules.iter().find(|module| module.path == path);
        found.unwrap_or_else(|| panic!("no {path} in {self:?}"))
    }

    fn failures_in(&self, path: &str) -> Vec<&Failure> {
        let is_there = |failure: &&Failure| failure.section.starts_with(&format!("{path}::"));
        self.failures.iter().filter(is_there).collect()
    }
}

impl Change {
    /// Changes a copy of the fixture.
    fn make(&self, place: &Place) {
        let path = place.path().join("sound").join(&self.file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(&self.find).count(), 1, "{}: {}", self.name, self.find);
        fs::write(path, text.replace(&self.find, &self.replace)).unwrap();
    }

    /// Undoes it.
    fn mend(&self, place: &Place) {
        let sound = Place::with_fixture("sound");
        let file = Path::new("sound").join(&self.file);
        fs::copy(sound.path().join(&file), place.path().join(&file)).unwrap();
    }

    /// Where the failure should be, in the changed copy.
    fn place(&self, place: &Place) -> String {
        let text = fs::read_to_string(place.path().join("sound").join(&self.file)).unwrap();
        let wanted = match &self.line {
            Some(line) => line.clone(),
            None => format!("def {}(", self.section.rsplit('.').next().unwrap_or_default()),
        };
        let at = text.lines().position(|line| line.contains(&wanted));
        let at = at.unwrap_or_else(|| panic!("no `{wanted}` in {text}"));
        format!("{}:{}", self.file, at + 1)
    }

    fn id(&self) -> String {
        format!("{}::{}", self.file, self.section)
    }
}

fn changes(text: &str) -> Vec<Change> {
    serde_saphyr::from_str(text).expect("a list of changes")
}

/// Runs these sections of a copy of the fixture.
///
/// Of a module only what is changed: beside eight sound neighbours, the clocks in the mean of all are as
/// loud as one failure.
fn run(place: &Place, sections: &BTreeSet<String>) -> Report {
    let mut arguments = vec!["run", "--repo", "sound", "--seed", "1", "--budget", "none"];
    arguments.extend(["--jobs", "2", "--format", "json"]);
    for section in sections {
        arguments.extend(["--section", section]);
    }
    let ran = place.run_with(&SANDBOXES, &arguments);
    serde_json::from_value(ran.json()).expect("a report")
}

/// The same of a fresh copy with these changes, which knows nothing of earlier runs.
fn changed(changes: &[&Change], sections: &BTreeSet<String>) -> Report {
    let place = Place::with_fixture("sound");
    for change in changes {
        change.make(&place);
    }
    run(&place, sections)
}

fn sections(changes: &[&Change]) -> BTreeSet<String> {
    changes.iter().map(|change| change.id()).collect()
}

/// The first change of every file, then the second ones, and so on.
fn rounds(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut rounds: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        let is_same = |other: &&Change| other.file == change.file;
        let is_free = |round: &&mut Vec<&Change>| !round.iter().any(is_same);
        match rounds.iter_mut().find(is_free) {
            Some(round) => round.push(change),
            None => rounds.push(vec![change]),
        }
    }
    rounds
}

#[test]
fn a_planted_bug_lowers_the_roi_of_its_module_and_is_named_and_mending_it_raises_it_again() {
    let mut plants = changes(PLANTS);
    assert!(plants.len() >= 20, "only {} plants", plants.len());
    if !crate::program::is_long() {
        let mut number = 0;
        plants.retain(|_| {
            number += 1;
            number % SOME == 0
        });
    }
    let mut wrong: Vec<String> = Vec::new();
    for round in rounds(&plants) {
        let place = Place::with_fixture("sound");
        for plant in &round {
            plant.make(&place);
        }
        let planted = run(&place, &sections(&round));
        let locations: Vec<String> = round.iter().map(|plant| plant.place(&place)).collect();
        for plant in &round {
            plant.mend(&place);
        }
        let mended = run(&place, &sections(&round));
        for failure in &mended.failures {
            wrong.push(format!("blamed in the sound repository: {failure:?}"));
        }
        for (plant, location) in round.iter().zip(locations) {
            let Module { roi: after, roi_delta, .. } = mended.module(&plant.file);
            let before = planted.module(&plant.file).roi;
            if after - before <= TOLERANCE {
                wrong.push(format!("{}: ROI is {before:.4}, mended {after:.4}", plant.name));
            }
            if roi_delta.is_none_or(|delta| (delta - (after - before)).abs() > 1e-9) {
                wrong.push(format!("{}: from {before} to {after} is {roi_delta:?}", plant.name));
            }
            let id = plant.id();
            let is_named = |failure: &&Failure| {
                failure.section == id
                    && failure.location == location
                    && plant.kinds.contains(&failure.kind)
            };
            let failures = planted.failures_in(&plant.file);
            if !failures.iter().any(is_named) {
                wrong.push(format!("{}: nothing at {location} in {failures:?}", plant.name));
            }
            // Who calls the planted line is rightly blamed, too.
            let is_other = |one: &&&Failure| one.section != id && one.location != location;
            for failure in failures.iter().filter(is_other) {
                wrong.push(format!("{}: blamed instead: {failure:?}", plant.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_changes_nothing_leaves_the_numbers_alone() {
    let changes = changes(NOTHING);
    let all: Vec<&Change> = changes.iter().collect();
    let before = changed(&[], &sections(&all));
    let after = changed(&all, &sections(&all));
    for change in &changes {
        let (before, after) = (before.module(&change.file), after.module(&change.file));
        let delta = after.roi - before.roi;
        assert!(delta.abs() <= TOLERANCE, "{}: {delta:+.4}\n{before:?}\n{after:?}", change.name);
    }
    assert!(after.failures.is_empty(), "{:?}", after.failures);
}

#[test]
fn ten_times_the_time_lowers_efficiency() {
    let slower = Change {
        name: "ten times as many rounds".to_owned(),
        file: "ferry/purse.py".to_owned(),
        section: "sealed".to_owned(),
        kinds: Vec::new(),
        find: "ROUNDS = 2000\n".to_owned(),
        replace: "ROUNDS = 20_000\n".to_owned(),
        line: None,
    };
    let before = changed(&[], &sections(&[&slower]));
    let after = changed(&[&slower], &sections(&[&slower]));
    let efficiency = |report: &Report| report.module(&slower.file).metrics["efficiency"];
    let (before, after) = (efficiency(&before), efficiency(&after));
    assert!(after < before - 0.01, "efficiency was {before:.4} and is {after:.4}");
}

/// A failure, a flag or a discrepancy: somebody who reads the report hears of it.
#[test]
fn leaks_are_flagged() {
    let leaks = changes(LEAKS);
    for round in rounds(&leaks) {
        let report = changed(&round, &sections(&round));
        for leak in round {
            let flags = &report.module(&leak.file).risk_flags;
            let failures = report.failures_in(&leak.file);
            let is_flagged = flags.iter().any(|flag| {
                flag.contains(&leak.section) && leak.kinds.iter().any(|kind| flag.contains(kind))
            });
            let is_blamed = failures
                .iter()
                .any(|failure| failure.section == leak.id() && leak.kinds.contains(&failure.kind));
            let is_told = report.discrepancies.iter().any(|told| {
                told.contains(&leak.id()) && leak.kinds.iter().any(|kind| told.contains(kind))
            });
            assert!(
                is_flagged || is_blamed || is_told,
                "{}: {flags:?} {failures:?} {:?}",
                leak.name,
                report.discrepancies
            );
        }
    }
}
