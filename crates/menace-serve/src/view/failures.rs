//! Failures: searched, sorted, and one of them told.

use std::path::Path;

use menace_model::WeaknessKind;
use menace_store::{FailureFilter, FailureLine, FailureOrder, Page, RunId};
use serde::Serialize;

use super::paging::{Column, Here, Paging, ROWS, Sorting};
use super::run::{FailureRow, Shown};
use crate::clock::moment;
use crate::error::Result;
use crate::library::Library;
use crate::story::{Story, tell};

/// Runs that saw a failure, the latest ones.
const SIGHTINGS: u32 = 25;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub q: Option<String>,
    pub kind: Option<String>,
    pub scenario: Option<String>,
    pub place: Option<String>,
    pub run: Option<String>,
    pub gone: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
    pub page: Option<u64>,
}

const COLUMNS: &[(&str, &str, bool)] = &[
    ("section", "Section", false),
    ("kind", "Kind", false),
    ("count", "Calls", true),
    ("first", "First seen", true),
    ("last", "Last seen", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct Failures {
    pub columns: Vec<Column>,
    pub rows: Vec<FailureRow>,
    pub paging: Paging,
    pub q: String,
    pub kind: String,
    pub run: String,
    pub gone: bool,
    pub kept: Vec<(String, String)>,
    /// What else is asked for, beside the fields of the form.
    pub limits: Vec<Limit>,
    pub kind_choices: Vec<&'static str>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    pub what: &'static str,
    pub value: String,
    /// The same page without it.
    pub without: String,
}

impl Asked {
    fn sorting(&self) -> Sorting {
        let latest = Sorting { by: "last", descending: true };
        Sorting::of(COLUMNS, latest, self.sort.as_deref(), self.dir.as_deref())
    }

    fn here(&self) -> Here {
        Here::new("/failures")
            .with("q", self.q.as_deref())
            .with("kind", self.kind.as_deref())
            .with("scenario", self.scenario.as_deref())
            .with("place", self.place.as_deref())
            .with("run", self.run.as_deref())
            .with("gone", self.gone.as_deref())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }

    fn filter(&self, run: Option<RunId>) -> FailureFilter {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        FailureFilter {
            gone: self.gone.is_some() || run.is_some(),
            kind: given(&self.kind),
            scenario: given(&self.scenario),
            place: given(&self.place),
            run,
            text: given(&self.q),
        }
    }
}

/// A page of what was asked for, and how many there are.
pub(crate) fn lines(
    library: &Library,
    asked: &Asked,
    page: impl FnOnce(u64) -> Page,
) -> Result<(Vec<FailureLine>, u64, Option<i64>)> {
    let sorting = asked.sorting();
    let order = match sorting.by {
        "section" => FailureOrder::Section,
        "kind" => FailureOrder::Kind,
        "count" => FailureOrder::Count,
        "first" => FailureOrder::First,
        _ => FailureOrder::Last,
    };
    // Numbers and moments come with the largest first; names with the first.
    let reverse = match order {
        FailureOrder::Section | FailureOrder::Kind => sorting.descending,
        FailureOrder::Count | FailureOrder::First | FailureOrder::Last => !sorting.descending,
    };
    let found = library.ask(|store| {
        let run = match asked.run.as_deref().filter(|run| !run.is_empty()) {
            Some(run) => Some(Shown::must(store, Some(run))?.run),
            None => None,
        };
        let since = run.as_ref().map(|run| run.started_ms);
        let filter = asked.filter(run.map(|run| run.id));
        let total = store.failure_count(&filter)?;
        Ok((store.failure_lines(&filter, order, reverse, page(total))?, total, since))
    })?;
    Ok(found.unwrap_or_default())
}

pub(crate) fn failures(library: &Library, asked: &Asked) -> Result<Failures> {
    let (here, sorting) = (asked.here(), asked.sorting());
    let (lines, total, since) = lines(library, asked, |total| {
        let paging = Paging::new(&here, asked.page, total);
        Page { limit: ROWS, offset: paging.offset() }
    })?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(Failures {
        columns: sorting.heads(COLUMNS, &here),
        rows: lines.into_iter().map(|line| FailureRow::of(line, since)).collect(),
        paging: Paging::new(&here, asked.page, total),
        q: text(&asked.q),
        kind: text(&asked.kind),
        run: text(&asked.run),
        gone: asked.gone.is_some(),
        kept: here.kept(&["q", "kind", "gone"]),
        limits: [("run", &asked.run), ("scenario", &asked.scenario), ("place", &asked.place)]
            .into_iter()
            .filter_map(|(what, value)| {
                let value = value.clone().filter(|value| !value.is_empty())?;
                Some(Limit { what, value, without: here.clone().with(what, None).href() })
            })
            .collect(),
        kind_choices: WeaknessKind::ALL.iter().map(|kind| kind.as_str()).collect(),
        csv: here.at("/failures.csv").href(),
    })
}

#[derive(Debug, Serialize)]
pub(crate) struct OneFailure {
    pub story: Story,
    pub sightings: Vec<Seen>,
    pub sighting_count: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Seen {
    pub run: String,
    pub started: String,
    pub count: u64,
}

pub(crate) fn failure(library: &Library, id: &str) -> Result<OneFailure> {
    library.must(|store| {
        let known = store.failure(id)?;
        // The repository of the run that saw it last.
        let repository = store.run_line(&known.last.run)?.map(|run| run.repository);
        let (sightings, sighting_count) = store.latest_sightings(&known.failure.id, SIGHTINGS)?;
        Ok(OneFailure {
            story: tell(&known, Path::new(&repository.unwrap_or_default())),
            sightings: sightings
                .into_iter()
                .map(|seen| Seen {
                    run: seen.run.0,
                    started: moment(seen.started_ms),
                    count: seen.count,
                })
                .collect(),
            sighting_count,
        })
    })
}
