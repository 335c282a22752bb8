//! The numbers of `menace run` mean something: what is planted in a sound repository lowers them
//! and is named, fixing it raises them again, and what changes nothing leaves them alone.
//!
//! The bugs are in `validity/plants.yaml`. Bugs in different modules are planted at once: no module
//! of the fixture knows another one. The usual tests plant some of them, `cargo xtask long` all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::program::{SANDBOX_VARIABLES, TestDirectory};

const PLANTED_BUGS: &str = include_str!("validity/plants.yaml");
const HARMLESS_CHANGES: &str = include_str!("validity/nothing.yaml");
const PLANTED_LEAKS: &str = include_str!("validity/leaks.yaml");

/// How far ROI of a module may move when nothing changed: efficiency is made of clocks. Four runs
/// of one small function with one seed, on a machine with eight times as much to do as it has
/// processors, were between 0.705 and 0.714; of three of them, only metrics of clocks differed.
const ROI_TOLERANCE: f64 = 0.01;

/// One plant of so many is enough every day.
const PLANTS_PER_TESTED_PLANT: usize = 7;

/// A replacement in one file of the fixture.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceChange {
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
struct ReportExcerpt {
    modules: Vec<ModuleExcerpt>,
    failures: Vec<FailureExcerpt>,
    discrepancies: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ModuleExcerpt {
    path: String,
    roi: f64,
    roi_delta: Option<f64>,
    metrics: BTreeMap<String, f64>,
    risk_flags: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct FailureExcerpt {
    section: String,
    kind: String,
    location: String,
}

impl ReportExcerpt {
    fn find_module(&self, path: &str) -> &ModuleExcerpt {
        let found = self.modules.iter().find(|module| module.path == path);
        found.unwrap_or_else(|| panic!("no {path} in {self:?}"))
    }

    fn failures_in(&self, path: &str) -> Vec<&FailureExcerpt> {
        let is_there =
            |failure: &&FailureExcerpt| failure.section.starts_with(&format!("{path}::"));
        self.failures.iter().filter(is_there).collect()
    }
}

impl SourceChange {
    /// Changes a copy of the fixture.
    fn apply(&self, place: &TestDirectory) {
        let path = place.path().join("sound").join(&self.file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(&self.find).count(), 1, "{}: {}", self.name, self.find);
        fs::write(path, text.replace(&self.find, &self.replace)).unwrap();
    }

    /// Undoes it.
    fn revert(&self, place: &TestDirectory) {
        let sound = TestDirectory::with_fixture("sound");
        let file = Path::new("sound").join(&self.file);
        fs::copy(sound.path().join(&file), place.path().join(&file)).unwrap();
    }

    /// Where the failure should be, in the changed copy.
    fn expected_location(&self, place: &TestDirectory) -> String {
        let text = fs::read_to_string(place.path().join("sound").join(&self.file)).unwrap();
        let wanted = match &self.line {
            Some(line) => line.clone(),
            None => format!("def {}(", self.section.rsplit('.').next().unwrap_or_default()),
        };
        let at = text.lines().position(|line| line.contains(&wanted));
        let at = at.unwrap_or_else(|| panic!("no `{wanted}` in {text}"));
        format!("{}:{}", self.file, at + 1)
    }

    fn section_id(&self) -> String {
        format!("{}::{}", self.file, self.section)
    }
}

fn parse_changes(text: &str) -> Vec<SourceChange> {
    serde_saphyr::from_str(text).expect("a list of changes")
}

/// Runs these sections of a copy of the fixture.
///
/// Of a module only what is changed: beside eight sound neighbours, the clocks in the mean of all
/// are as loud as one failure.
fn run_sections(place: &TestDirectory, sections: &BTreeSet<String>) -> ReportExcerpt {
    let mut arguments = vec!["run", "--repo", "sound", "--seed", "1", "--budget", "none"];
    arguments.extend(["--jobs", "2", "--format", "json"]);
    for section in sections {
        arguments.extend(["--section", section]);
    }
    let ran = place.run_with(&SANDBOX_VARIABLES, &arguments);
    serde_json::from_value(ran.json()).expect("a report")
}

/// The same of a fresh copy with these changes, which knows nothing of earlier runs.
fn run_changed(changes: &[&SourceChange], sections: &BTreeSet<String>) -> ReportExcerpt {
    let place = TestDirectory::with_fixture("sound");
    for change in changes {
        change.apply(&place);
    }
    run_sections(&place, sections)
}

fn changed_sections(changes: &[&SourceChange]) -> BTreeSet<String> {
    changes.iter().map(|change| change.section_id()).collect()
}

/// The first change of every file, then the second ones, and so on.
fn rounds_by_file(changes: &[SourceChange]) -> Vec<Vec<&SourceChange>> {
    let mut rounds: Vec<Vec<&SourceChange>> = Vec::new();
    for change in changes {
        let is_same = |other: &&SourceChange| other.file == change.file;
        let is_free = |round: &&mut Vec<&SourceChange>| !round.iter().any(is_same);
        match rounds.iter_mut().find(is_free) {
            Some(round) => round.push(change),
            None => rounds.push(vec![change]),
        }
    }
    rounds
}

#[test]
fn a_planted_bug_is_named_and_lowers_the_roi_of_its_module_until_it_is_fixed() {
    let mut plants = parse_changes(PLANTED_BUGS);
    assert!(plants.len() >= 20, "only {} plants", plants.len());
    if !crate::program::is_long() {
        let mut number = 0;
        plants.retain(|_| {
            number += 1;
            number % PLANTS_PER_TESTED_PLANT == 0
        });
    }
    let mut wrong: Vec<String> = Vec::new();
    for round in rounds_by_file(&plants) {
        let place = TestDirectory::with_fixture("sound");
        for plant in &round {
            plant.apply(&place);
        }
        let planted = run_sections(&place, &changed_sections(&round));
        let locations: Vec<String> =
            round.iter().map(|plant| plant.expected_location(&place)).collect();
        for plant in &round {
            plant.revert(&place);
        }
        let fixed = run_sections(&place, &changed_sections(&round));
        for failure in &fixed.failures {
            wrong.push(format!("reported in the sound repository: {failure:?}"));
        }
        for (plant, location) in round.iter().zip(locations) {
            let ModuleExcerpt { roi: after, roi_delta, .. } = fixed.find_module(&plant.file);
            let before = planted.find_module(&plant.file).roi;
            if after - before <= ROI_TOLERANCE {
                wrong.push(format!("{}: ROI is {before:.4}, fixed {after:.4}", plant.name));
            }
            if roi_delta.is_none_or(|delta| (delta - (after - before)).abs() > 1e-9) {
                wrong.push(format!("{}: from {before} to {after} is {roi_delta:?}", plant.name));
            }
            let id = plant.section_id();
            let is_named = |failure: &&FailureExcerpt| {
                failure.section == id
                    && failure.location == location
                    && plant.kinds.contains(&failure.kind)
            };
            let failures = planted.failures_in(&plant.file);
            if !failures.iter().any(is_named) {
                wrong.push(format!("{}: nothing at {location} in {failures:?}", plant.name));
            }
            // A failure of a section that calls the planted line is right, too.
            let is_other = |one: &&&FailureExcerpt| one.section != id && one.location != location;
            for failure in failures.iter().filter(is_other) {
                wrong.push(format!("{}: reported instead: {failure:?}", plant.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_changes_nothing_leaves_the_numbers_alone() {
    let changes = parse_changes(HARMLESS_CHANGES);
    let all: Vec<&SourceChange> = changes.iter().collect();
    let before = run_changed(&[], &changed_sections(&all));
    let after = run_changed(&all, &changed_sections(&all));
    for change in &changes {
        let (before, after) = (before.find_module(&change.file), after.find_module(&change.file));
        let delta = after.roi - before.roi;
        assert!(
            delta.abs() <= ROI_TOLERANCE,
            "{}: {delta:+.4}\n{before:?}\n{after:?}",
            change.name
        );
    }
    assert!(after.failures.is_empty(), "{:?}", after.failures);
}

#[test]
fn ten_times_the_time_lowers_efficiency() {
    let slower = SourceChange {
        name: "ten times as many rounds".to_owned(),
        file: "ferry/purse.py".to_owned(),
        section: "sealed".to_owned(),
        kinds: Vec::new(),
        find: "ROUNDS = 2000\n".to_owned(),
        replace: "ROUNDS = 20_000\n".to_owned(),
        line: None,
    };
    let before = run_changed(&[], &changed_sections(&[&slower]));
    let after = run_changed(&[&slower], &changed_sections(&[&slower]));
    let efficiency =
        |report: &ReportExcerpt| report.find_module(&slower.file).metrics["efficiency"];
    let (before, after) = (efficiency(&before), efficiency(&after));
    assert!(after < before - 0.01, "efficiency was {before:.4} and is {after:.4}");
}

/// The report names each leak: as a failure, a flag or a discrepancy.
#[test]
fn leaks_are_flagged() {
    let leaks = parse_changes(PLANTED_LEAKS);
    for round in rounds_by_file(&leaks) {
        let report = run_changed(&round, &changed_sections(&round));
        for leak in round {
            let flags = &report.find_module(&leak.file).risk_flags;
            let failures = report.failures_in(&leak.file);
            let is_flagged = flags.iter().any(|flag| {
                flag.contains(&leak.section) && leak.kinds.iter().any(|kind| flag.contains(kind))
            });
            let is_failure = failures.iter().any(|failure| {
                failure.section == leak.section_id() && leak.kinds.contains(&failure.kind)
            });
            let is_discrepancy = report.discrepancies.iter().any(|text| {
                text.contains(&leak.section_id())
                    && leak.kinds.iter().any(|kind| text.contains(kind))
            });
            assert!(
                is_flagged || is_failure || is_discrepancy,
                "{}: {flags:?} {failures:?} {:?}",
                leak.name,
                report.discrepancies
            );
        }
    }
}
