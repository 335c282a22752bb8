//! The plan of a cycle: the sections that can be called, and the scenarios of each module.
//!
//! Invariant: the same source, settings and seed give the same plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use menace_model::{
    AnalyzedModule, Call, CallConditions, CallConfinement, CallLimits, CallTarget, MockResponse,
    Outcome, ScenarioSeverity, Section, SectionHints, SectionId, SectionKind, Seed, TargetKind,
    UpstreamConfig,
};
use menace_sandbox::SandboxSpec;
use menace_scenario::ConfigError;
use menace_scenario::explore::CallDefaults;
use menace_scenario::input::{CallInput, InputSettings, InputStrategy, section_uses_network};
use menace_scenario::preset::{self, CallSettings, Preset, ProfileCatalog};
use menace_settings::KeywordProfiles;
use menace_source::Analysis;

use super::imports::missing_package;
use super::result::MissingPackage;
use crate::survey::SurveyedAnalysis;
use crate::targets;

/// Long enough for small inputs; a cycle may wait for it many times.
const CALL_TIMEOUT_MS: u64 = 2_000;
/// Large packages read hundreds of files, and each module is imported only once.
pub(super) const IMPORT_TIMEOUT_MS: u64 = 30_000;
/// The name of the baseline scenario.
pub const BASELINE: &str = "normal";

/// A preset, and the settings of the inputs that go with it.
#[derive(Debug)]
pub struct PlannedScenario {
    pub name: String,
    pub severity: Option<ScenarioSeverity>,
    pub preset: Preset,
    pub input_settings: InputSettings,
    /// Recorded answers of upstream services.
    recordings: Arc<[MockResponse]>,
    /// Whether inputs are generated for this scenario, instead of reusing those of the baseline.
    pub has_own_inputs: bool,
    pub is_baseline: bool,
}

impl PlannedScenario {
    fn new(preset: Preset, request: &PlanRequest<'_>) -> Self {
        let defaults = request.input_settings;
        let own = preset.strategies();
        let has_own_inputs = !own.is_empty();
        let without_attacks = |strategies: &[InputStrategy]| -> Vec<InputStrategy> {
            strategies.iter().copied().filter(|one| !one.is_adversarial()).collect()
        };
        let strategies = match (has_own_inputs, without_attacks(&defaults.strategies)) {
            (true, _) => own,
            (false, usual) if usual.is_empty() => without_attacks(&InputStrategy::DEFAULT_ORDER),
            (false, usual) => usual,
        };
        let threat = preset.threat_settings();
        Self {
            name: preset.name().to_owned(),
            severity: preset.severity(),
            is_baseline: preset.values().has_no_effect(),
            input_settings: InputSettings { strategies, threat, ..defaults.clone() },
            recordings: Arc::clone(request.recordings),
            has_own_inputs,
            preset,
        }
    }

    /// The name with the severity, as cells and failures have it: `hostile_input:high`.
    pub fn label(&self) -> String {
        match self.severity {
            Some(severity) => format!("{}:{}", self.name, severity.as_str()),
            None => self.name.clone(),
        }
    }

    /// The sandbox of calls under this scenario, from the module's usual one.
    pub fn spec(&self, usual: &SandboxSpec) -> SandboxSpec {
        let mut import_limits = self.preset.import_limits();
        import_limits.timeout_ms = import_limits.timeout_ms.max(IMPORT_TIMEOUT_MS);
        SandboxSpec { import_limits, ..usual.clone() }
    }

    /// How calls under this scenario are confined, where that is not the usual way.
    pub fn confinement(&self) -> Option<CallConfinement> {
        Some(self.preset.confinement())
            .filter(|confinement| *confinement != CallConfinement::DEFAULT)
    }

    /// The upstream for a section that uses the network, so that it gets further than its first
    /// connection: that of the preset with its mocks, or else default answers.
    fn upstream(
        &self,
        configured: Option<UpstreamConfig>,
        uses_network: bool,
    ) -> Option<UpstreamConfig> {
        let is_recorded = !self.recordings.is_empty() && self.preset.confinement().safe_mode;
        let answers = configured.is_some() || is_recorded || uses_network;
        answers.then(|| {
            let mut upstream = configured.unwrap_or_else(UpstreamConfig::with_default_answers);
            upstream.mocks.extend_from_slice(&self.recordings);
            upstream
        })
    }
}

