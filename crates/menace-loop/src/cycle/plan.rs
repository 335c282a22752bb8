//! What a cycle is about to call: the sections that can be reached, and the scenarios of each module.
//!
//! Invariant: the same source, settings and seed give the same plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use menace_model::{
    Call, Conditions, Confinement, Hints, How, Limits, Mock, ModuleReport, Outcome, Section,
    SectionId, SectionKind, Seed, Target, Upstream,
};
use menace_sandbox::WarmSpec;
use menace_scenario::Problems;
use menace_scenario::explore::{Terms, network};
use menace_scenario::input::{Input, InputSettings, Strategy};
use menace_scenario::preset::{self, Isolation, Preset, Profiles, Values};
use menace_settings::{KeywordProfiles, ScenarioSeverity};
use menace_source::Analysis;

use super::imports::missing_package;
use super::seen::Lacking;
use crate::survey::Surveyed;
use crate::targets;

/// Long enough for anything small, short enough to be waited for often.
const CALL_MS: u64 = 2_000;
/// What an import may take: large packages read hundreds of files, and each module is imported once.
pub(super) const IMPORT_MS: u64 = 30_000;
/// The scenario in which nothing is made harder.
pub const BASELINE: &str = "normal";

/// What a section is put through: a preset, and the inputs that go with it.
#[derive(Debug)]
pub struct Scenario {
    pub name: String,
    pub severity: Option<ScenarioSeverity>,
    pub preset: Preset,
    pub inputs: InputSettings,
    /// Answers that were recorded, for all who call out.
    recordings: Arc<[Mock]>,
    /// It asks for inputs of its own, instead of those of the baseline.
    pub has_own_inputs: bool,
    pub is_baseline: bool,
}

impl Scenario {
    fn new(preset: Preset, wish: &Wish<'_>) -> Self {
        let given = wish.inputs;
        let wanted: Vec<Strategy> = preset.strategies().into_iter().map(Strategy::from).collect();
        let has_own_inputs = !wanted.is_empty();
        let well_meant = |ways: &[Strategy]| -> Vec<Strategy> {
            ways.iter().copied().filter(|one| !one.is_bad()).collect()
        };
        let strategies = match (has_own_inputs, well_meant(&given.strategies)) {
            (true, _) => wanted,
            (false, usual) if usual.is_empty() => well_meant(&Strategy::ORDER),
            (false, usual) => usual,
        };
        let threat = preset.threat();
        Self {
            name: preset.name().to_owned(),
            severity: preset.severity(),
            is_baseline: preset.values().changes_nothing(),
            inputs: InputSettings { strategies, threat, ..given.clone() },
            recordings: Arc::clone(wish.recordings),
            has_own_inputs,
            preset,
        }
    }

    /// `hostile_input:high`.
    pub fn label(&self) -> String {
        match self.severity {
            Some(severity) => format!("{}:{}", self.name, severity.as_str()),
            None => self.name.clone(),
        }
    }

    /// The interpreter for calls under this scenario, made of the module's usual one.
    pub fn spec(&self, usual: &WarmSpec) -> WarmSpec {
        let mut limits = self.preset.import_limits();
        limits.timeout_ms = limits.timeout_ms.max(IMPORT_MS);
        WarmSpec { limits, ..usual.clone() }
    }

    /// How calls under this scenario are confined, where that is not the usual way.
    pub fn confinement(&self) -> Option<Confinement> {
        let Isolation { security_level, safe_mode, .. } = self.preset.isolation();
        let is_usual = security_level == WarmSpec::DEFAULT_LEVEL && !safe_mode;
        (!is_usual).then_some(Confinement { security_level, safe_mode })
    }

    /// Who answers a section, so that it gets further than the first connection: what the preset says,
    /// then what was recorded, then anybody, with nothing in particular.
    fn upstream(&self, asked: Option<Upstream>, talks: bool) -> Option<Upstream> {
        let is_recorded = !self.recordings.is_empty() && self.preset.isolation().safe_mode;
        let answers = asked.is_some() || is_recorded || talks;
        answers.then(|| {
            let mut upstream = asked.unwrap_or_else(Upstream::answering);
            upstream.mocks.extend_from_slice(&self.recordings);
            upstream
        })
    }
}

