//! `menace explain`: every term of a module's or section's ROI, and the calls behind it.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::Deserialize;

use menace_loop::run::ScoringConfig;
use menace_model::{SectionId, Verdict};
use menace_store::{CallRecord, CellRecord, RunRecord, SectionRecord, Store, StoredMetricMap};
use menace_track::{MetricValues, RoiProfile, compute_roi};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::explain_table::{ExplainedPart, RoiExplanation};
use crate::render::{explain_table, output};

/// Calls of a section that are listed.
const MAX_SECTION_CALLS: u32 = 200;
/// Calls of each section of a module.
const MAX_CALLS_PER_SECTION: u32 = 10;

/// Show how the ROI of a module or section came about: every term, and the calls behind it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace explain shop/cart.py
  menace explain shop/cart.py::Cart.add --run r-2026

docs/metrics.md says how each metric is measured.")]
pub(crate) struct ExplainCommand {
    /// A module such as `shop/cart.py` or `shop.cart`, or a section such as
    /// `shop/cart.py::Cart.add` or `shop.cart:Cart.add`.
    #[arg(value_name = "MODULE|SECTION")]
    what: String,

    /// The run, by its id or the beginning of it; `last` for the last one that has results
    /// [default: last].
    #[arg(long, value_name = "ID")]
    run: Option<String>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl ExplainCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let store = data_dir::open_existing_store(&context)?;
        let run = data_dir::find_run(&store, self.run.as_deref())?;
        let profile = run_profile(&run, &context)?;
        // The last cycle may not have been completed.
        let measured = store.last_measured_cycle(&run.id).map_err(CommandError::request)?;
        let cycle = measured.unwrap_or_else(|| run.cycles.saturating_sub(1));
        let modules = store.modules(&run.id, cycle).map_err(CommandError::request)?;
        let paths = modules.iter().map(|module| module.path.as_str());
        let what = resolve_name(&self.what, paths).map_err(CommandError::Request)?;
        let meant = Self { what, ..self };
        let explanation = meant.explain(&store, &run, cycle, &profile)?;
        match meant.format {
            OutputFormat::Json => output::print_json(&explanation)?,
            OutputFormat::Table => output::print(&explain_table::render(&explanation))?,
        }
        Ok(())
    }

    fn explain(
        &self,
        store: &Store,
        run: &RunRecord,
        cycle: u32,
        profile: &RoiProfile,
    ) -> Result<RoiExplanation, CommandError> {
        let sections = store.sections(&run.id, cycle).map_err(CommandError::request)?;
        let modules = store.modules(&run.id, cycle).map_err(CommandError::request)?;
        let mut explanation = RoiExplanation {
            what: self.what.clone(),
            run: run.id.0.clone(),
            cycle,
            profile: profile.name().to_owned(),
            roi: None,
            raroi: None,
            confidence: None,
            bottlenecks: Vec::new(),
            sections: Vec::new(),
            scenarios: Vec::new(),
            calls: Vec::new(),
        };
        let roi_of = |numbers: &StoredMetricMap| {
            let metrics: MetricValues =
                numbers.iter().filter_map(|(name, value)| Some((name, (*value)?))).collect();
            compute_roi(profile, &metrics)
        };
        if let Some(module) = modules.iter().find(|module| module.path == self.what) {
            explanation.roi = roi_of(&module.metrics);
            explanation.raroi = module.raroi;
            explanation.add_conclusions(run);
            let mut own: Vec<SectionRecord> =
                sections.into_iter().filter(|one| one.section.path() == self.what).collect();
            own.sort_by(|one, other| {
                let key = |section: &SectionRecord| section.roi.unwrap_or(f64::INFINITY);
                key(one).total_cmp(&key(other))
            });
            let mut made: BTreeMap<SectionId, u64> = BTreeMap::new();
            for cell in store.cells(&run.id, cycle).map_err(CommandError::request)? {
                if let Some(calls) = cell.calls {
                    *made.entry(cell.key.section).or_default() += calls;
                }
            }
            for one in own {
                let calls = store.calls(&run.id, &one.section, cycle, MAX_CALLS_PER_SECTION, 0);
                explanation.calls.extend(calls.map_err(CommandError::request)?);
                explanation.sections.push(ExplainedPart {
                    name: one.section.qualname().to_owned(),
                    roi: one.roi,
                    calls: made.get(&one.section).copied(),
                    metrics: one.metrics,
                });
            }
            explanation.calls.sort_by_key(|call| (call.failure.is_none(), went_well(call)));
            return Ok(explanation);
        }
        let Some(section) = sections.into_iter().find(|one| one.section.as_str() == self.what)
        else {
            return Err(CommandError::Request(anyhow!(
                "run {} has no module or section `{}`; modules look like `shop/cart.py`, sections \
                 like `shop/cart.py::Cart.add`",
                run.id,
                self.what
            )));
        };
        explanation.roi = roi_of(&section.metrics);
        explanation.raroi = section.raroi;
        let cells = store.cells(&run.id, cycle).map_err(CommandError::request)?;
        let own = cells.into_iter().filter(|cell| cell.key.section == section.section);
        // Calls of the depth phase and auxiliary calls are in no score.
        let own = own.filter(|cell| cell.calls.is_some());
        explanation.scenarios = own.map(explain_cell).collect();
        let made = store.calls(&run.id, &section.section, cycle, MAX_SECTION_CALLS, 0);
        explanation.calls = made.map_err(CommandError::request)?;
        Ok(explanation)
    }
}

