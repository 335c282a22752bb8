//! One walk over a file's tree that collects its sections, classes, imports and calls.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Decorator, Expr, ModModule, Parameters, Stmt};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{CallEdge, ImportHow, Section, SectionId, SectionKind};

use super::FileFacts;
use super::aliases::{aliases, exports};
use super::annotation::type_expr;
use super::class::{BaseFacts, class_facts};
use super::imports::{RawImport, TypeChecking, literal_target, type_checking_test};
use super::reference::{Reference, is_typing};
use super::scope::{Bound, Scope, ScopeKind, Scopes, written_module};
use super::signature::{kind, params};
use crate::numbers::Complexities;

/// Collects what the tree of one file says; numbers and findings are not part of it.
pub(crate) fn extract(
    path: &str,
    source: &str,
    module: &ModModule,
    lines: &LineIndex,
    complexities: &Complexities,
) -> FileFacts {
    let walrus = memchr::memmem::find(source.as_bytes(), b":=").is_some();
    let scope = Scope::of_body(ScopeKind::Module, String::new(), &module.body, walrus);
    let mut extractor = Extractor {
        path,
        source,
        walrus,
        lines,
        complexities,
        scopes: Scopes(vec![scope]),
        frames: Vec::new(),
        taken: FxHashMap::default(),
        conditional: 0,
        type_checking: 0,
        lambdas: 0,
        facts: FileFacts::default(),
    };
    extractor.module(module);
    extractor.facts
}

/// The section whose body is being walked.
struct Frame {
    section: usize,
    yields: bool,
    called: FxHashSet<String>,
}

struct Extractor<'a> {
    path: &'a str,
    source: &'a str,
    walrus: bool,
    lines: &'a LineIndex,
    complexities: &'a Complexities,
    scopes: Scopes<'a>,
    frames: Vec<Frame>,
    /// How often each qualified name was defined, to keep ids unique.
    taken: FxHashMap<String, u32>,
    conditional: u32,
    type_checking: u32,
    /// Lambdas around the current expression.
    lambdas: u32,
    facts: FileFacts,
}

impl<'a> Extractor<'a> {
    fn module(&mut self, module: &'a ModModule) {
        let last = self.line(TextSize::of(self.source)).max(1);
        self.open(Section {
            id: SectionId::new(self.path, SectionId::TOP_LEVEL),
            kind: SectionKind::Module,
            is_async: false,
            is_generator: false,
            line: 1,
            start_line: 1,
            end_line: last,
            decorators: Vec::new(),
            docstring: docstring(&module.body),
            params: Vec::new(),
            returns: None,
            complexity: self.complexities.top_level(),
            calls: Vec::new(),
            construction: None,
        });
        self.visit_body(&module.body);
        self.close();
        for (&name, bound) in &self.scopes.0[0].names {
            match bound {
                Bound::Import(reference) => {
                    self.facts.imported_names.insert(name.to_owned(), reference.clone());
                }
                Bound::Definition | Bound::Variable => {
                    self.facts.defined_names.push(name.to_owned());
                }
            }
        }
        self.facts.defined_names.sort_unstable();
        self.facts.exports = exports(&module.body);
        self.facts.aliases = aliases(self.source, &module.body, &self.scopes);
        // Facts stay until all files are read: what they do not use, the next file can.
        self.facts.sections.shrink_to_fit();
        self.facts.classes.shrink_to_fit();
        self.facts.imports.shrink_to_fit();
    }

    fn line(&self, at: TextSize) -> u32 {
        self.lines.line_index(at).get() as u32
    }

