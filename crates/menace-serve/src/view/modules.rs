//! The modules of a run, and one of them with its sections.

use menace_store::{
    FailureFilter, FailureSortOrder, ModuleRecord, PageRange, SectionRecord, Store,
};
use minijinja::Value;
use serde::Serialize;

use super::paging::{PageAddress, PageNavigation, ROWS_PER_PAGE, SortableColumn, TableSorting};
use super::run::{FailurePageRow, RunHead, SelectedRun};
use super::svg;
use super::table_query::{TableQuery, sort_rows};
use crate::chart::{ChartSeries, LineChart, MarkRole};
use crate::data_source::DataSource;
use crate::error::{ServeError, ServeResult};
use crate::failure_detail::section_display_name;

/// Cycles in the chart of one module.
const MAX_CHART_CYCLES: u32 = 200;

/// The query of the page.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct ModulesQuery {
    #[serde(flatten)]
    pub table: TableQuery,
    pub page: Option<u64>,
    pub path: Option<String>,
}

const MODULE_COLUMNS: &[(&str, &str, bool)] = &[
    ("path", "Module", false),
    ("roi", "ROI", true),
    ("raroi", "RAROI", true),
    ("reliability", "Reliability", true),
    ("resilience", "Resilience", true),
    ("safety_rating", "Safety", true),
    ("risk_index", "Risk", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct ModulesPage {
    pub head: RunHead,
    pub columns: Vec<SortableColumn>,
    pub rows: Vec<ModulePageRow>,
    pub paging: PageNavigation,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModulePageRow {
    pub path: String,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
    pub reliability: Option<f64>,
    pub resilience: Option<f64>,
    pub safety_rating: Option<f64>,
    pub risk_index: Option<f64>,
    pub flagged: bool,
}

impl ModulePageRow {
    fn from_record(record: ModuleRecord) -> Self {
        let metric = |name: &str| record.metrics.get(name).copied().flatten();
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

/// All modules that match the query, sorted.
pub(crate) fn module_rows(
    source: &DataSource,
    query: &ModulesQuery,
) -> ServeResult<(RunHead, Vec<ModulePageRow>, TableSorting)> {
    let (head, modules) = source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, query.table.run.as_deref())?;
        let modules = match shown.cycle {
            Some(cycle) => store.modules(&shown.run.id, cycle)?,
            None => Vec::new(),
        };
        Ok((RunHead::from_run(&shown.run), modules))
    })?;
    let mut rows: Vec<ModulePageRow> = modules
        .into_iter()
        .filter(|module| query.table.matches_search(&[&module.path]))
        .map(ModulePageRow::from_record)
        .collect();
    let weakest = TableSorting { by: "raroi", descending: false };
    let sorting = query.table.sorting(MODULE_COLUMNS, weakest);
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    sort_rows(&mut rows, "path", sorting, ModulePageRow::number);
    Ok((head, rows, sorting))
}

pub(crate) fn modules_page(source: &DataSource, query: &ModulesQuery) -> ServeResult<ModulesPage> {
    let (head, rows, sorting) = module_rows(source, query)?;
    let here = query.table.add_to_address(PageAddress::new("/modules"));
    let paging = PageNavigation::new(&here, query.page, rows.len() as u64);
    let start = paging.offset() as usize;
    Ok(ModulesPage {
        head,
        columns: sorting.column_heads(MODULE_COLUMNS, &here),
        rows: rows.into_iter().skip(start).take(ROWS_PER_PAGE as usize).collect(),
        paging,
        q: query.table.search_text(),
        hidden_fields: here.hidden_fields(&["q"]),
        csv: here.at_path("/modules.csv").href(),
    })
}

#[derive(Debug, Serialize)]
pub(crate) struct ModulePage {
    pub head: RunHead,
    pub module: ModulePageRow,
    pub metrics: Vec<(String, Option<f64>)>,
    pub metrics_csv: String,
    pub chart: Value,
    pub png: String,
    pub csv: String,
    pub columns: Vec<SortableColumn>,
    pub sections: Vec<ModuleSectionRow>,
    pub paging: PageNavigation,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub failures: Vec<FailurePageRow>,
}

const SECTION_COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "Section", false),
    ("roi", "ROI", true),
    ("raroi", "RAROI", true),
    ("reliability", "Reliability", true),
    ("risk_index", "Risk", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct ModuleSectionRow {
    pub id: String,
    pub name: String,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
    pub reliability: Option<f64>,
    pub risk_index: Option<f64>,
    pub uncallable_reason: Option<String>,
}

impl ModuleSectionRow {
    fn from_record(record: SectionRecord) -> Self {
        let metric = |name: &str| record.metrics.get(name).copied().flatten();
        Self {
            id: record.section.as_str().to_owned(),
            name: section_display_name(record.section.qualname()),
            roi: record.roi,
            raroi: record.raroi,
            reliability: metric("reliability"),
            risk_index: metric("risk_index"),
            uncallable_reason: record.uncallable_reason,
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
pub(crate) fn module_chart(store: &Store, path: &str) -> ServeResult<LineChart> {
    let points = store.module_history(path, MAX_CHART_CYCLES)?;
    Ok(LineChart::new(format!("ROI of {path} over cycles"))
        .with_series(ChartSeries::from_values(
            "ROI",
            MarkRole::Actual,
            1,
            points.iter().map(|point| point.roi),
        ))
        .with_series(ChartSeries::from_values(
            "RAROI",
            MarkRole::Predicted,
            1,
            points.iter().map(|point| point.raroi),
        )))
}

/// The sections of a module that match the query, sorted.
pub(crate) fn section_rows(
    store: &Store,
    shown: &SelectedRun,
    query: &ModulesQuery,
) -> ServeResult<(Vec<ModuleSectionRow>, TableSorting)> {
    let path = query.path.as_deref().unwrap_or_default();
    let mut sections: Vec<ModuleSectionRow> = store
        .sections(&shown.run.id, shown.cycle()?)?
        .into_iter()
        .filter(|section| section.section.path() == path)
        .filter(|section| query.table.matches_search(&[section.section.qualname()]))
        .map(ModuleSectionRow::from_record)
        .collect();
    let weakest = TableSorting { by: "roi", descending: false };
    let sorting = query.table.sorting(SECTION_COLUMNS, weakest);
    sort_rows(&mut sections, "name", sorting, ModuleSectionRow::number);
    Ok((sections, sorting))
}

pub(crate) fn module_page(source: &DataSource, query: &ModulesQuery) -> ServeResult<ModulePage> {
    let path = query.path.as_deref().unwrap_or_default();
    source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, query.table.run.as_deref())?;
        let cycle = shown.cycle()?;
        let modules = store.modules(&shown.run.id, cycle)?;
        let record = modules.into_iter().find(|module| module.path == path).ok_or_else(|| {
            ServeError::NotFound(format!("run {} has no module `{path}`", shown.run.id))
        })?;
        let (sections, sorting) = section_rows(store, &shown, query)?;
        let here = query.table.add_to_address(PageAddress::new("/module").with("path", Some(path)));
        let paging = PageNavigation::new(&here, query.page, sections.len() as u64);
        let start = paging.offset() as usize;
        let filter = FailureFilter { place: Some(path.to_owned()), ..FailureFilter::default() };
        let lines = store.list_failures(
            &filter,
            FailureSortOrder::LastSeen,
            false,
            PageRange::first(ROWS_PER_PAGE),
        )?;
        let metrics = record.metrics.iter().map(|(name, value)| (name.clone(), *value)).collect();
        Ok(ModulePage {
            head: RunHead::from_run(&shown.run),
            module: ModulePageRow::from_record(record),
            metrics,
            metrics_csv: here.at_path("/module_metrics.csv").href(),
            chart: svg(&module_chart(store, path)?.draw()),
            png: PageAddress::new("/plots/module.png").with("path", Some(path)).href(),
            csv: here.at_path("/sections.csv").href(),
            columns: sorting.column_heads(SECTION_COLUMNS, &here),
            sections: sections.into_iter().skip(start).take(ROWS_PER_PAGE as usize).collect(),
            paging,
            q: query.table.search_text(),
            hidden_fields: here.hidden_fields(&["q"]),
            failures: lines.into_iter().map(FailurePageRow::from_line).collect(),
        })
    })
}
