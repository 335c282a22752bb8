//! Calls of builtin functions, as hints about the types of their arguments.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};

use menace_model::{ParamPart, ParamUse};

use super::SurveyWalker;
use super::assign::display_elements;
use super::expression::is_text_literal;
use crate::survey::known_value::KnownValue;

impl<'a> SurveyWalker<'a> {
    /// The name of a builtin function, unless the file defines another object of that name.
    pub(super) fn builtin_name(&self, func: &'a Expr) -> Option<&'a str> {
        let Expr::Name(name) = func else { return None };
        let name = name.id.as_str();
        self.env.scopes.depth_of(name).is_none().then_some(name)
    }

    /// A call of one of these functions, walked; `None` for every other call.
    pub(super) fn evaluate_builtin(&mut self, call: &'a ast::ExprCall) -> Option<KnownValue<'a>> {
        let arguments = &call.arguments;
        if let Expr::Attribute(attribute) = &*call.func {
            let is_join = attribute.attr.as_str() == "join" && arguments.len() == 1;
            return is_join
                .then(|| self.evaluate_str_join(&attribute.value, arguments.args.first()?))?;
        }
        let name = self.builtin_name(&call.func)?;
        if arguments.args.iter().any(Expr::is_starred_expr) {
            return None;
        }
        match (name, &*arguments.args) {
            ("super", []) => {
                let base = self.classes.last()?.first_base.clone()?;
                return Some(KnownValue::from_instance(base));
            }
            ("len", [object]) => {
                let known = self.evaluate(object);
                self.record_use(&known, &ParamUse::Length);
                return Some(known.part_of_origin(&ParamPart::Length));
            }
            ("isinstance", [object, classes]) => {
                let known = self.evaluate(object);
                self.evaluate(classes);
                if !known.origins.is_empty() {
                    let classes = self.class_names(classes);
                    self.record_instance_check(&known, classes);
                }
            }
            ("hasattr" | "getattr" | "delattr", [object, Expr::StringLiteral(name), rest @ ..]) => {
                let known = self.evaluate(object);
                self.evaluate_all(rest);
                let name = name.value.to_str().to_owned();
                self.record_use(&known, &ParamUse::Attribute(name.clone()));
                return Some(known.part_of_origin(&ParamPart::Attribute(name)));
            }
            ("setattr", [object, Expr::StringLiteral(name), value]) => {
                let known = self.evaluate(object);
                self.evaluate(value);
                self.record_use(&known, &ParamUse::SetAttribute(name.value.to_str().to_owned()));
            }
            ("map" | "filter", [function, rest @ ..]) => {
                let known = self.evaluate(function);
                self.record_called_value(&known, rest.len() as u32);
                self.record_iterations(rest, None);
            }
            ("sum", [object, rest @ ..]) => {
                self.record_iteration(object, Some(&ParamUse::Arithmetic));
                self.evaluate_all(rest);
            }
            ("sorted" | "min" | "max", [object]) => {
                // With a key the items themselves are not compared.
                let compared = arguments.find_keyword("key").is_none();
                self.record_iteration(object, compared.then_some(&ParamUse::Ordered(None)));
            }
            ("min" | "max", all) => {
                for object in all {
                    let known = self.evaluate(object);
                    self.record_use(&known, &ParamUse::Ordered(None));
                }
            }
            (
                "list" | "tuple" | "set" | "frozenset" | "iter" | "any" | "all" | "reversed",
                [one],
            ) => {
                self.record_iteration(one, None);
            }
            ("enumerate", [one, ..]) => self.record_iteration(one, None),
            ("zip", all) => self.record_iterations(all, None),
            ("abs" | "round" | "divmod" | "pow" | "range" | "chr" | "bin" | "hex" | "oct", all) => {
                for object in all {
                    let known = self.evaluate(object);
                    self.record_use(&known, &ParamUse::Arithmetic);
                }
            }
            ("ord", [object]) => {
                let known = self.evaluate(object);
                self.record_use(&known, &ParamUse::Text);
            }
            _ => return None,
        }
        for keyword in &arguments.keywords {
            self.evaluate(&keyword.value);
        }
        Some(KnownValue::default())
    }

    /// `", ".join(x)`.
    fn evaluate_str_join(&mut self, between: &'a Expr, items: &'a Expr) -> Option<KnownValue<'a>> {
        let used = match between {
            text if is_text_literal(text) => ParamUse::Text,
            Expr::BytesLiteral(_) => ParamUse::Bytes,
            _ => return None,
        };
        self.evaluate(between);
        if let Some(items) = display_elements(items) {
            for item in items {
                let known = self.evaluate(item);
                self.record_use(&known, &used);
            }
        } else {
            self.record_iteration(items, Some(&used));
        }
        Some(KnownValue::default())
    }

    fn record_iterations(&mut self, objects: &'a [Expr], item_used: Option<&ParamUse>) {
        for object in objects {
            self.record_iteration(object, item_used);
        }
    }

    /// Records an iteration, and the use of each item.
    fn record_iteration(&mut self, object: &'a Expr, item_used: Option<&ParamUse>) {
        let known = self.evaluate(object);
        self.record_use(&known, &ParamUse::Iterated);
        if let Some(used) = item_used {
            self.record_use(&known.part_of_origin(&ParamPart::Item), used);
        }
    }

    /// The value of each iteration over `enumerate(x)` and the like.
    pub(super) fn evaluate_builtin_iteration(
        &mut self,
        iter: &'a Expr,
        target: &'a Expr,
    ) -> Option<KnownValue<'a>> {
        let Expr::Call(call) = iter else { return None };
        let name = self.builtin_name(&call.func)?;
        let arguments = &call.arguments;
        if arguments.args.iter().any(Expr::is_starred_expr) {
            return None;
        }
        let targets = display_elements(target);
        let item = match (name, &*arguments.args, targets) {
            ("sorted" | "list" | "tuple" | "set" | "reversed" | "iter", [inner], _) => {
                self.evaluate_iteration(inner, target, false)
            }
            ("enumerate", [inner, rest @ ..], Some([_, target])) => {
                let item = self.evaluate_iteration(inner, target, false);
                self.evaluate_all(rest);
                let pair: Rc<[KnownValue<'a>]> = [KnownValue::default(), item].into();
                KnownValue { tuple: Some(pair), ..KnownValue::default() }
            }
            ("zip", inner, Some(targets)) if inner.len() == targets.len() => {
                let items = inner
                    .iter()
                    .zip(targets)
                    .map(|(inner, target)| self.evaluate_iteration(inner, target, false))
                    .collect();
                KnownValue { tuple: Some(items), ..KnownValue::default() }
            }
            _ => return None,
        };
        for keyword in &arguments.keywords {
            self.evaluate(&keyword.value);
        }
        Some(item)
    }
}
