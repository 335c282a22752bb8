//! Comparisons: what a value is held against tells what it could be.

use ruff_python_ast::{self as ast, CmpOp, Expr, Operator};

use menace_model::Use;

use super::Walker;
use super::assign::elements;
use super::expression::is_text;
use super::literal::written;
use crate::survey::known::Known;

/// Of a long list, the first will do.
const MAX_CHOICES: usize = 32;

/// Tuples of tuples of classes; a tuple may even name itself.
const MAX_NESTING: usize = 16;

impl<'a> Walker<'a> {
    pub(super) fn comparison(&mut self, comparison: &'a ast::ExprCompare) {
        let mut left_expr = &*comparison.left;
        let mut left = self.value(left_expr);
        for (operator, right_expr) in comparison.ops.iter().zip(&comparison.comparators) {
            let right = self.value(right_expr);
            self.compared((&left, left_expr), *operator, (&right, right_expr));
            (left, left_expr) = (right, right_expr);
        }
    }

    fn compared(
        &mut self,
        (left, left_expr): (&Known<'a>, &'a Expr),
        operator: CmpOp,
        (right, right_expr): (&Known<'a>, &'a Expr),
    ) {
        match operator {
            CmpOp::In | CmpOp::NotIn => {
                self.searched(left, left_expr, right);
                if let Some(object) = self.type_of(left_expr) {
                    let classes = self.class_names(right_expr);
                    self.is_instance(&object, classes);
                } else if is_text(right_expr) {
                    self.used(left, &Use::Text);
                } else if right_expr.is_bytes_literal_expr() {
                    self.used(left, &Use::Bytes);
                } else if !left.origins.is_empty() {
                    let choices = written(right_expr).or(right.written);
                    self.looked_up(left, &Known { written: choices, ..Known::default() });
                    self.equals_one_of(left, choices.and_then(elements).unwrap_or_default());
                }
            }
            CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE => {
                for (known, other) in [(left, right_expr), (right, left_expr)] {
                    if !known.origins.is_empty() {
                        let bound = self.text(other).map(|text| text.to_string());
                        self.used(known, &Use::Ordered(bound));
                    }
                }
            }
            CmpOp::Eq | CmpOp::NotEq | CmpOp::Is | CmpOp::IsNot => {
                for (known, expr, other) in
                    [(left, left_expr, right_expr), (right, right_expr, left_expr)]
                {
                    if let Some(object) = self.type_of(expr) {
                        let classes = self.class_names(other);
                        self.is_instance(&object, classes);
                    } else if !known.origins.is_empty() {
                        self.equals(known, other);
                    }
                }
            }
        }
    }

    /// `left in right`, as far as the right side is concerned.
    fn searched(&mut self, left: &Known<'a>, left_expr: &'a Expr, right: &Known<'a>) {
        if right.origins.is_empty() {
            return;
        }
        let used = match left_expr {
            Expr::StringLiteral(key) => Use::Key(key.value.to_str().to_owned()),
            Expr::BytesLiteral(_) => Use::Bytes,
            _ => match left.texts.first().and_then(|text| unquoted(text)) {
                Some(key) => Use::Key(key.to_owned()),
                None => Use::Contains,
            },
        };
        self.used(right, &used);
    }

    fn equals(&mut self, known: &Known<'a>, other: &'a Expr) {
        if other.is_none_literal_expr() {
            self.used(known, &Use::MaybeNone);
        } else if let Some(text) = self.text(other) {
            self.used(known, &Use::Equals(text.to_string()));
        }
    }

    pub(super) fn equals_one_of(
        &mut self,
        known: &Known<'a>,
        choices: impl IntoIterator<Item = &'a Expr>,
    ) {
        for choice in choices.into_iter().take(MAX_CHOICES) {
            self.equals(known, choice);
        }
    }

    pub(super) fn is_instance(&mut self, known: &Known<'a>, classes: Vec<String>) {
        if !classes.is_empty() {
            self.used(known, &Use::IsInstance(classes));
        }
    }

    /// What `type(x)` is the type of.
    fn type_of(&self, expr: &'a Expr) -> Option<Known<'a>> {
        let Expr::Call(call) = expr else { return None };
        let [Expr::Name(object)] = &*call.arguments.args else { return None };
        let is_type = self.builtin_name(&call.func) == Some("type");
        let known = self.env.get(object.id.as_str()).filter(|_| is_type)?;
        (!known.origins.is_empty()).then(|| known.like())
    }

    /// The classes in `A`, `(A, B)` or `A | B`.
    pub(super) fn class_names(&self, expr: &Expr) -> Vec<String> {
        let mut names = Vec::new();
        self.add_class_names(expr, MAX_NESTING, &mut names);
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
                match self.env.get(name.id.as_str()).and_then(|known| known.written) {
                    Some(classes) => self.add_class_names(classes, deeper, names),
                    None => names.extend(self.dotted(expr)),
                }
            }
            Expr::Attribute(_) => names.extend(self.dotted(expr)),
            _ => {}
        }
    }
}

/// The text inside of a literal in single quotes, if nothing in it is escaped.
fn unquoted(literal: &str) -> Option<&str> {
    let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    (!inner.contains('\\')).then_some(inner)
}
