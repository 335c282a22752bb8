//! Functions, classes, lambdas and comprehensions: what has names of its own.

use std::rc::Rc;

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{self as ast, Expr, Parameters, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use menace_model::{Param, Section, SectionKind, TypeExpr};

use super::assign::elements;
use super::{Attributes, ClassAround, Walker};
use crate::facts::{self, Reference, Scope, ScopeKind, is_typing};
use crate::link::{Resolved, without_number};
use crate::survey::docstring;
use crate::survey::known::{Known, MAX_TEXTS};

impl<'a> Walker<'a> {
    pub(super) fn function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.value(&decorator.expression);
        }
        self.defaults(&function.parameters);
        self.examples(&function.body);
        let cases = self.parametrized(function);
        let scope = self.env.scopes.innermost();
        let in_class = scope.kind == ScopeKind::Class;
        let receiver = in_class.then(|| self.receiver(function)).flatten();
        let scope = self.env.scopes.innermost();
        let prefix = format!("{}{}.<locals>.", scope.prefix, function.name);
        let section = self.section_at(function);
        let type_params = function.type_params.as_deref().map(Scope::of_type_params);
        let outside = type_params.map(|scope| self.env.push(scope));
        let inside = self.env.push(Scope::of_function(
            prefix,
            &function.parameters,
            &function.body,
            self.walrus,
        ));
        let expects_failure = std::mem::take(&mut self.expects_failure);
        self.receivers.push(receiver.as_ref().map(|(name, _)| *name));
        self.params(&function.parameters, section, cases);
        if let Some((name, known)) = receiver {
            self.env.set(name, known);
        }
        if let Some(section) = section {
            self.met += 1;
            self.frames.push(section);
            self.document(section, &function.body, function.name.as_str());
        }
        self.body(&function.body);
        if section.is_some() {
            self.frames.pop();
        }
        self.receivers.pop();
        self.expects_failure = expects_failure;
        self.env.pop(inside);
        if let Some(outside) = outside {
            self.env.pop(outside);
        }
    }

    /// The section that a function is, when its hints are wanted.
    fn section_at(&mut self, function: &ast::StmtFunctionDef) -> Option<usize> {
        let line = self.lines?.line_index(function.start()).get() as u32;
        let found = self.sections.get(&line).filter(|(_, section)| is_of(function, section));
        let found = found.map(|(index, _)| *index);
        let is_overload = || {
            let mut decorators = function.decorator_list.iter().map(|each| &each.expression);
            decorators.any(|decorator| {
                let reference = self.env.scopes.resolve_expr(decorator);
                reference.is_some_and(|reference| is_typing(&reference, "overload"))
            })
        };
        if found.is_none() && !is_overload() {
            self.strangers += 1;
        }
        found
    }

    /// The first parameter of a method, and what it is.
    fn receiver(&self, function: &'a ast::StmtFunctionDef) -> Option<(&'a str, Known<'a>)> {
        let class = self.classes.last()?.itself.clone();
        let parameters = &function.parameters;
        let first = parameters.posonlyargs.first().or_else(|| parameters.args.first())?;
        let decorators: Vec<String> = function
            .decorator_list
            .iter()
            .filter_map(|decorator| self.env.scopes.resolve_expr(&decorator.expression))
            .collect();
        let known = match facts::kind(function, ScopeKind::Class, &decorators).0 {
            SectionKind::StaticMethod => return None,
            SectionKind::ClassMethod => Known { meant: Some(class), ..Known::default() },
            _ => Known::instance(class),
        };
        Some((first.parameter.name.as_str(), known))
    }

    /// Parameters stand for themselves; for those of a test, literals may be known.
    fn params(
        &mut self,
        parameters: &'a Parameters,
        section: Option<usize>,
        mut cases: FxHashMap<&'a str, Known<'a>>,
    ) {
        for parameter in parameters {
            let annotation = parameter.annotation().filter(|_| !parameter.is_variadic());
            let name = parameter.name().as_str();
            let mut known = cases.remove(name).unwrap_or_default();
            if let Some(section) = section {
                let params = &self.hints[section].params;
                if let Some(param) = params.iter().position(|param| param.name == name) {
                    known.origins = Known::param(section, param).origins;
                }
            }
            known.class = annotation.and_then(|annotation| self.class_named(annotation));
            self.env.set(name, known);
        }
    }

    /// The class of the repository that an annotation asks for.
    fn class_named(&self, annotation: &Expr) -> Option<Rc<Resolved>> {
        let resolve = |name: &str| {
            let resolved = self.resolve(name);
            (resolved.module.is_some() && self.is_class(&resolved)).then(|| Rc::new(resolved))
        };
        // Most are plain names, which need no tree.
        if let Expr::Name(_) = annotation {
            return resolve(&self.env.scopes.resolve_expr(annotation)?);
        }
        let mut kind = &facts::type_expr(self.source, annotation, &self.env.scopes);
        if let TypeExpr::Union(choices) = kind {
            kind = choices.iter().find(|choice| **choice != TypeExpr::None)?;
        }
        if let TypeExpr::Generic { base, .. } = kind {
            kind = base;
        }
        match kind {
            TypeExpr::Name(name) => resolve(name),
            _ => None,
        }
    }

    fn document(&mut self, section: usize, body: &'a [Stmt], name: &str) {
        let own = docstring::of(body);
        // The parameters of a constructor are often told where the class is.
        let class = self.classes.last().and_then(|class| class.docstring);
        let class = class.filter(|_| matches!(name, "__init__" | "__new__"));
        for text in [own, class].into_iter().flatten() {
            let types = docstring::types(text);
            for param in &mut self.hints[section].params {
                if param.documented.is_none() {
                    param.documented = types.get(param.name.as_str()).cloned();
                }
            }
        }
    }

    pub(super) fn defaults(&mut self, parameters: &'a Parameters) {
        for default in parameters.iter_non_variadic_params().filter_map(|each| each.default()) {
            self.value(default);
        }
    }

    /// The values that `@pytest.mark.parametrize("a, b", [(1, 2), …])` gives to parameters.
    fn parametrized(&self, function: &'a ast::StmtFunctionDef) -> FxHashMap<&'a str, Known<'a>> {
        let mut cases = FxHashMap::default();
        if self.sites.is_none() {
            return cases;
        }
        for decorator in &function.decorator_list {
            let Expr::Call(call) = &decorator.expression else { continue };
            let reference = self.env.scopes.resolve_expr(&call.func);
            if reference.as_deref() != Some("pytest:mark.parametrize") {
                continue;
            }
            let (Some(names), Some(rows)) = (
                call.arguments.find_argument_value("argnames", 0),
                call.arguments.find_argument_value("argvalues", 1).and_then(elements),
            ) else {
                continue;
            };
            let names: Vec<&'a str> = match names {
                Expr::StringLiteral(text) => {
                    text.value.to_str().split(',').map(str::trim).collect()
                }
                list => {
                    let text = |name: &'a Expr| Some(name.as_string_literal_expr()?.value.to_str());
                    elements(list).unwrap_or_default().iter().filter_map(text).collect()
                }
            };
            for (index, name) in names.iter().enumerate() {
                let value = |row: &'a Expr| match &names[..] {
                    [_] => Some(row),
                    _ => elements(row)?.get(index),
                };
                let texts = rows.iter().map_while(|row| self.text(value(row)?)).take(MAX_TEXTS);
                cases.insert(*name, Known { texts: texts.collect(), ..Known::default() });
            }
        }
        cases
    }

    pub(super) fn class(&mut self, class: &'a ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.value(&decorator.expression);
        }
        let mut bases = Vec::new();
        if let Some(arguments) = class.arguments.as_deref() {
            self.all(&arguments.args);
            for keyword in &arguments.keywords {
                self.value(&keyword.value);
            }
            bases.extend(arguments.args.iter().filter_map(|base| self.reached(base)));
        }
        self.examples(&class.body);
        let qualname = format!("{}{}", self.env.scopes.innermost().prefix, class.name);
        let itself = Rc::new(self.resolve(&Reference::to("", &qualname)));
        let mut attributes = Attributes::default();
        for base in bases.iter().rev().filter(|base| base.module == Some(self.module)) {
            attributes.extend(self.instances.get(&base.attributes).cloned().unwrap_or_default());
        }
        self.classes.push(ClassAround {
            itself,
            first_base: bases.first().cloned(),
            attributes,
            docstring: docstring::of(&class.body),
        });
        let type_params = class.type_params.as_deref().map(Scope::of_type_params);
        let outside = type_params.map(|scope| self.env.push(scope));
        let prefix = format!("{qualname}.");
        let scope = Scope::of_body(ScopeKind::Class, prefix, &class.body, self.walrus);
        let inside = self.env.push(scope);
        self.receivers.push(None);
        self.body(&class.body);
        self.receivers.pop();
        self.env.pop(inside);
        if let Some(outside) = outside {
            self.env.pop(outside);
        }
        if let Some(class) = self.classes.pop() {
            self.instances.insert(qualname, class.attributes);
        }
    }

    /// Is this the name of the object whose method we are in?
    pub(super) fn is_receiver(&self, expr: &Expr) -> bool {
        let Expr::Name(name) = expr else { return false };
        let nearest = self.receivers.iter().rev().find_map(|receiver| *receiver);
        nearest == Some(name.id.as_str())
    }

    pub(super) fn lambda(&mut self, lambda: &'a ast::ExprLambda) {
        let mut scope = Scope::of_body(ScopeKind::Function, String::new(), &[], false);
        if let Some(parameters) = lambda.parameters.as_deref() {
            self.defaults(parameters);
            scope = Scope::of_function(String::new(), parameters, &[], false);
        }
        let inside = self.env.push(scope);
        self.value(&lambda.body);
        self.env.pop(inside);
    }

    /// Walks the loops of a comprehension, then what it gives.
    pub(super) fn comprehension(
        &mut self,
        generators: &'a [ast::Comprehension],
        results: &[&'a Expr],
    ) {
        let mut scope = Scope::of_body(ScopeKind::Function, String::new(), &[], false);
        for generator in generators {
            scope.visit_expr(&generator.target);
        }
        let iterated = |this: &mut Self, each: &'a ast::Comprehension| {
            this.iterated(&each.iter, &each.target, each.is_async)
        };
        // The first one is evaluated outside: `[x for x in x]`.
        let mut first = generators.first().map(|generator| iterated(self, generator));
        let inside = self.env.push(scope);
        for generator in generators {
            let item = first.take().unwrap_or_else(|| iterated(self, generator));
            self.store(&generator.target, item);
            for condition in &generator.ifs {
                self.test(condition);
            }
        }
        for result in results {
            self.value(result);
        }
        self.env.pop(inside);
    }
}

/// Are name and parameters those of the section?
fn is_of(function: &ast::StmtFunctionDef, section: &Section) -> bool {
    let mut names = without_number(section.id.qualname()).rsplit('.').take(2);
    let takes = |param: &Param| {
        function.parameters.iter().any(|parameter| parameter.name().as_str() == param.name)
    };
    // `Class.name.setter` ends with the accessor.
    names.any(|name| name == function.name.as_str()) && section.params.iter().all(takes)
}
