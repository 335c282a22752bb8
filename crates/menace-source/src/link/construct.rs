//! How instances of each class can be made: the constructor calls, in their order.
//!
//! Invariant: the work grows with the number of classes, not with the number of paths between them.

mod class_index;
mod constructor_call;
mod foreign;
mod hierarchy;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{
    ConstructionBlocker, ConstructionPlan, ConstructorCall, ParamKind, Section, SectionId,
    SectionKind, SignatureParam, TypeExpr,
};

use super::resolve::ReferenceResolver;
pub(crate) use hierarchy::SurveyedClasses;
use hierarchy::{ClassHierarchy, ClassId};

/// The longest chain of constructors in a plan.
const MAX_CONSTRUCTION_DEPTH: usize = 32;

/// The most constructor calls in a plan.
const MAX_CONSTRUCTION_STEPS: usize = 256;

/// All classes of the repository, and how each is constructed.
#[derive(Debug)]
pub(crate) struct RepositoryClasses<'f> {
    hierarchy: ClassHierarchy<'f>,
    /// The sections of each module, resolved.
    sections: Vec<&'f [Section]>,
    /// The sections called `__init__` and `__new__`, by module and name; the last definition.
    constructors: FxHashMap<(usize, &'f str), &'f Section>,
    /// The constructor call of each class, computed on first use.
    constructor_calls: Vec<OnceLock<ConstructorCall>>,
}

impl<'f> RepositoryClasses<'f> {
    pub(crate) fn new(
        resolver: ReferenceResolver<'f>,
        sections: Vec<&'f [Section]>,
        surveyed: Option<SurveyedClasses<'f>>,
    ) -> Self {
        let hierarchy = ClassHierarchy::new(resolver, surveyed);
        let constructors = sections
            .iter()
            .enumerate()
            .flat_map(|(module, sections)| sections.iter().map(move |each| (module, each)))
            .filter_map(|(module, section)| {
                let python_name = strip_definition_number(section.id.qualname());
                let is_constructor =
                    python_name.ends_with(".__init__") || python_name.ends_with(".__new__");
                is_constructor.then_some(((module, python_name), section))
            })
            .collect();
        let constructor_calls = (0..hierarchy.len()).map(|_| OnceLock::new()).collect();
        Self { hierarchy, sections, constructors, constructor_calls }
    }

