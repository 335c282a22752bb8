//! Everything that making inputs starts from: classes, types, and hints about every section.

use menace_model::{Classes, Hints, ModuleReport, Section, TypeNames};
use menace_scenario::input::Facts;
use menace_source::{Analysis, SurveyError};

/// A repository after a closer look at all of it.
#[derive(Debug)]
pub struct Surveyed<'a> {
    analysis: &'a Analysis,
    classes: Classes,
    types: TypeNames,
    hints: Vec<Vec<Hints>>,
}

impl<'a> Surveyed<'a> {
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

    pub fn facts(&self) -> Facts<'_> {
        let mut facts = Facts::new(&self.classes, &self.types);
        for (module, section, hints) in self.sections() {
            facts.add(&module.name, section, hints);
        }
        facts
    }

    pub fn sections(&self) -> impl Iterator<Item = (&'a ModuleReport, &'a Section, &Hints)> {
        let modules = self.analysis.modules.iter().zip(&self.hints);
        modules.flat_map(|(module, hints)| {
            let sections = module.sections.iter().zip(hints);
            sections.map(move |(section, hints)| (module, section, hints))
        })
    }
}
