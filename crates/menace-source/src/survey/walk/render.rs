//! Literals as Python source that means the same wherever it stands.

use std::fmt::Write as _;
use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, Operator, UnaryOp};
use ruff_text_size::Ranged;

use menace_model::{SectionKind, Value};

use super::SurveyWalker;
use crate::link::ResolvedName;
use crate::survey::call_sites::RenderedArguments;
use crate::survey::known_value::MAX_LITERAL_CASES;

/// Longer literals are data, not examples.
const MAX_RENDERED_BYTES: usize = 4_000;

const MAX_RENDER_DEPTH: usize = 32;

/// Builtin functions that are passed around.
const RENDERABLE_BUILTINS: &[&str] = &[
    "abs", "all", "any", "ascii", "bool", "callable", "chr", "hash", "hex", "id", "iter", "len",
    "max", "min", "next", "oct", "ord", "print", "repr", "reversed", "round", "sorted", "sum",
    "type", "zip",
];

/// Prints one case of an expression; names in it may have several known values.
struct LiteralPrinter<'w, 'a> {
    walker: &'w SurveyWalker<'a>,
    case: usize,
    /// The largest number of cases that was met.
    cases: usize,
    out: String,
}

impl SurveyWalker<'_> {
    /// Python source of a literal, of its first case if it has several.
    pub(super) fn render_literal(&self, expr: &Expr) -> Option<Rc<str>> {
        let mut printer = LiteralPrinter { walker: self, case: 0, cases: 1, out: String::new() };
        printer.print_expr(expr, 0)?;
        Some(printer.out.into())
    }

    /// All cases of a literal; empty for other expressions.
    pub(super) fn render_cases(&self, expr: &Expr) -> Vec<Rc<str>> {
        let mut printer = LiteralPrinter { walker: self, case: 0, cases: 1, out: String::new() };
        let mut texts = Vec::new();
        while printer.case < printer.cases.min(MAX_LITERAL_CASES) {
            printer.out.clear();
            if printer.print_expr(expr, 0).is_none() {
                break;
            }
            texts.push(Rc::from(printer.out.as_str()));
            printer.case += 1;
        }
        texts
    }

    /// The literals among the arguments of a call, for each of the cases that they come in.
    pub(super) fn render_arguments(
        &self,
        args: &[Expr],
        keywords: &[ast::Keyword],
        receiver: Option<&Expr>,
    ) -> Vec<RenderedArguments> {
        let is_spread = args.iter().any(Expr::is_starred_expr)
            || keywords.iter().any(|keyword| keyword.arg.is_none());
        let mut printer = LiteralPrinter { walker: self, case: 0, cases: 1, out: String::new() };
        let mut all = Vec::new();
        while printer.case < printer.cases.min(MAX_LITERAL_CASES) {
            let args: Vec<Option<String>> = args
                .iter()
                .take_while(|argument| !argument.is_starred_expr())
                .map(|argument| printer.take_rendered(argument))
                .collect();
            let named = keywords.iter().filter_map(|keyword| {
                let name = keyword.arg.as_ref()?.to_string();
                Some((name, printer.take_rendered(&keyword.value)))
            });
            let kwargs: Vec<(String, Option<String>)> = named.collect();
            let receiver = receiver.and_then(|receiver| printer.take_rendered(receiver));
            all.push(RenderedArguments { args, kwargs, is_spread, receiver });
            printer.case += 1;
        }
        all
    }
}

impl LiteralPrinter<'_, '_> {
    fn take_rendered(&mut self, expr: &Expr) -> Option<String> {
        self.out.clear();
        self.print_expr(expr, 0)?;
        Some(self.out.clone())
    }

    fn print_expr(&mut self, expr: &Expr, depth: usize) -> Option<()> {
        if depth > MAX_RENDER_DEPTH || self.out.len() > MAX_RENDERED_BYTES {
            return None;
        }
        match expr {
            Expr::StringLiteral(text) => {
                let literal = self.format_string(text);
                self.push_text(&literal)?;
            }
            Expr::BytesLiteral(bytes) => {
                let literal = Value::Bytes(bytes.value.bytes().collect()).to_python().expression;
                self.push_text(&literal)?;
            }
            Expr::NumberLiteral(literal) => {
                self.push_text(&format_number(&literal.value))?;
            }
            Expr::BooleanLiteral(literal) => {
                self.push_text(if literal.value { "True" } else { "False" })?;
            }
            Expr::NoneLiteral(_) => self.push_text("None")?,
            Expr::EllipsisLiteral(_) => self.push_text("...")?,
            Expr::List(list) => self.print_items("[", &list.elts, "]", depth)?,
            Expr::Set(set) => self.print_items("{", &set.elts, "}", depth)?,
            Expr::Tuple(tuple) => {
                let end = if tuple.elts.len() == 1 { ",)" } else { ")" };
                self.print_items("(", &tuple.elts, end, depth)?;
            }
            Expr::Dict(dict) => {
                self.push_text("{")?;
                for (index, item) in dict.items.iter().enumerate() {
                    self.push_text(if index > 0 { ", " } else { "" })?;
                    self.print_expr(item.key.as_ref()?, depth + 1)?;
                    self.push_text(": ")?;
                    self.print_expr(&item.value, depth + 1)?;
                }
                self.push_text("}")?;
            }
            Expr::UnaryOp(operation) => {
                let sign = match operation.op {
                    UnaryOp::USub => "-",
                    UnaryOp::UAdd => "",
                    UnaryOp::Not | UnaryOp::Invert => return None,
                };
                operation.operand.as_number_literal_expr()?;
                self.push_text(sign)?;
                self.print_expr(&operation.operand, depth + 1)?;
            }
            Expr::BinOp(operation) => {
                let operator = match operation.op {
                    Operator::Add
                    | Operator::Sub
                    | Operator::Mult
                    | Operator::Pow
                    | Operator::LShift => operation.op.as_str(),
                    _ => return None,
                };
                self.push_text("(")?;
                self.print_expr(&operation.left, depth + 1)?;
                write!(self.out, " {operator} ").ok()?;
                self.print_expr(&operation.right, depth + 1)?;
                self.push_text(")")?;
            }
            Expr::Name(_) | Expr::Attribute(_) => self.print_name(expr)?,
            Expr::Call(call) => self.print_call(call, depth)?,
            _ => return None,
        }
        Some(())
    }

