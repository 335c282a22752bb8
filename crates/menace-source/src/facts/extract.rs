//! One walk over a file's tree that collects its sections, classes, imports and calls.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Decorator, Expr, ModModule, Parameters, Stmt};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{CallEdge, ImportKind, Section, SectionId, SectionKind};

use super::FileFacts;
use super::aliases::{collect_aliases, collect_exports};
use super::annotation::convert_annotation;
use super::class::{BaseFacts, read_class};
use super::imports::{
    TypeCheckingTest, UnlinkedImport, literal_import_target, parse_type_checking_test,
};
use super::reference::{NameReference, is_typing};
use super::scope::{NameBinding, NameScope, NameScopeKind, ScopeStack, module_as_written};
use super::signature::{caller_params, section_kind};
use crate::code_metrics::ModuleComplexity;

/// Collects the facts in the tree of one file, without metrics and findings.
pub(crate) fn extract(
    path: &str,
    source: &str,
    module: &ModModule,
    lines: &LineIndex,
    complexities: &ModuleComplexity,
) -> FileFacts {
    let walrus = memchr::memmem::find(source.as_bytes(), b":=").is_some();
    let scope = NameScope::from_body(NameScopeKind::Module, String::new(), &module.body, walrus);
    let mut extractor = FactsExtractor {
        path,
        source,
        has_walrus: walrus,
        lines,
        complexities,
        scopes: ScopeStack(vec![scope]),
        frames: Vec::new(),
        definition_counts: FxHashMap::default(),
        conditional_depth: 0,
        type_checking_depth: 0,
        lambda_depth: 0,
        facts: FileFacts::default(),
    };
    extractor.visit_module(module);
    extractor.facts
}

/// The section whose body is being walked.
struct SectionFrame {
    section: usize,
    yields: bool,
    called: FxHashSet<String>,
}

struct FactsExtractor<'a> {
    path: &'a str,
    source: &'a str,
    has_walrus: bool,
    lines: &'a LineIndex,
    complexities: &'a ModuleComplexity,
    scopes: ScopeStack<'a>,
    frames: Vec<SectionFrame>,
    /// How often each qualified name was defined, to keep ids unique.
    definition_counts: FxHashMap<String, u32>,
    conditional_depth: u32,
    type_checking_depth: u32,
    /// Lambdas around the current expression.
    lambda_depth: u32,
    facts: FileFacts,
}

impl<'a> FactsExtractor<'a> {
    fn visit_module(&mut self, module: &'a ModModule) {
        let last = self.line(TextSize::of(self.source)).max(1);
        self.open_section(Section {
            id: SectionId::new(self.path, SectionId::TOP_LEVEL),
            kind: SectionKind::Module,
            is_async: false,
            is_generator: false,
            line: 1,
            start_line: 1,
            end_line: last,
            decorators: Vec::new(),
            docstring: find_docstring(&module.body),
            params: Vec::new(),
            returns: None,
            complexity: self.complexities.top_level_complexity(),
            calls: Vec::new(),
            construction: None,
        });
        self.visit_body(&module.body);
        self.close_section();
        for (&name, bound) in &self.scopes.0[0].names {
            match bound {
                NameBinding::Import(reference) => {
                    self.facts.imported_names.insert(name.to_owned(), reference.clone());
                }
                NameBinding::Definition | NameBinding::Variable => {
                    self.facts.defined_names.push(name.to_owned());
                }
            }
        }
        self.facts.defined_names.sort_unstable();
        self.facts.exports = collect_exports(&module.body);
        self.facts.aliases = collect_aliases(self.source, &module.body, &self.scopes);
        // Facts are kept until all files are read, so unused capacity is released for the next
        // file.
        self.facts.sections.shrink_to_fit();
        self.facts.classes.shrink_to_fit();
        self.facts.imports.shrink_to_fit();
    }

    fn line(&self, at: TextSize) -> u32 {
        self.lines.line_index(at).get() as u32
    }

    fn open_section(&mut self, section: Section) {
        let frame = SectionFrame {
            section: self.facts.sections.len(),
            yields: false,
            called: FxHashSet::default(),
        };
        self.frames.push(frame);
        self.facts.sections.push(section);
    }

    fn close_section(&mut self) {
        if let Some(frame) = self.frames.pop() {
            let section = &mut self.facts.sections[frame.section];
            section.is_generator = frame.yields;
            section.calls.shrink_to_fit();
        }
    }

