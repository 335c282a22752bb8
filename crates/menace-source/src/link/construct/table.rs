//! The classes of the repository as others see them: what each is, has and takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{
    Blocked, Class, ClassField, ClassKind, ClassMethod, ConstructorCall, Section, SectionKind,
    TypeExpr,
};

use super::foreign::Foreign;
use super::hierarchy::{Ancestor, Ancestry, ClassId};
use super::step::Takes;
use super::{Classes, class_of_method, is_required};

/// The methods that a class body defines, by module and name of the class.
type Methods<'f> = FxHashMap<(usize, &'f str), Vec<(&'f str, &'f Section)>>;

impl<'f> Classes<'f> {
    /// Every class by its dotted name. Of two with one name, the one that stays after the module
    /// was run counts and, of two modules, the first.
    pub(crate) fn table(&self) -> menace_model::Classes {
        let methods = self.methods();
        let lasting: Vec<ClassId> = (0..self.hierarchy.len())
            .filter(|&id| {
                let qualname = &self.hierarchy.facts(id).qualname;
                self.hierarchy.find(self.hierarchy.module(id), qualname) == Some(id)
            })
            .collect();
        let classes: Vec<(String, Class)> = lasting
            .into_par_iter()
            .map(|id| (self.hierarchy.dotted_name(id), self.class(id, &methods)))
            .collect();
        let mut table = BTreeMap::new();
        for (name, class) in classes {
            table.entry(name).or_insert(class);
        }
        menace_model::Classes(table)
    }

    fn class(&self, id: ClassId, methods: &Methods<'f>) -> Class {
        let module = self.hierarchy.module(id);
        let ancestry = self.hierarchy.ancestry(id);
        let kind = self.kind(id, &ancestry);
        let step = self.step(id);
        let abstract_methods = self.abstract_methods(id, &ancestry);
        Class {
            module: self.hierarchy.resolver.names.name(module).to_owned(),
            qualname: self.hierarchy.facts(id).qualname.clone(),
            kind,
            bases: self.hierarchy.base_names(id),
            fields: self.fields(kind, &ancestry, step),
            members: step.members.clone(),
            methods: self.public_methods(&ancestry, methods, &abstract_methods),
            abstract_methods,
            construction: Arc::new(self.construct(id)),
        }
    }

    /// The last definition of a method counts; accessors of properties other than the getter are
    /// no methods of their own.
    fn methods(&self) -> Methods<'f> {
        let mut methods: Methods<'f> = FxHashMap::default();
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

    fn kind(&self, id: ClassId, ancestry: &Ancestry<'_>) -> ClassKind {
        let from_outside = |wanted: Foreign| {
            ancestry
                .order
                .iter()
                .any(|each| matches!(each, Ancestor::Foreign(name) if Foreign::of(name) == wanted))
        };
        let is_tuple = ancestry.order.iter().any(|each| matches!(each, Ancestor::Tuple(_)));
        let is_exception = ancestry
            .order
            .iter()
            .any(|each| matches!(each, Ancestor::Foreign(name) if Foreign::is_exception(name)));
        let is_generated = ancestry.own().any(|own| self.hierarchy.facts(own).generated.is_some());
        let lacks = self.hierarchy.abstract_because(id);
        match lacks {
            Some(Blocked::Protocol) => ClassKind::Protocol,
            _ if from_outside(Foreign::Enum) => ClassKind::Enum,
            _ if from_outside(Foreign::TypedDict) => ClassKind::TypedDict,
            _ if is_tuple || from_outside(Foreign::NamedTuple) => ClassKind::NamedTuple,
            _ if is_exception => ClassKind::Exception,
            Some(_) => ClassKind::Abstract,
            None if is_generated || from_outside(Foreign::Pydantic) => ClassKind::DataClass,
            None => ClassKind::Plain,
        }
    }

    fn fields(
        &self,
        kind: ClassKind,
        ancestry: &Ancestry<'_>,
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
                for own in ancestry.own().rev() {
                    let facts = self.hierarchy.facts(own);
                    for (name, param) in self.own_fields(own, facts, Takes::All) {
                        let (annotation, said) = qualified(param.and_then(|param| param.resolved));
                        let new = field(name, annotation, said.unwrap_or(!facts.partial));
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

    /// What is still missing in an abstract class; everything that a protocol declares.
    fn abstract_methods(&self, id: ClassId, ancestry: &Ancestry<'_>) -> Vec<String> {
        match self.hierarchy.abstract_because(id) {
            Some(Blocked::Abstract { methods }) => methods,
            Some(Blocked::Protocol) => {
                let mut seen = FxHashSet::default();
                let declared =
                    ancestry.own().rev().flat_map(|own| &self.hierarchy.facts(own).methods);
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
        ancestry: &Ancestry<'_>,
        methods: &Methods<'f>,
        abstract_methods: &[String],
    ) -> Vec<ClassMethod> {
        let mut found: Vec<ClassMethod> = Vec::new();
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        for own in ancestry.own().rev() {
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

/// Takes `NotRequired[…]` and its like off a type; the second part is what they say.
fn qualified(annotation: Option<TypeExpr>) -> (Option<TypeExpr>, Option<bool>) {
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
