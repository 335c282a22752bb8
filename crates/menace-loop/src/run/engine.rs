//! Plans cycles and makes their calls: for the cycles of a run and for each
//! micro-pilot.

use menace_model::Seed;
use menace_sandbox::SandboxError;
use menace_scenario::ConfigError;
use menace_scenario::input::RepositoryFacts;
use menace_scenario::preset::{CallSettings, Preset};

use super::RunRequest;
use crate::calls::CallRunner;
use crate::cycle::{
    self, CycleOptions, CyclePlan, CycleResult, PlanRequest, RunObserver, SectionFilter,
};
use crate::failure::SourceLineCache;
use crate::survey::SurveyedAnalysis;

#[derive(Clone, Copy)]
pub(super) struct CycleEngine<'e> {
    pub request: &'e RunRequest<'e>,
    pub surveyed: &'e SurveyedAnalysis<'e>,
    pub facts: &'e RepositoryFacts<'e>,
    pub runner: &'e CallRunner<'e>,
    pub lines: &'e SourceLineCache,
}

impl<'e> CycleEngine<'e> {
    pub(super) fn plan(
        &self,
        presets: Vec<Preset>,
        seed: Seed,
        sections: &dyn SectionFilter,
    ) -> Result<CyclePlan<'e>, ConfigError> {
        let request = self.request;
        let values = CallSettings::from_settings(request.settings);
        let plan_request = PlanRequest {
            presets,
            profiles: request.presets.profiles,
            keywords: request.keywords,
            settings: &values,
            input_settings: request.input_settings,
            recordings: &request.presets.recordings,
            seed,
            sections,
        };
        CyclePlan::new(request.analysis, self.surveyed, &plan_request)
    }

    pub(super) fn make_calls(
        &self,
        plan: &CyclePlan<'_>,
        options: &CycleOptions<'_>,
        observer: &mut dyn RunObserver,
    ) -> Result<CycleResult, SandboxError> {
        cycle::run(plan, self.facts, self.runner, options, self.lines, observer)
    }
}