impl RoiExplanation {
    /// Adds the decisions of the run; an interrupted run has none.
    fn add_conclusions(&mut self, run: &RunRecord) {
        let concluded = |what: &str| {
            let report = run.report.as_ref()?;
            let decided = report.get("decisions").or_else(|| report.get("decided"))?;
            decided.get(what)?.get(&self.what)
        };
        let bottlenecks = concluded("bottlenecks").map(Vec::deserialize);
        self.confidence = concluded("confidence").and_then(serde_json::Value::as_f64);
        self.bottlenecks = bottlenecks.and_then(Result::ok).unwrap_or_default();
    }
}

/// The stored name: `shop.cart` and `shop.cart:Cart.add`, as in `menace exec`, become
/// `shop/cart.py` and `shop/cart.py::Cart.add`.
fn resolve_name<'a>(what: &str, paths: impl Iterator<Item = &'a str> + Clone) -> Result<String> {
    let (module, section) = match what.split_once(':') {
        Some((module, section)) => (module, Some(section.strip_prefix(':').unwrap_or(section))),
        None => (what, None),
    };
    let file = module.replace('.', "/");
    let names = [format!("{file}.py"), format!("{file}/__init__.py")];
    let is_it = |path: &&str| *path == module || names.iter().any(|name| name == path);
    // Below a directory for code, such as `src`.
    let is_below = |path: &&str| names.iter().any(|name| path.ends_with(&format!("/{name}")));
    let path = match paths.clone().find(is_it) {
        Some(path) => path,
        None => match paths.filter(is_below).collect::<Vec<_>>()[..] {
            [] => module,
            [path] => path,
            [one, other, ..] => bail!("`{module}` is `{one}` or `{other}`: write which"),
        },
    };
    Ok(section.map_or_else(|| path.to_owned(), |section| format!("{path}::{section}")))
}

/// The profile that the run was scored with, whatever the settings are today.
fn run_profile(run: &RunRecord, context: &CommandContext) -> Result<RoiProfile, CommandError> {
    let (name, written) = (&run.settings["profile"], &run.settings["roi_profile"]);
    if let Some(name) = name.as_str().filter(|_| !written.is_null()) {
        return RoiProfile::from_json(name, written).map_err(CommandError::request);
    }
    tracing::warn!("run {} did not keep its profile: it is scored with today's", run.id);
    Ok(ScoringConfig::read(&context.settings).map_err(CommandError::request)?.profile)
}

fn went_well(call: &CallRecord) -> bool {
    matches!(call.verdict, Verdict::Returned | Verdict::Refused)
}

fn explain_cell(cell: CellRecord) -> ExplainedPart {
    ExplainedPart {
        name: cell.key.scenario,
        roi: cell.roi,
        calls: cell.calls,
        metrics: cell.metrics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_sections_go_by_their_dotted_names_too() {
        let paths = || {
            let known = ["legacy/shop/cart.py", "one/ink.py", "other/ink.py"];
            known.into_iter().chain(["shop/__init__.py", "shop/cart.py", "src/desk/ink.py"])
        };
        for (typed, stored) in [
            ("shop/cart.py", "shop/cart.py"),
            ("shop/cart.py::Cart.add", "shop/cart.py::Cart.add"),
            ("shop.cart", "shop/cart.py"),
            ("shop.cart:Cart.add", "shop/cart.py::Cart.add"),
            ("shop", "shop/__init__.py"),
            ("desk.ink:dry", "src/desk/ink.py::dry"),
            ("art", "art"),
        ] {
            assert_eq!(resolve_name(typed, paths()).unwrap(), stored, "{typed}");
        }
        let error = resolve_name("ink", ["one/ink.py", "other/ink.py"].into_iter()).unwrap_err();
        assert!(error.to_string().contains("`one/ink.py` or `other/ink.py`"), "{error}");
    }
}