/// One cell of a plan: the indices of its section and its scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellIndex {
    pub section: usize,
    pub scenario: usize,
}

/// A section that can be called.
#[derive(Debug)]
pub struct PlannedSection<'a> {
    pub module: &'a AnalyzedModule,
    pub section: &'a Section,
    pub hints: &'a SectionHints,
    pub target: CallTarget,
    pub spec: SandboxSpec,
    pub seed: Seed,
    /// Whether it uses the network: itself, or through functions that it calls.
    uses_network: bool,
}

impl PlannedSection<'_> {
    /// Limits and conditions of calls in depth, which adds faults of its own.
    pub fn call_defaults(&self, baseline: &PlannedScenario) -> CallDefaults {
        let (limits, conditions) = baseline.preset.limits_and_conditions(self.seed.0);
        let upstream = baseline.upstream(conditions.upstream, self.uses_network);
        let network = conditions.network;
        let timeout_ms = baseline.preset.values().timeout.map(|_| limits.timeout_ms);
        CallDefaults {
            limits,
            timeout_ms,
            conditions: CallConditions { network, upstream, ..CallConditions::default() },
            confinement: baseline.confinement(),
            has_cheap_coverage: false,
        }
    }

    /// A call of the section under the scenario.
    pub fn build_call(
        &self,
        scenario: &PlannedScenario,
        number: usize,
        input: Option<&CallInput>,
    ) -> Call {
        let seed = self.seed.derive("call").derive_nth(number as u64).0;
        let (limits, mut conditions) = scenario.preset.limits_and_conditions(seed);
        conditions.upstream = scenario.upstream(conditions.upstream, self.uses_network);
        let timeout_ms = match (scenario.preset.values().timeout, self.target.kind) {
            (Some(_), _) => limits.timeout_ms,
            (None, TargetKind::Module) => IMPORT_TIMEOUT_MS,
            (None, _) => CALL_TIMEOUT_MS,
        };
        let limits = CallLimits { timeout_ms, ..limits };
        let confinement = scenario.confinement();
        let mut call =
            Call { seed, limits, conditions, confinement, ..Call::new(self.target.clone()) };
        if let Some(input) = input {
            input.clone().fill_call(&mut call);
        }
        call
    }
}

/// A section that cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncallableSection {
    pub section: SectionId,
    pub why: String,
}

/// Everything that a plan is made from, beside the source.
#[derive(Debug)]
pub struct PlanRequest<'a> {
    /// Presets of this cycle, with the settings applied.
    pub presets: Vec<Preset>,
    pub profiles: &'a ProfileCatalog,
    pub keywords: &'a KeywordProfiles,
    pub settings: &'a CallSettings,
    pub input_settings: &'a InputSettings,
    /// Recorded answers of upstream services.
    pub recordings: &'a Arc<[MockResponse]>,
    pub seed: Seed,
    pub sections: &'a dyn SectionFilter,
}

/// Which sections a run selects.
pub trait SectionFilter: fmt::Debug {
    /// Whether any section of the module may be selected.
    fn has_module(&self, module: &AnalyzedModule) -> bool;

    /// Whether sections of a module that no longer exists would be selected.
    fn has_path(&self, path: &str) -> bool;

    fn has(&self, module: &AnalyzedModule, section: &Section) -> bool;
}