    fn make_unique_qualname(&mut self, qualname: String) -> String {
        let count = self.definition_counts.entry(qualname.clone()).or_default();
        *count += 1;
        if *count == 1 { qualname } else { format!("{qualname}#{count}") }
    }

    fn visit_function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.visit_defaults(&function.parameters);
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
        let (kind, accessor) = section_kind(function, scope.kind, &decorators);
        let type_params = function.type_params.as_deref();
        self.scopes.0.extend(type_params.map(NameScope::from_type_params));
        let params = caller_params(self.source, &function.parameters, kind, &self.scopes);
        let returns = function
            .returns
            .as_deref()
            .map(|expr| convert_annotation(self.source, expr, &self.scopes));
        let qualname = match accessor {
            Some(accessor) => format!("{python_name}.{accessor}"),
            None => python_name.clone(),
        };
        let qualname = self.make_unique_qualname(qualname);
        let block = self.complexities.block_named_at(function.name.start());
        self.open_section(Section {
            id: SectionId::new(self.path, &qualname),
            kind,
            is_async: function.is_async,
            is_generator: false,
            line: self.line(block.map_or(function.start(), |block| block.offset)),
            start_line: self.line(function.start()),
            end_line: self.line(function.end()),
            decorators,
            docstring: find_docstring(&function.body),
            params,
            returns,
            complexity: block.map_or(1, |block| block.complexity),
            calls: Vec::new(),
            construction: None,
        });
        self.scopes.0.push(NameScope::from_function(
            format!("{python_name}.<locals>."),
            &function.parameters,
            &function.body,
            self.has_walrus,
        ));
        self.visit_body(&function.body);
        self.scopes.0.pop();
        if type_params.is_some() {
            self.scopes.0.pop();
        }
        self.close_section();
    }

    fn visit_class(&mut self, class: &'a ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        let qualname = format!("{}{}", self.scopes.innermost().prefix, class.name);
        let local_to = self.scopes.0.iter().rev().find_map(|scope| {
            (scope.kind == NameScopeKind::Function)
                .then(|| scope.prefix.trim_end_matches(".<locals>.").to_owned())
        });
        let type_params = class.type_params.as_deref();
        let own = BaseFacts::Named(format!(":{qualname}"));
        let before = match self.scopes.innermost().shadowed_binding(&class.name) {
            Some(NameBinding::Import(reference)) => Some(BaseFacts::Named(reference.clone())),
            _ => None,
        };
        self.scopes.0.extend(type_params.map(NameScope::from_type_params));
        let mut facts = read_class(self.source, class, qualname.clone(), local_to, &self.scopes);
        for base in &mut facts.bases {
            // `class A(A)`: the base is the former `A`.
            if let (true, Some(before)) = (*base == own, &before) {
                base.clone_from(before);
            }
        }
        self.facts.classes.push(facts);
        let prefix = format!("{qualname}.");
        self.scopes.0.push(NameScope::from_body(
            NameScopeKind::Class,
            prefix,
            &class.body,
            self.has_walrus,
        ));
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
    fn visit_defaults(&mut self, parameters: &'a Parameters) {
        for default in parameters.iter_non_variadic_params().filter_map(|each| each.default()) {
            self.visit_expr(default);
        }
    }

    fn add_import(&mut self, module: String, names: Vec<String>, at: TextSize, how: ImportKind) {
        let import = UnlinkedImport {
            module,
            names,
            line: self.line(at),
            how,
            conditional: self.conditional_depth > 0,
            type_checking: self.type_checking_depth > 0,
            // The first frame is the module's own; every further one is a function.
            deferred: self.frames.len() > 1 || self.lambda_depth > 0,
        };
        self.facts.imports.push(import);
    }

    fn visit_call(&mut self, call: &'a ast::ExprCall) {
        let stars = !self.facts.star_imports.is_empty();
        let Some(target) = self.scopes.resolve_imported(&call.func, stars) else { return };
        let how = match target.as_str() {
            "importlib:import_module" => Some(ImportKind::ImportModule),
            "__import__" | "builtins:__import__" | "importlib:__import__" => {
                Some(ImportKind::DunderImport)
            }
            _ => None,
        };
        if let Some(how) = how
            && let Some(module) = literal_import_target(how, &call.arguments)
        {
            self.add_import(module, Vec::new(), call.start(), how);
        }
        if how.is_some_and(|how| how == ImportKind::DunderImport) {
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

    fn visit_conditionally(&mut self, visit: impl FnOnce(&mut Self)) {
        self.conditional_depth += 1;
        visit(self);
        self.conditional_depth -= 1;
    }

    fn visit_branch(&mut self, only_for_types: bool, body: &'a [Stmt]) {
        self.type_checking_depth += u32::from(only_for_types);
        self.visit_conditionally(|this| this.visit_body(body));
        self.type_checking_depth -= u32::from(only_for_types);
    }

    fn parse_type_checking_test(&self, test: &Expr) -> Option<TypeCheckingTest> {
        let typing = |name: &Expr| {
            self.scopes.resolve_expr(name).is_some_and(|reference| {
                NameReference::parse(&reference).is_some() && is_typing(&reference, "TYPE_CHECKING")
            })
        };
        parse_type_checking_test(test, &typing)
    }

    fn visit_if(&mut self, statement: &'a ast::StmtIf) {
        let test = self.parse_type_checking_test(&statement.test);
        self.visit_expr(&statement.test);
        self.visit_branch(test == Some(TypeCheckingTest::Positive), &statement.body);
        // All clauses after `if not TYPE_CHECKING` are for type checkers only.
        let mut only_types = test == Some(TypeCheckingTest::Negative);
        for clause in &statement.elif_else_clauses {
            let test = clause.test.as_ref().and_then(|test| self.parse_type_checking_test(test));
            if let Some(test) = &clause.test {
                self.visit_expr(test);
            }
            self.visit_branch(only_types || test == Some(TypeCheckingTest::Positive), &clause.body);
            only_types |= test == Some(TypeCheckingTest::Negative);
        }
    }

    /// Walks an expression with names of its own: a lambda or a comprehension.
    fn visit_in_scope(&mut self, scope: NameScope<'a>, visit: impl FnOnce(&mut Self)) {
        self.scopes.0.push(scope);
        visit(self);
        self.scopes.0.pop();
    }

    fn visit_lambda(&mut self, lambda: &'a ast::ExprLambda) {
        let mut scope = NameScope::from_body(NameScopeKind::Function, String::new(), &[], false);
        if let Some(parameters) = lambda.parameters.as_deref() {
            self.visit_defaults(parameters);
            scope = NameScope::from_function(String::new(), parameters, &[], false);
        }
        // A `yield` in here makes a generator of the lambda, not of the function around it.
        let yields = self.frames.last().is_some_and(|frame| frame.yields);
        self.lambda_depth += 1;
        self.visit_in_scope(scope, |this| this.visit_expr(&lambda.body));
        self.lambda_depth -= 1;
        if let Some(frame) = self.frames.last_mut() {
            frame.yields = yields;
        }
    }
}

impl<'a> Visitor<'a> for FactsExtractor<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.visit_function(function),
            Stmt::ClassDef(class) => self.visit_class(class),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.to_string();
                    self.add_import(module, Vec::new(), stmt.start(), ImportKind::Statement);
                }
            }
            Stmt::ImportFrom(import) => {
                let module = module_as_written(import);
                let names: Vec<String> =
                    import.names.iter().map(|alias| alias.name.to_string()).collect();
                if names.iter().any(|name| name == "*") {
                    self.facts.star_imports.push(module.clone());
                }
                self.add_import(module, names, stmt.start(), ImportKind::Statement);
            }
            Stmt::If(statement) => self.visit_if(statement),
            Stmt::Try(statement) => {
                self.visit_conditionally(|this| {
                    this.visit_body(&statement.body);
                    for handler in &statement.handlers {
                        this.visit_except_handler(handler);
                    }
                    this.visit_body(&statement.orelse);
                });
                self.visit_body(&statement.finalbody);
            }
            Stmt::For(_) | Stmt::While(_) | Stmt::Match(_) => {
                self.visit_conditionally(|this| visitor::walk_stmt(this, stmt));
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                self.visit_call(call);
                visitor::walk_expr(self, expr);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.yields = true;
                }
                visitor::walk_expr(self, expr);
            }
            Expr::Lambda(lambda) => self.visit_lambda(lambda),
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                let mut scope =
                    NameScope::from_body(NameScopeKind::Function, String::new(), &[], false);
                for generator in generators {
                    scope.visit_expr(&generator.target);
                }
                self.visit_in_scope(scope, |this| visitor::walk_expr(this, expr));
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

fn find_docstring(body: &[Stmt]) -> Option<String> {
    let statement = body.first()?.as_expr_stmt()?;
    let string = statement.value.as_string_literal_expr()?;
    Some(string.value.to_str().to_owned())
}
