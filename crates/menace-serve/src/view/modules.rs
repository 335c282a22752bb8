//! The modules of a run, and one of them with its sections.

use menace_store::{
    FailureFilter, FailureOrder, HistoryPoint, ModuleRecord, Page, SectionRecord, Store,
};
use minijinja::Value;
use serde::Serialize;

use super::paging::{Column, Here, Paging, ROWS, Sorting};
use super::run::{FailureRow, Head, Shown};
use super::svg;
use super::wish::{Wish, sort_rows};
use crate::chart::{LineChart, Role, Series};
use crate::error::{Error, Result};
use crate::library::Library;
use crate::story::named;

/// Cycles in the chart of one module.
const CYCLES: u32 = 200;

/// What was asked for in the address.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    #[serde(flatten)]
    pub wish: Wish,
    pub page: Option<u64>,
    pub path: Option<String>,
}

const COLUMNS: &[(&str, &str, bool)] = &[
    ("path", "Module", false),
    ("roi", "ROI", true),
    ("raroi", "RAROI", true),
    ("reliability", "Reliability", true),
    ("resilience", "Resilience", true),
    ("safety_rating", "Safety", true),
    ("risk_index", "Risk", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct Modules {
    pub head: Head,
    pub columns: Vec<Column>,
    pub rows: Vec<ModuleRow>,
    pub paging: Paging,
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModuleRow {
    pub path: String,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
    pub reliability: Option<f64>,
    pub resilience: Option<f64>,
    pub safety_rating: Option<f64>,
    pub risk_index: Option<f64>,
    pub flagged: bool,
}

impl ModuleRow {
    fn of(record: ModuleRecord) -> Self {
        let metric =
            |name: &str| record.metrics.get(name).copied().filter(|value| value.is_finite());
        Self {
            roi: record.roi,
            raroi: record.raroi,
            reliability: metric("reliability"),
            resilience: metric("resilience"),
            safety_rating: metric("safety_rating"),
            risk_index: metric("risk_index"),
            flagged: record.flagged,
            path: record.path,
        }
    }

    fn number(&self, column: &str) -> Option<f64> {
        match column {
            "roi" => self.roi,
            "raroi" => self.raroi,
            "reliability" => self.reliability,
            "resilience" => self.resilience,
            "safety_rating" => self.safety_rating,
            "risk_index" => self.risk_index,
            _ => None,
        }
    }
}

/// All rows that fit what was asked for, sorted.
pub(crate) fn rows(library: &Library, asked: &Asked) -> Result<(Head, Vec<ModuleRow>, Sorting)> {
    let (head, modules) = library.must(|store| {
        let shown = Shown::must(store, asked.wish.run.as_deref())?;
        let modules = match shown.cycle {
            Some(cycle) => store.modules(&shown.run.id, cycle)?,
            None => Vec::new(),
        };
        Ok((Head::of(&shown.run), modules))
    })?;
    let mut rows: Vec<ModuleRow> = modules
        .into_iter()
        .filter(|module| asked.wish.finds(&[&module.path]))
        .map(ModuleRow::of)
        .collect();
    let weakest = Sorting { by: "raroi", descending: false };
    let sorting = asked.wish.sorting(COLUMNS, weakest);
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    sort_rows(&mut rows, "path", sorting, ModuleRow::number);
    Ok((head, rows, sorting))
}

pub(crate) fn modules(library: &Library, asked: &Asked) -> Result<Modules> {
    let (head, rows, sorting) = rows(library, asked)?;
    let here = asked.wish.at(Here::new("/modules"));
    let paging = Paging::new(&here, asked.page, rows.len() as u64);
    let start = paging.offset() as usize;
    Ok(Modules {
        head,
        columns: sorting.heads(COLUMNS, &here),
        rows: rows.into_iter().skip(start).take(ROWS as usize).collect(),
        paging,
        q: asked.wish.search(),
        kept: here.kept(&["q"]),
        csv: here.at("/modules.csv").href(),
    })
}

#[derive(Debug, Serialize)]
pub(crate) struct OneModule {
    pub head: Head,
    pub module: ModuleRow,
    pub metrics: Vec<(String, f64)>,
    pub metrics_csv: String,
    pub chart: Value,
    pub png: String,
    pub csv: String,
    pub columns: Vec<Column>,
    pub sections: Vec<SectionRow>,
    pub paging: Paging,
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub failures: Vec<FailureRow>,
}

const SECTION_COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "Section", false),
    ("roi", "ROI", true),
    ("raroi", "RAROI", true),
    ("reliability", "Reliability", true),
    ("risk_index", "Risk", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct SectionRow {
    pub id: String,
    pub name: String,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
    pub reliability: Option<f64>,
    pub risk_index: Option<f64>,
    pub unreachable: Option<String>,
}

impl SectionRow {
    fn of(record: SectionRecord) -> Self {
        let metric =
            |name: &str| record.metrics.get(name).copied().filter(|value| value.is_finite());
        Self {
            id: record.section.as_str().to_owned(),
            name: named(record.section.qualname()),
            roi: record.roi,
            raroi: record.raroi,
            reliability: metric("reliability"),
            risk_index: metric("risk_index"),
            unreachable: record.unreachable,
        }
    }

    fn number(&self, column: &str) -> Option<f64> {
        match column {
            "roi" => self.roi,
            "raroi" => self.raroi,
            "reliability" => self.reliability,
            "risk_index" => self.risk_index,
            _ => None,
        }
    }
}

/// A module over the cycles that had it.
pub(crate) fn chart(store: &Store, path: &str) -> Result<LineChart> {
    let points = store.module_history(path, CYCLES)?;
    let values = |pick: fn(&HistoryPoint) -> Option<f64>| -> Vec<f64> {
        points.iter().map(|point| pick(point).unwrap_or(f64::NAN)).collect()
    };
    Ok(LineChart::new(format!("ROI of {path} over cycles"))
        .with(Series::from("ROI", Role::Actual, 1, &values(|point| point.roi)))
        .with(Series::from("RAROI", Role::Predicted, 1, &values(|point| point.raroi))))
}

/// The sections of a module that fit what was asked for, sorted.
pub(crate) fn sections(
    store: &Store,
    shown: &Shown,
    asked: &Asked,
) -> Result<(Vec<SectionRow>, Sorting)> {
    let path = asked.path.as_deref().unwrap_or_default();
    let mut sections: Vec<SectionRow> = store
        .sections(&shown.run.id, shown.cycle()?)?
        .into_iter()
        .filter(|section| section.section.path() == path)
        .filter(|section| asked.wish.finds(&[section.section.qualname()]))
        .map(SectionRow::of)
        .collect();
    let weakest = Sorting { by: "roi", descending: false };
    let sorting = asked.wish.sorting(SECTION_COLUMNS, weakest);
    sort_rows(&mut sections, "name", sorting, SectionRow::number);
    Ok((sections, sorting))
}

pub(crate) fn module(library: &Library, asked: &Asked) -> Result<OneModule> {
    let path = asked.path.as_deref().unwrap_or_default();
    library.must(|store| {
        let shown = Shown::must(store, asked.wish.run.as_deref())?;
        let cycle = shown.cycle()?;
        let modules = store.modules(&shown.run.id, cycle)?;
        let record = modules.into_iter().find(|module| module.path == path).ok_or_else(|| {
            Error::Nothing(format!("run {} has no module `{path}`", shown.run.id))
        })?;
        let (sections, sorting) = sections(store, &shown, asked)?;
        let here = asked.wish.at(Here::new("/module").with("path", Some(path)));
        let paging = Paging::new(&here, asked.page, sections.len() as u64);
        let start = paging.offset() as usize;
        let filter = FailureFilter { place: Some(path.to_owned()), ..FailureFilter::default() };
        let lines = store.failure_lines(&filter, FailureOrder::Last, false, Page::first(ROWS))?;
        let metrics = record.metrics.iter().map(|(name, value)| (name.clone(), *value)).collect();
        Ok(OneModule {
            head: Head::of(&shown.run),
            module: ModuleRow::of(record),
            metrics,
            metrics_csv: here.at("/module_metrics.csv").href(),
            chart: svg(&chart(store, path)?.draw()),
            png: Here::new("/plots/module.png").with("path", Some(path)).href(),
            csv: here.at("/sections.csv").href(),
            columns: sorting.heads(SECTION_COLUMNS, &here),
            sections: sections.into_iter().skip(start).take(ROWS as usize).collect(),
            paging,
            q: asked.wish.search(),
            kept: here.kept(&["q"]),
            failures: lines.into_iter().map(|line| FailureRow::of(line, None)).collect(),
        })
    })
}
