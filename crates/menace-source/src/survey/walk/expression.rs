//! Expressions: each is walked once, and its parts before it.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, InterpolatedStringElement, Operator, UnaryOp};

use menace_model::{ParamPart, ParamUse};

use super::SurveyWalker;
use super::assign::display_elements;
use crate::facts::root_name;
use crate::link::ResolvedName;
use crate::stack::with_growing_stack;
use crate::survey::known_value::KnownValue;

impl<'a> SurveyWalker<'a> {
    /// Walks an expression, and returns the knowledge about its value.
    pub(super) fn evaluate(&mut self, expr: &'a Expr) -> KnownValue<'a> {
        match expr {
            Expr::Name(name) => self.evaluate_name(name),
            Expr::StringLiteral(_) | Expr::BytesLiteral(_) | Expr::NumberLiteral(_) => {
                self.record_literal(expr);
                KnownValue::default()
            }
            Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) | Expr::EllipsisLiteral(_) => {
                KnownValue::default()
            }
            _ => with_growing_stack(|| self.evaluate_compound(expr)),
        }
    }

    fn evaluate_compound(&mut self, expr: &'a Expr) -> KnownValue<'a> {
        match expr {
            Expr::Attribute(attribute) => return self.evaluate_attribute(attribute),
            Expr::Subscript(subscript) => return self.evaluate_subscript(subscript),
            Expr::Call(call) => return self.evaluate_call(call),
            Expr::BoolOp(operation) => return self.evaluate_bool_op(&operation.values),
            Expr::If(choice) => {
                self.evaluate_condition(&choice.test);
                let (body, orelse) = (self.evaluate(&choice.body), self.evaluate(&choice.orelse));
                return body.merge(&orelse);
            }
            Expr::Named(named) => {
                let known = self.evaluate(&named.value);
                self.bind_target(&named.target, known.clone());
                return known;
            }
            Expr::BinOp(operation) => {
                let left = self.evaluate(&operation.left);
                let right = self.evaluate(&operation.right);
                let sides = ((&left, &*operation.left), (&right, &*operation.right));
                self.record_operation(sides.0, operation.op, sides.1);
            }
            Expr::UnaryOp(operation) if operation.op == UnaryOp::Not => {
                self.evaluate_condition(&operation.operand);
            }
            Expr::UnaryOp(operation) => {
                let operand = self.evaluate(&operation.operand);
                self.record_use(&operand, &ParamUse::Arithmetic);
            }
            Expr::Compare(comparison) => self.evaluate_comparison(comparison),
            Expr::Lambda(lambda) => self.visit_lambda(lambda),
            Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                let known = elts.iter().map(|element| self.evaluate(element)).collect();
                return KnownValue { tuple: Some(known), ..KnownValue::default() };
            }
            Expr::List(ast::ExprList { elts, .. }) | Expr::Set(ast::ExprSet { elts, .. }) => {
                self.evaluate_all(elts);
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    let value = self.evaluate(&item.value);
                    match &item.key {
                        Some(key) => drop(self.evaluate(key)),
                        None => self.record_use(&value, &ParamUse::Mapping),
                    }
                }
            }
            Expr::ListComp(each) => self.visit_comprehension(&each.generators, &[&each.elt]),
            Expr::SetComp(each) => self.visit_comprehension(&each.generators, &[&each.elt]),
            Expr::Generator(each) => self.visit_comprehension(&each.generators, &[&each.elt]),
            Expr::DictComp(each) => {
                let results: Vec<&'a Expr> =
                    each.key.as_deref().into_iter().chain([&*each.value]).collect();
                self.visit_comprehension(&each.generators, &results);
            }
            Expr::Starred(starred) => {
                let known = self.evaluate(&starred.value);
                self.record_use(&known, &ParamUse::Iterated);
            }
            Expr::Await(waiting) => {
                let known = self.evaluate(&waiting.value);
                self.record_use(&known, &ParamUse::Awaited);
                return KnownValue {
                    class: known.class.clone(),
                    ..known.part_of_origin(&ParamPart::Awaited)
                };
            }
            Expr::Yield(ast::ExprYield { value: Some(value), .. }) => {
                self.evaluate(value);
            }
            Expr::YieldFrom(from) => {
                let known = self.evaluate(&from.value);
                self.record_use(&known, &ParamUse::Iterated);
            }
            Expr::FString(string) => {
                for part in &string.value {
                    match part {
                        ast::FStringPart::Literal(text) => self.record_string(&text.value),
                        ast::FStringPart::FString(inner) => {
                            self.evaluate_interpolated(&inner.elements);
                        }
                    }
                }
            }
            Expr::TString(string) => {
                for part in &string.value {
                    self.evaluate_interpolated(&part.elements);
                }
            }
            Expr::Slice(slice) => {
                for bound in [&slice.lower, &slice.upper, &slice.step].into_iter().flatten() {
                    self.evaluate(bound);
                }
            }
            _ => {}
        }
        KnownValue::default()
    }

    pub(super) fn evaluate_all(&mut self, exprs: &'a [Expr]) {
        for expr in exprs {
            self.evaluate(expr);
        }
    }

    /// Walks an expression of which only the truth counts.
    pub(super) fn evaluate_condition(&mut self, expr: &'a Expr) {
        let known = self.evaluate(expr);
        self.record_use(&known, &ParamUse::MaybeNone);
    }

    /// `a or b`, `a and b`: the result is one of them.
    fn evaluate_bool_op(&mut self, values: &'a [Expr]) -> KnownValue<'a> {
        let mut all: Option<KnownValue<'a>> = None;
        for (index, value) in values.iter().enumerate() {
            let known = self.evaluate(value);
            if index + 1 < values.len() {
                self.record_use(&known, &ParamUse::MaybeNone);
            }
            all = Some(all.map_or_else(|| known.clone(), |all| all.merge(&known)));
        }
        all.unwrap_or_default()
    }

    fn evaluate_name(&mut self, name: &'a ast::ExprName) -> KnownValue<'a> {
        let id = name.id.as_str();
        let Some(known) = self.env.get(id).cloned() else { return KnownValue::default() };
        if self.frames.len() > 1 && self.env.is_global(id) {
            self.record_constant(&known);
        }
        KnownValue::clone(&known)
    }

    fn evaluate_attribute(&mut self, attribute: &'a ast::ExprAttribute) -> KnownValue<'a> {
        let name = attribute.attr.as_str();
        if self.is_receiver(&attribute.value)
            && let Some(known) = self.classes.last().and_then(|class| class.attributes.get(name))
        {
            let known = known.clone();
            self.record_constant(&known);
            return KnownValue::clone(&known);
        }
        let object = self.evaluate(&attribute.value);
        self.record_use(&object, &ParamUse::Attribute(name.to_owned()));
        object.part_of_origin(&ParamPart::Attribute(name.to_owned()))
    }

    fn evaluate_subscript(&mut self, subscript: &'a ast::ExprSubscript) -> KnownValue<'a> {
        let object = self.evaluate(&subscript.value);
        let index = self.evaluate(&subscript.slice);
        self.record_lookup(&index, &object);
        if object.origins.is_empty() {
            return self.element_of(&object);
        }
        let (used, part) = match &*subscript.slice {
            Expr::StringLiteral(key) => {
                let key = key.value.to_str().to_owned();
                (ParamUse::Key(key.clone()), ParamPart::Key(key))
            }
            Expr::Slice(_) => {
                self.record_use(&object, &ParamUse::Slice);
                return object.same_origin();
            }
            slice => match integer_literal(slice) {
                Some(index) => (ParamUse::Index(index), ParamPart::Index(index)),
                None => (ParamUse::Subscript, ParamPart::Element),
            },
        };
        self.record_use(&object, &used);
        object.part_of_origin(&part)
    }

    /// An element of a display of literals; the first one stands for all.
    fn element_of(&self, object: &KnownValue<'a>) -> KnownValue<'a> {
        let rows = object.literal_expr.and_then(display_elements).unwrap_or_default();
        let texts = rows.iter().filter_map(|row| self.render_literal(row)).take(1).collect();
        KnownValue { source_cases: texts, ..KnownValue::default() }
    }

    /// Records keys of a dict of literals as values of the key that is looked up in it.
    pub(super) fn record_lookup(&mut self, key: &KnownValue<'a>, table: &KnownValue<'a>) {
        if key.origins.is_empty() {
            return;
        }
        if let Some(Expr::Dict(dict)) = table.literal_expr {
            let keys = dict.items.iter().filter_map(|item| item.key.as_ref());
            self.record_choices(key, keys);
        }
    }

    fn evaluate_interpolated(&mut self, elements: &'a ast::InterpolatedStringElements) {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(text) => self.record_string(&text.value),
                InterpolatedStringElement::Interpolation(inner) => {
                    let known = self.evaluate(&inner.expression);
                    let Some(spec) = &inner.format_spec else { continue };
                    let last = spec.elements.last();
                    let format = last.and_then(InterpolatedStringElement::as_literal);
                    if format.is_some_and(|format| is_numeric_format(&format.value)) {
                        self.record_use(&known, &ParamUse::Arithmetic);
                    }
                    for bound in spec.elements.interpolations() {
                        self.evaluate(&bound.expression);
                    }
                }
            }
        }
    }

    /// `left operator right`, when both sides have been walked.
    pub(super) fn record_operation(
        &mut self,
        (left, left_expr): (&KnownValue<'a>, &'a Expr),
        operator: Operator,
        (right, right_expr): (&KnownValue<'a>, &'a Expr),
    ) {
        if operator == Operator::Mod && is_text_literal(left_expr) {
            return self.record_percent_format(left_expr, right);
        }
        for (known, other, is_left) in [(left, right_expr, true), (right, left_expr, false)] {
            let used = match operator {
                Operator::Add | Operator::Mod if is_text_literal(other) => ParamUse::Text,
                Operator::Add | Operator::Mod if other.is_bytes_literal_expr() => ParamUse::Bytes,
                Operator::Div if is_left && is_text_literal(other) => ParamUse::PathJoined,
                Operator::Add if other.is_list_expr() || other.is_tuple_expr() => {
                    ParamUse::Iterated
                }
                Operator::BitOr if other.is_dict_expr() => ParamUse::Mapping,
                _ if other.is_set_expr() => ParamUse::Iterated,
                _ => ParamUse::Arithmetic,
            };
            self.record_use(known, &used);
        }
    }

    /// `"%d of %s" % (a, b)`.
    fn record_percent_format(&mut self, template: &'a Expr, argument_values: &KnownValue<'a>) {
        let Expr::StringLiteral(template) = template else { return };
        let template = template.value.to_str();
        let keys = template.split("%(").skip(1).filter_map(|rest| rest.split_once(')'));
        if template.contains("%(") {
            return keys.for_each(|(key, _)| {
                self.record_use(argument_values, &ParamUse::Key(key.to_owned()));
            });
        }
        let arguments =
            argument_values.tuple.as_deref().unwrap_or(std::slice::from_ref(argument_values));
        for (conversion, argument) in percent_conversions(template).zip(arguments) {
            if matches!(conversion, 'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'f' | 'F' | 'e' | 'g') {
                self.record_use(argument, &ParamUse::Arithmetic);
            }
        }
    }

    /// The dotted name that an expression leads to.
    pub(super) fn dotted_name(&self, expr: &Expr) -> Option<String> {
        self.resolve_dotted(expr).map(|resolved| resolved.name.clone())
    }

    /// The object that a dotted name resolves to, through known local names.
    pub(super) fn resolve_dotted(&self, expr: &Expr) -> Option<Rc<ResolvedName>> {
        let root = root_name(expr)?;
        if let Some(known) = self.env.get(root)
            && let Some(meant) = &known.definition
        {
            return Some(resolve_attributes(meant, expr));
        }
        let reference = self.env.scopes.resolve_expr(expr)?;
        Some(Rc::new(self.resolve_reference(&reference)))
    }

    /// The function or class that a name means, when it is one of the repository.
    pub(super) fn find_definition(&self, expr: &Expr) -> Option<Rc<ResolvedName>> {
        if !matches!(expr, Expr::Name(_) | Expr::Attribute(_)) {
            return None;
        }
        self.resolve_dotted(expr).filter(|reached| reached.module.is_some())
    }
}

/// `.b.c` of `a.b.c`, for a known `a`.
fn resolve_attributes(root: &Rc<ResolvedName>, expr: &Expr) -> Rc<ResolvedName> {
    let Expr::Attribute(attribute) = expr else { return root.clone() };
    let inner = resolve_attributes(root, &attribute.value);
    Rc::new(resolve_member(&inner, attribute.attr.as_str()))
}

/// `name` of a class or module.
pub(super) fn resolve_member(of: &ResolvedName, name: &str) -> ResolvedName {
    let attributes = if of.attributes.is_empty() {
        name.to_owned()
    } else {
        format!("{}.{name}", of.attributes)
    };
    ResolvedName { name: format!("{}.{name}", of.name), module: of.module, attributes }
}

/// An integer that is written out, with or without a sign.
pub(super) fn integer_literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(number), .. }) => {
            number.as_i64()
        }
        Expr::UnaryOp(operation) if operation.op == UnaryOp::USub => {
            integer_literal(&operation.operand).and_then(i64::checked_neg)
        }
        _ => None,
    }
}

pub(super) fn is_text_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::StringLiteral(_) | Expr::FString(_))
}

/// Whether this format specification is for numbers only.
fn is_numeric_format(spec: &str) -> bool {
    spec.ends_with(['d', 'f', 'e', 'g', 'x', 'X', 'o', 'b', 'n', '%', 'F', 'E', 'G']) && spec != "s"
}

/// The letters of a template's conversions, in order; `%%` is none.
fn percent_conversions(template: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = template;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('%')? + 1..];
            let end =
                rest.find(|char: char| !"#0- +.*hlL".contains(char) && !char.is_ascii_digit())?;
            let letter = rest[end..].chars().next()?;
            rest = &rest[end + letter.len_utf8()..];
            if letter != '%' {
                return Some(letter);
            }
        }
    })
}
