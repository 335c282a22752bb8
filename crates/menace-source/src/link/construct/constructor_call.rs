//! Which signature the call of a class has: a constructor's, that of its fields, or none.

use rustc_hash::FxHashMap;

use menace_model::{ConstructorCall, ParamKind, SignatureParam};

use super::RepositoryClasses;
use super::foreign::ForeignBaseKind;
use super::hierarchy::{ClassAncestor, ClassAncestry, ClassId};
use crate::facts::ClassFacts;

impl RepositoryClasses<'_> {
    /// Finds the constructor in Python's lookup order.
    pub(super) fn find_constructor_call(&self, id: ClassId) -> ConstructorCall {
        let ancestry = self.hierarchy.compute_ancestry(id);
        let mut step = ConstructorCall {
            class: self.hierarchy.dotted_name(id),
            constructor: None,
            signature_known: true,
            params: Vec::new(),
            members: Vec::new(),
        };
        let mut foreign_kinds = ancestry.foreign_names().map(ForeignBaseKind::from_name);
        let is_enum = foreign_kinds.any(|kind| kind == ForeignBaseKind::Enum);
        if is_enum {
            let members = &self.hierarchy.facts(id).members;
            step.members = members.iter().filter(|name| !name.starts_with('_')).cloned().collect();
            return step;
        }
        let mut below = id;
        for &ancestor in &ancestry.order {
            match ancestor {
                ClassAncestor::Own(own) => {
                    below = own;
                    if self.add_constructor(own, &mut step) {
                        return step;
                    }
                    if self.hierarchy.facts(own).generated.is_some_and(|by| by.init) {
                        step.params = self.constructor_fields(
                            &self.hierarchy.compute_ancestry(own),
                            ConstructorFields::Generated,
                        );
                        return step;
                    }
                }
                ClassAncestor::Foreign(name) => match ForeignBaseKind::from_name(name) {
                    ForeignBaseKind::NamedTuple => {
                        let alone = ClassAncestry {
                            order: vec![ClassAncestor::Own(below)],
                            complete: true,
                        };
                        step.params = self.constructor_fields(&alone, ConstructorFields::All);
                        return step;
                    }
                    ForeignBaseKind::Pydantic => {
                        step.params =
                            self.constructor_fields(&ancestry, ConstructorFields::Pydantic);
                        return step;
                    }
                    ForeignBaseKind::TypedDict => {
                        step.params = self.constructor_fields(&ancestry, ConstructorFields::All);
                        return step;
                    }
                    ForeignBaseKind::Unknown => step.signature_known = false,
                    ForeignBaseKind::Enum | ForeignBaseKind::PassThrough => {}
                },
                ClassAncestor::Tuple(class) => {
                    let module = self.hierarchy.module(class);
                    let params = self.hierarchy.tuple_params(class).iter();
                    step.params = params.map(|param| self.resolve_param(module, param)).collect();
                    return step;
                }
                ClassAncestor::Unknown(_) => step.signature_known = false,
            }
        }
        step.signature_known &= ancestry.complete;
        step
    }

    /// If this class itself defines a constructor, makes the step a call of it.
    fn add_constructor(&self, id: ClassId, step: &mut ConstructorCall) -> bool {
        let facts = self.hierarchy.facts(id);
        let defined = ["__init__", "__new__"]
            .into_iter()
            .find(|constructor| facts.methods.iter().any(|method| method == constructor));
        let Some(constructor) = defined else { return false };
        let module = self.hierarchy.module(id);
        let python_name = format!("{}.{constructor}", facts.qualname);
        if let Some(section) = self.constructors.get(&(module, python_name.as_str())) {
            step.constructor = Some(section.id.clone());
            step.params.clone_from(&section.params);
        }
        true
    }

    /// A parameter as the facts of a module have it, with its type resolved.
    fn resolve_param(&self, module: usize, param: &SignatureParam) -> SignatureParam {
        let mut param = param.clone();
        self.hierarchy.resolver.resolve_type(module, param.resolved.as_mut());
        param
    }

    /// The parameters of a generated constructor: the fields, those of bases first.
    fn constructor_fields(
        &self,
        ancestry: &ClassAncestry<'_>,
        takes: ConstructorFields,
    ) -> Vec<SignatureParam> {
        // A field that was overridden is `None` in its old place.
        let mut params: Vec<Option<SignatureParam>> = Vec::new();
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        for id in ancestry.own_classes().rev() {
            let facts = self.hierarchy.facts(id);
            if takes == ConstructorFields::Generated && facts.generated.is_none() {
                continue;
            }
            let moves = facts.generated.is_some_and(|by| by.attrs);
            for (name, param) in self.own_fields(id, facts, takes) {
                match places.get(name) {
                    Some(&place) if !moves => params[place] = param,
                    earlier => {
                        if let Some(&place) = earlier {
                            params[place] = None;
                        }
                        places.insert(name, params.len());
                        params.push(param);
                    }
                }
            }
        }
        let mut params: Vec<SignatureParam> = params.into_iter().flatten().collect();
        params.sort_by_key(|param| param.kind == ParamKind::KeywordOnly);
        params
    }

    /// The fields of one class; without a parameter, when the constructor does not take them.
    pub(super) fn own_fields<'c>(
        &'c self,
        id: ClassId,
        facts: &'c ClassFacts,
        takes: ConstructorFields,
    ) -> impl Iterator<Item = (&'c str, Option<SignatureParam>)> {
        let module = self.hierarchy.module(id);
        facts.fields.iter().map(move |field| {
            let name = field.param.name.as_str();
            let is_private = takes == ConstructorFields::Pydantic
                && (name.starts_with('_') || name == "model_config");
            if !field.in_init || is_private {
                return (name, None);
            }
            let mut param = self.resolve_param(module, &field.param);
            if let Some(alias) = &field.alias {
                param.name.clone_from(alias);
            }
            if takes == ConstructorFields::Pydantic {
                param.kind = ParamKind::KeywordOnly;
                // `x: int = ...` is how pydantic writes that there is none.
                param.default = param.default.filter(|default| default != "...");
            }
            (name, Some(param))
        })
    }
}

/// The classes whose fields a constructor takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConstructorFields {
    /// Fields of the decorated classes.
    Generated,
    /// Fields of all classes.
    All,
    /// Fields of all classes, as keyword arguments.
    Pydantic,
}
