//! Functions, classes, lambdas and comprehensions, which have scopes of their own.

use std::rc::Rc;

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{self as ast, Expr, Parameters, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use menace_model::{Section, SectionKind, SignatureParam, TypeExpr};

use super::assign::display_elements;
use super::{AttributeValues, EnclosingClass, SurveyWalker};
use crate::facts::{self, NameReference, NameScope, NameScopeKind, is_typing};
use crate::link::{ResolvedName, strip_definition_number};
use crate::survey::docstring;
use crate::survey::known_value::{KnownValue, MAX_LITERAL_CASES};

impl<'a> SurveyWalker<'a> {
    pub(super) fn visit_function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.evaluate(&decorator.expression);
        }
        self.evaluate_defaults(&function.parameters);
        self.visit_doctests(&function.body);
        let cases = self.parametrize_values(function);
        let scope = self.env.scopes.innermost();
        let in_class = scope.kind == NameScopeKind::Class;
        let receiver = in_class.then(|| self.receiver(function)).flatten();
        let scope = self.env.scopes.innermost();
        let prefix = format!("{}{}.<locals>.", scope.prefix, function.name);
        let section = self.match_section(function);
        let type_params = function.type_params.as_deref().map(NameScope::from_type_params);
        let outside = type_params.map(|scope| self.env.push_scope(scope));
        let inside = self.env.push_scope(NameScope::from_function(
            prefix,
            &function.parameters,
            &function.body,
            self.has_walrus,
        ));
        let expects_failure = std::mem::take(&mut self.expects_failure);
        self.receivers.push(receiver.as_ref().map(|(name, _)| *name));
        self.bind_params(&function.parameters, section, cases);
        if let Some((name, known)) = receiver {
            self.env.set(name, known);
        }
        if let Some(section) = section {
            self.matched_sections += 1;
            self.frames.push(section);
            self.record_docstring(section, &function.body, function.name.as_str());
        }
        self.visit_body(&function.body);
        if section.is_some() {
            self.frames.pop();
        }
        self.receivers.pop();
        self.expects_failure = expects_failure;
        self.env.pop_scope(inside);
        if let Some(outside) = outside {
            self.env.pop_scope(outside);
        }
    }

    /// The section that a function is, when its hints are wanted.
    fn match_section(&mut self, function: &ast::StmtFunctionDef) -> Option<usize> {
        let line = self.lines?.line_index(function.start()).get() as u32;
        let found =
            self.sections.get(&line).filter(|(_, section)| matches_section(function, section));
        let found = found.map(|(index, _)| *index);
        let is_overload = || {
            let mut decorators = function.decorator_list.iter().map(|each| &each.expression);
            decorators.any(|decorator| {
                let reference = self.env.scopes.resolve_expr(decorator);
                reference.is_some_and(|reference| is_typing(&reference, "overload"))
            })
        };
        if found.is_none() && !is_overload() {
            self.unmatched_functions += 1;
        }
        found
    }

    /// The first parameter of a method, and its value.
    fn receiver(&self, function: &'a ast::StmtFunctionDef) -> Option<(&'a str, KnownValue<'a>)> {
        let class = self.classes.last()?.class.clone();
        let parameters = &function.parameters;
        let first = parameters.posonlyargs.first().or_else(|| parameters.args.first())?;
        let decorators: Vec<String> = function
            .decorator_list
            .iter()
            .filter_map(|decorator| self.env.scopes.resolve_expr(&decorator.expression))
            .collect();
        let known = match facts::section_kind(function, NameScopeKind::Class, &decorators).0 {
            SectionKind::StaticMethod => return None,
            SectionKind::ClassMethod => {
                KnownValue { definition: Some(class), ..KnownValue::default() }
            }
            _ => KnownValue::from_instance(class),
        };
        Some((first.parameter.name.as_str(), known))
    }

    /// Binds parameters to themselves; for those of a test, literals may be known.
    fn bind_params(
        &mut self,
        parameters: &'a Parameters,
        section: Option<usize>,
        mut cases: FxHashMap<&'a str, KnownValue<'a>>,
    ) {
        for parameter in parameters {
            let annotation = parameter.annotation().filter(|_| !parameter.is_variadic());
            let name = parameter.name().as_str();
            let mut known = cases.remove(name).unwrap_or_default();
            if let Some(section) = section {
                let params = &self.hints[section].params;
                if let Some(param) = params.iter().position(|param| param.name == name) {
                    known.origins = KnownValue::from_param(section, param).origins;
                }
            }
            known.class = annotation.and_then(|annotation| self.annotated_class(annotation));
            self.env.set(name, known);
        }
    }

    /// The class of the repository that an annotation names.
    fn annotated_class(&self, annotation: &Expr) -> Option<Rc<ResolvedName>> {
        let resolve = |name: &str| {
            let resolved = self.resolve_reference(name);
            (resolved.module.is_some() && self.is_class(&resolved)).then(|| Rc::new(resolved))
        };
        // Most annotations are plain names, which need no tree.
        if let Expr::Name(_) = annotation {
            return resolve(&self.env.scopes.resolve_expr(annotation)?);
        }
        let mut kind = &facts::convert_annotation(self.source, annotation, &self.env.scopes);
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

    fn record_docstring(&mut self, section: usize, body: &'a [Stmt], name: &str) {
        let own = docstring::find_docstring(body);
        // The parameters of a constructor are often documented at the class.
        let class = self.classes.last().and_then(|class| class.docstring);
        let class = class.filter(|_| matches!(name, "__init__" | "__new__"));
        for text in [own, class].into_iter().flatten() {
            let types = docstring::parse_types(text);
            for param in &mut self.hints[section].params {
                if param.documented_type.is_none() {
                    param.documented_type = types.get(param.name.as_str()).cloned();
                }
            }
        }
    }

    pub(super) fn evaluate_defaults(&mut self, parameters: &'a Parameters) {
        for default in parameters.iter_non_variadic_params().filter_map(|each| each.default()) {
            self.evaluate(default);
        }
    }

    /// The values that `@pytest.mark.parametrize("a, b", [(1, 2), …])` gives to parameters.
    fn parametrize_values(
        &self,
        function: &'a ast::StmtFunctionDef,
    ) -> FxHashMap<&'a str, KnownValue<'a>> {
        let mut cases = FxHashMap::default();
        if self.call_sites.is_none() {
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
                call.arguments.find_argument_value("argvalues", 1).and_then(display_elements),
            ) else {
                continue;
            };
            let names: Vec<&'a str> = match names {
                Expr::StringLiteral(text) => {
                    text.value.to_str().split(',').map(str::trim).collect()
                }
                list => {
                    let text = |name: &'a Expr| Some(name.as_string_literal_expr()?.value.to_str());
                    display_elements(list).unwrap_or_default().iter().filter_map(text).collect()
                }
            };
            for (index, name) in names.iter().enumerate() {
                let value = |row: &'a Expr| match &names[..] {
                    [_] => Some(row),
                    _ => display_elements(row)?.get(index),
                };
                let texts = rows
                    .iter()
                    .map_while(|row| self.render_literal(value(row)?))
                    .take(MAX_LITERAL_CASES);
                cases.insert(
                    *name,
                    KnownValue { source_cases: texts.collect(), ..KnownValue::default() },
                );
            }
        }
        cases
    }

    pub(super) fn visit_class(&mut self, class: &'a ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.evaluate(&decorator.expression);
        }
        let mut bases = Vec::new();
        if let Some(arguments) = class.arguments.as_deref() {
            self.evaluate_all(&arguments.args);
            for keyword in &arguments.keywords {
                self.evaluate(&keyword.value);
            }
            bases.extend(arguments.args.iter().filter_map(|base| self.resolve_dotted(base)));
        }
        self.visit_doctests(&class.body);
        let qualname = format!("{}{}", self.env.scopes.innermost().prefix, class.name);
        let itself =
            Rc::new(self.resolve_reference(&NameReference::format_reference("", &qualname)));
        let mut attributes = AttributeValues::default();
        for base in bases.iter().rev().filter(|base| base.module == Some(self.module)) {
            attributes.extend(self.instances.get(&base.attributes).cloned().unwrap_or_default());
        }
        self.classes.push(EnclosingClass {
            class: itself,
            first_base: bases.first().cloned(),
            attributes,
            docstring: docstring::find_docstring(&class.body),
        });
        let type_params = class.type_params.as_deref().map(NameScope::from_type_params);
        let outside = type_params.map(|scope| self.env.push_scope(scope));
        let prefix = format!("{qualname}.");
        let scope =
            NameScope::from_body(NameScopeKind::Class, prefix, &class.body, self.has_walrus);
        let inside = self.env.push_scope(scope);
        self.receivers.push(None);
        self.visit_body(&class.body);
        self.receivers.pop();
        self.env.pop_scope(inside);
        if let Some(outside) = outside {
            self.env.pop_scope(outside);
        }
        if let Some(class) = self.classes.pop() {
            self.instances.insert(qualname, class.attributes);
        }
    }

    /// Whether this is the receiver of the enclosing method.
    pub(super) fn is_receiver(&self, expr: &Expr) -> bool {
        let Expr::Name(name) = expr else { return false };
        let nearest = self.receivers.iter().rev().find_map(|receiver| *receiver);
        nearest == Some(name.id.as_str())
    }

    pub(super) fn visit_lambda(&mut self, lambda: &'a ast::ExprLambda) {
        let mut scope = NameScope::from_body(NameScopeKind::Function, String::new(), &[], false);
        if let Some(parameters) = lambda.parameters.as_deref() {
            self.evaluate_defaults(parameters);
            scope = NameScope::from_function(String::new(), parameters, &[], false);
        }
        let inside = self.env.push_scope(scope);
        self.evaluate(&lambda.body);
        self.env.pop_scope(inside);
    }

    /// Walks the loops of a comprehension, then its element.
    pub(super) fn visit_comprehension(
        &mut self,
        generators: &'a [ast::Comprehension],
        results: &[&'a Expr],
    ) {
        let mut scope = NameScope::from_body(NameScopeKind::Function, String::new(), &[], false);
        for generator in generators {
            scope.visit_expr(&generator.target);
        }
        let iterated = |this: &mut Self, each: &'a ast::Comprehension| {
            this.evaluate_iteration(&each.iter, &each.target, each.is_async)
        };
        // The first one is evaluated outside: `[x for x in x]`.
        let mut first = generators.first().map(|generator| iterated(self, generator));
        let inside = self.env.push_scope(scope);
        for generator in generators {
            let item = first.take().unwrap_or_else(|| iterated(self, generator));
            self.bind_target(&generator.target, item);
            for condition in &generator.ifs {
                self.evaluate_condition(condition);
            }
        }
        for result in results {
            self.evaluate(result);
        }
        self.env.pop_scope(inside);
    }
}

/// Whether name and parameters of the function are those of the section.
fn matches_section(function: &ast::StmtFunctionDef, section: &Section) -> bool {
    let mut names = strip_definition_number(section.id.qualname()).rsplit('.').take(2);
    let takes = |param: &SignatureParam| {
        function.parameters.iter().any(|parameter| parameter.name().as_str() == param.name)
    };
    // `Class.name.setter` ends with the accessor.
    names.any(|name| name == function.name.as_str()) && section.params.iter().all(takes)
}
