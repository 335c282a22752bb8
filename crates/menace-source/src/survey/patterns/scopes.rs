//! The names of a module and what they are bound to, and its calls.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ModModule, Operator, Stmt};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashMap;

/// Position of a scope; the module is the first.
pub(super) type ScopeId = usize;

const MODULE_SCOPE: ScopeId = 0;

/// The most bindings of one name.
const MAX_BINDINGS: usize = 12;

/// An expression and the scope that it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpressionInScope<'a> {
    pub expr: &'a Expr,
    pub scope: ScopeId,
}

#[derive(Debug, Clone)]
pub(super) enum Binding<'a> {
    Value(ExpressionInScope<'a>),
    /// `name += value`.
    Added(ExpressionInScope<'a>),
    /// The target of a loop, and where in each item it stands.
    Item {
        iter: ExpressionInScope<'a>,
        path: Vec<usize>,
    },
    /// A parameter of the function of this scope.
    Param(usize),
    /// The module `re`.
    RegexModule,
    /// A function of the module `re`.
    RegexFunction(String),
    /// A function or class whose body is this scope.
    Definition(ScopeId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Class,
    Function,
}

#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub kind: ScopeKind,
    pub parent: Option<ScopeId>,
    /// Of a function, where its definition starts.
    pub start: TextSize,
    /// Of a function, its parameters by position, then those by keyword only.
    pub params: Vec<&'a str>,
    pub bindings: FxHashMap<&'a str, Vec<Binding<'a>>>,
}

/// The scopes of a module, and its calls.
#[derive(Debug)]
pub(super) struct ModuleScopes<'a> {
    pub scopes: Vec<Scope<'a>>,
    pub calls: Vec<(&'a ast::ExprCall, ScopeId)>,
    /// Strings that stand alone as an argument or as an item.
    pub lone_strings: Vec<ExpressionInScope<'a>>,
}

impl<'a> ModuleScopes<'a> {
    pub(super) fn collect(tree: &'a ModModule) -> Self {
        let module = Scope {
            kind: ScopeKind::Module,
            parent: None,
            start: TextSize::new(0),
            params: Vec::new(),
            bindings: FxHashMap::default(),
        };
        let found = Self { scopes: vec![module], calls: Vec::new(), lone_strings: Vec::new() };
        let mut collector = ScopeCollector { found, scope: MODULE_SCOPE };
        collector.visit_body(&tree.body);
        collector.found
    }

    /// The bindings of a name as seen from a scope.
    pub(super) fn lookup(&self, name: &str, from: ScopeId) -> &[Binding<'a>] {
        let mut at = Some(from);
        while let Some(id) = at {
            let scope = &self.scopes[id];
            // The names of a class are not seen by its methods.
            let is_visible = scope.kind != ScopeKind::Class || id == from;
            if let Some(bindings) = scope.bindings.get(name).filter(|_| is_visible) {
                return bindings;
            }
            at = scope.parent;
        }
        &[]
    }

    /// The class around a scope.
    pub(super) fn enclosing_class(&self, from: ScopeId) -> Option<ScopeId> {
        let mut at = Some(from);
        while let Some(id) = at {
            if self.scopes[id].kind == ScopeKind::Class {
                return Some(id);
            }
            at = self.scopes[id].parent;
        }
        None
    }

    /// The class that `self`, `cls` or a name of the module means.
    pub(super) fn class_of(&self, base: &Expr, scope: ScopeId) -> Option<ScopeId> {
        let Expr::Name(name) = base else { return None };
        if matches!(name.id.as_str(), "self" | "cls") {
            return self.enclosing_class(scope);
        }
        self.lookup(name.id.as_str(), scope).iter().find_map(|binding| match binding {
            Binding::Definition(id) if self.scopes[*id].kind == ScopeKind::Class => Some(*id),
            _ => None,
        })
    }

    /// The bindings of an attribute of an instance or of a class.
    pub(super) fn attribute(
        &self,
        attribute: &ast::ExprAttribute,
        scope: ScopeId,
    ) -> &[Binding<'a>] {
        let class = self.class_of(&attribute.value, scope);
        let bindings =
            class.and_then(|class| self.scopes[class].bindings.get(attribute.attr.as_str()));
        bindings.map_or(&[], Vec::as_slice)
    }
}

struct ScopeCollector<'a> {
    found: ModuleScopes<'a>,
    scope: ScopeId,
}

impl<'a> ScopeCollector<'a> {
    fn bind_in(&mut self, scope: ScopeId, name: &'a str, binding: Binding<'a>) {
        let bindings = self.found.scopes[scope].bindings.entry(name).or_default();
        if bindings.len() < MAX_BINDINGS {
            bindings.push(binding);
        }
    }

