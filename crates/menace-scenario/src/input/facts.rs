//! What is known about the repository when inputs are made: its classes, its sections, and what
//! their source tells beyond their signatures.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use menace_model::{
    Class, ClassKind, Classes, Hints, Reference, Section, SectionId, TypeExpr, TypeNames,
};

use super::topic::words;

/// A section and what its source tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    /// Dotted name of the module that it is in.
    pub module: &'a str,
    pub section: &'a Section,
    pub hints: &'a Hints,
}

/// Looked up, never changed, by the inputs of all sections.
#[derive(Debug)]
pub struct Facts<'a> {
    classes: &'a Classes,
    types: &'a TypeNames,
    modules: BTreeSet<&'a str>,
    by_name: HashMap<String, Told<'a>>,
    by_id: HashMap<&'a SectionId, Told<'a>>,
    /// Classes by the words of their names, joined: `text_wrapper`.
    by_words: HashMap<String, Vec<&'a str>>,
    /// Classes by what they are derived from.
    by_base: HashMap<&'a str, Vec<&'a str>>,
    /// Classes by what their instances have.
    by_member: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Facts<'a> {
    pub fn new(classes: &'a Classes, types: &'a TypeNames) -> Self {
        let mut by_words: HashMap<String, Vec<&str>> = HashMap::new();
        let mut by_member: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut by_base: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, class) in &classes.0 {
            let words = words(class.qualname.rsplit('.').next().unwrap_or_default());
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
        }
    }

    /// Classes whose names are, or end with, the words of that name.
    pub(crate) fn classes_called(&self, name: &str) -> &[&'a str] {
        self.by_words.get(&words(name).join("_")).map_or(&[], Vec::as_slice)
    }

    /// Classes whose instances have one of these, each once.
    pub(crate) fn classes_with(&self, members: &[String]) -> BTreeSet<&'a str> {
        let found = members.iter().filter_map(|member| self.by_member.get(member.as_str()));
        found.flatten().copied().collect()
    }

    /// Makes a section known, with the dotted name of its module.
    pub fn add(&mut self, module: &'a str, section: &'a Section, hints: &'a Hints) {
        let told = Told { module, section, hints };
        let qualname = section.id.qualname();
        // Python keeps the last of several definitions.
        let qualname = qualname.split_once('#').map_or(qualname, |(name, _)| name);
        self.by_name.insert(format!("{module}.{qualname}"), told);
        self.by_id.insert(&section.id, told);
        self.modules.insert(module);
    }

    pub(crate) fn class(&self, dotted: &str) -> Option<&'a Class> {
        self.classes.get(dotted)
    }

    /// Are instances of a class data, with fields that nobody checks?
    pub(crate) fn is_record(&self, class: &Reference) -> bool {
        let class = self.class(&format!("{}.{}", class.module(), class.qualname()));
        let is_data = |kind| matches!(kind, ClassKind::DataClass | ClassKind::NamedTuple);
        class.is_some_and(|class| is_data(class.kind))
    }

    pub(crate) fn type_name(&self, dotted: &str) -> Option<&'a TypeExpr> {
        self.types.get(dotted)
    }

    pub(crate) fn section(&self, id: &SectionId) -> Option<Told<'a>> {
        self.by_id.get(id).copied()
    }

    /// What the methods of a class spell out, in the order of their names.
    pub(crate) fn words_of(&self, class: &str) -> Vec<&'a str> {
        let prefix = format!("{class}.");
        let mut methods: Vec<(&String, &Told<'a>)> =
            self.by_name.iter().filter(|(name, _)| name.starts_with(&prefix)).collect();
        methods.sort_by_key(|(name, _)| *name);
        let strings = methods.into_iter().flat_map(|(_, told)| &told.hints.literals.strings);
        strings.map(String::as_str).collect()
    }

    /// The section behind a dotted name; of a class, its constructor.
    pub(crate) fn named(&self, dotted: &str) -> Option<Told<'a>> {
        self.by_name
            .get(dotted)
            .or_else(|| self.by_name.get(&format!("{dotted}.__init__")))
            .copied()
    }

    /// How likely code of a module means that class, from 0 to 1: its own before others', and
    /// nobody else's private ones.
    pub(crate) fn nearness(&self, module: &str, class: &str) -> f64 {
        let Some(found) = self.classes.get(class) else { return 1.0 };
        let is_private = found.qualname.split('.').any(|part| part.starts_with('_'));
        match (found.module == module, is_private) {
            (true, _) => 1.0,
            // Of a part, nobody knows where it is used.
            _ if module.is_empty() && !is_private => 0.8,
            (false, false) => 0.6,
            (false, true) => 0.2,
        }
    }

    /// Classes that are derived from this one.
    pub(crate) fn heirs(&self, class: &str) -> &[&'a str] {
        self.by_base.get(class).map_or(&[], Vec::as_slice)
    }

    /// What is called to make an instance of a class, inherited ones included.
    pub(crate) fn constructor(&self, class: &str) -> Option<Told<'a>> {
        let step = self.classes.get(class)?.construction.steps.last()?;
        self.section(step.constructor.as_ref()?)
    }

    /// The section behind a method, inherited ones included.
    pub(crate) fn method(&self, class: &str, name: &str) -> Option<Told<'a>> {
        let mut left = vec![class];
        // Bases of bases; no repository has more of them.
        for _ in 0..32 {
            let class = left.pop()?;
            if let Some(told) = self.by_name.get(&format!("{class}.{name}")) {
                return Some(*told);
            }
            let bases = self.classes.get(class).map_or(&[][..], |class| &class.bases);
            left.extend(bases.iter().rev().map(String::as_str));
        }
        None
    }

    /// The sections of the repository that a section calls, as far as names tell: functions,
    /// constructors, methods of its own class, and of classes whose instances it has or is given.
    pub(crate) fn called_by(&self, id: &SectionId) -> Vec<Told<'a>> {
        let Some(told) = self.section(id) else { return Vec::new() };
        let qualname = told.section.id.qualname();
        let mut found: Vec<Told<'a>> = Vec::new();
        for name in called(told) {
            found.extend(self.named(&name));
        }
        for name in &told.hints.calls {
            found.extend(self.by_name.get(&format!("{}.{qualname}.<locals>.{name}", told.module)));
        }
        let own = self.class_of(told);
        let maker = own.and_then(|own| self.constructor(own));
        let mut classes: Vec<&'a str> = own.into_iter().collect();
        // What an instance has was mostly put there when it was made.
        for told in [Some(told), maker].into_iter().flatten() {
            classes.extend(self.classes_in(told));
        }
        for method in told.hints.calls.iter().filter_map(|name| name.rsplit_once('.')) {
            found.extend(classes.iter().filter_map(|class| self.method(class, method.1)));
        }
        found
    }

    /// The class that a method belongs to.
    fn class_of(&self, told: Told<'a>) -> Option<&'a str> {
        let (class, _) = told.section.id.qualname().rsplit_once('.')?;
        let own = format!("{}.{class}", told.module);
        self.classes.0.get_key_value(&own).map(|(own, _)| own.as_str())
    }

    /// What makes the instance that a method is called on.
    pub(crate) fn maker_of(&self, told: Told<'a>) -> Option<Told<'a>> {
        self.constructor(self.class_of(told)?)
    }

    /// The top level of the module that a section is in.
    pub(crate) fn top_of(&self, told: Told<'a>) -> Option<Told<'a>> {
        self.by_name.get(&format!("{}.<module>", told.module)).copied()
    }

    /// Classes of the repository whose instances a section makes or is given.
    fn classes_in(&self, told: Told<'a>) -> Vec<&'a str> {
        fn names(kind: &TypeExpr) -> Vec<&String> {
            match kind {
                TypeExpr::Name(name) => vec![name],
                TypeExpr::Generic { base, .. } => names(base),
                TypeExpr::Union(kinds) => kinds.iter().flat_map(names).collect(),
                _ => Vec::new(),
            }
        }
        let given = told.section.params.iter().filter_map(|param| param.resolved.as_ref());
        let given = given.flat_map(names).cloned();
        let classes = called(told).into_iter().chain(given);
        let known = classes.filter_map(|name| self.classes.0.get_key_value(&name));
        known.map(|(name, _)| name.as_str()).collect()
    }

    /// Where a dotted name leads to.
    pub(crate) fn reference(&self, dotted: &str) -> Option<Reference> {
        if let Some(class) = self.classes.get(dotted) {
            return Reference::new(&class.module, &class.qualname).ok();
        }
        let split = |at: usize| (&dotted[..at], &dotted[at + 1..]);
        let own = dotted.match_indices('.').rev().map(|(at, _)| split(at));
        let own = own.into_iter().find(|(module, _)| self.modules.contains(module));
        if let Some((module, qualname)) = own {
            return Reference::new(module, qualname).ok();
        }
        elsewhere(dotted)
    }
}

/// Dotted names of what a section calls: of other modules, and of its own as they are written there.
fn called(told: Told<'_>) -> Vec<String> {
    let others = told.section.calls.iter().map(|call| call.target.clone());
    let own = told.hints.calls.iter().map(|name| format!("{}.{name}", told.module));
    others.chain(own).collect()
}

/// Where a dotted name leads to that is not of the repository.
pub(crate) fn elsewhere(dotted: &str) -> Option<Reference> {
    if !dotted.contains('.') {
        return is_builtin(dotted).then(|| Reference::new("builtins", dotted).ok()).flatten();
    }
    let splits: Vec<(&str, &str)> =
        dotted.match_indices('.').map(|(at, _)| (&dotted[..at], &dotted[at + 1..])).collect();
    let standard = splits.iter().rev().find(|(module, _)| is_standard_module(module));
    // Classes begin with a capital, modules hardly ever.
    let class = || {
        let is_class = |name: &str| name.starts_with(char::is_uppercase);
        splits.iter().find(|(_, rest)| is_class(rest.split('.').next().unwrap_or_default()))
    };
    let (module, qualname) = standard.or_else(class).or_else(|| splits.last())?;
    Reference::new(module, qualname).ok()
}

fn is_standard_module(name: &str) -> bool {
    static MODULES: OnceLock<HashSet<&str>> = OnceLock::new();
    MODULES.get_or_init(|| include_str!("data/modules.txt").lines().collect()).contains(name)
}

/// Functions and classes that are there without an import.
pub(crate) fn is_builtin(name: &str) -> bool {
    const NAMES: &str = "abs all any ascii bin bool bytearray bytes callable chr classmethod \
        complex dict dir divmod enumerate filter float format frozenset getattr hasattr hash hex \
        id int isinstance issubclass iter len list map max memoryview min next object oct ord pow \
        print property range repr reversed round set setattr slice sorted staticmethod str sum \
        super tuple type vars zip NotImplemented";
    static BUILTINS: OnceLock<HashSet<&str>> = OnceLock::new();
    let builtins = BUILTINS.get_or_init(|| NAMES.split_whitespace().collect());
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
            assert_eq!(elsewhere(dotted).map(|it| it.to_string()).as_deref(), Some(reference));
        }
        assert_eq!(elsewhere("unheard_of"), None);
    }
}
