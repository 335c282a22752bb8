//! Two runs side by side.

use std::collections::{BTreeMap, BTreeSet};

use menace_loop::report::{FailureReport, RunReport};
use menace_store::{Page, Store};
use menace_track::{Better, metric};
use serde::Serialize;

use super::metrics::trend;
use super::paging::{Column, Here, Sorting, by_number};
use super::run::settings_of;
use super::run::{Head, Shown};
use super::runs::RunRow;
use crate::error::{Error, Result};
use crate::library::Library;
use crate::text::cut;

/// Runs to choose from.
const CHOICES: u32 = 50;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub a: Option<String>,
    pub b: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

const COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "Name", false),
    ("a", "First", true),
    ("b", "Second", true),
    ("change", "Change", true),
];

impl Asked {
    /// Those that moved most come first, unless somebody wants another order.
    fn sorting(&self) -> Sorting {
        let moved = Sorting { by: "moved", descending: true };
        Sorting::of(COLUMNS, moved, self.sort.as_deref(), self.dir.as_deref())
    }

    fn here(&self) -> Here {
        Here::new("/compare")
            .with("a", self.a.as_deref())
            .with("b", self.b.as_deref())
            .with("q", self.q.as_deref())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }
}

/// Two runs, or why there are none to compare.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Comparison {
    Made(Box<Compared>),
    Lacking { lacks: String },
}

#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    pub a: Head,
    pub b: Head,
    pub sums: Vec<Pair>,
    pub modules: Vec<Pair>,
    pub scenarios: Vec<Pair>,
    /// As they were at the end of each run.
    pub metrics: Vec<Pair>,
    pub synergy: Vec<Pair>,
    /// Settings of the runs, where they differ.
    pub settings: Vec<Differing>,
    /// In the second run only, in the first only.
    pub appeared: Vec<Broken>,
    pub disappeared: Vec<Broken>,
    pub choices: Vec<RunRow>,
    pub columns: Vec<Column>,
    pub q: String,
    pub chosen_kept: Vec<(String, String)>,
    pub kept: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub name: String,
    pub a: Option<f64>,
    pub b: Option<f64>,
    pub delta: Option<f64>,
    pub trend: &'static str,
}

/// What one run had and the other had not, as text.
#[derive(Debug, Serialize)]
pub(crate) struct Differing {
    pub name: String,
    pub a: Option<String>,
    pub b: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Broken {
    pub id: String,
    pub section: String,
    pub kind: String,
    pub message: String,
}

impl Pair {
    fn new(name: &str, a: Option<f64>, b: Option<f64>, better: Better) -> Self {
        let delta = a.zip(b).map(|(a, b)| b - a);
        Self { name: name.to_owned(), a, b, delta, trend: trend(better, delta) }
    }

    /// `better`, `worse` or nothing.
    pub(crate) fn word(&self) -> &'static str {
        match self.trend {
            "good" => "better",
            "bad" => "worse",
            _ => "",
        }
    }
}

/// Which way a metric is better, alone or together.
fn direction(name: &str) -> Better {
    let metric = metric(name.strip_prefix("synergy_").unwrap_or(name));
    metric.map_or(Better::Up, |metric| metric.better)
}

/// By default the last two runs that have a summary.
pub(crate) fn compare(library: &Library, asked: &Asked) -> Result<Comparison> {
    let names_none = [&asked.a, &asked.b].iter().all(|id| id.as_deref().is_none_or(str::is_empty));
    match side_by_side(library, asked) {
        // Nobody asked for a run that is not there: it is what is needed that matters.
        Err(Error::Nothing(lacks)) if names_none => Ok(Comparison::Lacking { lacks }),
        found => found,
    }
}

fn side_by_side(library: &Library, asked: &Asked) -> Result<Comparison> {
    library.must(|store| {
        let b = find(store, asked.b.as_deref())?;
        let named = asked.a.clone().filter(|id| !id.is_empty());
        let before = match named {
            named @ Some(_) => named,
            None => store.run_before(&b.run.id)?.map(|before| before.0),
        };
        let Some(before) = before else {
            let lacks = format!("there is no run before {}", b.run.id);
            return Ok(Comparison::Lacking { lacks });
        };
        let a = find(store, Some(&before))?;
        let (one, other) = (report(&a)?, report(&b)?);
        let here = asked.here();
        let choices = store.run_lines(Page::first(CHOICES))?;
        Ok(Comparison::Made(Box::new(Compared {
            sums: sums(one, other),
            metrics: worths(asked, &measured(library, &a)?, &measured(library, &b)?, direction),
            synergy: worths(asked, &by_name(&one.synergy), &by_name(&other.synergy), direction),
            settings: differing(&a, &b),
            modules: roi(
                asked,
                one.modules.iter().map(|module| (module.path.as_str(), module.roi)),
                other.modules.iter().map(|module| (module.path.as_str(), module.roi)),
            ),
            scenarios: roi(
                asked,
                one.scenarios.iter().map(|scenario| (scenario.name.as_str(), scenario.roi)),
                other.scenarios.iter().map(|scenario| (scenario.name.as_str(), scenario.roi)),
            ),
            appeared: only(&other.failures, &one.failures),
            disappeared: only(&one.failures, &other.failures),
            a: Head::of(&a.run),
            b: Head::of(&b.run),
            choices: choices.into_iter().map(RunRow::of).collect(),
            columns: asked.sorting().heads(COLUMNS, &here),
            q: asked.q.clone().unwrap_or_default(),
            chosen_kept: here.kept(&["a", "b"]),
            kept: here.kept(&["q"]),
            csv: here.at("/compare.csv").href(),
        })))
    })
}

