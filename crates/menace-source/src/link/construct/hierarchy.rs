//! How the classes of the repository inherit, and which of them are abstract.
//!
//! Everything that needs more than one class is worked out here once, up front: the modules
//! that ask are many, and ask in parallel.

use std::collections::VecDeque;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{Blocked, Param};

use super::foreign::Foreign;
use crate::facts::ClassFacts;
use crate::link::resolve::Resolver;

/// A class of the repository, counted through all modules.
pub(super) type ClassId = usize;

/// Nobody inherits from more; what is further away is left out.
const MAX_ANCESTORS: usize = 64;

/// What a closer look knows beyond the facts.
///
/// It also recognises the classes that mean something to Python (`enum.Enum`) in the standard
/// library itself, where they are classes like any other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Closer<'f> {
    /// The classes of each module that a call makes: `Point = namedtuple(…)`.
    pub calls: &'f [Vec<ClassFacts>],
}

#[derive(Debug)]
enum Base<'f> {
    Own(ClassId),
    /// Dotted name of a class from elsewhere.
    Foreign(String),
    /// What the named tuple takes.
    Tuple(&'f [Param]),
    Unknown,
}

impl Base<'_> {
    fn is_foreign(&self, wanted: &str) -> bool {
        matches!(self, Self::Foreign(name) if name == wanted)
    }
}

/// A class, or what stands in for one, on the way up from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Ancestor<'h> {
    Own(ClassId),
    /// Dotted name of a class from elsewhere.
    Foreign(&'h str),
    /// The call of `namedtuple` among the bases of this class.
    Tuple(ClassId),
    /// A base of this class that is no name.
    Unknown(ClassId),
}

/// The way up from a class, itself included.
#[derive(Debug)]
pub(super) struct Ancestry<'h> {
    /// In the order in which Python looks up attributes, near enough: depth first, left to
    /// right, each class after all that inherit from it.
    pub order: Vec<Ancestor<'h>>,
    /// Are these all? Else the nearest [`MAX_ANCESTORS`].
    pub complete: bool,
}

impl Ancestry<'_> {
    pub(super) fn own(&self) -> impl DoubleEndedIterator<Item = ClassId> {
        self.order.iter().filter_map(|ancestor| match ancestor {
            Ancestor::Own(id) => Some(*id),
            _ => None,
        })
    }
}

