//! Which name in the printed source means what.
//!
//! Invariant: no name means two things, whatever modules are called.

use std::collections::{BTreeMap, BTreeSet};

use super::literal;
use crate::value::Reference;

/// What cannot be an attribute or the name of an argument.
const KEYWORDS: [&str; 36] = [
    "False",
    "None",
    "True",
    "__debug__",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
];

/// The origin of names that need no import.
const BUILTIN: &str = "";

/// Can it be written without quotes? Only ASCII: Python replaces other letters by similar ones.
pub(super) fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_word)
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && !KEYWORDS.contains(&name)
}

#[derive(Default)]
pub(super) struct Names {
    /// Each name, and the import that it comes from.
    taken: BTreeMap<String, String>,
    imports: BTreeSet<String>,
    assigned: u32,
}

impl Names {
    pub(super) fn into_imports(self) -> BTreeSet<String> {
        self.imports
    }

    /// A name that nothing has yet.
    pub(super) fn fresh(&mut self) -> String {
        loop {
            self.assigned += 1;
            let name = format!("v{}", self.assigned);
            if !self.taken.contains_key(&name) {
                self.taken.insert(name.clone(), name.clone());
                return name;
            }
        }
    }

    pub(super) fn builtin(&mut self, name: &str) -> String {
        let origin = self.taken.entry(name.to_owned()).or_insert_with(|| BUILTIN.to_owned());
        if origin == BUILTIN {
            name.to_owned()
        } else {
            format!("{}.{name}", self.import("import builtins", "builtins"))
        }
    }

    pub(super) fn reference(&mut self, reference: &Reference) -> String {
        let module = reference.module();
        let mut path = reference.qualname().split('.');
        let first = path.next().unwrap_or_default();
        let start = if module == "builtins" && is_plain(first) {
            self.builtin(first)
        } else if is_plain(module) {
            let module = self.import(&format!("import {module}"), module);
            self.attribute(&module, first)
        } else if is_plain(first) && module.split('.').all(is_plain) {
            // Not `import a.b`: `a` may have something else that is called `b`.
            self.import(&format!("from {module} import {first}"), first)
        } else {
            let importlib = self.import("import importlib", "importlib");
            let module = literal::string(&module.into());
            self.attribute(&format!("{importlib}.import_module({module})"), first)
        };
        path.fold(start, |start, name| self.attribute(&start, name))
    }

    pub(super) fn attribute(&mut self, of: &str, name: &str) -> String {
        if is_plain(name) {
            format!("{of}.{name}")
        } else {
            format!("{}({of}, {})", self.builtin("getattr"), literal::string(&name.into()))
        }
    }

    /// The name under which the import is known: `wanted`, or `wanted_2` if that is taken.
    fn import(&mut self, statement: &str, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while self.taken.get(&name).is_some_and(|origin| origin != statement) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.taken.insert(name.clone(), statement.to_owned());
        self.imports.insert(if number > 1 {
            format!("{statement} as {name}")
        } else {
            statement.to_owned()
        });
        name
    }
}