    fn scoped(&self, expr: &'a Expr) -> ExpressionInScope<'a> {
        ExpressionInScope { expr, scope: self.scope }
    }

    fn bind_target(&mut self, target: &'a Expr, value: &'a Expr) {
        match target {
            Expr::Name(name) => {
                let binding = Binding::Value(self.scoped(value));
                self.bind_in(self.scope, name.id.as_str(), binding);
            }
            Expr::Attribute(attribute) => {
                if let Some(class) = self.found.class_of(&attribute.value, self.scope) {
                    let binding = Binding::Value(self.scoped(value));
                    self.bind_in(class, attribute.attr.as_str(), binding);
                }
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                if let Some(values) = display_elements(value)
                    && values.len() == elts.len()
                {
                    elts.iter().zip(values).for_each(|(one, value)| self.bind_target(one, value));
                }
            }
            _ => {}
        }
    }

    fn bind_items(&mut self, target: &'a Expr, iter: ExpressionInScope<'a>, path: &[usize]) {
        match target {
            Expr::Name(name) => {
                let binding = Binding::Item { iter, path: path.to_vec() };
                self.bind_in(self.scope, name.id.as_str(), binding);
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                for (index, one) in elts.iter().enumerate() {
                    let path: Vec<usize> = path.iter().copied().chain([index]).collect();
                    self.bind_items(one, iter, &path);
                }
            }
            _ => {}
        }
    }

    fn bind_import(&mut self, import: &'a ast::StmtImportFrom) {
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        for alias in &import.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            let binding = match module {
                "re" | "regex" => Binding::RegexFunction(alias.name.to_string()),
                // Such as `from ._compat import re`.
                _ if alias.name.as_str() == "re" => Binding::RegexModule,
                _ => continue,
            };
            self.bind_in(self.scope, name, binding);
        }
    }

    fn enter(&mut self, kind: ScopeKind, name: &'a str, start: TextSize) -> ScopeId {
        let id = self.found.scopes.len();
        self.bind_in(self.scope, name, Binding::Definition(id));
        self.found.scopes.push(Scope {
            kind,
            parent: Some(self.scope),
            start,
            params: Vec::new(),
            bindings: FxHashMap::default(),
        });
        std::mem::replace(&mut self.scope, id)
    }

    fn visit_function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        let parameters: Vec<&'a ast::ParameterWithDefault> =
            function.parameters.iter_non_variadic_params().collect();
        for default in parameters.iter().filter_map(|param| param.default.as_deref()) {
            self.visit_expr(default);
        }
        let outer = self.enter(ScopeKind::Function, function.name.as_str(), function.start());
        for (index, param) in parameters.into_iter().enumerate() {
            let name = param.parameter.name.as_str();
            self.found.scopes[self.scope].params.push(name);
            self.bind_in(self.scope, name, Binding::Param(index));
            if let Some(default) = param.default.as_deref() {
                let default = ExpressionInScope { expr: default, scope: outer };
                self.bind_in(self.scope, name, Binding::Value(default));
            }
        }
        self.visit_body(&function.body);
        self.scope = outer;
    }

    /// Keeps strings that stand alone.
    fn keep_strings(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        let scope = self.scope;
        let is_string =
            |expr: &&Expr| expr.is_string_literal_expr() || expr.is_bytes_literal_expr();
        let strings =
            exprs.into_iter().filter(is_string).map(|expr| ExpressionInScope { expr, scope });
        self.found.lone_strings.extend(strings);
    }
}

impl<'a> Visitor<'a> for ScopeCollector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => return self.visit_function(function),
            Stmt::ClassDef(class) => {
                let outer = self.enter(ScopeKind::Class, class.name.as_str(), class.start());
                self.visit_body(&class.body);
                self.scope = outer;
                return;
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    if matches!(alias.name.as_str(), "re" | "regex") {
                        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                        self.bind_in(self.scope, name, Binding::RegexModule);
                    }
                }
            }
            Stmt::ImportFrom(import) => self.bind_import(import),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.bind_target(target, &assign.value);
                }
            }
            Stmt::AnnAssign(ast::StmtAnnAssign { target, value: Some(value), .. }) => {
                self.bind_target(target, value);
            }
            Stmt::AugAssign(assign) if assign.op == Operator::Add => {
                if let Expr::Name(name) = &*assign.target {
                    let binding = Binding::Added(self.scoped(&assign.value));
                    self.bind_in(self.scope, name.id.as_str(), binding);
                }
            }
            Stmt::For(each) => {
                let iter = self.scoped(&each.iter);
                self.bind_items(&each.target, iter, &[]);
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        let iter = self.scoped(&comprehension.iter);
        self.bind_items(&comprehension.target, iter, &[]);
        visitor::walk_comprehension(self, comprehension);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                self.found.calls.push((call, self.scope));
                self.keep_strings(&call.arguments.args);
                self.keep_strings(call.arguments.keywords.iter().map(|keyword| &keyword.value));
            }
            Expr::Named(named) => self.bind_target(&named.target, &named.value),
            Expr::Dict(dict) => self.keep_strings(dict.items.iter().map(|item| &item.value)),
            _ => {
                if let Some(elements) = display_elements(expr) {
                    self.keep_strings(elements);
                }
            }
        }
        visitor::walk_expr(self, expr);
    }
}

/// The elements of a tuple, list or set display.
pub(super) fn display_elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        Expr::Set(set) => Some(&set.elts),
        _ => None,
    }
}
