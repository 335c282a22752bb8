//! The names that each scope of a file binds, and their meanings.
//!
//! Python decides at compile time whether a name is local; the same is done here by collecting all
//! bindings of a scope before any name in it is looked up.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    self as ast, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt, StmtImport,
    StmtImportFrom,
};
use rustc_hash::FxHashMap;

use super::reference::NameReference;

/// The meaning of a name in its scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameBinding {
    /// A reference to something imported.
    Import(String),
    /// A function or class defined in this scope.
    Definition,
    /// A variable, a parameter, a loop target.
    Variable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameScopeKind {
    Module,
    Class,
    Function,
}

#[derive(Debug)]
pub(crate) struct NameScope<'a> {
    pub kind: NameScopeKind,
    /// Prefix of qualified names defined here: `Class.`, `f.<locals>.`, or empty.
    pub prefix: String,
    pub names: FxHashMap<&'a str, NameBinding>,
    /// Names that `global` takes out of this scope.
    globals: Vec<&'a str>,
    /// The meaning of a name before a definition replaced it: the base of `class A(A)`.
    shadowed: FxHashMap<&'a str, NameBinding>,
    /// Below `if`, `try` and the like: a second binding is an alternative there.
    conditional: bool,
    /// Whether to search every expression, because the file has a `:=`.
    has_walrus: bool,
}

impl<'a> NameScope<'a> {
    /// `walrus`: does the file contain a `:=` at all? Most do not, which spares looking.
    pub(crate) fn from_body(
        kind: NameScopeKind,
        prefix: String,
        body: &'a [Stmt],
        walrus: bool,
    ) -> Self {
        let mut scope = Self {
            kind,
            prefix,
            names: FxHashMap::default(),
            globals: Vec::new(),
            shadowed: FxHashMap::default(),
            conditional: false,
            has_walrus: walrus,
        };
        scope.visit_body(body);
        for name in std::mem::take(&mut scope.globals) {
            scope.names.remove(name);
        }
        scope
    }

    pub(crate) fn from_function(
        prefix: String,
        parameters: &'a Parameters,
        body: &'a [Stmt],
        walrus: bool,
    ) -> Self {
        let mut scope = Self::from_body(NameScopeKind::Function, prefix, body, walrus);
        for parameter in parameters {
            scope.names.insert(parameter.name().as_str(), NameBinding::Variable);
        }
        scope
    }

    /// The scope of the type parameters of `def f[T]` or `class C[T]`.
    pub(crate) fn from_type_params(parameters: &'a ast::TypeParams) -> Self {
        let mut scope = Self::from_body(NameScopeKind::Function, String::new(), &[], false);
        for parameter in parameters {
            scope.names.insert(parameter.name().as_str(), NameBinding::Variable);
        }
        scope
    }

    /// The meaning of `name` before it was defined here.
    pub(crate) fn shadowed_binding(&self, name: &str) -> Option<&NameBinding> {
        self.shadowed.get(name)
    }

    /// The last binding counts, as in Python, with two exceptions: `x = wrap(x)` does not change
    /// the meaning of `x`, and of alternatives (`try: import fast` … `except: fast = None`) the
    /// first one counts.
    fn bind(&mut self, name: &'a str, bound: NameBinding) {
        let conditional = self.conditional;
        match self.names.get_mut(name) {
            None => {
                self.names.insert(name, bound);
            }
            Some(existing) => {
                let keep = bound == NameBinding::Variable
                    || (conditional && *existing != NameBinding::Variable);
                if !keep {
                    let before = std::mem::replace(existing, bound);
                    self.shadowed.insert(name, before);
                }
            }
        }
    }

    fn bind_import(&mut self, import: &'a StmtImport) {
        for alias in &import.names {
            if let Some(asname) = &alias.asname {
                self.bind(
                    asname,
                    NameBinding::Import(NameReference::format_reference(&alias.name, "")),
                );
            } else {
                // `import a.b` binds `a`.
                let first = alias.name.split('.').next().unwrap_or_default();
                self.bind(first, NameBinding::Import(NameReference::format_reference(first, "")));
            }
        }
    }

    fn bind_import_from(&mut self, import: &'a StmtImportFrom) {
        let module = module_as_written(import);
        for alias in &import.names {
            if alias.name.as_str() != "*" {
                let name = alias.asname.as_ref().unwrap_or(&alias.name);
                self.bind(
                    name,
                    NameBinding::Import(NameReference::format_reference(&module, &alias.name)),
                );
            }
        }
    }
}

/// The module of a `from` import as written: `..package.module`.
pub(crate) fn module_as_written(import: &StmtImportFrom) -> String {
    let dots = ".".repeat(import.level as usize);
    dots + import.module.as_ref().map_or("", |module| module.as_str())
}

