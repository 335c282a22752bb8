//! Names, attributes and items that get a value.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, Stmt};

use menace_model::{ParamPart, ParamUse};

use super::SurveyWalker;
use super::literal::literal_display;
use crate::facts::NameScopeKind;
use crate::survey::known_value::{KnownValue, MAX_LITERAL_CASES};

impl<'a> SurveyWalker<'a> {
    /// Binds the constants of the top level before anything is walked.
    pub(super) fn bind_constants(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            let (target, value) = match stmt {
                Stmt::Assign(assign) if assign.targets.len() == 1 => {
                    (&assign.targets[0], &assign.value)
                }
                Stmt::AnnAssign(ast::StmtAnnAssign { target, value: Some(value), .. }) => {
                    (&**target, value)
                }
                _ => continue,
            };
            if let Expr::Name(name) = target {
                let known = KnownValue {
                    source_cases: self.render_cases(value),
                    literal_expr: literal_display(value),
                    pattern: self.compiled_regex(value),
                    class: self.constructed_class(value),
                    ..KnownValue::default()
                };
                self.env.set(name.id.as_str(), known);
            }
        }
    }

    pub(super) fn visit_assign(&mut self, targets: &'a [Expr], value: &'a Expr) {
        let known = self.evaluate_assigned_value(value);
        if let [target] = targets {
            return self.bind_target(target, known);
        }
        for target in targets {
            self.bind_target(target, known.clone());
        }
    }

    /// The value of an assignment, with everything that can be known about it.
    fn evaluate_assigned_value(&mut self, value: &'a Expr) -> KnownValue<'a> {
        if let Expr::Tuple(tuple) = value {
            let elements: Vec<KnownValue<'a>> =
                tuple.elts.iter().map(|element| self.evaluate_assigned_value(element)).collect();
            return KnownValue {
                tuple: Some(elements.into()),
                source_cases: self.render_cases(value),
                literal_expr: literal_display(value),
                ..KnownValue::default()
            };
        }
        let mut known = self.evaluate(value);
        if known.source_cases.is_empty() {
            known.source_cases = self.render_cases(value);
        }
        known.literal_expr = known.literal_expr.or_else(|| literal_display(value));
        if known.definition.is_none() && known.origins.is_empty() && known.class.is_none() {
            known.definition = self.find_definition(value);
        }
        known
    }

    pub(super) fn bind_target(&mut self, target: &'a Expr, known: KnownValue<'a>) {
        match target {
            Expr::Name(name) => {
                if self.env.scopes.innermost().kind == NameScopeKind::Class {
                    self.bind_attribute(name.id.as_str(), known.clone());
                }
                self.env.set(name.id.as_str(), known);
            }
            Expr::Attribute(attribute) => {
                if self.is_receiver(&attribute.value) {
                    self.bind_attribute(attribute.attr.as_str(), known);
                } else {
                    let object = self.evaluate(&attribute.value);
                    self.record_use(&object, &ParamUse::SetAttribute(attribute.attr.to_string()));
                }
            }
            Expr::Subscript(subscript) => {
                let object = self.evaluate(&subscript.value);
                self.evaluate(&subscript.slice);
                if !object.origins.is_empty() {
                    let key = self.render_literal(&subscript.slice).map(|text| text.to_string());
                    self.record_use(&object, &ParamUse::SetItem(key));
                }
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                self.bind_unpacked(elts, &known);
            }
            Expr::Starred(starred) => self.bind_target(&starred.value, KnownValue::default()),
            _ => {}
        }
    }

    fn bind_unpacked(&mut self, targets: &'a [Expr], known: &KnownValue<'a>) {
        let starred = targets.iter().position(Expr::is_starred_expr);
        if let Some(elements) = &known.tuple
            && elements.len() == targets.len()
            && starred.is_none()
        {
            for (target, element) in targets.iter().zip(elements.iter()) {
                self.bind_target(target, element.clone());
            }
            return;
        }
        let used = match starred {
            None => ParamUse::Unpacked(targets.len() as u32),
            Some(_) => ParamUse::Iterated,
        };
        self.record_use(known, &used);
        for (index, target) in targets.iter().enumerate() {
            let is_counted = starred.is_none_or(|star| index < star);
            let element = is_counted.then(|| known.item_at(index));
            self.bind_target(target, element.unwrap_or_default());
        }
    }

    /// Records for all methods what `self.name = …`, or `name = …` in the class, reveals about
    /// `self.name`.
    fn bind_attribute(&mut self, name: &'a str, known: KnownValue<'a>) {
        let Some(class) = self.classes.last_mut() else { return };
        // Knowledge that holds for one call only is dropped.
        let known = KnownValue { literal_expr: None, tuple: None, ..known };
        let both = match class.attributes.get(name) {
            Some(earlier) => earlier.merge(&known),
            None => known,
        };
        class.attributes.insert(name, Rc::new(both));
    }

    pub(super) fn visit_aug_assign(&mut self, assign: &'a ast::StmtAugAssign) {
        let left = self.evaluate(&assign.target);
        let right = self.evaluate(&assign.value);
        self.record_operation((&left, &assign.target), assign.op, (&right, &assign.value));
        self.bind_target(&assign.target, left.same_origin());
    }

    /// The value that `target` gets in each iteration of a loop.
    pub(super) fn evaluate_iteration(
        &mut self,
        iter: &'a Expr,
        target: &'a Expr,
        is_async: bool,
    ) -> KnownValue<'a> {
        if let Some(item) = self.evaluate_builtin_iteration(iter, target) {
            return item;
        }
        let known = self.evaluate(iter);
        let parts =
            display_elements(target).filter(|parts| !parts.iter().any(Expr::is_starred_expr));
        let used = match parts {
            _ if is_async => ParamUse::IteratedAsync,
            Some(parts) => ParamUse::IteratedTuples(parts.len() as u32),
            None => ParamUse::Iterated,
        };
        self.record_use(&known, &used);
        let item = known.part_of_origin(&ParamPart::Item);
        let rows = known.literal_expr.or(Some(iter)).and_then(display_elements).unwrap_or_default();
        let Some(parts) = parts else {
            let texts = rows
                .iter()
                .filter_map(|row| self.render_literal(row))
                .take(MAX_LITERAL_CASES)
                .collect();
            return KnownValue { source_cases: texts, ..item };
        };
        let columns = (0..parts.len()).map(|index| {
            let cell = |row: &'a Expr| display_elements(row).and_then(|cells| cells.get(index));
            let cells = rows.iter().map_while(|row| self.render_literal(cell(row)?));
            let texts = cells.take(MAX_LITERAL_CASES).collect();
            KnownValue { source_cases: texts, ..item.item_at(index) }
        });
        KnownValue { tuple: Some(columns.collect()), ..item }
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
