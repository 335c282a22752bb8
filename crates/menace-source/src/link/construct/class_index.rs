//! The public index of the repository's classes: kind, members and construction of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{
    ClassField, ClassInfo, ClassKind, ClassMethod, ConstructionBlocker, ConstructorCall, Section,
    SectionKind, TypeExpr,
};

use super::constructor_call::ConstructorFields;
use super::foreign::ForeignBaseKind;
use super::hierarchy::{ClassAncestor, ClassAncestry, ClassId};
use super::{RepositoryClasses, class_of_method, is_required};

/// The methods that a class body defines, by module and name of the class.
type MethodsByClass<'f> = FxHashMap<(usize, &'f str), Vec<(&'f str, &'f Section)>>;

impl<'f> RepositoryClasses<'f> {
    /// Every class by its dotted name. Of two definitions in a module the last counts; of two
    /// modules with the same name, the first.
    pub(crate) fn build_class_index(&self) -> menace_model::ClassIndex {
        let methods = self.collect_methods();
        let lasting: Vec<ClassId> = (0..self.hierarchy.len())
            .filter(|&id| {
                let qualname = &self.hierarchy.facts(id).qualname;
                self.hierarchy.find(self.hierarchy.module(id), qualname) == Some(id)
            })
            .collect();
        let classes: Vec<(String, ClassInfo)> = lasting
            .into_par_iter()
            .map(|id| (self.hierarchy.dotted_name(id), self.build_class_info(id, &methods)))
            .collect();
        let mut table = BTreeMap::new();
        for (name, class) in classes {
            table.entry(name).or_insert(class);
        }
        menace_model::ClassIndex(table)
    }

    fn build_class_info(&self, id: ClassId, methods: &MethodsByClass<'f>) -> ClassInfo {
        let module = self.hierarchy.module(id);
        let ancestry = self.hierarchy.compute_ancestry(id);
        let kind = self.class_kind(id, &ancestry);
        let step = self.constructor_call(id);
        let abstract_methods = self.abstract_methods(id, &ancestry);
        ClassInfo {
            module: self.hierarchy.resolver.names.name(module).to_owned(),
            qualname: self.hierarchy.facts(id).qualname.clone(),
            kind,
            bases: self.hierarchy.base_names(id),
            fields: self.class_fields(kind, &ancestry, step),
            members: step.members.clone(),
            methods: self.public_methods(&ancestry, methods, &abstract_methods),
            abstract_methods,
            construction: Arc::new(self.plan_construction(id)),
        }
    }

