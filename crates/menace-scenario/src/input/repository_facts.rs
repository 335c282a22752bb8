//! Facts about the repository for making inputs: its classes, its sections, and the hints of their
//! source.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use menace_model::{
    ClassIndex, ClassInfo, ClassKind, NamedTypeIndex, PatternMethod, PatternUse, PyReference,
    Section, SectionHints, SectionId, TypeExpr,
};

use super::name_topics::split_words;
use crate::regex::{self, AttackText};

/// Regular expressions that are kept for one module.
const MAX_PATTERNS_PER_MODULE: usize = 1_000;

/// A section and its hints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SectionContext<'a> {
    /// Dotted name of its module.
    pub module: &'a str,
    pub section: &'a Section,
    pub hints: &'a SectionHints,
}

/// The facts that the inputs of all sections share.
#[derive(Debug)]
pub struct RepositoryFacts<'a> {
    classes: &'a ClassIndex,
    types: &'a NamedTypeIndex,
    modules: BTreeSet<&'a str>,
    by_name: HashMap<String, SectionContext<'a>>,
    by_id: HashMap<&'a SectionId, SectionContext<'a>>,
    /// Classes by the words of their names, joined: `text_wrapper`.
    by_words: HashMap<String, Vec<&'a str>>,
    /// Classes by their base classes.
    by_base: HashMap<&'a str, Vec<&'a str>>,
    /// Classes by their members.
    by_member: HashMap<&'a str, Vec<&'a str>>,
    /// Regular expressions by module.
    patterns: HashMap<&'a str, Vec<&'a PatternUse>>,
    /// Attacks on the patterns that were analysed so far.
    attacks: Mutex<HashMap<PatternUse, Arc<[AttackText]>>>,
}

