//! Inheritance among the repository's classes, and which of them are abstract.
//!
//! Everything that involves more than one class is computed once, in advance, because many modules
//! query it in parallel.

use std::collections::VecDeque;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{ConstructionBlocker, SignatureParam};

use super::foreign::ForeignBaseKind;
use crate::facts::ClassFacts;
use crate::link::resolve::ReferenceResolver;

/// A class of the repository, counted through all modules.
pub(super) type ClassId = usize;

/// The most ancestors that are followed; real classes have fewer.
const MAX_ANCESTORS: usize = 64;

/// The additional classes that a survey finds.
///
/// It also recognises special classes (`enum.Enum`) in the standard library's own source, where
/// they are ordinary classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurveyedClasses<'f> {
    /// The classes of each module that a call makes: `Point = namedtuple(…)`.
    pub functional_classes: &'f [Vec<ClassFacts>],
}

#[derive(Debug)]
enum ClassBase<'f> {
    Own(ClassId),
    /// Dotted name of a class from elsewhere.
    Foreign(String),
    /// The parameters of the named tuple.
    Tuple(&'f [SignatureParam]),
    Unknown,
}

impl ClassBase<'_> {
    fn is_foreign(&self, wanted: &str) -> bool {
        matches!(self, Self::Foreign(name) if name == wanted)
    }
}

/// An ancestor of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ClassAncestor<'h> {
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
pub(super) struct ClassAncestry<'h> {
    /// Approximately in Python's order of attribute lookup: depth first, left to right, each class
    /// after all that inherit from it.
    pub order: Vec<ClassAncestor<'h>>,
    /// Whether these are all ancestors; otherwise they are the nearest [`MAX_ANCESTORS`].
    pub complete: bool,
}

impl ClassAncestry<'_> {
    pub(super) fn own_classes(&self) -> impl DoubleEndedIterator<Item = ClassId> {
        self.order.iter().filter_map(|ancestor| match ancestor {
            ClassAncestor::Own(id) => Some(*id),
            _ => None,
        })
    }

    /// Names of the ancestors that the repository does not define.
    pub(super) fn foreign_names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().filter_map(|ancestor| match ancestor {
            ClassAncestor::Foreign(name) => Some(*name),
            _ => None,
        })
    }
}