/// A section that can be called.
#[derive(Debug)]
pub struct Subject<'a> {
    pub module: &'a ModuleReport,
    pub section: &'a Section,
    pub hints: &'a Hints,
    pub target: Target,
    pub spec: WarmSpec,
    pub seed: Seed,
    /// It calls out, alone or through others.
    talks: bool,
}

impl Subject<'_> {
    /// What calls in depth are held to: the trouble that they get is depth's own.
    pub fn terms(&self, baseline: &Scenario) -> Terms {
        let (limits, conditions) = baseline.preset.conditions(self.seed.0);
        let upstream = baseline.upstream(conditions.upstream, self.talks);
        let network = conditions.network;
        let timeout_ms = baseline.preset.values().timeout.map(|_| limits.timeout_ms);
        Terms {
            limits,
            timeout_ms,
            conditions: Conditions { network, upstream, ..Conditions::default() },
            confinement: baseline.confinement(),
            is_watched_for_free: false,
        }
    }

    /// A call of the section under the scenario.
    pub fn call(&self, scenario: &Scenario, number: usize, input: Option<&Input>) -> Call {
        let seed = self.seed.of("call").nth(number as u64).0;
        let (limits, mut conditions) = scenario.preset.conditions(seed);
        conditions.upstream = scenario.upstream(conditions.upstream, self.talks);
        let is_free = scenario.preset.values().timeout.is_none();
        let patience = if self.target.how == How::Module { IMPORT_MS } else { CALL_MS };
        let timeout_ms = if is_free { patience } else { limits.timeout_ms };
        let limits = Limits { timeout_ms, ..limits };
        let confinement = scenario.confinement();
        let mut call =
            Call { seed, limits, conditions, confinement, ..Call::new(self.target.clone()) };
        if let Some(input) = input {
            input.clone().fill(&mut call);
        }
        call
    }
}

/// A section that cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    pub section: SectionId,
    pub why: String,
}

/// What decides on a plan beside the source.
#[derive(Debug)]
pub struct Wish<'a> {
    /// Of this cycle, settings laid over them.
    pub presets: Vec<Preset>,
    pub profiles: &'a Profiles,
    pub keywords: &'a KeywordProfiles,
    pub settings: &'a Values,
    pub inputs: &'a InputSettings,
    /// What others answered once.
    pub recordings: &'a Arc<[Mock]>,
    pub seed: Seed,
    pub wanted: &'a dyn Wanted,
}

/// Which sections are wanted.
pub trait Wanted: fmt::Debug {
    /// Any of its sections may be.
    fn has_module(&self, module: &ModuleReport) -> bool;

    /// The same of a module that is not there any more: its path is all that is known.
    fn has_path(&self, path: &str) -> bool;

    fn has(&self, module: &ModuleReport, section: &Section) -> bool;
}

