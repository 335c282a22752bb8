//! What the results of calls are worth: metrics, ROI, synergy, histories, rankings.
//!
//! | module | what it does |
//! |---|---|
//! | `metric` | the table of all metrics, and the page made from it |
//! | `tally` | folds the calls of a cell into a few numbers |
//! | `facts` | what is known of modules and sections without calling them |
//! | `measure` | tallies and facts → metrics of cells, sections, modules, scenarios and the run |
//! | `roi` | metrics → ROI by a profile, RAROI by the impact table |
//! | `report` | a whole cycle: metrics, ROI, deltas |
//! | `tracker` | histories over cycles, the shape of `roi_history.json` |
//! | `synergy` | together against each on their own |
//! | `discrepancy` | irregularities after a cycle |
//! | `predict` | who says what a metric will be next, and how much each is listened to |
//! | `borderline` | who is neither good enough nor bad enough |
//! | `judgement` | go on or stop: every decision after a cycle, with its evidence |
//! | `risk` | which modules and sections to look at first |
//! | `stats` | forecasts, tests, convergence, drift: equal to the reference packages |
//! | `ranking` | the rows behind `menace rank`, `menace synergy` and `menace roi` |
//!
//! Pure: no files, no clock, no chance. Making calls belongs to `menace-sandbox`, blaming sections to
//! `menace-scenario`, keeping histories to `menace-store`.
//! Invariant: a number that nothing was measured for is absent, and no number is NaN or infinite.

mod borderline;
mod discrepancy;
mod facts;
mod judgement;
mod measure;
mod metric;
mod metrics;
pub mod predict;
mod ranking;
mod report;
mod risk;
mod roi;
mod series;
pub mod stats;
mod synergy;
mod tally;
mod tracker;

pub use borderline::Border;
pub use discrepancy::{
    Discrepancy, DiscrepancyKind, changed_sections, signature, unequal_results, unusual_metrics,
    unusual_modules, unusual_scenarios,
};
pub use facts::{ModuleFacts, SectionFacts};
pub use judgement::{EntropyJudgement, Judgement, Rules, Source};
pub use measure::{
    Budget, Cell, CellMetrics, Confirmed, Cycle, Extras, Level, Measured, Prices, Scenario,
    measure, of_cells, of_module_text,
};
pub use metric::{
    Better, DISCREPANCY_COUNT, METRICS, Metric, Range, SYNERGY_ROI, Scope, closest_metric,
    markdown, metric, scenario_metric, synergy_metric,
};
pub use metrics::Metrics;
pub use ranking::{
    ModuleRow, Run, ScenarioRow, SynergyRow, SynergySummary, rank_modules, rank_scenario_synergy,
    rank_scenarios, rank_synergy, synergy_summaries,
};
pub use report::{CycleReport, Scored, risk_of, score};
pub use risk::{RiskFlag, risk_flags};
pub use roi::{
    Bottleneck, ImpactError, ImpactTable, Profile, ProfileError, Profiles, Risk, Roi, Term, Veto,
    bottlenecks, confidence, raroi, roi,
};
pub use synergy::{Reading, Synergy};
pub use tally::{Costs, InputCount, Leftovers, Lines, Sketch, Spawned, Tally};
pub use tracker::{History, Rank, Shape, Tracker};