#[derive(Debug)]
pub(super) struct ClassHierarchy<'f> {
    pub resolver: ReferenceResolver<'f>,
    classes: Vec<(usize, &'f ClassFacts)>,
    by_name: FxHashMap<(usize, &'f str), ClassId>,
    is_surveyed: bool,
    bases: Vec<Vec<ClassBase<'f>>>,
    /// Whether the metaclass, own or inherited, forbids instances of abstract classes.
    enforces_abstract: Vec<bool>,
    /// The class itself or, when it is abstract, the nearest subclass that is not.
    concrete: Vec<Option<ClassId>>,
}

impl<'f> ClassHierarchy<'f> {
    pub(super) fn new(
        resolver: ReferenceResolver<'f>,
        surveyed: Option<SurveyedClasses<'f>>,
    ) -> Self {
        let written = resolver.facts.iter().map(|facts| &facts.classes);
        let calls = surveyed.map_or(&[][..], |closer| closer.functional_classes);
        let classes: Vec<(usize, &ClassFacts)> = written
            .enumerate()
            .chain(calls.iter().enumerate())
            .flat_map(|(module, classes)| classes.iter().map(move |class| (module, class)))
            .collect();
        // Of two classes with the same name, the later definition counts.
        let by_name = classes
            .iter()
            .enumerate()
            .map(|(id, (module, class))| ((*module, class.qualname.as_str()), id))
            .collect();
        let mut hierarchy = Self {
            resolver,
            classes,
            by_name,
            is_surveyed: surveyed.is_some(),
            bases: Vec::new(),
            enforces_abstract: Vec::new(),
            concrete: Vec::new(),
        };
        let ids = 0..hierarchy.len();
        hierarchy.bases = ids.into_par_iter().map(|id| hierarchy.find_bases(id)).collect();
        hierarchy.enforces_abstract = hierarchy.find_enforcing_classes();
        hierarchy.concrete = hierarchy.find_concrete_classes();
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
            ClassBase::Own(own) => Some(self.dotted_name(*own)),
            ClassBase::Foreign(name) => Some(name.clone()),
            ClassBase::Tuple(_) | ClassBase::Unknown => None,
        });
        named.collect()
    }

    /// The parameters of the named tuple among the bases of a class.
    pub(super) fn tuple_params(&self, id: ClassId) -> &'f [SignatureParam] {
        let tuple = self.bases[id].iter().find_map(|base| match base {
            ClassBase::Tuple(params) => Some(*params),
            _ => None,
        });
        tuple.unwrap_or_default()
    }

    fn find_bases(&self, id: ClassId) -> Vec<ClassBase<'f>> {
        let (module, class) = self.classes[id];
        let find = |reference: &str| {
            let resolved = self.resolver.resolve(module, reference);
            let own = resolved.module.and_then(|module| self.find(module, &resolved.attributes));
            match own {
                // `class C(C)`: an earlier class of that name, which is gone.
                Some(own) if own == id => ClassBase::Unknown,
                Some(_) if self.is_surveyed && ForeignBaseKind::is_special(&resolved.name) => {
                    ClassBase::Foreign(resolved.name)
                }
                Some(own) => ClassBase::Own(own),
                None => ClassBase::Foreign(resolved.name),
            }
        };
        class
            .bases
            .iter()
            .map(|base| match base.tuple() {
                Some(params) => ClassBase::Tuple(params),
                None => base.reference().map_or(ClassBase::Unknown, find),
            })
            .collect()
    }

    fn direct_bases(
        &self,
        ancestor: ClassAncestor<'_>,
    ) -> impl DoubleEndedIterator<Item = ClassAncestor<'_>> {
        let (id, bases) = match ancestor {
            ClassAncestor::Own(id) => (id, &self.bases[id][..]),
            _ => (0, &[][..]),
        };
        bases.iter().map(move |base| match base {
            ClassBase::Own(own) => ClassAncestor::Own(*own),
            ClassBase::Foreign(name) => ClassAncestor::Foreign(name),
            ClassBase::Tuple(_) => ClassAncestor::Tuple(id),
            ClassBase::Unknown => ClassAncestor::Unknown(id),
        })
    }

    pub(super) fn compute_ancestry(&self, id: ClassId) -> ClassAncestry<'_> {
        let mut near = vec![ClassAncestor::Own(id)];
        let mut seen: FxHashSet<ClassAncestor<'_>> = near.iter().copied().collect();
        let mut complete = true;
        let mut forks = false;
        let mut at = 0;
        while at < near.len() {
            let mut bases = 0;
            for base in self.direct_bases(near[at]) {
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
            // Classes that no other one inherits from come last: reversed, that is Python's order.
            let mut order = Vec::with_capacity(near.len());
            self.order_bases_first(near[0], &mut seen, &mut order);
            order.reverse();
            near = order;
        }
        ClassAncestry { order: near, complete }
    }

    /// Adds `ancestor` after all that it inherits from, and takes each out of `waiting`.
    fn order_bases_first<'h>(
        &'h self,
        ancestor: ClassAncestor<'h>,
        waiting: &mut FxHashSet<ClassAncestor<'h>>,
        order: &mut Vec<ClassAncestor<'h>>,
    ) {
        // The recursion is at most as deep as the number of waiting ancestors.
        if waiting.remove(&ancestor) {
            for base in self.direct_bases(ancestor).rev() {
                self.order_bases_first(base, waiting, order);
            }
            order.push(ancestor);
        }
    }

    /// Starts from all classes with that metaclass at once, and goes down to subclasses.
    fn find_enforcing_classes(&self) -> Vec<bool> {
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
                if let ClassBase::Own(base) = *base {
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
    pub(super) fn concrete_class(&self, id: ClassId) -> Result<ClassId, ConstructionBlocker> {
        self.concrete[id].map_or_else(|| self.abstract_blocker(id).map_or(Ok(id), Err), Ok)
    }

    /// Starts from all concrete classes at once, and goes up, so that each class is visited once.
    fn find_concrete_classes(&self) -> Vec<Option<ClassId>> {
        let mut concrete: Vec<Option<ClassId>> = (0..self.len())
            .into_par_iter()
            .map(|id| self.abstract_blocker(id).is_none().then_some(id))
            .collect();
        let is_lasting = |id: &ClassId| self.facts(*id).local_to.is_none();
        let mut waiting: VecDeque<ClassId> =
            concrete.iter().flatten().copied().filter(is_lasting).collect();
        while let Some(id) = waiting.pop_front() {
            for base in &self.bases[id] {
                if let ClassBase::Own(base) = *base
                    && concrete[base].is_none()
                {
                    concrete[base] = concrete[id];
                    waiting.push_back(base);
                }
            }
        }
        concrete
    }

    pub(super) fn abstract_blocker(&self, id: ClassId) -> Option<ConstructionBlocker> {
        let is_protocol = self.bases[id].iter().any(|base| {
            base.is_foreign("typing.Protocol") || base.is_foreign("typing_extensions.Protocol")
        });
        if is_protocol {
            return Some(ConstructionBlocker::Protocol);
        }
        if !self.enforces_abstract[id] {
            return None;
        }
        let ancestry = self.compute_ancestry(id);
        let mut missing: Vec<&str> = Vec::new();
        // From the most basic class down: a subclass may define what its base declares.
        for class in ancestry.own_classes().rev().map(|id| self.facts(id)) {
            if !missing.is_empty() {
                let assigned = class.methods.iter().chain(&class.members);
                let fields = class.fields.iter().map(|field| &field.param.name);
                let provided: FxHashSet<&str> =
                    assigned.chain(fields).map(String::as_str).collect();
                missing.retain(|name| !provided.contains(name));
            }
            missing.extend(class.abstract_methods.iter().map(String::as_str));
        }
        (!missing.is_empty()).then(|| ConstructionBlocker::Abstract {
            methods: missing.into_iter().map(str::to_owned).collect(),
        })
    }
}