/// Collects bindings; does not descend into scopes of their own.
impl<'a> Visitor<'a> for NameScope<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name, NameBinding::Definition);
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
            }
            Stmt::ClassDef(class) => self.bind(&class.name, NameBinding::Definition),
            Stmt::Import(import) => self.bind_import(import),
            Stmt::ImportFrom(import) => self.bind_import_from(import),
            Stmt::Global(ast::StmtGlobal { names, .. })
            | Stmt::Nonlocal(ast::StmtNonlocal { names, .. }) => {
                self.globals.extend(names.iter().map(ast::Identifier::as_str));
            }
            Stmt::If(_) | Stmt::Try(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Match(_) => {
                let outside = std::mem::replace(&mut self.conditional, true);
                visitor::walk_stmt(self, stmt);
                self.conditional = outside;
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if matches!(name.ctx, ExprContext::Store | ExprContext::Del) {
                    self.bind(&name.id, NameBinding::Variable);
                }
            }
            Expr::Tuple(ast::ExprTuple { ctx: ExprContext::Store, .. })
            | Expr::List(ast::ExprList { ctx: ExprContext::Store, .. })
            | Expr::Starred(ast::ExprStarred { ctx: ExprContext::Store, .. }) => {
                visitor::walk_expr(self, expr);
            }
            Expr::Lambda(_) => {}
            // The targets are the comprehension's own, a `:=` in it binds out here.
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                if self.has_walrus {
                    WalrusBinder(self).visit_expr(expr);
                }
            }
            _ => {
                if self.has_walrus {
                    visitor::walk_expr(self, expr);
                }
            }
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name, NameBinding::Variable);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let captured = match pattern {
            Pattern::MatchAs(inner) => inner.name.as_ref(),
            Pattern::MatchStar(inner) => inner.name.as_ref(),
            Pattern::MatchMapping(inner) => inner.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = captured {
            self.bind(name, NameBinding::Variable);
        }
        visitor::walk_pattern(self, pattern);
    }
}

/// Binds only the names that `:=` assigns inside of a comprehension.
struct WalrusBinder<'s, 'a>(&'s mut NameScope<'a>);

impl<'a> Visitor<'a> for WalrusBinder<'_, 'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Named(named) => self.0.visit_expr(&named.target),
            Expr::Lambda(_) => return,
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// The scopes around one point of a file, outermost first.
#[derive(Debug)]
pub(crate) struct ScopeStack<'a>(pub Vec<NameScope<'a>>);

impl<'a> ScopeStack<'a> {
    pub(crate) fn innermost(&self) -> &NameScope<'a> {
        self.0.last().expect("the module's scope is never left")
    }

    /// The scope that binds a name which is used here, and its meaning.
    fn find_binding(&self, name: &str) -> Option<(usize, &NameBinding)> {
        let innermost = self.0.len() - 1;
        self.0.iter().enumerate().rev().find_map(|(depth, scope)| {
            // The names of a class are not seen by the functions in it.
            if scope.kind == NameScopeKind::Class && depth != innermost {
                return None;
            }
            scope.names.get(name).map(|bound| (depth, bound))
        })
    }

    /// The number of scopes around the one that binds a name.
    pub(crate) fn depth_of(&self, name: &str) -> Option<usize> {
        self.find_binding(name).map(|(depth, _)| depth)
    }

    fn look_up(&self, root: &str) -> NameLookup<'_, 'a> {
        match self.find_binding(root) {
            None => NameLookup::Unbound,
            Some((_, NameBinding::Import(reference))) => NameLookup::Import(reference),
            Some((depth, bound)) => {
                let scope = &self.0[depth];
                let is_local =
                    *bound == NameBinding::Variable && scope.kind == NameScopeKind::Function;
                if is_local { NameLookup::Local } else { NameLookup::DefinedInFile(scope) }
            }
        }
    }

    /// Resolves an expression that is a dotted name to a [reference](super::reference).
    ///
    /// `None` for every other expression, and for a local variable, whose value is not known.
    pub(crate) fn resolve_expr(&self, expr: &Expr) -> Option<String> {
        let root = root_name(expr)?;
        match self.look_up(root) {
            NameLookup::Local => None,
            NameLookup::Import(reference) => Some(append_attributes(reference.to_owned(), expr)),
            NameLookup::DefinedInFile(scope) => {
                let own = NameReference::format_reference("", &format!("{}{root}", scope.prefix));
                Some(append_attributes(own, expr))
            }
            NameLookup::Unbound => Some(append_attributes(root.to_owned(), expr)),
        }
    }

    /// Resolves the callee of a call, if it is imported or `__import__` itself.
    ///
    /// Most calls are neither, and cost one lookup and no allocation.
    pub(crate) fn resolve_imported(&self, callee: &Expr, stars: bool) -> Option<String> {
        let root = root_name(callee)?;
        match self.look_up(root) {
            NameLookup::Import(reference) => Some(append_attributes(reference.to_owned(), callee)),
            // After a star import any unknown name may come from there.
            NameLookup::Unbound if root == "__import__" || stars => {
                Some(append_attributes(root.to_owned(), callee))
            }
            NameLookup::Unbound | NameLookup::DefinedInFile(_) | NameLookup::Local => None,
        }
    }
}

