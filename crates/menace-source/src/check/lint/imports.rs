//! F401: an import that nothing uses. F403: `from … import *`.
//!
//! Certain rather than complete: a name that occurs anywhere in the file, in any scope, in
//! `__all__` or in a string that may be an annotation, counts as used.

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{Alias, Expr, ExprStringLiteral, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::Note;
use crate::check::walk::Node;

#[derive(Debug)]
pub(super) struct ImportUse<'a> {
    /// Packages import names for others to use.
    is_package_init: bool,
    /// The name in this file, and where it is imported; `None` when that happens twice or the
    /// name is also defined here.
    bound: FxHashMap<&'a str, Option<TextRange>>,
    /// Every name that an import binds anywhere in the file, and whether it is used. Known before
    /// the walk: remembering all names that are used instead takes far longer.
    used: FxHashMap<&'a str, bool>,
}

impl<'a> ImportUse<'a> {
    pub(super) fn new(module: &'a [Stmt], is_package_init: bool) -> Self {
        let mut imported = Imported::default();
        if !is_package_init {
            imported.visit_body(module);
        }
        Self { is_package_init, bound: FxHashMap::default(), used: imported.0 }
    }

    pub(super) fn statement(&mut self, stmt: &'a Stmt, above: &[Node<'a>], notes: &mut Vec<Note>) {
        match stmt {
            // An import in the body of a class makes an attribute, for anyone to use.
            Stmt::Import(_) | Stmt::ImportFrom(_) if is_in_class(above) => {}
            Stmt::Import(import) => {
                for alias in &import.names {
                    let root = alias.name.split('.').next().unwrap_or_default();
                    self.bind(alias, root);
                }
            }
            Stmt::ImportFrom(import) => {
                let future = import.module.as_ref().is_some_and(|module| module == "__future__");
                for alias in &import.names {
                    if &alias.name == "*" {
                        let message = "`import *` hides where names come from";
                        notes.push(Note { code: "F403", range: import.range(), message });
                    } else if !future {
                        self.bind(alias, &alias.name);
                    }
                }
            }
            Stmt::FunctionDef(def) => self.define(&def.name),
            Stmt::ClassDef(def) => self.define(&def.name),
            Stmt::Global(names) => names.names.iter().for_each(|name| self.name(name)),
            Stmt::Nonlocal(names) => names.names.iter().for_each(|name| self.name(name)),
            _ => {}
        }
    }

    fn bind(&mut self, alias: &'a Alias, name: &'a str) {
        // `import x as x` says that the name is for others.
        if alias.asname.as_ref().is_some_and(|asname| asname.as_str() == alias.name.as_str()) {
            return;
        }
        let local = alias.asname.as_ref().map_or(name, |asname| asname.as_str());
        self.bound.entry(local).and_modify(|place| *place = None).or_insert(Some(alias.range()));
    }

    fn define(&mut self, name: &'a str) {
        self.bound.insert(name, None);
    }

    pub(super) fn name(&mut self, name: &'a str) {
        if let Some(used) = self.used.get_mut(name) {
            *used = true;
        }
    }

    /// A string may name what it annotates with or exports.
    pub(super) fn string(&mut self, string: &'a ExprStringLiteral, above: &[Node<'a>]) {
        if is_type_or_export(above) {
            for part in &string.value {
                let words = part.value.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                for word in words {
                    self.name(word);
                }
            }
        }
    }

    pub(super) fn finish(self, notes: &mut Vec<Note>) {
        if self.is_package_init {
            return;
        }
        for (name, range) in self.bound {
            if let (Some(range), false) = (range, self.used.get(name).copied().unwrap_or_default())
            {
                notes.push(Note { code: "F401", range, message: "imported but not used" });
            }
        }
    }
}

/// Collects the names that imports bind, in every scope.
#[derive(Default)]
struct Imported<'a>(FxHashMap<&'a str, bool>);

impl<'a> StatementVisitor<'a> for Imported<'a> {
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

fn is_in_class(above: &[Node<'_>]) -> bool {
    let scope = above.iter().rev().find_map(|node| match node {
        Node::Stmt(stmt @ (Stmt::FunctionDef(_) | Stmt::ClassDef(_))) => Some(stmt),
        _ => None,
    });
    matches!(scope, Some(Stmt::ClassDef(_)))
}

/// How far up a string looks for what it may mean. No one nests types deeper, and a chain of
/// thousands of strings must not cost the square of its length.
const DEPTH_LIMIT: usize = 64;

/// Whether a string here may be read as a type or as a list of exported names. Looks no further
/// than the statement around it.
fn is_type_or_export(above: &[Node<'_>]) -> bool {
    let is_all = |target: &Expr| matches!(target, Expr::Name(name) if name.id == "__all__");
    for node in above.iter().rev().take(DEPTH_LIMIT) {
        match node {
            Node::Parameter(_) | Node::TypeParam(_) | Node::Expr(Expr::Subscript(_)) => {
                return true;
            }
            Node::Expr(Expr::Call(call)) if takes_types(&call.func) => return true,
            Node::Stmt(stmt) => {
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