impl<'a> RepositoryFacts<'a> {
    pub fn new(classes: &'a ClassIndex, types: &'a NamedTypeIndex) -> Self {
        let mut by_words: HashMap<String, Vec<&str>> = HashMap::new();
        let mut by_member: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut by_base: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, class) in &classes.0 {
            let words = split_words(class.qualname.rsplit('.').next().unwrap_or_default());
            // `text_wrapper`, `textwrapper`, and `wrapper`.
            for from in 0..words.len() {
                by_words.entry(words[from..].join("_")).or_default().push(name);
            }
            if words.len() > 1 {
                by_words.entry(words.concat()).or_default().push(name);
            }
            for base in &class.bases {
                by_base.entry(base).or_default().push(name);
            }
            let members = class.methods.iter().map(|method| method.name.as_str());
            for member in members.chain(class.fields.iter().map(|field| field.name.as_str())) {
                by_member.entry(member).or_default().push(name);
            }
        }
        Self {
            classes,
            types,
            modules: BTreeSet::new(),
            by_name: HashMap::new(),
            by_id: HashMap::new(),
            by_words,
            by_base,
            by_member,
            patterns: HashMap::new(),
            attacks: Mutex::default(),
        }
    }

    /// Classes whose names are, or end with, the words of the name.
    pub(crate) fn classes_named_like(&self, name: &str) -> &[&'a str] {
        self.by_words.get(&split_words(name).join("_")).map_or(&[], Vec::as_slice)
    }

    /// Classes that have one of the members, each once.
    pub(crate) fn classes_with_members(&self, members: &[String]) -> BTreeSet<&'a str> {
        let found = members.iter().filter_map(|member| self.by_member.get(member.as_str()));
        found.flatten().copied().collect()
    }

    /// Adds a section, with the dotted name of its module.
    pub fn add_section(&mut self, module: &'a str, section: &'a Section, hints: &'a SectionHints) {
        let context = SectionContext { module, section, hints };
        let qualname = section.id.qualname();
        // Python keeps the last of several definitions.
        let qualname = qualname.split_once('#').map_or(qualname, |(name, _)| name);
        self.by_name.insert(format!("{module}.{qualname}"), context);
        self.by_id.insert(&section.id, context);
        self.modules.insert(module);
        let patterns = self.patterns.entry(module).or_default();
        for used in &hints.literals.pattern_uses {
            if patterns.len() < MAX_PATTERNS_PER_MODULE {
                patterns.push(used);
            }
        }
    }

    /// The regular expressions of all sections of a module; of one without any, those of its
    /// package.
    pub(crate) fn module_patterns(&self, module: &str) -> Vec<&'a PatternUse> {
        let of_module = |module: &str| self.patterns.get(module).cloned().unwrap_or_default();
        let mut patterns = of_module(module);
        if patterns.is_empty() {
            let is_package =
                |package: &str| self.modules.iter().any(|name| is_submodule(name, package));
            let parent = module.rsplit_once('.').map(|(package, _)| package);
            let package = Some(module).filter(|module| is_package(module)).or(parent);
            let modules = self
                .modules
                .iter()
                .filter(|name| package.is_some_and(|package| is_submodule(name, package)));
            patterns = modules.flat_map(|module| of_module(module)).collect();
            patterns.truncate(MAX_PATTERNS_PER_MODULE);
        }
        let has_method = |one: &PatternUse| one.method != PatternMethod::Unknown;
        let known: HashSet<&str> =
            patterns.iter().filter(|one| has_method(one)).map(|one| one.pattern.as_str()).collect();
        patterns.retain(|one| has_method(one) || !known.contains(one.pattern.as_str()));
        patterns
    }

    /// Attacks on a pattern, which is analysed once.
    pub(crate) fn pattern_attacks(&self, used: &PatternUse) -> Arc<[AttackText]> {
        let known = || self.attacks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attacks) = known().get(used) {
            return Arc::clone(attacks);
        }
        let attacks: Arc<[AttackText]> = regex::find_attacks(used).into();
        known().insert(used.clone(), Arc::clone(&attacks));
        attacks
    }

    pub(crate) fn class(&self, dotted: &str) -> Option<&'a ClassInfo> {
        self.classes.get(dotted)
    }

    /// Are instances of the class data whose fields are not validated?
    pub(crate) fn is_record(&self, class: &PyReference) -> bool {
        let class = self.class(&format!("{}.{}", class.module(), class.qualname()));
        let is_data = |kind| matches!(kind, ClassKind::DataClass | ClassKind::NamedTuple);
        class.is_some_and(|class| is_data(class.kind))
    }

    pub(crate) fn type_name(&self, dotted: &str) -> Option<&'a TypeExpr> {
        self.types.get(dotted)
    }

    pub(crate) fn section(&self, id: &SectionId) -> Option<SectionContext<'a>> {
        self.by_id.get(id).copied()
    }

    /// String literals of the methods of a class, in the order of their names.
    pub(crate) fn class_literals(&self, class: &str) -> Vec<&'a str> {
        let prefix = format!("{class}.");
        let mut methods: Vec<(&String, &SectionContext<'a>)> =
            self.by_name.iter().filter(|(name, _)| name.starts_with(&prefix)).collect();
        methods.sort_by_key(|(name, _)| *name);
        let strings = methods.into_iter().flat_map(|(_, context)| &context.hints.literals.strings);
        strings.map(String::as_str).collect()
    }

    /// The section of a dotted name; of a class, its constructor.
    pub(crate) fn section_named(&self, dotted: &str) -> Option<SectionContext<'a>> {
        self.by_name
            .get(dotted)
            .or_else(|| self.by_name.get(&format!("{dotted}.__init__")))
            .copied()
    }

    /// How likely code of a module refers to the class, from 0 to 1: classes of the module before
    /// others, private classes of other modules last.
    pub(crate) fn class_likelihood(&self, module: &str, class: &str) -> f64 {
        let Some(found) = self.classes.get(class) else { return 1.0 };
        let is_private = found.qualname.split('.').any(|part| part.starts_with('_'));
        match (found.module == module, is_private) {
            (true, _) => 1.0,
            // The module of a part of a parameter is unknown.
            _ if module.is_empty() && !is_private => 0.8,
            (false, false) => 0.6,
            (false, true) => 0.2,
        }
    }

    pub(crate) fn subclasses(&self, class: &str) -> &[&'a str] {
        self.by_base.get(class).map_or(&[], Vec::as_slice)
    }

    /// The constructor of a class, possibly inherited.
    pub(crate) fn constructor(&self, class: &str) -> Option<SectionContext<'a>> {
        let step = self.classes.get(class)?.construction.steps.last()?;
        self.section(step.constructor.as_ref()?)
    }

    /// The section of a method, possibly inherited.
    pub(crate) fn method(&self, class: &str, name: &str) -> Option<SectionContext<'a>> {
        let mut left = vec![class];
        // Maximum number of visited base classes.
        for _ in 0..32 {
            let class = left.pop()?;
            if let Some(context) = self.by_name.get(&format!("{class}.{name}")) {
                return Some(*context);
            }
            let bases = self.classes.get(class).map_or(&[][..], |class| &class.bases);
            left.extend(bases.iter().rev().map(String::as_str));
        }
        None
    }

    /// The sections that a section calls, as far as names tell: functions, constructors, methods of
    /// its class, and of classes whose instances it has or is passed.
    pub(crate) fn called_sections(&self, id: &SectionId) -> Vec<SectionContext<'a>> {
        let Some(context) = self.section(id) else { return Vec::new() };
        let qualname = context.section.id.qualname();
        let mut found: Vec<SectionContext<'a>> = Vec::new();
        for name in called_names(context) {
            found.extend(self.section_named(&name));
        }
        for name in &context.hints.callees {
            found.extend(
                self.by_name.get(&format!("{}.{qualname}.<locals>.{name}", context.module)),
            );
        }
        let own = self.class_of(context);
        let maker = own.and_then(|own| self.constructor(own));
        let mut classes: Vec<&'a str> = own.into_iter().collect();
        // Attributes are mostly assigned in the constructor.
        for context in [Some(context), maker].into_iter().flatten() {
            classes.extend(self.classes_used_by(context));
        }
        for method in context.hints.callees.iter().filter_map(|name| name.rsplit_once('.')) {
            found.extend(classes.iter().filter_map(|class| self.method(class, method.1)));
        }
        found
    }

    /// The ids of the sections that a section calls, as far as names tell.
    pub fn callees_of(&self, id: &SectionId) -> Vec<&'a SectionId> {
        let callees = self.called_sections(id).into_iter();
        callees.map(|context| &context.section.id).filter(|callee| *callee != id).collect()
    }

    /// The class of a method.
    fn class_of(&self, context: SectionContext<'a>) -> Option<&'a str> {
        let (class, _) = context.section.id.qualname().rsplit_once('.')?;
        let own = format!("{}.{class}", context.module);
        self.classes.0.get_key_value(&own).map(|(own, _)| own.as_str())
    }

    /// The constructor of the class of a method.
    pub(crate) fn constructor_of(&self, context: SectionContext<'a>) -> Option<SectionContext<'a>> {
        self.constructor(self.class_of(context)?)
    }

    /// The top-level code of the module of a section.
    pub(crate) fn module_section_of(
        &self,
        context: SectionContext<'a>,
    ) -> Option<SectionContext<'a>> {
        self.by_name.get(&format!("{}.<module>", context.module)).copied()
    }

    /// Classes of the repository whose instances a section makes or is passed.
    fn classes_used_by(&self, context: SectionContext<'a>) -> Vec<&'a str> {
        fn names(kind: &TypeExpr) -> Vec<&String> {
            match kind {
                TypeExpr::Name(name) => vec![name],
                TypeExpr::Generic { base, .. } => names(base),
                TypeExpr::Union(kinds) => kinds.iter().flat_map(names).collect(),
                _ => Vec::new(),
            }
        }
        let param_classes =
            context.section.params.iter().filter_map(|param| param.resolved.as_ref());
        let param_classes = param_classes.flat_map(names).cloned();
        let classes = called_names(context).into_iter().chain(param_classes);
        let known = classes.filter_map(|name| self.classes.0.get_key_value(&name));
        known.map(|(name, _)| name.as_str()).collect()
    }

    /// The module and qualified name of a dotted name.
    pub(crate) fn reference(&self, dotted: &str) -> Option<PyReference> {
        if let Some(class) = self.classes.get(dotted) {
            return PyReference::new(&class.module, &class.qualname).ok();
        }
        let split = |at: usize| (&dotted[..at], &dotted[at + 1..]);
        let own = dotted.match_indices('.').rev().map(|(at, _)| split(at));
        let own = own.into_iter().find(|(module, _)| self.modules.contains(module));
        if let Some((module, qualname)) = own {
            return PyReference::new(module, qualname).ok();
        }
        external_reference(dotted)
    }
}

/// Dotted names of the callees of a section: resolved ones, and those of its own module as written.
fn called_names(context: SectionContext<'_>) -> Vec<String> {
    let others = context.section.calls.iter().map(|call| call.target.clone());
    let own = context.hints.callees.iter().map(|name| format!("{}.{name}", context.module));
    others.chain(own).collect()
}

fn is_submodule(module: &str, package: &str) -> bool {
    module.strip_prefix(package).is_some_and(|rest| rest.starts_with('.'))
}

/// The module and qualified name of a dotted name outside of the repository.
pub(crate) fn external_reference(dotted: &str) -> Option<PyReference> {
    if !dotted.contains('.') {
        return is_builtin(dotted).then(|| PyReference::new("builtins", dotted).ok()).flatten();
    }
    let splits: Vec<(&str, &str)> =
        dotted.match_indices('.').map(|(at, _)| (&dotted[..at], &dotted[at + 1..])).collect();
    let standard = splits.iter().rev().find(|(module, _)| is_standard_module(module));
    // Class names begin with a capital letter, modules hardly ever.
    let class = || {
        let is_class = |name: &str| name.starts_with(char::is_uppercase);
        splits.iter().find(|(_, rest)| is_class(rest.split('.').next().unwrap_or_default()))
    };
    let (module, qualname) = standard.or_else(class).or_else(|| splits.last())?;
    PyReference::new(module, qualname).ok()
}

fn is_standard_module(name: &str) -> bool {
    static STANDARD_MODULES: OnceLock<HashSet<&str>> = OnceLock::new();
    STANDARD_MODULES
        .get_or_init(|| include_str!("data/modules.txt").lines().collect())
        .contains(name)
}

/// Built-in functions and classes.
pub(crate) fn is_builtin(name: &str) -> bool {
    const BUILTIN_NAMES: &str = "\
        abs all any ascii bin bool bytearray bytes callable chr classmethod \
        complex dict dir divmod enumerate filter float format frozenset getattr hasattr hash hex \
        id int isinstance issubclass iter len list map max memoryview min next object oct ord pow \
        print property range repr reversed round set setattr slice sorted staticmethod str sum \
        super tuple type vars zip NotImplemented";
    static BUILTINS: OnceLock<HashSet<&str>> = OnceLock::new();
    let builtins = BUILTINS.get_or_init(|| BUILTIN_NAMES.split_whitespace().collect());
    builtins.contains(name)
        || name.ends_with("Error")
        || name.ends_with("Warning")
        || matches!(
            name,
            "Exception"
                | "BaseException"
                | "StopIteration"
                | "ExceptionGroup"
                | "KeyboardInterrupt"
                | "SystemExit"
                | "GeneratorExit"
                | "StopAsyncIteration"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotted_name_is_split_where_the_module_ends() {
        for (dotted, reference) in [
            ("int", "builtins:int"),
            ("decimal.Decimal", "decimal:Decimal"),
            ("datetime.datetime.now", "datetime:datetime.now"),
            ("os.path.join", "os.path:join"),
            ("xml.etree.ElementTree.Element", "xml.etree.ElementTree:Element"),
            ("numpy.ndarray", "numpy:ndarray"),
            ("django.http.HttpRequest", "django.http:HttpRequest"),
        ] {
            assert_eq!(
                external_reference(dotted).map(|it| it.to_string()).as_deref(),
                Some(reference)
            );
        }
        assert_eq!(external_reference("unheard_of"), None);
    }
}