fn find(store: &Store, id: Option<&str>) -> Result<Shown> {
    Shown::must(store, id)
}

fn report(shown: &Shown) -> Result<&RunReport> {
    shown.report.as_ref().ok_or_else(|| {
        Error::Nothing(format!(
            "run {} has not come to its end: it has no sums to compare",
            shown.run.id
        ))
    })
}

/// Values by name.
type Named<'a> = BTreeMap<&'a str, f64>;

fn by_name(values: &BTreeMap<String, f64>) -> Named<'_> {
    values.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

/// The metrics of a whole run, as its last cycle left them.
fn measured(library: &Library, shown: &Shown) -> Result<Named<'static>> {
    let mut found = Named::new();
    for metric in menace_track::METRICS {
        let values = library.measured().way_to(metric.name, &shown.run, 1)?;
        let value = values.last().copied().filter(|value| value.is_finite());
        found.extend(value.map(|value| (metric.name, value)));
    }
    Ok(found)
}

/// What was run: the repository, the seed, the settings.
fn differing(one: &Shown, other: &Shown) -> Vec<Differing> {
    let facts = |shown: &Shown| -> BTreeMap<String, String> {
        let run = &shown.run;
        let own = [
            ("repository".to_owned(), run.repository.clone()),
            ("seed".to_owned(), run.seed.to_string()),
        ];
        settings_of(&run.settings, true).into_iter().chain(own).collect()
    };
    let (one, other) = (facts(one), facts(other));
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    let differing = |name: &String| Differing {
        name: name.clone(),
        a: one.get(name).cloned(),
        b: other.get(name).cloned(),
    };
    differ.map(differing).collect()
}

fn sums(one: &RunReport, other: &RunReport) -> Vec<Pair> {
    let count = |number: usize| Some(number as f64);
    vec![
        Pair::new("ROI", Some(one.roi), Some(other.roi), Better::Up),
        Pair::new("failures", count(one.failures.len()), count(other.failures.len()), Better::Down),
        Pair::new("calls", Some(one.calls as f64), Some(other.calls as f64), Better::Neither),
        Pair::new("sections", count(one.sections), count(other.sections), Better::Neither),
        Pair::new(
            "sections called",
            count(one.coverage.called),
            count(other.coverage.called),
            Better::Up,
        ),
        Pair::new(
            "share of lines reached",
            Some(one.coverage.lines),
            Some(other.coverage.lines),
            Better::Up,
        ),
        Pair::new("seconds", Some(one.elapsed_s), Some(other.elapsed_s), Better::Down),
    ]
}

fn roi<'a>(
    asked: &Asked,
    one: impl Iterator<Item = (&'a str, f64)>,
    other: impl Iterator<Item = (&'a str, f64)>,
) -> Vec<Pair> {
    worths(asked, &one.collect(), &other.collect(), |_| Better::Up)
}

/// Those that fit what was asked for, sorted.
fn worths(
    asked: &Asked,
    one: &Named<'_>,
    other: &Named<'_>,
    better: fn(&str) -> Better,
) -> Vec<Pair> {
    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    let mut pairs: Vec<Pair> = names
        .into_iter()
        .filter(|name| name.to_lowercase().contains(&wanted))
        .map(|name| {
            let (a, b) = (one.get(name).copied(), other.get(name).copied());
            Pair::new(name, a, b, better(name))
        })
        .collect();
    let Sorting { by, descending } = asked.sorting();
    match by {
        "name" if descending => pairs.reverse(),
        "name" => {}
        by => by_number(&mut pairs, descending, |pair| match by {
            "a" => pair.a,
            "b" => pair.b,
            "change" => pair.delta,
            _ => Some(pair.delta.map_or(f64::INFINITY, f64::abs)),
        }),
    }
    pairs
}

fn only(here: &[FailureReport], elsewhere: &[FailureReport]) -> Vec<Broken> {
    let known: BTreeSet<&str> = elsewhere.iter().map(|failure| failure.id.as_str()).collect();
    here.iter()
        .filter(|failure| !known.contains(failure.id.as_str()))
        .map(|failure| Broken {
            id: failure.id.clone(),
            section: failure.section.as_str().to_owned(),
            kind: failure.kind.clone(),
            message: cut(&failure.message, 200),
        })
        .collect()
}
