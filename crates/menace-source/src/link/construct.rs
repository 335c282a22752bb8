//! How an instance of each class can be built: which constructors, in which order.

use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use menace_model::{
    Blocked, Construction, Param, ParamKind, Section, SectionId, SectionKind, Step, TypeExpr,
};

use super::resolve::Resolver;
use crate::facts::ClassFacts;

/// A class of the repository: module and position in that module's facts.
type ClassId = (usize, usize);

/// Constructors that need each other more deeply than this are not worth a plan.
const MAX_STEPS_DEEP: usize = 8;

/// Nobody inherits from more; bases that inherit from each other end here.
const MAX_ANCESTORS: usize = 512;

#[derive(Debug, Clone)]
enum Base {
    Own(ClassId),
    /// Dotted name of a class from elsewhere.
    Foreign(String),
}

/// All classes of the repository and how they inherit.
#[derive(Debug)]
pub(crate) struct Classes<'r, 'f> {
    resolver: &'r Resolver<'f>,
    by_name: FxHashMap<(usize, &'f str), ClassId>,
    bases: FxHashMap<ClassId, Vec<Base>>,
    subclasses: FxHashMap<ClassId, Vec<ClassId>>,
    /// The sections called `__init__` and `__new__`, by module and qualified name.
    constructors: FxHashMap<(usize, &'f str), &'f Section>,
}

impl<'r, 'f> Classes<'r, 'f> {
    pub(crate) fn new(resolver: &'r Resolver<'f>) -> Self {
        let ids = || {
            resolver.facts.iter().enumerate().flat_map(|(module, facts)| {
                facts.classes.iter().enumerate().map(move |(at, class)| ((module, at), class))
            })
        };
        // Of two classes with one name, the later definition is the one that stays.
        let by_name = ids().map(|(id, class)| ((id.0, class.qualname.as_str()), id)).collect();
        let constructors = resolver
            .facts
            .iter()
            .enumerate()
            .flat_map(|(module, facts)| facts.sections.iter().map(move |each| (module, each)))
            .filter_map(|(module, section)| {
                let qualname = section.id.qualname();
                let is_constructor =
                    qualname.ends_with(".__init__") || qualname.ends_with(".__new__");
                is_constructor.then_some(((module, qualname), section))
            })
            .collect();
        let mut classes = Self {
            resolver,
            by_name,
            constructors,
            bases: FxHashMap::default(),
            subclasses: FxHashMap::default(),
        };
        classes.bases = (0..resolver.facts.len())
            .into_par_iter()
            .flat_map_iter(|module| {
                let classes = &classes;
                resolver.facts[module].classes.iter().enumerate().map(move |(at, class)| {
                    let bases = class.bases.iter().map(|reference| classes.base(module, reference));
                    ((module, at), bases.collect())
                })
            })
            .collect();
        for (id, _) in ids() {
            for base in &classes.bases[&id] {
                if let Base::Own(base) = base {
                    classes.subclasses.entry(*base).or_default().push(id);
                }
            }
        }
        classes
    }

    fn base(&self, module: usize, reference: &str) -> Base {
        let resolved = self.resolver.resolve(module, reference);
        let own = resolved
            .module
            .and_then(|module| self.by_name.get(&(module, resolved.attributes.as_str())));
        own.map_or(Base::Foreign(resolved.name), |&id| Base::Own(id))
    }

    fn facts(&self, id: ClassId) -> &'f ClassFacts {
        &self.resolver.facts[id.0].classes[id.1]
    }

    fn dotted_name(&self, id: ClassId) -> String {
        format!("{}.{}", self.resolver.names.name(id.0), self.facts(id).qualname)
    }

    fn section_id(&self, module: usize, qualname: &str) -> SectionId {
        SectionId::new(self.resolver.names.path(module), qualname)
    }

    /// Own classes in the order in which Python looks up attributes, near enough: depth first,
    /// left to right, each class after those that inherit from it. Foreign ones by name.
    fn ancestry(&self, id: ClassId) -> (Vec<ClassId>, Vec<&str>) {
        let mut own: Vec<ClassId> = Vec::new();
        let mut foreign: Vec<&str> = Vec::new();
        let mut stack = vec![id];
        for _ in 0..MAX_ANCESTORS {
            let Some(next) = stack.pop() else { break };
            // A base shared by two branches comes after both.
            own.retain(|&seen| seen != next);
            own.push(next);
            for base in self.bases.get(&next).into_iter().flatten().rev() {
                match base {
                    Base::Own(base) if *base != id => stack.push(*base),
                    Base::Own(_) => {}
                    Base::Foreign(name) => foreign.push(name),
                }
            }
        }
        (own, foreign)
    }

    /// For each section of a module, what it needs before it can be called.
    pub(crate) fn constructions(&self, module: usize) -> Vec<Option<Arc<Construction>>> {
        let mut known: FxHashMap<ClassId, Arc<Construction>> = FxHashMap::default();
        let sections = &self.resolver.facts[module].sections;
        sections
            .iter()
            .map(|section| {
                let id = self.class_to_construct(module, section)?;
                let construction = known.entry(id).or_insert_with(|| Arc::new(self.construct(id)));
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
        let id = *self.by_name.get(&(module, class))?;
        let class_is_enough =
            matches!(section.kind, SectionKind::ClassMethod | SectionKind::StaticMethod)
                || method == "__init__";
        (!class_is_enough || self.facts(id).local_to.is_some()).then_some(id)
    }

    fn construct(&self, id: ClassId) -> Construction {
        let mut steps = Vec::new();
        let blocked = self.add_steps(id, &mut Vec::new(), &mut steps).err();
        Construction { steps, blocked }
    }

    fn add_steps(
        &self,
        id: ClassId,
        under_way: &mut Vec<ClassId>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Blocked> {
        if under_way.contains(&id) || under_way.len() > MAX_STEPS_DEEP {
            return Err(Blocked::Recursive);
        }
        if let Some(function) = &self.facts(id).local_to {
            return Err(Blocked::Local { function: self.section_id(id.0, function) });
        }
        let concrete = self.concrete(id)?;
        let step = self.step(concrete);
        under_way.push(id);
        for param in step.params.iter().filter(|param| is_required(param)) {
            let Some(needed) = param.resolved.as_ref().and_then(|kind| self.class_needed(kind))
            else {
                continue;
            };
            if !steps.iter().any(|done| done.class == self.dotted_name(needed)) {
                self.add_steps(needed, under_way, steps)?;
            }
        }
        under_way.pop();
        steps.push(step);
        Ok(())
    }

    /// The class itself or, when it is abstract, a subclass that is not.
    fn concrete(&self, id: ClassId) -> Result<ClassId, Blocked> {
        let Some(blocked) = self.abstract_because(id) else { return Ok(id) };
        let mut waiting = self.subclasses.get(&id).cloned().unwrap_or_default();
        let mut seen = vec![id];
        while let Some(next) = waiting.pop() {
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            if self.facts(next).local_to.is_none() && self.abstract_because(next).is_none() {
                return Ok(next);
            }
            waiting.extend(self.subclasses.get(&next).into_iter().flatten());
        }
        Err(blocked)
    }

    fn abstract_because(&self, id: ClassId) -> Option<Blocked> {
        let is_protocol = self.bases.get(&id).into_iter().flatten().any(|base| {
            matches!(base, Base::Foreign(name)
                if name == "typing.Protocol" || name == "typing_extensions.Protocol")
        });
        if is_protocol {
            return Some(Blocked::Protocol);
        }
        let (own, foreign) = self.ancestry(id);
        let enforced = foreign.contains(&"abc.ABC")
            || own.iter().any(|&class| {
                self.facts(class).metaclass.as_deref().is_some_and(|metaclass| {
                    self.resolver.resolve(class.0, metaclass).name == "abc.ABCMeta"
                })
            });
        if !enforced {
            return None;
        }
        let mut missing: Vec<&str> = Vec::new();
        // From the most basic class down: what is declared above may be filled in below.
        for class in own.iter().rev().map(|&class| self.facts(class)) {
            let provided = |name: &str| {
                class.methods.iter().chain(&class.members).any(|each| each == name)
                    || class.fields.iter().any(|field| field.param.name == name)
            };
            missing.retain(|name| !provided(name));
            missing.extend(class.abstract_methods.iter().map(String::as_str));
        }
        (!missing.is_empty()).then(|| Blocked::Abstract {
            methods: missing.into_iter().map(str::to_owned).collect(),
        })
    }

    fn step(&self, id: ClassId) -> Step {
        let (own, foreign) = self.ancestry(id);
        let class = self.dotted_name(id);
        let plain =
            |params| Step { class: class.clone(), constructor: None, params, members: Vec::new() };
        let is_enum = foreign.iter().any(|name| {
            name.strip_prefix("enum.").is_some_and(|name| {
                matches!(name, "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag" | "ReprEnum")
            })
        });
        if is_enum {
            let members = &self.facts(id).members;
            let members = members.iter().filter(|name| !name.starts_with('_')).cloned().collect();
            return Step { members, ..plain(Vec::new()) };
        }
        let by_fields = foreign.iter().any(|name| {
            matches!(
                *name,
                "typing.NamedTuple" | "typing.TypedDict" | "typing_extensions.TypedDict"
            )
        });
        let keyword_fields = foreign
            .iter()
            .any(|name| matches!(*name, "pydantic.BaseModel" | "pydantic.main.BaseModel"));
        for &ancestor in &own {
            let facts = self.facts(ancestor);
            for constructor in ["__init__", "__new__"] {
                if facts.methods.iter().any(|method| method == constructor) {
                    let qualname = format!("{}.{constructor}", facts.qualname);
                    let section = self.constructors.get(&(ancestor.0, qualname.as_str()));
                    let params = section.map_or(&[][..], |section| &section.params);
                    let params = params.iter().map(|param| self.resolved(ancestor.0, param));
                    return Step {
                        constructor: section.map(|section| section.id.clone()),
                        ..plain(params.collect())
                    };
                }
            }
            if facts.generated.is_some_and(|generated| generated.init)
                || by_fields
                || keyword_fields
            {
                return plain(self.field_params(&own, by_fields || keyword_fields, keyword_fields));
            }
        }
        plain(Vec::new())
    }

    /// A parameter as the facts of a module have it, with its type resolved.
    fn resolved(&self, module: usize, param: &Param) -> Param {
        let mut param = param.clone();
        self.resolver.resolve_type(module, param.resolved.as_mut());
        param
    }

    /// The parameters that a generated constructor takes: the fields, those of bases first.
    fn field_params(&self, own: &[ClassId], all: bool, keyword_only: bool) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for &class in own.iter().rev() {
            let facts = self.facts(class);
            if !all && facts.generated.is_none() {
                continue;
            }
            for field in facts.fields.iter().filter(|field| field.in_init) {
                let mut param = self.resolved(class.0, &field.param);
                if keyword_only {
                    param.kind = ParamKind::KeywordOnly;
                }
                match params.iter_mut().find(|each| each.name == param.name) {
                    Some(overridden) => *overridden = param,
                    None => params.push(param),
                }
            }
        }
        params.sort_by_key(|param| param.kind == ParamKind::KeywordOnly);
        params
    }

    /// The class of the repository that a value of this type must be an instance of.
    fn class_needed(&self, kind: &TypeExpr) -> Option<ClassId> {
        match kind {
            TypeExpr::Name(name) => self.class_named(name),
            TypeExpr::Generic { base, args } => match &**base {
                TypeExpr::Name(name) if name.ends_with(".Annotated") => {
                    args.first().and_then(|kind| self.class_needed(kind))
                }
                base => self.class_needed(base),
            },
            // None, or anything simple, will do.
            TypeExpr::Union(items) => {
                let needed: Option<Vec<ClassId>> =
                    items.iter().map(|item| self.class_needed(item)).collect();
                needed?.first().copied()
            }
            _ => None,
        }
    }

    fn class_named(&self, name: &str) -> Option<ClassId> {
        let (module, attributes) = self.resolver.names.split_canonical(name)?;
        self.by_name.get(&(module, attributes)).copied()
    }
}

fn is_required(param: &Param) -> bool {
    param.default.is_none()
        && !matches!(param.kind, ParamKind::VarPositional | ParamKind::VarKeyword)
}

/// `Outer.Inner` and `method` of `Outer.Inner.method#2`.
fn class_of_method(qualname: &str) -> Option<(&str, &str)> {
    qualname.split('#').next()?.rsplit_once('.')
}

/// As for a method, but `Class.name.setter` is of `Class`.
fn class_of_property(qualname: &str) -> Option<(&str, &str)> {
    let plain = qualname.split('#').next()?;
    let accessors = [".setter", ".deleter", ".getter"];
    let accessor = accessors.iter().find_map(|accessor| plain.strip_suffix(accessor));
    class_of_method(accessor.unwrap_or(plain))
}
