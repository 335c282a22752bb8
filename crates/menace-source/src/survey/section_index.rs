//! Which section a name of the repository leads to.

use rustc_hash::FxHashMap;

use menace_model::AnalyzedModule;

use crate::link::{RepositoryClasses, ResolvedName, strip_definition_number};

/// A section by its module and its place among the sections of that.
pub(super) type SectionPosition = (usize, usize);

#[derive(Debug)]
pub(super) struct SectionIndex<'a> {
    pub classes: RepositoryClasses<'a>,
    modules: &'a [AnalyzedModule],
    /// The last of several definitions with the same name.
    sections: FxHashMap<(usize, &'a str), usize>,
}

impl<'a> SectionIndex<'a> {
    pub(super) fn new(classes: RepositoryClasses<'a>, modules: &'a [AnalyzedModule]) -> Self {
        let mut sections = FxHashMap::default();
        for (module, report) in modules.iter().enumerate() {
            for (index, section) in report.sections.iter().enumerate() {
                sections.insert((module, strip_definition_number(section.id.qualname())), index);
            }
        }
        Self { classes, modules, sections }
    }

    /// A function, a method, own or inherited, or the constructor of a class.
    pub(super) fn find_section(&self, module: usize, attributes: &str) -> Option<SectionPosition> {
        if let Some(&section) = self.sections.get(&(module, attributes)) {
            return Some((module, section));
        }
        let constructors = ["__init__", "__new__"];
        let constructor =
            self.classes.ancestors(module, attributes).into_iter().find_map(|class| {
                constructors.iter().find_map(|constructor| self.find_method(class, constructor))
            });
        constructor.or_else(|| {
            let (class, method) = attributes.rsplit_once('.')?;
            let ancestors = self.classes.ancestors(module, class);
            ancestors.into_iter().find_map(|class| self.find_method(class, method))
        })
    }

    fn find_method(&self, (module, class): (usize, &str), method: &str) -> Option<SectionPosition> {
        let qualname = format!("{class}.{method}");
        self.sections.get(&(module, qualname.as_str())).map(|&section| (module, section))
    }

    /// The dotted name of the method that is actually called: with the class that defines it.
    pub(super) fn defining_name(&self, called: &ResolvedName) -> Option<String> {
        let (class, method) = called.attributes.rsplit_once('.')?;
        let ancestors = self.classes.ancestors(called.module?, class);
        let (module, section) =
            ancestors.into_iter().find_map(|class| self.find_method(class, method))?;
        let report = &self.modules[module];
        let qualname = strip_definition_number(report.sections[section].id.qualname());
        Some(format!("{}.{qualname}", report.name))
    }
}
