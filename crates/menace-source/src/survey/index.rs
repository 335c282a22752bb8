//! Which section a name of the repository leads to.

use rustc_hash::FxHashMap;

use menace_model::ModuleReport;

use crate::link::{Classes, Resolved, without_number};

/// A section by its module and its place among the sections of that.
pub(super) type Place = (usize, usize);

#[derive(Debug)]
pub(super) struct Index<'a> {
    pub classes: Classes<'a>,
    modules: &'a [ModuleReport],
    /// Of several definitions of one name, the last.
    sections: FxHashMap<(usize, &'a str), usize>,
}

impl<'a> Index<'a> {
    pub(super) fn new(classes: Classes<'a>, modules: &'a [ModuleReport]) -> Self {
        let mut sections = FxHashMap::default();
        for (module, report) in modules.iter().enumerate() {
            for (index, section) in report.sections.iter().enumerate() {
                sections.insert((module, without_number(section.id.qualname())), index);
            }
        }
        Self { classes, modules, sections }
    }

    /// A function, a method, own or inherited, or the constructor of a class.
    pub(super) fn section(&self, module: usize, attributes: &str) -> Option<Place> {
        if let Some(&section) = self.sections.get(&(module, attributes)) {
            return Some((module, section));
        }
        let constructors = ["__init__", "__new__"];
        let constructor =
            self.classes.ancestors(module, attributes).into_iter().find_map(|class| {
                constructors.iter().find_map(|constructor| self.method(class, constructor))
            });
        constructor.or_else(|| {
            let (class, method) = attributes.rsplit_once('.')?;
            let ancestors = self.classes.ancestors(module, class);
            ancestors.into_iter().find_map(|class| self.method(class, method))
        })
    }

    fn method(&self, (module, class): (usize, &str), method: &str) -> Option<Place> {
        let qualname = format!("{class}.{method}");
        self.sections.get(&(module, qualname.as_str())).map(|&section| (module, section))
    }

    /// The dotted name of what really is called: that of the class that defines the method.
    pub(super) fn definer(&self, called: &Resolved) -> Option<String> {
        let (class, method) = called.attributes.rsplit_once('.')?;
        let ancestors = self.classes.ancestors(called.module?, class);
        let (module, section) =
            ancestors.into_iter().find_map(|class| self.method(class, method))?;
        let report = &self.modules[module];
        let qualname = without_number(report.sections[section].id.qualname());
        Some(format!("{}.{qualname}", report.name))
    }
}