    /// The last definition of a method counts; accessors of properties other than the getter are
    /// no methods of their own.
    fn collect_methods(&self) -> MethodsByClass<'f> {
        let mut methods: MethodsByClass<'f> = FxHashMap::default();
        for (module, sections) in self.sections.iter().enumerate() {
            for section in *sections {
                let is_method = matches!(
                    section.kind,
                    SectionKind::Method
                        | SectionKind::ClassMethod
                        | SectionKind::StaticMethod
                        | SectionKind::Property
                );
                if is_method
                    && let Some((class, name)) = class_of_method(section.id.qualname())
                    && self.hierarchy.find(module, class).is_some()
                {
                    methods.entry((module, class)).or_default().push((name, section));
                }
            }
        }
        methods
    }

    fn class_kind(&self, id: ClassId, ancestry: &ClassAncestry<'_>) -> ClassKind {
        let from_outside = |wanted: ForeignBaseKind| {
            ancestry.foreign_names().any(|name| ForeignBaseKind::from_name(name) == wanted)
        };
        let is_tuple = ancestry.order.iter().any(|each| matches!(each, ClassAncestor::Tuple(_)));
        let is_exception = ancestry.foreign_names().any(ForeignBaseKind::is_exception);
        let is_generated =
            ancestry.own_classes().any(|own| self.hierarchy.facts(own).generated.is_some());
        let lacks = self.hierarchy.abstract_blocker(id);
        match lacks {
            Some(ConstructionBlocker::Protocol) => ClassKind::Protocol,
            _ if from_outside(ForeignBaseKind::Enum) => ClassKind::Enum,
            _ if from_outside(ForeignBaseKind::TypedDict) => ClassKind::TypedDict,
            _ if is_tuple || from_outside(ForeignBaseKind::NamedTuple) => ClassKind::NamedTuple,
            _ if is_exception => ClassKind::Exception,
            Some(_) => ClassKind::Abstract,
            None if is_generated || from_outside(ForeignBaseKind::Pydantic) => ClassKind::DataClass,
            None => ClassKind::Plain,
        }
    }

    fn class_fields(
        &self,
        kind: ClassKind,
        ancestry: &ClassAncestry<'_>,
        step: &ConstructorCall,
    ) -> Vec<ClassField> {
        let field = |name: &str, annotation: Option<TypeExpr>, required| ClassField {
            name: name.to_owned(),
            annotation,
            required,
        };
        match kind {
            ClassKind::DataClass | ClassKind::NamedTuple => step
                .params
                .iter()
                .map(|param| field(&param.name, param.resolved.clone(), is_required(param)))
                .collect(),
            ClassKind::TypedDict | ClassKind::Protocol => {
                let mut fields: Vec<ClassField> = Vec::new();
                for own in ancestry.own_classes().rev() {
                    let facts = self.hierarchy.facts(own);
                    for (name, param) in self.own_fields(own, facts, ConstructorFields::All) {
                        let (annotation, declared_required) =
                            strip_requirement(param.and_then(|param| param.resolved));
                        let new =
                            field(name, annotation, declared_required.unwrap_or(!facts.partial));
                        match fields.iter_mut().find(|earlier| earlier.name == name) {
                            Some(earlier) => *earlier = new,
                            None => fields.push(new),
                        }
                    }
                }
                fields
            }
            _ => Vec::new(),
        }
    }

    /// The methods that an abstract class leaves undefined; for a protocol all that it declares.
    fn abstract_methods(&self, id: ClassId, ancestry: &ClassAncestry<'_>) -> Vec<String> {
        match self.hierarchy.abstract_blocker(id) {
            Some(ConstructionBlocker::Abstract { methods }) => methods,
            Some(ConstructionBlocker::Protocol) => {
                let mut seen = FxHashSet::default();
                let declared =
                    ancestry.own_classes().rev().flat_map(|own| &self.hierarchy.facts(own).methods);
                declared
                    .filter(|name| *name != "__init__" && seen.insert(name.as_str()))
                    .cloned()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// In the order of the source, those of the most basic class first.
    fn public_methods(
        &self,
        ancestry: &ClassAncestry<'_>,
        methods: &MethodsByClass<'f>,
        abstract_methods: &[String],
    ) -> Vec<ClassMethod> {
        let mut found: Vec<ClassMethod> = Vec::new();
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        for own in ancestry.own_classes().rev() {
            let qualname = self.hierarchy.facts(own).qualname.as_str();
            let defined = methods.get(&(self.hierarchy.module(own), qualname));
            for &(name, section) in defined.into_iter().flatten() {
                if name.starts_with('_') && !abstract_methods.iter().any(|each| each == name) {
                    continue;
                }
                let method = ClassMethod {
                    name: name.to_owned(),
                    is_async: section.is_async,
                    is_property: section.kind == SectionKind::Property,
                    params: section.params.clone(),
                    returns: section.returns.clone(),
                };
                if let Some(&place) = places.get(name) {
                    found[place] = method;
                } else {
                    places.insert(name, found.len());
                    found.push(method);
                }
            }
        }
        found
    }
}

/// Removes `NotRequired[…]` and the like from a type; the second part says whether the key is
/// required.
fn strip_requirement(annotation: Option<TypeExpr>) -> (Option<TypeExpr>, Option<bool>) {
    let mut annotation = annotation;
    let mut required = None;
    loop {
        match annotation {
            Some(TypeExpr::Generic { base, mut args }) if args.len() == 1 => {
                let name = match &*base {
                    TypeExpr::Name(name) => name.as_str(),
                    _ => "",
                };
                let name = name
                    .strip_prefix("typing.")
                    .or_else(|| name.strip_prefix("typing_extensions."))
                    .unwrap_or_default();
                match name {
                    "NotRequired" => required = Some(false),
                    "Required" => required = Some(true),
                    "ReadOnly" => {}
                    _ => return (Some(TypeExpr::Generic { base, args }), required),
                }
                annotation = args.pop();
            }
            other => return (other, required),
        }
    }
}