    fn open(&mut self, section: Section) {
        let frame = Frame {
            section: self.facts.sections.len(),
            yields: false,
            called: FxHashSet::default(),
        };
        self.frames.push(frame);
        self.facts.sections.push(section);
    }

    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            let section = &mut self.facts.sections[frame.section];
            section.is_generator = frame.yields;
            section.calls.shrink_to_fit();
        }
    }

    fn unique(&mut self, qualname: String) -> String {
        let count = self.taken.entry(qualname.clone()).or_default();
        *count += 1;
        if *count == 1 { qualname } else { format!("{qualname}#{count}") }
    }

    fn function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.defaults(&function.parameters);
        let decorators: Vec<String> = function
            .decorator_list
            .iter()
            .map(|decorator| self.decorator_name(decorator))
            .collect();
        if decorators.iter().any(|name| is_typing(name, "overload")) {
            // A declaration for type checkers; the definition that follows replaces it.
            return;
        }
        let scope = self.scopes.innermost();
        let python_name = format!("{}{}", scope.prefix, function.name);
        let (kind, accessor) = kind(function, scope.kind, &decorators);
        let type_params = function.type_params.as_deref();
        self.scopes.0.extend(type_params.map(Scope::of_type_params));
        let params = params(self.source, &function.parameters, kind, &self.scopes);
        let returns =
            function.returns.as_deref().map(|expr| type_expr(self.source, expr, &self.scopes));
        let qualname = match accessor {
            Some(accessor) => format!("{python_name}.{accessor}"),
            None => python_name.clone(),
        };
        let qualname = self.unique(qualname);
        let block = self.complexities.named_at(function.name.start());
        self.open(Section {
            id: SectionId::new(self.path, &qualname),
            kind,
            is_async: function.is_async,
            is_generator: false,
            line: self.line(block.map_or(function.start(), |block| block.offset)),
            start_line: self.line(function.start()),
            end_line: self.line(function.end()),
            decorators,
            docstring: docstring(&function.body),
            params,
            returns,
            complexity: block.map_or(1, |block| block.complexity),
            calls: Vec::new(),
            construction: None,
        });
        self.scopes.0.push(Scope::of_function(
            format!("{python_name}.<locals>."),
            &function.parameters,
            &function.body,
            self.walrus,
        ));
        self.visit_body(&function.body);
        self.scopes.0.pop();
        if type_params.is_some() {
            self.scopes.0.pop();
        }
        self.close();
    }

    fn class(&mut self, class: &'a ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        let qualname = format!("{}{}", self.scopes.innermost().prefix, class.name);
        let local_to = self.scopes.0.iter().rev().find_map(|scope| {
            (scope.kind == ScopeKind::Function)
                .then(|| scope.prefix.trim_end_matches(".<locals>.").to_owned())
        });
        let type_params = class.type_params.as_deref();
        let own = BaseFacts::Named(format!(":{qualname}"));
        let before = match self.scopes.innermost().before(&class.name) {
            Some(Bound::Import(reference)) => Some(BaseFacts::Named(reference.clone())),
            _ => None,
        };
        self.scopes.0.extend(type_params.map(Scope::of_type_params));
        let mut facts = class_facts(self.source, class, qualname.clone(), local_to, &self.scopes);
        for base in &mut facts.bases {
            // `class A(A)`: the base is what A was before.
            if let (true, Some(before)) = (*base == own, &before) {
                base.clone_from(before);
            }
        }
        self.facts.classes.push(facts);
        let prefix = format!("{qualname}.");
        self.scopes.0.push(Scope::of_body(ScopeKind::Class, prefix, &class.body, self.walrus));
        self.visit_body(&class.body);
        self.scopes.0.pop();
        if type_params.is_some() {
            self.scopes.0.pop();
        }
    }

    fn decorator_name(&self, decorator: &Decorator) -> String {
        let callee = match &decorator.expression {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        self.scopes.resolve_expr(callee).unwrap_or_else(|| self.source[callee.range()].to_owned())
    }

    /// Defaults are evaluated where the function is defined.
    fn defaults(&mut self, parameters: &'a Parameters) {
        for default in parameters.iter_non_variadic_params().filter_map(|each| each.default()) {
            self.visit_expr(default);
        }
    }

    fn import(&mut self, module: String, names: Vec<String>, at: TextSize, how: ImportHow) {
        let import = RawImport {
            module,
            names,
            line: self.line(at),
            how,
            conditional: self.conditional > 0,
            type_checking: self.type_checking > 0,
            // The first frame is the module's own; every further one is a function.
            deferred: self.frames.len() > 1 || self.lambdas > 0,
        };
        self.facts.imports.push(import);
    }

    fn call(&mut self, call: &'a ast::ExprCall) {
        let stars = !self.facts.star_imports.is_empty();
        let Some(target) = self.scopes.resolve_imported(&call.func, stars) else { return };
        let how = match target.as_str() {
            "importlib:import_module" => Some(ImportHow::ImportModule),
            "__import__" | "builtins:__import__" | "importlib:__import__" => {
                Some(ImportHow::DunderImport)
            }
            _ => None,
        };
        if let Some(how) = how
            && let Some(module) = literal_target(how, &call.arguments)
        {
            self.import(module, Vec::new(), call.start(), how);
        }
        if how.is_some_and(|how| how == ImportHow::DunderImport) {
            return;
        }
        let line = self.line(call.start());
        if let Some(frame) = self.frames.last_mut()
            && !frame.called.contains(&target)
        {
            frame.called.insert(target.clone());
            let edge = CallEdge { target, path: None, line };
            self.facts.sections[frame.section].calls.push(edge);
        }
    }

    fn conditionally(&mut self, visit: impl FnOnce(&mut Self)) {
        self.conditional += 1;
        visit(self);
        self.conditional -= 1;
    }

    fn branch(&mut self, only_for_types: bool, body: &'a [Stmt]) {
        self.type_checking += u32::from(only_for_types);
        self.conditionally(|this| this.visit_body(body));
        self.type_checking -= u32::from(only_for_types);
    }

    fn type_checking_test(&self, test: &Expr) -> Option<TypeChecking> {
        let typing = |name: &Expr| {
            self.scopes.resolve_expr(name).is_some_and(|reference| {
                Reference::parse(&reference).is_some() && is_typing(&reference, "TYPE_CHECKING")
            })
        };
        type_checking_test(test, &typing)
    }

    fn if_statement(&mut self, statement: &'a ast::StmtIf) {
        let test = self.type_checking_test(&statement.test);
        self.visit_expr(&statement.test);
        self.branch(test == Some(TypeChecking::Positive), &statement.body);
        // What follows `if not TYPE_CHECKING` is for type checkers, every clause of it.
        let mut only_types = test == Some(TypeChecking::Negative);
        for clause in &statement.elif_else_clauses {
            let test = clause.test.as_ref().and_then(|test| self.type_checking_test(test));
            if let Some(test) = &clause.test {
                self.visit_expr(test);
            }
            self.branch(only_types || test == Some(TypeChecking::Positive), &clause.body);
            only_types |= test == Some(TypeChecking::Negative);
        }
    }

    /// Walks an expression with names of its own: a lambda or a comprehension.
    fn inner_scope(&mut self, scope: Scope<'a>, visit: impl FnOnce(&mut Self)) {
        self.scopes.0.push(scope);
        visit(self);
        self.scopes.0.pop();
    }

    fn lambda(&mut self, lambda: &'a ast::ExprLambda) {
        let mut scope = Scope::of_body(ScopeKind::Function, String::new(), &[], false);
        if let Some(parameters) = lambda.parameters.as_deref() {
            self.defaults(parameters);
            scope = Scope::of_function(String::new(), parameters, &[], false);
        }
        // A `yield` in here makes a generator of the lambda, not of the function around it.
        let yields = self.frames.last().is_some_and(|frame| frame.yields);
        self.lambdas += 1;
        self.inner_scope(scope, |this| this.visit_expr(&lambda.body));
        self.lambdas -= 1;
        if let Some(frame) = self.frames.last_mut() {
            frame.yields = yields;
        }
    }
}

