//! Computes metrics, ROI, synergy, histories, forecasts and rankings from the outcomes of calls.
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
//! | `comparison` | cycles over other sections are kept out of a comparison |
//! | `synergy` | a combined run minus the mean of the individual runs |
//! | `discrepancy` | irregularities after a cycle |
//! | `predict` | predictors of the next value of a metric, and their weights |
//! | `borderline` | modules whose RAROI is neither good nor bad |
//! | `decisions` | go on or stop: every decision after a cycle, with its evidence |
//! | `risk` | which modules and sections to look at first |
//! | `stats` | forecasts, tests, convergence, drift: equal to the reference packages |
//! | `ranking` | the rows behind `menace rank`, `menace synergy` and `menace roi` |
//!
//! Pure: no files, no clock, no randomness. Making calls belongs to `menace-sandbox`, attributing
//! failures to sections to `menace-scenario`, keeping histories to `menace-store`.
//! Invariant: a number that nothing was measured for is absent, and no number is NaN or infinite.

mod borderline;
pub mod comparison;
mod decisions;
mod discrepancy;
mod facts;
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

pub use borderline::BorderlineThresholds;
pub use decisions::{ConvergenceReport, ConvergenceRules, EntropyDecision, ThresholdSource};
pub use discrepancy::{
    CycleDiscrepancy, DiscrepancyKind, find_changed_sections, find_unequal_results,
    find_unusual_metrics, find_unusual_modules, find_unusual_scenarios, hash_signature,
};
pub use facts::{ModuleFacts, SectionFacts, is_risk};
pub use measure::{
    CallCostModel, CellMetrics, ConfirmedFailure, CycleMetrics, ExternalMeasurements,
    MeasuredScenario, MeasuringInput, ResourcePrices, TalliedCell, measure_cells, measure_cycle,
    measure_module_text,
};
pub use metric::{
    DISCREPANCY_COUNT, METRICS, MetricDefinition, MetricDirection, MetricRange, MetricScope,
    SYNERGY_ROI, find_metric, render_markdown, scenario_metric_name, synergy_metric_name,
};
pub use metrics::MetricValues;
pub use ranking::{
    ModuleRankRow, NamedHistory, ScenarioRankRow, SynergyRankRow, SynergySummary, rank_modules,
    rank_scenario_synergy, rank_scenarios, rank_synergy, summarise_synergy,
};
pub use report::{CycleScores, ScoredMetrics, compute_risk, score_cycle};
pub use risk::{Risk, find_risks};
pub use roi::{
    ImpactTable, ImpactTableError, RoiBottleneck, RoiBreakdown, RoiProfile, RoiProfileError,
    RoiProfiles, RoiRisk, RoiTerm, RoiVeto, compute_confidence, compute_raroi, compute_roi,
    find_bottlenecks,
};
pub use synergy::{RoiReading, SynergyDelta};
pub use tally::{
    BurstSpawnCounts, CallCosts, CallTally, InputClassCounts, LeakCounts, LineRanges,
    QuantileSketch,
};
pub use tracker::{ModuleRank, ModuleShape, RoiHistory, Tracker};