#[derive(Debug)]
pub(super) struct Hierarchy<'f> {
    pub resolver: Resolver<'f>,
    classes: Vec<(usize, &'f ClassFacts)>,
    by_name: FxHashMap<(usize, &'f str), ClassId>,
    is_closer: bool,
    bases: Vec<Vec<Base<'f>>>,
    /// Is the metaclass, own or inherited, one that minds abstract methods?
    enforces: Vec<bool>,
    /// The class itself or, when it is abstract, the nearest subclass that is not.
    concrete: Vec<Option<ClassId>>,
}

impl<'f> Hierarchy<'f> {
    pub(super) fn new(resolver: Resolver<'f>, closer: Option<Closer<'f>>) -> Self {
        let written = resolver.facts.iter().map(|facts| &facts.classes);
        let calls = closer.map_or(&[][..], |closer| closer.calls);
        let classes: Vec<(usize, &ClassFacts)> = written
            .enumerate()
            .chain(calls.iter().enumerate())
            .flat_map(|(module, classes)| classes.iter().map(move |class| (module, class)))
            .collect();
        // Of two classes with one name, the later definition is the one that stays.
        let by_name = classes
            .iter()
            .enumerate()
            .map(|(id, (module, class))| ((*module, class.qualname.as_str()), id))
            .collect();
        let mut hierarchy = Self {
            resolver,
            classes,
            by_name,
            is_closer: closer.is_some(),
            bases: Vec::new(),
            enforces: Vec::new(),
            concrete: Vec::new(),
        };
        let ids = 0..hierarchy.len();
        hierarchy.bases = ids.into_par_iter().map(|id| hierarchy.find_bases(id)).collect();
        hierarchy.enforces = hierarchy.find_enforcing();
        hierarchy.concrete = hierarchy.find_concrete();
        hierarchy
    }

    pub(super) fn len(&self) -> usize {
        self.classes.len()
    }

    pub(super) fn facts(&self, id: ClassId) -> &'f ClassFacts {
        self.classes[id].1
    }

    pub(super) fn module(&self, id: ClassId) -> usize {
        self.classes[id].0
    }

    pub(super) fn find(&self, module: usize, qualname: &str) -> Option<ClassId> {
        self.by_name.get(&(module, qualname)).copied()
    }

    pub(super) fn dotted_name(&self, id: ClassId) -> String {
        format!("{}.{}", self.resolver.names.name(self.module(id)), self.facts(id).qualname)
    }

    /// The bases that have a name, dotted.
    pub(super) fn base_names(&self, id: ClassId) -> Vec<String> {
        let named = self.bases[id].iter().filter_map(|base| match base {
            Base::Own(own) => Some(self.dotted_name(*own)),
            Base::Foreign(name) => Some(name.clone()),
            Base::Tuple(_) | Base::Unknown => None,
        });
        named.collect()
    }

    /// What the named tuple among the bases of a class takes.
    pub(super) fn tuple_params(&self, id: ClassId) -> &'f [Param] {
        let tuple = self.bases[id].iter().find_map(|base| match base {
            Base::Tuple(params) => Some(*params),
            _ => None,
        });
        tuple.unwrap_or_default()
    }

    fn find_bases(&self, id: ClassId) -> Vec<Base<'f>> {
        let (module, class) = self.classes[id];
        let find = |reference: &str| {
            let resolved = self.resolver.resolve(module, reference);
            let own = resolved.module.and_then(|module| self.find(module, &resolved.attributes));
            match own {
                // `class C(C)`: an earlier class of that name, which is gone.
                Some(own) if own == id => Base::Unknown,
                Some(_) if self.is_closer && Foreign::is_special(&resolved.name) => {
                    Base::Foreign(resolved.name)
                }
                Some(own) => Base::Own(own),
                None => Base::Foreign(resolved.name),
            }
        };
        class
            .bases
            .iter()
            .map(|base| match base.tuple() {
                Some(params) => Base::Tuple(params),
                None => base.reference().map_or(Base::Unknown, find),
            })
            .collect()
    }

    fn direct(&self, ancestor: Ancestor<'_>) -> impl DoubleEndedIterator<Item = Ancestor<'_>> {
        let (id, bases) = match ancestor {
            Ancestor::Own(id) => (id, &self.bases[id][..]),
            _ => (0, &[][..]),
        };
        bases.iter().map(move |base| match base {
            Base::Own(own) => Ancestor::Own(*own),
            Base::Foreign(name) => Ancestor::Foreign(name),
            Base::Tuple(_) => Ancestor::Tuple(id),
            Base::Unknown => Ancestor::Unknown(id),
        })
    }

    pub(super) fn ancestry(&self, id: ClassId) -> Ancestry<'_> {
        let mut near = vec![Ancestor::Own(id)];
        let mut seen: FxHashSet<Ancestor<'_>> = near.iter().copied().collect();
        let mut complete = true;
        let mut forks = false;
        let mut at = 0;
        while at < near.len() {
            let mut bases = 0;
            for base in self.direct(near[at]) {
                bases += 1;
                if seen.contains(&base) {
                    continue;
                }
                if near.len() == MAX_ANCESTORS {
                    complete = false;
                    break;
                }
                seen.insert(base);
                near.push(base);
            }
            forks |= bases > 1;
            at += 1;
        }
        if forks {
            // Last comes what nobody else inherits from: turned around, that is Python's order.
            let mut order = Vec::with_capacity(near.len());
            self.bases_first(near[0], &mut seen, &mut order);
            order.reverse();
            near = order;
        }
        Ancestry { order: near, complete }
    }

    /// Adds `ancestor` after all that it inherits from, and takes each out of `waiting`.
    fn bases_first<'h>(
        &'h self,
        ancestor: Ancestor<'h>,
        waiting: &mut FxHashSet<Ancestor<'h>>,
        order: &mut Vec<Ancestor<'h>>,
    ) {
        // As deep as there are ancestors waiting, at most.
        if waiting.remove(&ancestor) {
            for base in self.direct(ancestor).rev() {
                self.bases_first(base, waiting, order);
            }
            order.push(ancestor);
        }
    }

    /// Goes down from all classes with that metaclass at once, as below goes up.
    fn find_enforcing(&self) -> Vec<bool> {
        let mut enforces: Vec<bool> = (0..self.len())
            .into_par_iter()
            .map(|id| {
                let (module, class) = self.classes[id];
                let metaclass = class.metaclass.as_deref();
                let by_metaclass = metaclass.is_some_and(|metaclass| {
                    self.resolver.resolve(module, metaclass).name == "abc.ABCMeta"
                });
                by_metaclass || self.bases[id].iter().any(|base| base.is_foreign("abc.ABC"))
            })
            .collect();
        let mut subclasses: Vec<Vec<ClassId>> = vec![Vec::new(); self.len()];
        for (id, bases) in self.bases.iter().enumerate() {
            for base in bases {
                if let Base::Own(base) = *base {
                    subclasses[base].push(id);
                }
            }
        }
        let mut waiting: Vec<ClassId> = (0..self.len()).filter(|&id| enforces[id]).collect();
        while let Some(id) = waiting.pop() {
            for &subclass in &subclasses[id] {
                if !std::mem::replace(&mut enforces[subclass], true) {
                    waiting.push(subclass);
                }
            }
        }
        enforces
    }

    /// The class itself or, when it is abstract, a subclass that is not.
    pub(super) fn concrete(&self, id: ClassId) -> Result<ClassId, Blocked> {
        self.concrete[id].map_or_else(|| self.abstract_because(id).map_or(Ok(id), Err), Ok)
    }

    /// Goes up from all concrete classes at once, so that each class is met but once.
    fn find_concrete(&self) -> Vec<Option<ClassId>> {
        let mut concrete: Vec<Option<ClassId>> = (0..self.len())
            .into_par_iter()
            .map(|id| self.abstract_because(id).is_none().then_some(id))
            .collect();
        let is_lasting = |id: &ClassId| self.facts(*id).local_to.is_none();
        let mut waiting: VecDeque<ClassId> =
            concrete.iter().flatten().copied().filter(is_lasting).collect();
        while let Some(id) = waiting.pop_front() {
            for base in &self.bases[id] {
                if let Base::Own(base) = *base
                    && concrete[base].is_none()
                {
                    concrete[base] = concrete[id];
                    waiting.push_back(base);
                }
            }
        }
        concrete
    }

    pub(super) fn abstract_because(&self, id: ClassId) -> Option<Blocked> {
        let is_protocol = self.bases[id].iter().any(|base| {
            base.is_foreign("typing.Protocol") || base.is_foreign("typing_extensions.Protocol")
        });
        if is_protocol {
            return Some(Blocked::Protocol);
        }
        if !self.enforces[id] {
            return None;
        }
        let ancestry = self.ancestry(id);
        let mut missing: Vec<&str> = Vec::new();
        // From the most basic class down: what is declared above may be filled in below.
        for class in ancestry.own().rev().map(|id| self.facts(id)) {
            if !missing.is_empty() {
                let assigned = class.methods.iter().chain(&class.members);
                let fields = class.fields.iter().map(|field| &field.param.name);
                let provided: FxHashSet<&str> =
                    assigned.chain(fields).map(String::as_str).collect();
                missing.retain(|name| !provided.contains(name));
            }
            missing.extend(class.abstract_methods.iter().map(String::as_str));
        }
        (!missing.is_empty()).then(|| Blocked::Abstract {
            methods: missing.into_iter().map(str::to_owned).collect(),
        })
    }
}
