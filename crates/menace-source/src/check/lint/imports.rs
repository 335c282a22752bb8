//! F401: an unused import. F403: `from … import *`.
//!
//! Without false positives rather than complete: a name that occurs anywhere in the file, in any
//! scope, in `__all__` or in a string that may be an annotation, counts as used.

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{Alias, Expr, ExprStringLiteral, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::LintNote;
use crate::check::walk::SyntaxNode;

#[derive(Debug)]
pub(super) struct UnusedImportCheck<'a> {
    /// Whether the file is an `__init__.py`, which imports names for other modules.
    is_package_init: bool,
    /// The name in this file, and where it is imported; `None` when that happens twice or the
    /// name is also defined here.
    import_ranges: FxHashMap<&'a str, Option<TextRange>>,
    /// Every name that an import binds anywhere in the file, and whether it is used. Collected
    /// before the walk, since recording all used names instead takes far longer.
    used_names: FxHashMap<&'a str, bool>,
}

impl<'a> UnusedImportCheck<'a> {
    pub(super) fn new(module: &'a [Stmt], is_package_init: bool) -> Self {
        let mut imported = ImportedNameCollector::default();
        if !is_package_init {
            imported.visit_body(module);
        }
        Self { is_package_init, import_ranges: FxHashMap::default(), used_names: imported.0 }
    }

    pub(super) fn visit_statement(
        &mut self,
        stmt: &'a Stmt,
        above: &[SyntaxNode<'a>],
        notes: &mut Vec<LintNote>,
    ) {
        match stmt {
            // An import in the body of a class makes an attribute, which any module may use.
            Stmt::Import(_) | Stmt::ImportFrom(_) if is_in_class(above) => {}
            Stmt::Import(import) => {
                for alias in &import.names {
                    let root = alias.name.split('.').next().unwrap_or_default();
                    self.bind_import(alias, root);
                }
            }
            Stmt::ImportFrom(import) => {
                let future = import.module.as_ref().is_some_and(|module| module == "__future__");
                for alias in &import.names {
                    if &alias.name == "*" {
                        let message = "`import *` hides where names come from";
                        notes.push(LintNote { code: "F403", range: import.range(), message });
                    } else if !future {
                        self.bind_import(alias, &alias.name);
                    }
                }
            }
            Stmt::FunctionDef(def) => self.mark_redefined(&def.name),
            Stmt::ClassDef(def) => self.mark_redefined(&def.name),
            Stmt::Global(names) => names.names.iter().for_each(|name| self.mark_used(name)),
            Stmt::Nonlocal(names) => names.names.iter().for_each(|name| self.mark_used(name)),
            _ => {}
        }
    }

    fn bind_import(&mut self, alias: &'a Alias, name: &'a str) {
        // `import x as x` marks a re-export.
        if alias.asname.as_ref().is_some_and(|asname| asname.as_str() == alias.name.as_str()) {
            return;
        }
        let local = alias.asname.as_ref().map_or(name, |asname| asname.as_str());
        self.import_ranges
            .entry(local)
            .and_modify(|place| *place = None)
            .or_insert(Some(alias.range()));
    }

    fn mark_redefined(&mut self, name: &'a str) {
        self.import_ranges.insert(name, None);
    }

    pub(super) fn mark_used(&mut self, name: &'a str) {
        if let Some(used) = self.used_names.get_mut(name) {
            *used = true;
        }
    }

    /// Marks names in a string that may be an annotation or an entry of `__all__`.
    pub(super) fn visit_string(&mut self, string: &'a ExprStringLiteral, above: &[SyntaxNode<'a>]) {
        if is_type_or_export(above) {
            for part in &string.value {
                let words = part.value.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                for word in words {
                    self.mark_used(word);
                }
            }
        }
    }

    pub(super) fn finish(self, notes: &mut Vec<LintNote>) {
        if self.is_package_init {
            return;
        }
        for (name, range) in self.import_ranges {
            if let (Some(range), false) =
                (range, self.used_names.get(name).copied().unwrap_or_default())
            {
                notes.push(LintNote { code: "F401", range, message: "imported but not used" });
            }
        }
    }
}

/// Collects the names that imports bind, in every scope.
#[derive(Default)]
struct ImportedNameCollector<'a>(FxHashMap<&'a str, bool>);

impl<'a> StatementVisitor<'a> for ImportedNameCollector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let names = match stmt {
            Stmt::Import(import) => &import.names,
            Stmt::ImportFrom(import) => &import.names,
            _ => return walk_stmt(self, stmt),
        };
        for alias in names {
            let root = alias.name.split('.').next().unwrap_or_default();
            let local = alias.asname.as_ref().map_or(root, |asname| asname.as_str());
            self.0.insert(local, false);
        }
    }
}

fn is_in_class(above: &[SyntaxNode<'_>]) -> bool {
    let scope = above.iter().rev().find_map(|node| match node {
        SyntaxNode::Stmt(stmt @ (Stmt::FunctionDef(_) | Stmt::ClassDef(_))) => Some(stmt),
        _ => None,
    });
    matches!(scope, Some(Stmt::ClassDef(_)))
}

/// How many parents of a string are examined for its purpose. Real types are not nested deeper, and
/// a chain of thousands of strings must not cost the square of its length.
const MAX_STRING_CONTEXT_DEPTH: usize = 64;

/// Whether a string here may be read as a type or as a list of exported names. Looks no further
/// than the statement around it.
fn is_type_or_export(above: &[SyntaxNode<'_>]) -> bool {
    let is_all = |target: &Expr| matches!(target, Expr::Name(name) if name.id == "__all__");
    for node in above.iter().rev().take(MAX_STRING_CONTEXT_DEPTH) {
        match node {
            SyntaxNode::Parameter(_)
            | SyntaxNode::TypeParam(_)
            | SyntaxNode::Expr(Expr::Subscript(_)) => {
                return true;
            }
            SyntaxNode::Expr(Expr::Call(call)) if takes_types(&call.func) => return true,
            SyntaxNode::Stmt(stmt) => {
                return match stmt {
                    Stmt::AnnAssign(_) | Stmt::TypeAlias(_) | Stmt::FunctionDef(_) => true,
                    Stmt::Assign(assign) => assign.targets.iter().any(is_all),
                    Stmt::AugAssign(assign) => is_all(&assign.target),
                    _ => false,
                };
            }
            _ => {}
        }
    }
    false
}

fn takes_types(callee: &Expr) -> bool {
    let name = match callee {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    matches!(
        name,
        "cast" | "TypeVar" | "NewType" | "ForwardRef" | "NamedTuple" | "TypedDict" | "TypeAliasType"
            // `__all__.extend([…])`
            | "extend" | "append"
    )
}