    pub(crate) fn resolver(&self) -> &ReferenceResolver<'f> {
        &self.hierarchy.resolver
    }

    /// Modules and qualified names of a class and its ancestors, in the order in which Python looks
    /// up methods.
    pub(crate) fn ancestors(&self, module: usize, qualname: &str) -> Vec<(usize, &'f str)> {
        let Some(id) = self.hierarchy.find(module, qualname) else { return Vec::new() };
        let own = self.hierarchy.compute_ancestry(id);
        own.own_classes()
            .map(|id| (self.hierarchy.module(id), self.hierarchy.facts(id).qualname.as_str()))
            .collect()
    }

    /// For each section of a module, the plan for making its receiver.
    pub(crate) fn plan_constructions(&self, module: usize) -> Vec<Option<Arc<ConstructionPlan>>> {
        let mut known: FxHashMap<ClassId, Arc<ConstructionPlan>> = FxHashMap::default();
        self.sections[module]
            .iter()
            .map(|section| {
                let id = self.class_to_construct(module, section)?;
                let construction =
                    known.entry(id).or_insert_with(|| Arc::new(self.plan_construction(id)));
                Some(construction.clone())
            })
            .collect()
    }

    /// The class whose instance a section needs.
    ///
    /// `None` when the class alone is enough: for constructors, class and static methods.
    fn class_to_construct(&self, module: usize, section: &Section) -> Option<ClassId> {
        let (class, method) = match section.kind {
            SectionKind::Function | SectionKind::Nested | SectionKind::Module => return None,
            SectionKind::Property => class_of_property(section.id.qualname())?,
            _ => class_of_method(section.id.qualname())?,
        };
        let id = self.hierarchy.find(module, class)?;
        let class_is_enough =
            matches!(section.kind, SectionKind::ClassMethod | SectionKind::StaticMethod)
                || method == "__init__";
        (!class_is_enough || self.hierarchy.facts(id).local_to.is_some()).then_some(id)
    }

    fn plan_construction(&self, id: ClassId) -> ConstructionPlan {
        let mut plan = ConstructionBuilder::default();
        let blocked = self.add_steps(id, &mut plan).err();
        ConstructionPlan { steps: plan.steps, blocker: blocked }
    }

    fn add_steps(
        &self,
        id: ClassId,
        plan: &mut ConstructionBuilder,
    ) -> Result<(), ConstructionBlocker> {
        if let Some(function) = &self.hierarchy.facts(id).local_to {
            let path = self.hierarchy.resolver.names.path(self.hierarchy.module(id));
            return Err(ConstructionBlocker::Local { function: SectionId::new(path, function) });
        }
        let id = self.hierarchy.concrete_class(id)?;
        if plan.constructed.contains(&id) {
            return Ok(());
        }
        if plan.in_progress.contains(&id) {
            return Err(ConstructionBlocker::Recursive);
        }
        if plan.in_progress.len() >= MAX_CONSTRUCTION_DEPTH
            || plan.steps.len() >= MAX_CONSTRUCTION_STEPS
        {
            return Err(ConstructionBlocker::TooDeep);
        }
        let step = self.constructor_call(id);
        plan.in_progress.push(id);
        let module = self.hierarchy.module(id);
        for param in step.params.iter().filter(|param| is_required(param)) {
            if let Some(needed) =
                param.resolved.as_ref().and_then(|kind| self.required_class(module, kind))
            {
                self.add_steps(needed, plan)?;
            }
        }
        plan.in_progress.pop();
        plan.constructed.insert(id);
        plan.steps.push(step.clone());
        Ok(())
    }

    fn constructor_call(&self, id: ClassId) -> &ConstructorCall {
        self.constructor_calls[id].get_or_init(|| self.find_constructor_call(id))
    }

    /// The class of the repository that a value of this type, found in the module `from`, must be
    /// an instance of. Two projects in one repository may have modules of the same name.
    fn required_class(&self, from: usize, kind: &TypeExpr) -> Option<ClassId> {
        match kind {
            TypeExpr::Name(name) => self.find_class(from, name),
            TypeExpr::Generic { base, args } => match &**base {
                TypeExpr::Name(name) if name.ends_with(".Annotated") => {
                    args.first().and_then(|kind| self.required_class(from, kind))
                }
                base => self.required_class(from, base),
            },
            // If `None` or a simple type is allowed, no instance is needed.
            TypeExpr::Union(items) => {
                let needed: Option<Vec<ClassId>> =
                    items.iter().map(|item| self.required_class(from, item)).collect();
                needed?.first().copied()
            }
            _ => None,
        }
    }

    fn find_class(&self, from: usize, name: &str) -> Option<ClassId> {
        let (module, attributes) = self.hierarchy.resolver.names.split_module_prefix(from, name)?;
        self.hierarchy.find(module, attributes)
    }
}

/// A construction while it is being put together; every class in it is concrete.
#[derive(Debug, Default)]
struct ConstructionBuilder {
    steps: Vec<ConstructorCall>,
    constructed: FxHashSet<ClassId>,
    in_progress: Vec<ClassId>,
}

fn is_required(param: &SignatureParam) -> bool {
    param.default.is_none()
        && !matches!(param.kind, ParamKind::VarPositional | ParamKind::VarKeyword)
}

/// The name without the `#2` of a second definition.
pub(crate) fn strip_definition_number(qualname: &str) -> &str {
    qualname.split('#').next().unwrap_or(qualname)
}

/// `Outer.Inner` and `method` of `Outer.Inner.method#2`.
fn class_of_method(qualname: &str) -> Option<(&str, &str)> {
    strip_definition_number(qualname).rsplit_once('.')
}

/// Like for a method, but `Class.name.setter` belongs to `Class`.
fn class_of_property(qualname: &str) -> Option<(&str, &str)> {
    let plain = strip_definition_number(qualname);
    let accessors = [".setter", ".deleter", ".getter"];
    let accessor = accessors.iter().find_map(|accessor| plain.strip_suffix(accessor));
    class_of_method(accessor.unwrap_or(plain))
}