    fn push_text(&mut self, text: &str) -> Option<()> {
        self.out.push_str(text);
        (self.out.len() <= MAX_RENDERED_BYTES).then_some(())
    }

    fn print_items(&mut self, open: &str, items: &[Expr], close: &str, depth: usize) -> Option<()> {
        self.push_text(open)?;
        for (index, item) in items.iter().enumerate() {
            self.push_text(if index > 0 { ", " } else { "" })?;
            self.print_expr(item, depth + 1)?;
        }
        self.push_text(close)
    }

    fn format_string(&self, text: &ast::ExprStringLiteral) -> String {
        let value = text.value.to_str();
        if value.contains(char::REPLACEMENT_CHARACTER) {
            // A lone surrogate, which the parser's strings cannot hold.
            let parts = text.value.iter().map(|part| &self.walker.source[part.range()]);
            return parts.collect::<Vec<_>>().join(" ");
        }
        Value::from(value).to_python().expression
    }

    /// A name with a known literal value, or one that has the same meaning everywhere.
    fn print_name(&mut self, expr: &Expr) -> Option<()> {
        let known = match expr {
            Expr::Name(name) => self.walker.env.get(name.id.as_str()).cloned(),
            Expr::Attribute(attribute) if self.walker.is_receiver(&attribute.value) => {
                let class = self.walker.classes.last()?;
                Some(class.attributes.get(attribute.attr.as_str())?.clone())
            }
            _ => None,
        };
        if let Some(known) = known.filter(|known| !known.source_cases.is_empty()) {
            self.cases = self.cases.max(known.source_cases.len());
            return self.push_text(&known.source_cases[self.case % known.source_cases.len()]);
        }
        let reached = self.walker.resolve_dotted(expr)?;
        self.walker.is_stable_name(&reached).then_some(())?;
        self.push_text(&reached.name)
    }

    /// The call of a class, or of a function that makes something.
    fn print_call(&mut self, call: &ast::ExprCall, depth: usize) -> Option<()> {
        let callee = self.walker.resolve_dotted(&call.func)?;
        let is_maker = self.walker.is_class(&callee) || self.walker.is_factory_function(&callee);
        if !is_maker || callee.name.contains('<') {
            return None;
        }
        self.push_text(&callee.name)?;
        self.push_text("(")?;
        for (index, argument) in call.arguments.args.iter().enumerate() {
            self.push_text(if index > 0 { ", " } else { "" })?;
            self.print_expr(argument, depth + 1)?;
        }
        for (index, keyword) in call.arguments.keywords.iter().enumerate() {
            self.push_text(if index > 0 || !call.arguments.args.is_empty() { ", " } else { "" })?;
            self.push_text(keyword.arg.as_ref()?.as_str())?;
            self.push_text("=")?;
            self.print_expr(&keyword.value, depth + 1)?;
        }
        self.push_text(")")
    }
}

impl SurveyWalker<'_> {
    /// Whether it is a function of the repository that can be called like this, and returns at
    /// once.
    fn is_factory_function(&self, name: &ResolvedName) -> bool {
        let Some(module) = name.module else { return false };
        let section = self.context.functions.get(&(module, name.attributes.as_str()));
        section.is_some_and(|section| {
            let kinds =
                [SectionKind::Function, SectionKind::ClassMethod, SectionKind::StaticMethod];
            kinds.contains(&section.kind) && !section.is_async && !section.is_generator
        })
    }

    /// Whether the name has the same meaning everywhere: a class, a member of one, a function.
    fn is_stable_name(&self, name: &ResolvedName) -> bool {
        let Some(module) = name.module else {
            let is_builtin = !name.name.contains('.');
            return if is_builtin {
                self.is_class(name) || RENDERABLE_BUILTINS.contains(&name.name.as_str())
            } else {
                !name.name.starts_with('.')
            };
        };
        let attributes = name.attributes.as_str();
        let is_member = attributes
            .rsplit_once('.')
            .is_some_and(|(class, _)| self.context.classes.contains(&(module, class)));
        let is_function = self.context.functions.contains_key(&(module, attributes));
        !attributes.contains('<') && (is_member || is_function || self.is_class(name))
    }
}

/// A number as Python writes it.
pub(super) fn format_number(number: &ast::Number) -> String {
    let value = match number {
        ast::Number::Int(int) => match int.as_i64() {
            Some(int) => Value::Int(int),
            None => return int.to_string(),
        },
        ast::Number::Float(float) => Value::Float(*float),
        ast::Number::Complex { real, imag } => Value::Complex { re: *real, im: *imag },
    };
    value.to_python().expression
}
