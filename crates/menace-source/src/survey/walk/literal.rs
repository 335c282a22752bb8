//! Constants that an input could be made of.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};

use menace_model::SourceLiterals;

use super::SurveyWalker;
use super::render;
use crate::survey::known_value::KnownValue;

/// The most literals of each kind for one section.
const MAX_LITERALS_PER_KIND: usize = 200;

/// Longer ones are data, and no input is made of them.
const MAX_LITERAL_BYTES: usize = 1_000;

/// The most literals that are taken from one constant that a section uses.
const MAX_LITERALS_PER_CONSTANT: usize = 100;

impl<'a> SurveyWalker<'a> {
    /// Adds a string, bytes or number to the sections around it.
    pub(super) fn record_literal(&mut self, expr: &Expr) {
        if self.frames.is_empty() {
            return;
        }
        match expr {
            Expr::StringLiteral(text) => self.record_string(text.value.to_str()),
            Expr::BytesLiteral(bytes) => {
                let bytes: Vec<u8> = bytes.value.bytes().collect();
                if !bytes.is_empty() && bytes.len() <= MAX_LITERAL_BYTES {
                    self.add_literal(&bytes[..], |literals| &mut literals.bytes);
                }
            }
            Expr::NumberLiteral(number) if !number.value.is_complex() => {
                self.add_literal(&*render::format_number(&number.value), |literals| {
                    &mut literals.numbers
                });
            }
            _ => {}
        }
    }

    pub(super) fn record_string(&mut self, text: &str) {
        if !text.is_empty() && text.len() <= MAX_LITERAL_BYTES {
            self.add_literal(text, |literals| &mut literals.strings);
        }
    }

    /// A regular expression that the sections around use.
    pub(super) fn record_regex(&mut self, pattern: &str) {
        self.add_literal(pattern, |literals| &mut literals.patterns);
    }

    fn add_literal<T, B>(&mut self, literal: &B, list: impl Fn(&mut SourceLiterals) -> &mut Vec<T>)
    where
        T: PartialEq<B> + for<'b> From<&'b B>,
        B: ?Sized,
    {
        for section in self.enclosing_sections() {
            let list = list(&mut self.hints[section].literals);
            if list.len() < MAX_LITERALS_PER_KIND && !list.iter().any(|known| known == literal) {
                list.push(T::from(literal));
            }
        }
    }

    /// Records the literals in a constant of the module or class that a function uses.
    pub(super) fn record_constant(&mut self, known: &Rc<KnownValue<'a>>) {
        if self.frames.len() < 2 {
            return;
        }
        if let Some(pattern) = &known.pattern {
            self.record_regex(pattern);
        }
        let mut waiting: Vec<&Expr> = known.literal_expr.into_iter().collect();
        let mut remaining = MAX_LITERALS_PER_CONSTANT;
        while let Some(expr) = waiting.pop() {
            if remaining == 0 {
                return;
            }
            remaining -= 1;
            match expr {
                Expr::Tuple(ast::ExprTuple { elts, .. })
                | Expr::List(ast::ExprList { elts, .. })
                | Expr::Set(ast::ExprSet { elts, .. }) => {
                    waiting.extend(elts.iter().take(MAX_LITERALS_PER_CONSTANT).rev());
                }
                Expr::Dict(dict) => {
                    for item in dict.items.iter().take(MAX_LITERALS_PER_CONSTANT).rev() {
                        waiting.push(&item.value);
                        waiting.extend(&item.key);
                    }
                }
                _ => self.record_literal(expr),
            }
        }
    }

    /// The regular expression in `re.compile("…")`; does not walk the expression.
    pub(super) fn compiled_regex(&self, expr: &'a Expr) -> Option<Rc<str>> {
        let Expr::Call(call) = expr else { return None };
        let reached = self.resolve_dotted(&call.func)?;
        (reached.name == "re.compile").then(|| self.regex_argument(call))?
    }

    /// The pattern among the arguments of a function of `re`, if it is text.
    pub(super) fn regex_argument(&self, call: &'a ast::ExprCall) -> Option<Rc<str>> {
        let pattern_argument = call.arguments.find_argument_value("pattern", 0)?;
        let written = match pattern_argument {
            Expr::Name(name) => {
                let known = self.env.get(name.id.as_str())?;
                if let Some(pattern) = &known.pattern {
                    return Some(pattern.clone());
                }
                known.literal_expr?
            }
            other => other,
        };
        written.as_string_literal_expr().map(|text| Rc::from(text.value.to_str()))
    }
}

/// A literal, or a list, tuple, set or dict that is written out, if need be in `frozenset(…)`.
pub(super) fn literal_display(expr: &Expr) -> Option<&Expr> {
    if let Expr::Call(call) = expr
        && let Expr::Name(name) = &*call.func
        && matches!(name.id.as_str(), "frozenset" | "set" | "tuple" | "list" | "dict")
        && let [inner] = &*call.arguments.args
    {
        return literal_display(inner).filter(|inner| !inner.is_string_literal_expr());
    }
    matches!(
        expr,
        Expr::Tuple(_)
            | Expr::List(_)
            | Expr::Set(_)
            | Expr::Dict(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
    )
    .then_some(expr)
}
