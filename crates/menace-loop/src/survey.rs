//! The data that input generation starts from: classes, types, and hints about every section.

use menace_model::{AnalyzedModule, ClassIndex, NamedTypeIndex, Section, SectionHints};
use menace_scenario::input::RepositoryFacts;
use menace_source::{Analysis, SurveyError};

/// An analysed repository with the survey of all of its modules.
#[derive(Debug)]
pub struct SurveyedAnalysis<'a> {
    analysis: &'a Analysis,
    classes: ClassIndex,
    types: NamedTypeIndex,
    hints: Vec<Vec<SectionHints>>,
}

impl<'a> SurveyedAnalysis<'a> {
    pub fn new(analysis: &'a Analysis) -> Result<Self, SurveyError> {
        let survey = analysis.survey()?;
        let hints = analysis.modules.iter().map(|module| survey.hints(module));
        Ok(Self {
            analysis,
            classes: survey.classes(),
            types: survey.type_names(),
            hints: hints.collect::<Result<_, _>>()?,
        })
    }

    pub fn facts(&self) -> RepositoryFacts<'_> {
        let mut facts = RepositoryFacts::new(&self.classes, &self.types);
        for (module, section, hints) in self.sections() {
            facts.add_section(&module.name, section, hints);
        }
        facts
    }

    pub fn sections(
        &self,
    ) -> impl Iterator<Item = (&'a AnalyzedModule, &'a Section, &SectionHints)> {
        let modules = self.analysis.modules.iter().zip(&self.hints);
        modules.flat_map(|(module, hints)| {
            let sections = module.sections.iter().zip(hints);
            sections.map(move |(section, hints)| (module, section, hints))
        })
    }
}
