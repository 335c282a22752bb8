//! Tracks the imports of a module, and resolves the full name of a callee.

use ruff_python_ast::{Expr, StmtImport, StmtImportFrom};
use rustc_hash::{FxHashMap, FxHashSet};

/// The imports seen so far. As in Bandit there is one table for the file, whatever the scope.
#[derive(Debug, Default)]
pub(super) struct ImportTable<'a> {
    /// Local name → module and, for `from module import name`, the name in it.
    aliases: FxHashMap<&'a str, (&'a str, Option<&'a str>)>,
    /// Full names as imported.
    modules: FxHashSet<String>,
}

impl<'a> ImportTable<'a> {
    pub(super) fn add(&mut self, import: &'a StmtImport) {
        for alias in &import.names {
            if let Some(local) = &alias.asname {
                self.aliases.insert(local, (&alias.name, None));
            }
            self.modules.insert(alias.name.to_string());
        }
    }

    pub(super) fn add_from(&mut self, import: &'a StmtImportFrom) {
        for alias in &import.names {
            if let Some(module) = &import.module {
                let local = alias.asname.as_ref().unwrap_or(&alias.name);
                self.aliases.insert(local, (module, Some(&alias.name)));
                self.modules.insert(format!("{module}.{}", alias.name));
            } else {
                if let Some(local) = &alias.asname {
                    self.aliases.insert(local, (&alias.name, None));
                }
                self.modules.insert(alias.name.to_string());
            }
        }
    }

    /// Whether exactly this was imported.
    pub(super) fn has(&self, module: &str) -> bool {
        self.modules.contains(module)
    }

    /// Whether the text is part of anything imported: `flask` for `flask_login`, too.
    pub(super) fn mentions(&self, text: &str) -> bool {
        self.modules.iter().any(|module| module.contains(text))
    }

    /// Writes the dotted name of a callee with its imports resolved into `out`. Parts that are no
    /// names, such as the result of another call, are left empty: `f().run` is `.run`.
    ///
    /// `parts` is a buffer that the caller reuses, to save an allocation for each call.
    pub(super) fn qualify(&self, callee: &'a Expr, parts: &mut Vec<&'a str>, out: &mut String) {
        out.clear();
        parts.clear();
        let mut root = callee;
        while let Expr::Attribute(attribute) = root {
            parts.push(&attribute.attr);
            root = &attribute.value;
        }
        if let Expr::Name(name) = root {
            match self.aliases.get(name.id.as_str()) {
                Some((module, Some(member))) => out.extend([*module, ".", *member]),
                Some((module, None)) => out.push_str(module),
                None => out.push_str(&name.id),
            }
        }
        for part in parts.iter().rev() {
            out.push('.');
            out.push_str(part);
        }
    }
}
