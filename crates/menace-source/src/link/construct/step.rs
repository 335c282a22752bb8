//! Which signature the call of a class has: a constructor's, that of its fields, or none.

use rustc_hash::FxHashMap;

use menace_model::{ConstructorCall, Param, ParamKind};

use super::Classes;
use super::foreign::Foreign;
use super::hierarchy::{Ancestor, Ancestry, ClassId};
use crate::facts::ClassFacts;

impl Classes<'_> {
    /// Looks for the constructor in the order in which Python does.
    pub(super) fn find_step(&self, id: ClassId) -> ConstructorCall {
        let ancestry = self.hierarchy.ancestry(id);
        let mut step = ConstructorCall {
            class: self.hierarchy.dotted_name(id),
            constructor: None,
            known: true,
            params: Vec::new(),
            members: Vec::new(),
        };
        let is_enum = ancestry.order.iter().any(|ancestor| {
            matches!(ancestor, Ancestor::Foreign(name) if Foreign::of(name) == Foreign::Enum)
        });
        if is_enum {
            let members = &self.hierarchy.facts(id).members;
            step.members = members.iter().filter(|name| !name.starts_with('_')).cloned().collect();
            return step;
        }
        let mut below = id;
        for &ancestor in &ancestry.order {
            match ancestor {
                Ancestor::Own(own) => {
                    below = own;
                    if self.add_constructor(own, &mut step) {
                        return step;
                    }
                    if self.hierarchy.facts(own).generated.is_some_and(|by| by.init) {
                        step.params =
                            self.fields_of(&self.hierarchy.ancestry(own), Takes::Generated);
                        return step;
                    }
                }
                Ancestor::Foreign(name) => match Foreign::of(name) {
                    Foreign::NamedTuple => {
                        let alone = Ancestry { order: vec![Ancestor::Own(below)], complete: true };
                        step.params = self.fields_of(&alone, Takes::All);
                        return step;
                    }
                    Foreign::Pydantic => {
                        step.params = self.fields_of(&ancestry, Takes::Pydantic);
                        return step;
                    }
                    Foreign::TypedDict => {
                        step.params = self.fields_of(&ancestry, Takes::All);
                        return step;
                    }
                    Foreign::Unknown => step.known = false,
                    Foreign::Enum | Foreign::Harmless => {}
                },
                Ancestor::Tuple(class) => {
                    let module = self.hierarchy.module(class);
                    let params = self.hierarchy.tuple_params(class).iter();
                    step.params = params.map(|param| self.resolved(module, param)).collect();
                    return step;
                }
                Ancestor::Unknown(_) => step.known = false,
            }
        }
        step.known &= ancestry.complete;
        step
    }

    /// Does this very class define a constructor? Then the step is a call of it.
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
    fn resolved(&self, module: usize, param: &Param) -> Param {
        let mut param = param.clone();
        self.hierarchy.resolver.resolve_type(module, param.resolved.as_mut());
        param
    }

    /// The parameters that a generated constructor takes: the fields, those of bases first.
    fn fields_of(&self, ancestry: &Ancestry<'_>, takes: Takes) -> Vec<Param> {
        // A field that was overridden is `None` in its old place.
        let mut params: Vec<Option<Param>> = Vec::new();
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        for id in ancestry.own().rev() {
            let facts = self.hierarchy.facts(id);
            if takes == Takes::Generated && facts.generated.is_none() {
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
        let mut params: Vec<Param> = params.into_iter().flatten().collect();
        params.sort_by_key(|param| param.kind == ParamKind::KeywordOnly);
        params
    }

    /// The fields of one class; without a parameter, when the constructor does not take them.
    pub(super) fn own_fields<'c>(
        &'c self,
        id: ClassId,
        facts: &'c ClassFacts,
        takes: Takes,
    ) -> impl Iterator<Item = (&'c str, Option<Param>)> {
        let module = self.hierarchy.module(id);
        facts.fields.iter().map(move |field| {
            let name = field.param.name.as_str();
            let is_private =
                takes == Takes::Pydantic && (name.starts_with('_') || name == "model_config");
            if !field.in_init || is_private {
                return (name, None);
            }
            let mut param = self.resolved(module, &field.param);
            if let Some(alias) = &field.alias {
                param.name.clone_from(alias);
            }
            if takes == Takes::Pydantic {
                param.kind = ParamKind::KeywordOnly;
                // `x: int = ...` is how pydantic writes that there is none.
                param.default = param.default.filter(|default| default != "...");
            }
            (name, Some(param))
        })
    }
}

/// Whose fields a constructor takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Those of decorated classes.
    Generated,
    /// Those of every class.
    All,
    /// Those of every class, by name.
    Pydantic,
}