impl<'a> Visitor<'a> for Extractor<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.to_string();
                    self.import(module, Vec::new(), stmt.start(), ImportHow::Statement);
                }
            }
            Stmt::ImportFrom(import) => {
                let module = written_module(import);
                let names: Vec<String> =
                    import.names.iter().map(|alias| alias.name.to_string()).collect();
                if names.iter().any(|name| name == "*") {
                    self.facts.star_imports.push(module.clone());
                }
                self.import(module, names, stmt.start(), ImportHow::Statement);
            }
            Stmt::If(statement) => self.if_statement(statement),
            Stmt::Try(statement) => {
                self.conditionally(|this| {
                    this.visit_body(&statement.body);
                    for handler in &statement.handlers {
                        this.visit_except_handler(handler);
                    }
                    this.visit_body(&statement.orelse);
                });
                self.visit_body(&statement.finalbody);
            }
            Stmt::For(_) | Stmt::While(_) | Stmt::Match(_) => {
                self.conditionally(|this| visitor::walk_stmt(this, stmt));
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                self.call(call);
                visitor::walk_expr(self, expr);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.yields = true;
                }
                visitor::walk_expr(self, expr);
            }
            Expr::Lambda(lambda) => self.lambda(lambda),
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                let mut scope = Scope::of_body(ScopeKind::Function, String::new(), &[], false);
                for generator in generators {
                    scope.visit_expr(&generator.target);
                }
                self.inner_scope(scope, |this| visitor::walk_expr(this, expr));
            }
            Expr::Name(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_) => {}
            _ => visitor::walk_expr(self, expr),
        }
    }

    /// Annotations are kept as types, not walked for calls.
    fn visit_annotation(&mut self, _: &'a Expr) {}
}

fn docstring(body: &[Stmt]) -> Option<String> {
    let statement = body.first()?.as_expr_stmt()?;
    let string = statement.value.as_string_literal_expr()?;
    Some(string.value.to_str().to_owned())
}