#[derive(Debug)]
pub struct Plan<'a> {
    pub subjects: Vec<Subject<'a>>,
    pub closed: Vec<Closed>,
    /// The baseline is the first.
    pub scenarios: Vec<Scenario>,
    /// What the repository's modules are below, whether they are called or not.
    pub packages: BTreeSet<&'a str>,
    /// What they import from elsewhere, also in functions.
    foreign: BTreeSet<&'a str>,
    of_module: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Plan<'a> {
    pub fn new(
        analysis: &'a Analysis,
        surveyed: &'a Surveyed<'a>,
        wish: &Wish<'_>,
    ) -> Result<Self, Problems> {
        let mut plan = Self {
            subjects: Vec::new(),
            closed: Vec::new(),
            scenarios: Vec::new(),
            packages: analysis
                .modules
                .iter()
                .filter_map(|module| module.name.split('.').next())
                .collect(),
            foreign: analysis
                .modules
                .iter()
                .flat_map(|module| &module.imports)
                .filter(|import| import.path.is_none())
                .filter_map(|import| import.module.split('.').next())
                .collect(),
            of_module: BTreeMap::new(),
        };
        let common = plan.common(wish)?;
        let facts = surveyed.facts();
        let mut last: Option<(&str, WarmSpec)> = None;
        for (module, section, hints) in surveyed.sections() {
            if !wish.wanted.has(module, section) {
                continue;
            }
            let (qualname, how) = match targets::reach(section) {
                Ok(way) => way,
                Err(closed) => {
                    plan.closed.push(Closed { section: section.id.clone(), why: closed.why });
                    continue;
                }
            };
            // Sections of one module follow each other.
            let usual = match &last {
                Some((path, spec)) if *path == module.path => spec.clone(),
                _ => {
                    plan.assign(module, &common, wish)?;
                    let spec = targets::warm_spec(analysis, module);
                    last.insert((&module.path, spec)).1.clone()
                }
            };
            let is_top_level = how == How::Module;
            plan.subjects.push(Subject {
                module,
                section,
                hints,
                target: Target { module: targets::module_ref(module), qualname, how },
                // The import happens in the call itself when that is what is called.
                spec: WarmSpec { module: usual.module.filter(|_| !is_top_level), ..usual },
                seed: wish.seed.of(section.id.as_str()),
                talks: network::is_used_by(section, &facts),
            });
        }
        Ok(plan)
    }

    /// The scenarios of a module, the baseline first.
    pub fn scenarios_of(&self, module: &str) -> impl Iterator<Item = (usize, &Scenario)> {
        let numbers = self.of_module.get(module).into_iter().flatten();
        numbers.map(|&number| (number, &self.scenarios[number]))
    }

    /// The package that a call of a section ended for want of, with the module that wants it: one that
    /// the repository imports and does not have.
    pub(super) fn lacking(&self, section: &Section, outcome: &Outcome) -> Option<Lacking> {
        let package = missing_package(outcome)?;
        let name = package.as_str();
        if self.packages.contains(name) || !self.foreign.contains(name) {
            return None;
        }
        let frames = &outcome.exception.as_ref()?.frames;
        let own = frames.iter().rev().find(|frame| frame.own);
        let module = own.map_or(section.id.path(), |frame| frame.file.as_str()).to_owned();
        Some(Lacking { module, package })
    }

    /// The section that importing a module is.
    pub fn top_level(&self, module: &str) -> Option<&'a Section> {
        let subject = self.subjects.iter().find(|subject| subject.module.path == module)?;
        subject.module.sections.iter().find(|section| section.kind == SectionKind::Module)
    }

    /// The scenarios that every module has.
    fn common(&mut self, wish: &Wish<'_>) -> Result<Vec<Preset>, Problems> {
        let mut presets = wish.presets.clone();
        let baseline = presets.iter().position(|preset| preset.values().changes_nothing());
        let baseline = if let Some(at) = baseline {
            presets.remove(at)
        } else {
            let baseline = wish.profiles.preset(BASELINE, None, "the baseline")?;
            baseline.under(&wish.settings.in_peace())?
        };
        presets.insert(0, baseline);
        for preset in &presets {
            let scenario = Scenario::new(preset.clone(), wish);
            self.scenarios.push(scenario);
        }
        self.scenarios[0].is_baseline = true;
        Ok(presets)
    }

    fn assign(
        &mut self,
        module: &'a ModuleReport,
        common: &[Preset],
        wish: &Wish<'_>,
    ) -> Result<(), Problems> {
        let Wish { profiles, keywords, settings, seed, .. } = wish;
        let mut numbers: Vec<usize> = (0..common.len()).collect();
        for preset in preset::missing(common, &module.path, profiles, keywords, settings, *seed)? {
            let same = |one: &Scenario| one.preset.values() == preset.values();
            let number = self.scenarios.iter().position(same).unwrap_or_else(|| {
                self.scenarios.push(Scenario::new(preset, wish));
                self.scenarios.len() - 1
            });
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        self.of_module.insert(&module.path, numbers);
        Ok(())
    }
}