#[derive(Debug)]
pub struct CyclePlan<'a> {
    pub sections: Vec<PlannedSection<'a>>,
    pub uncallable: Vec<UncallableSection>,
    /// The baseline is the first.
    pub scenarios: Vec<PlannedScenario>,
    /// Top-level packages of the repository, selected or not.
    pub packages: BTreeSet<&'a str>,
    /// Top-level packages that its modules import from elsewhere, also in functions.
    imported_packages: BTreeSet<&'a str>,
    module_scenarios: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> CyclePlan<'a> {
    pub fn new(
        analysis: &'a Analysis,
        surveyed: &'a SurveyedAnalysis<'a>,
        request: &PlanRequest<'_>,
    ) -> Result<Self, ConfigError> {
        let mut plan = Self {
            sections: Vec::new(),
            uncallable: Vec::new(),
            scenarios: Vec::new(),
            packages: analysis
                .modules
                .iter()
                .filter_map(|module| module.name.split('.').next())
                .collect(),
            imported_packages: analysis
                .modules
                .iter()
                .flat_map(|module| &module.imports)
                .filter(|import| import.path.is_none())
                .filter_map(|import| import.module.split('.').next())
                .collect(),
            module_scenarios: BTreeMap::new(),
        };
        let common = plan.add_common_scenarios(request)?;
        let facts = surveyed.facts();
        let mut last: Option<(&str, SandboxSpec)> = None;
        for (module, section, hints) in surveyed.sections() {
            if !request.sections.has(module, section) {
                continue;
            }
            let (qualname, kind) = match targets::resolve_target(section) {
                Ok(way) => way,
                Err(targets::UncallableTarget { why, .. }) => {
                    let section = section.id.clone();
                    plan.uncallable.push(UncallableSection { section, why });
                    continue;
                }
            };
            // Sections of one module follow each other.
            let usual = match &last {
                Some((path, spec)) if *path == module.path => spec.clone(),
                _ => {
                    plan.assign_scenarios(module, &common, request)?;
                    let spec = targets::module_spec(analysis, module);
                    last.insert((&module.path, spec)).1.clone()
                }
            };
            let is_top_level = kind == TargetKind::Module;
            plan.sections.push(PlannedSection {
                module,
                section,
                hints,
                target: CallTarget { module: targets::module_ref(module), qualname, kind },
                // The call of top-level code is the import itself.
                spec: SandboxSpec { module: usual.module.filter(|_| !is_top_level), ..usual },
                seed: request.seed.derive(section.id.as_str()),
                uses_network: section_uses_network(section, &facts),
            });
        }
        Ok(plan)
    }

    /// The scenarios of a module, the baseline first.
    pub fn scenarios_of(&self, module: &str) -> impl Iterator<Item = (usize, &PlannedScenario)> {
        let numbers = self.module_scenarios.get(module).into_iter().flatten();
        numbers.map(|&number| (number, &self.scenarios[number]))
    }

    /// The package that is not installed, where that ended a call, with the module that imports it.
    pub(super) fn missing_package(
        &self,
        section: &Section,
        outcome: &Outcome,
    ) -> Option<MissingPackage> {
        let package = missing_package(outcome)?;
        let name = package.as_str();
        if self.packages.contains(name) || !self.imported_packages.contains(name) {
            return None;
        }
        let frames = &outcome.exception.as_ref()?.frames;
        let own = frames.iter().rev().find(|frame| frame.in_repository);
        let module = own.map_or(section.id.path(), |frame| frame.file.as_str()).to_owned();
        Some(MissingPackage { module, package })
    }

    /// The section of a module's top-level code.
    pub fn top_level(&self, module: &str) -> Option<&'a Section> {
        let planned = self.sections.iter().find(|planned| planned.module.path == module)?;
        planned.module.sections.iter().find(|section| section.kind == SectionKind::Module)
    }

    /// Adds the scenarios that every module has, the baseline first.
    fn add_common_scenarios(
        &mut self,
        request: &PlanRequest<'_>,
    ) -> Result<Vec<Preset>, ConfigError> {
        let mut presets = request.presets.clone();
        let baseline = presets.iter().position(|preset| preset.values().has_no_effect());
        let baseline = if let Some(at) = baseline {
            presets.remove(at)
        } else {
            let baseline = request.profiles.parse_preset(BASELINE, None, "the baseline")?;
            baseline.with_settings(&request.settings.baseline_part())?
        };
        presets.insert(0, baseline);
        for preset in &presets {
            let scenario = PlannedScenario::new(preset.clone(), request);
            self.scenarios.push(scenario);
        }
        self.scenarios[0].is_baseline = true;
        Ok(presets)
    }

    fn assign_scenarios(
        &mut self,
        module: &'a AnalyzedModule,
        common: &[Preset],
        request: &PlanRequest<'_>,
    ) -> Result<(), ConfigError> {
        let PlanRequest { profiles, keywords, settings, seed, .. } = request;
        let mut numbers: Vec<usize> = (0..common.len()).collect();
        for preset in
            preset::missing_presets(common, &module.path, profiles, keywords, settings, *seed)?
        {
            let same = |one: &PlannedScenario| one.preset.values() == preset.values();
            let number = self.scenarios.iter().position(same).unwrap_or_else(|| {
                self.scenarios.push(PlannedScenario::new(preset, request));
                self.scenarios.len() - 1
            });
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        self.module_scenarios.insert(&module.path, numbers);
        Ok(())
    }
}
