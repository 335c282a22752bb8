//! Comparisons, as hints about the values of their operands.

use ruff_python_ast::{self as ast, CmpOp, Expr, Operator};

use menace_model::ParamUse;

use super::SurveyWalker;
use super::assign::display_elements;
use super::expression::is_text_literal;
use super::literal::literal_display;
use crate::survey::known_value::KnownValue;

/// The most choices that are used from a long list.
const MAX_COMPARED_CHOICES: usize = 32;

/// Tuples of tuples of classes; a tuple may even name itself.
const MAX_CLASS_TUPLE_NESTING: usize = 16;

impl<'a> SurveyWalker<'a> {
    pub(super) fn evaluate_comparison(&mut self, comparison: &'a ast::ExprCompare) {
        let mut left_expr = &*comparison.left;
        let mut left = self.evaluate(left_expr);
        for (operator, right_expr) in comparison.ops.iter().zip(&comparison.comparators) {
            let right = self.evaluate(right_expr);
            self.record_comparison((&left, left_expr), *operator, (&right, right_expr));
            (left, left_expr) = (right, right_expr);
        }
    }

    fn record_comparison(
        &mut self,
        (left, left_expr): (&KnownValue<'a>, &'a Expr),
        operator: CmpOp,
        (right, right_expr): (&KnownValue<'a>, &'a Expr),
    ) {
        match operator {
            CmpOp::In | CmpOp::NotIn => {
                self.record_membership_test(left, left_expr, right);
                if let Some(object) = self.type_call_subject(left_expr) {
                    let classes = self.class_names(right_expr);
                    self.record_instance_check(&object, classes);
                } else if is_text_literal(right_expr) {
                    self.record_use(left, &ParamUse::Text);
                } else if right_expr.is_bytes_literal_expr() {
                    self.record_use(left, &ParamUse::Bytes);
                } else if !left.origins.is_empty() {
                    let choices = literal_display(right_expr).or(right.literal_expr);
                    self.record_lookup(
                        left,
                        &KnownValue { literal_expr: choices, ..KnownValue::default() },
                    );
                    self.record_choices(
                        left,
                        choices.and_then(display_elements).unwrap_or_default(),
                    );
                }
            }
            CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE => {
                for (known, other) in [(left, right_expr), (right, left_expr)] {
                    if !known.origins.is_empty() {
                        let bound = self.render_literal(other).map(|text| text.to_string());
                        self.record_use(known, &ParamUse::Ordered(bound));
                    }
                }
            }
            CmpOp::Eq | CmpOp::NotEq | CmpOp::Is | CmpOp::IsNot => {
                for (known, expr, other) in
                    [(left, left_expr, right_expr), (right, right_expr, left_expr)]
                {
                    if let Some(object) = self.type_call_subject(expr) {
                        let classes = self.class_names(other);
                        self.record_instance_check(&object, classes);
                    } else if !known.origins.is_empty() {
                        self.record_equality(known, other);
                    }
                }
            }
        }
    }

    /// `left in right`, as far as the right side is concerned.
    fn record_membership_test(
        &mut self,
        left: &KnownValue<'a>,
        left_expr: &'a Expr,
        right: &KnownValue<'a>,
    ) {
        if right.origins.is_empty() {
            return;
        }
        let used = match left_expr {
            Expr::StringLiteral(key) => ParamUse::Key(key.value.to_str().to_owned()),
            Expr::BytesLiteral(_) => ParamUse::Bytes,
            _ => match left.source_cases.first().and_then(|text| unquote_literal(text)) {
                Some(key) => ParamUse::Key(key.to_owned()),
                None => ParamUse::Contains,
            },
        };
        self.record_use(right, &used);
    }

    fn record_equality(&mut self, known: &KnownValue<'a>, other: &'a Expr) {
        if other.is_none_literal_expr() {
            self.record_use(known, &ParamUse::MaybeNone);
        } else if let Some(text) = self.render_literal(other) {
            self.record_use(known, &ParamUse::Equals(text.to_string()));
        }
    }

    pub(super) fn record_choices(
        &mut self,
        known: &KnownValue<'a>,
        choices: impl IntoIterator<Item = &'a Expr>,
    ) {
        for choice in choices.into_iter().take(MAX_COMPARED_CHOICES) {
            self.record_equality(known, choice);
        }
    }

    pub(super) fn record_instance_check(&mut self, known: &KnownValue<'a>, classes: Vec<String>) {
        if !classes.is_empty() {
            self.record_use(known, &ParamUse::IsInstance(classes));
        }
    }

    /// The argument of `type(x)`.
    fn type_call_subject(&self, expr: &'a Expr) -> Option<KnownValue<'a>> {
        let Expr::Call(call) = expr else { return None };
        let [Expr::Name(object)] = &*call.arguments.args else { return None };
        let is_type = self.builtin_name(&call.func) == Some("type");
        let known = self.env.get(object.id.as_str()).filter(|_| is_type)?;
        (!known.origins.is_empty()).then(|| known.same_origin())
    }

    /// The classes in `A`, `(A, B)` or `A | B`.
    pub(super) fn class_names(&self, expr: &Expr) -> Vec<String> {
        let mut names = Vec::new();
        self.add_class_names(expr, MAX_CLASS_TUPLE_NESTING, &mut names);
        names
    }

    fn add_class_names(&self, expr: &Expr, deeper: usize, names: &mut Vec<String>) {
        let Some(deeper) = deeper.checked_sub(1) else { return };
        match expr {
            Expr::Tuple(tuple) => {
                tuple.elts.iter().for_each(|each| self.add_class_names(each, deeper, names));
            }
            Expr::BinOp(operation) if operation.op == Operator::BitOr => {
                self.add_class_names(&operation.left, deeper, names);
                self.add_class_names(&operation.right, deeper, names);
            }
            Expr::NoneLiteral(_) => names.push("None".to_owned()),
            Expr::Name(name) => {
                match self.env.get(name.id.as_str()).and_then(|known| known.literal_expr) {
                    Some(classes) => self.add_class_names(classes, deeper, names),
                    None => names.extend(self.dotted_name(expr)),
                }
            }
            Expr::Attribute(_) => names.extend(self.dotted_name(expr)),
            _ => {}
        }
    }
}

/// The text inside of a literal in single quotes, if it has no escapes.
fn unquote_literal(literal: &str) -> Option<&str> {
    let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    (!inner.contains('\\')).then_some(inner)
}
