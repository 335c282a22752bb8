//! The names in printed source, and what each refers to.
//!
//! Invariant: no name refers to two things, whatever modules are called.

use std::collections::{BTreeMap, BTreeSet};

use super::literal;
use crate::value::PyReference;

/// Keywords, which cannot be attributes or argument names.
const PYTHON_KEYWORDS: [&str; 36] = crate::words![
    False None True __debug__ and as assert async await break class continue def del elif else
    except finally for from global if import in is lambda nonlocal not or pass raise return try
    while with yield
];

/// The origin of names that need no import.
const BUILTIN_ORIGIN: &str = "";

/// Whether the name can be written as an identifier. ASCII only: Python normalises other letters.
pub(super) fn is_plain_identifier(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_word)
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && !PYTHON_KEYWORDS.contains(&name)
}

#[derive(Default)]
pub(super) struct PythonNames {
    /// For each name, the import statement that defines it.
    origins_by_name: BTreeMap<String, String>,
    imports: BTreeSet<String>,
    last_fresh_number: u32,
}

impl PythonNames {
    pub(super) fn into_imports(self) -> BTreeSet<String> {
        self.imports
    }

    /// A name that is not in use.
    pub(super) fn fresh_name(&mut self) -> String {
        loop {
            self.last_fresh_number += 1;
            let name = format!("v{}", self.last_fresh_number);
            if !self.origins_by_name.contains_key(&name) {
                self.origins_by_name.insert(name.clone(), name.clone());
                return name;
            }
        }
    }

    pub(super) fn builtin_name(&mut self, name: &str) -> String {
        let origin = self
            .origins_by_name
            .entry(name.to_owned())
            .or_insert_with(|| BUILTIN_ORIGIN.to_owned());
        if origin == BUILTIN_ORIGIN {
            name.to_owned()
        } else {
            format!("{}.{name}", self.import_as("import builtins", "builtins"))
        }
    }

    pub(super) fn reference_expression(&mut self, reference: &PyReference) -> String {
        let module = reference.module();
        let mut path = reference.qualname().split('.');
        let first = path.next().unwrap_or_default();
        let start = if module == "builtins" && is_plain_identifier(first) {
            self.builtin_name(first)
        } else if is_plain_identifier(module) {
            let module = self.import_as(&format!("import {module}"), module);
            self.attribute_expression(&module, first)
        } else if is_plain_identifier(first) && module.split('.').all(is_plain_identifier) {
            // Not `import a.b`: the package `a` may have another attribute `b`.
            self.import_as(&format!("from {module} import {first}"), first)
        } else {
            let importlib = self.import_as("import importlib", "importlib");
            let module = literal::string_literal(&module.into());
            self.attribute_expression(&format!("{importlib}.import_module({module})"), first)
        };
        path.fold(start, |start, name| self.attribute_expression(&start, name))
    }

    pub(super) fn attribute_expression(&mut self, of: &str, name: &str) -> String {
        if is_plain_identifier(name) {
            format!("{of}.{name}")
        } else {
            format!(
                "{}({of}, {})",
                self.builtin_name("getattr"),
                literal::string_literal(&name.into())
            )
        }
    }

    /// The name that the import is bound to: `wanted`, or `wanted_2` if that is taken.
    fn import_as(&mut self, statement: &str, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while self.origins_by_name.get(&name).is_some_and(|origin| origin != statement) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.origins_by_name.insert(name.clone(), statement.to_owned());
        self.imports.insert(if number > 1 {
            format!("{statement} as {name}")
        } else {
            statement.to_owned()
        });
        name
    }
}
