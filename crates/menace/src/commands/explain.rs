//! `menace explain`: every term of a module's or section's ROI, and the calls behind it.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

use menace_loop::run::Yardstick;
use menace_model::{SectionId, Verdict};
use menace_store::{CallRecord, Cell, Numbers, Run, SectionRecord, Store};
use menace_track::{Bottleneck, Metrics, Profile, Roi, metric, roi};

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::{explain_table, output};

/// Calls of a section that are listed.
const CALLS: u32 = 200;
/// Calls of each section of a module.
const CALLS_OF_EACH: u32 = 10;

/// Show how the ROI of a module or section came about: every term, and the calls behind it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace explain shop/cart.py
  menace explain shop/cart.py::Cart.add --run r-2026

docs/metrics.md says how each metric is measured.")]
pub(crate) struct Explain {
    /// A module such as `shop/cart.py` or `shop.cart`, or a section such as `shop/cart.py::Cart.add` or
    /// `shop.cart:Cart.add`.
    #[arg(value_name = "MODULE|SECTION")]
    what: String,

    /// The run, by its id or the beginning of it; `last` for the last one that has results [default:
    /// last].
    #[arg(long, value_name = "ID")]
    run: Option<String>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    pub what: String,
    pub run: String,
    pub cycle: u32,
    pub profile: String,
    pub roi: Option<Roi>,
    pub raroi: Option<f64>,
    /// Of a module: how far its returns can be trusted, where the run could tell.
    pub confidence: Option<f64>,
    /// Of a module: what holds it back most, as the run concluded.
    pub bottlenecks: Vec<Bottleneck>,
    /// Of a module: its sections with their ROI, the weakest first.
    pub sections: Vec<Part>,
    /// Of a section: what each scenario made of it.
    pub scenarios: Vec<Part>,
    /// Those that show a failure, others that did not go well, the rest; of a module, some of each section.
    pub calls: Vec<CallRecord>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Part {
    pub name: String,
    pub roi: Option<f64>,
    pub calls: Option<u64>,
    pub metrics: Numbers,
}

impl Explain {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, Flags::new())?;
        let store = data::store(&context)?;
        let run = data::run(&store, self.run.as_deref())?;
        let profile = profile(&run, &context)?;
        // One that was begun may not have come to its end.
        let measured = store.last_measured_cycle(&run.id).map_err(Failure::request)?;
        let cycle = measured.unwrap_or_else(|| run.cycles.saturating_sub(1));
        let modules = store.modules(&run.id, cycle).map_err(Failure::request)?;
        let paths = modules.iter().map(|module| module.path.as_str());
        let what = meant(&self.what, paths).map_err(Failure::Request)?;
        let meant = Self { what, ..self };
        let explanation = meant.explain(&store, &run, cycle, &profile)?;
        match meant.format {
            Format::Json => output::print_json(&explanation)?,
            Format::Table => output::print(&explain_table::render(&explanation))?,
        }
        Ok(())
    }

    fn explain(
        &self,
        store: &Store,
        run: &Run,
        cycle: u32,
        profile: &Profile,
    ) -> Result<Explanation, Failure> {
        let sections = store.sections(&run.id, cycle).map_err(Failure::request)?;
        let modules = store.modules(&run.id, cycle).map_err(Failure::request)?;
        let mut explanation = Explanation {
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
        let worth = |numbers: &Numbers| {
            let metrics: Metrics = numbers.iter().map(|(name, value)| (name, *value)).collect();
            roi(profile, &metrics)
        };
        if let Some(module) = modules.iter().find(|module| module.path == self.what) {
            explanation.roi = worth(&module.metrics);
            explanation.raroi = module.raroi;
            explanation.conclude(run);
            let mut own: Vec<SectionRecord> =
                sections.into_iter().filter(|one| one.section.path() == self.what).collect();
            own.sort_by(|one, other| {
                let key = |section: &SectionRecord| section.roi.unwrap_or(f64::INFINITY);
                key(one).total_cmp(&key(other))
            });
            let mut made: BTreeMap<SectionId, u64> = BTreeMap::new();
            for cell in store.cells(&run.id, cycle).map_err(Failure::request)? {
                if let Some(calls) = cell.calls {
                    *made.entry(cell.key.section).or_default() += calls;
                }
            }
            for one in own {
                let calls = store.calls(&run.id, &one.section, cycle, CALLS_OF_EACH, 0);
                explanation.calls.extend(calls.map_err(Failure::request)?);
                explanation.sections.push(Part {
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
            return Err(Failure::Request(anyhow!(
                "run {} has no module or section `{}`; modules look like `shop/cart.py`, sections \
                 like `shop/cart.py::Cart.add`",
                run.id,
                self.what
            )));
        };
        explanation.roi = worth(&section.metrics);
        explanation.raroi = section.raroi;
        let cells = store.cells(&run.id, cycle).map_err(Failure::request)?;
        let own = cells.into_iter().filter(|cell| cell.key.section == section.section);
        // Calls in depth, and beside, are weighed nowhere.
        let own = own.filter(|cell| cell.calls.is_some());
        explanation.scenarios = own.map(part).collect();
        let made = store.calls(&run.id, &section.section, cycle, CALLS, 0);
        explanation.calls = made.map_err(Failure::request)?;
        Ok(explanation)
    }
}

impl Explanation {
    /// Adds what the run concluded; one that was interrupted concluded nothing.
    fn conclude(&mut self, run: &Run) {
        let concluded = |what: &str| {
            let decided = run.summary.as_ref()?.get("decided")?;
            decided.get(what)?.get(&self.what)
        };
        let bottlenecks = concluded("bottlenecks").map(Vec::deserialize);
        self.confidence = concluded("confidence").and_then(serde_json::Value::as_f64);
        self.bottlenecks = bottlenecks.and_then(Result::ok).unwrap_or_default();
    }
}

/// What is asked for as it is kept: `shop.cart` and `shop.cart:Cart.add`, as `menace exec` takes them, are
/// `shop/cart.py` and `shop/cart.py::Cart.add`.
fn meant<'a>(what: &str, paths: impl Iterator<Item = &'a str> + Clone) -> Result<String> {
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

/// The profile that the run was weighed with, whatever is in the settings today.
fn profile(run: &Run, context: &Context) -> Result<Profile, Failure> {
    let (name, written) = (&run.settings["profile"], &run.settings["roi_profile"]);
    if let Some(name) = name.as_str().filter(|_| !written.is_null()) {
        return Profile::read(name, written).map_err(Failure::request);
    }
    tracing::warn!("run {} did not keep its profile: it is weighed with today's", run.id);
    Ok(Yardstick::read(&context.settings).map_err(Failure::request)?.profile)
}

fn went_well(call: &CallRecord) -> bool {
    matches!(call.verdict, Verdict::Returned | Verdict::Refused)
}

fn part(cell: Cell) -> Part {
    Part { name: cell.key.scenario, roi: cell.roi, calls: cell.calls, metrics: cell.metrics }
}

/// What a metric means, in its own words.
pub(crate) fn definition(name: &str) -> Option<&'static str> {
    metric(name).map(|metric| metric.definition)
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
        for (asked, kept) in [
            ("shop/cart.py", "shop/cart.py"),
            ("shop/cart.py::Cart.add", "shop/cart.py::Cart.add"),
            ("shop.cart", "shop/cart.py"),
            ("shop.cart:Cart.add", "shop/cart.py::Cart.add"),
            ("shop", "shop/__init__.py"),
            ("desk.ink:dry", "src/desk/ink.py::dry"),
            ("art", "art"),
        ] {
            assert_eq!(meant(asked, paths()).unwrap(), kept, "{asked}");
        }
        let error = meant("ink", ["one/ink.py", "other/ink.py"].into_iter()).unwrap_err();
        assert!(error.to_string().contains("`one/ink.py` or `other/ink.py`"), "{error}");
    }
}