/// The result of looking up a name.
enum NameLookup<'s, 'a> {
    Import(&'s str),
    /// Defined in this scope of the file.
    DefinedInFile(&'s NameScope<'a>),
    /// A variable of a function.
    Local,
    Unbound,
}

/// `a` of `a.b.c`; `None` for an expression that is no dotted name.
pub(crate) fn root_name(mut expr: &Expr) -> Option<&str> {
    loop {
        match expr {
            Expr::Name(name) => return Some(name.id.as_str()),
            Expr::Attribute(attribute) => expr = &attribute.value,
            _ => return None,
        }
    }
}

/// Appends `.b.c` of `a.b.c` to a reference.
fn append_attributes(mut reference: String, expr: &Expr) -> String {
    if let Expr::Attribute(attribute) = expr {
        reference = append_attributes(reference, &attribute.value);
        if !reference.ends_with(':') {
            reference.push('.');
        }
        reference.push_str(&attribute.attr);
    }
    reference
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::{parse_expression, parse_module};

    use super::*;

    fn resolve(source: &str, name: &str) -> Option<String> {
        let parsed = parse_module(source).unwrap();
        let scope =
            NameScope::from_body(NameScopeKind::Module, String::new(), parsed.suite(), true);
        ScopeStack(vec![scope]).resolve_expr(parse_expression(name).unwrap().expr())
    }

    #[test]
    fn imports_resolve_to_where_they_come_from() {
        assert_eq!(resolve("import numpy as np", "np.ndarray").unwrap(), "numpy:ndarray");
        assert_eq!(resolve("import a.b.c", "a.b.c.D").unwrap(), "a:b.c.D");
        assert_eq!(resolve("import a.b.c as d", "d.E").unwrap(), "a.b.c:E");
        assert_eq!(resolve("from ..x import Y as Z", "Z.W").unwrap(), "..x:Y.W");
        assert_eq!(resolve("from . import y", "y").unwrap(), ".:y");
    }

    #[test]
    fn definitions_are_of_the_file_and_the_rest_is_builtin() {
        assert_eq!(resolve("class A: pass", "A.B").unwrap(), ":A.B");
        assert_eq!(resolve("x = 1", "int").unwrap(), "int");
    }

    #[test]
    fn a_fallback_does_not_hide_the_import() {
        let source = "try:\n    import fast\nexcept ImportError:\n    fast = None\n";
        assert_eq!(resolve(source, "fast.f").unwrap(), "fast:f");
        let source = "fast = None\ntry:\n    import fast\nexcept ImportError:\n    pass\n";
        assert_eq!(resolve(source, "fast.f").unwrap(), "fast:f");
    }

    #[test]
    fn the_last_binding_counts_and_the_one_before_is_kept() {
        assert_eq!(resolve("from json import x\nfrom pickle import x", "x").unwrap(), "pickle:x");
        assert_eq!(resolve("from .base import A\nclass A(A): pass", "A").unwrap(), ":A");
        let parsed = parse_module("from .base import A\nclass A(A): pass").unwrap();
        let scope =
            NameScope::from_body(NameScopeKind::Module, String::new(), parsed.suite(), false);
        assert_eq!(scope.shadowed_binding("A"), Some(&NameBinding::Import(".base:A".into())));
    }

    #[test]
    fn a_local_variable_hides_an_import_and_global_lets_it_through() {
        let source = "import np\ndef f(np): pass\ndef g():\n    global np\n    np = 1\n";
        let parsed = parse_module(source).unwrap();
        let body = parsed.suite();
        let scopes_of = |index: usize| {
            let function = body[index].as_function_def_stmt().unwrap();
            let module = NameScope::from_body(NameScopeKind::Module, String::new(), body, false);
            let inner = NameScope::from_function(
                String::new(),
                &function.parameters,
                &function.body,
                false,
            );
            ScopeStack(vec![module, inner])
        };
        let name = parse_expression("np.x").unwrap();
        assert_eq!(scopes_of(1).resolve_expr(name.expr()), None);
        assert_eq!(scopes_of(2).resolve_expr(name.expr()).unwrap(), "np:x");
    }

    #[test]
    fn every_way_to_assign_hides_an_import() {
        for assignment in [
            "np = 1",
            "np += 1",
            "np: int = 1",
            "a, (*np, b) = c",
            "[np] = a",
            "for np in a: pass",
            "with a as np: pass",
            "try: pass\nexcept A as np: pass",
            "match a:\n case [np]: pass",
            "del np",
            "def np(): pass",
            "f(a, (np := 1))",
            "[a for a in b if (np := a)]",
        ] {
            let source = format!("def f():\n    {}", assignment.replace('\n', "\n    "));
            let parsed = parse_module(&source).unwrap();
            let function = parsed.suite()[0].as_function_def_stmt().unwrap();
            let walrus = assignment.contains(":=");
            let scope = NameScope::from_function(
                String::new(),
                &function.parameters,
                &function.body,
                walrus,
            );
            assert!(scope.names.contains_key("np"), "{assignment}");
        }
    }

    #[test]
    fn reading_a_name_binds_nothing() {
        let parsed = parse_module("f(np, [np for a in np], lambda np: np)\nnp.x = np[0]").unwrap();
        let scope =
            NameScope::from_body(NameScopeKind::Module, String::new(), parsed.suite(), true);
        assert!(scope.names.is_empty(), "{:?}", scope.names);
    }
}
