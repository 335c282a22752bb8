//! Expressions: each is walked once, and its parts before it.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, InterpolatedStringElement, Operator, UnaryOp};

use menace_model::{Part, Use};

use super::Walker;
use super::assign::elements;
use crate::facts::root_name;
use crate::link::Resolved;
use crate::stack::grown;
use crate::survey::known::Known;

impl<'a> Walker<'a> {
    /// Walks an expression and says what is known about its value.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Known<'a> {
        match expr {
            Expr::Name(name) => self.name(name),
            Expr::StringLiteral(_) | Expr::BytesLiteral(_) | Expr::NumberLiteral(_) => {
                self.literal(expr);
                Known::default()
            }
            Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) | Expr::EllipsisLiteral(_) => {
                Known::default()
            }
            _ => grown(|| self.compound(expr)),
        }
    }

    fn compound(&mut self, expr: &'a Expr) -> Known<'a> {
        match expr {
            Expr::Attribute(attribute) => return self.attribute(attribute),
            Expr::Subscript(subscript) => return self.subscript(subscript),
            Expr::Call(call) => return self.call(call),
            Expr::BoolOp(operation) => return self.either(&operation.values),
            Expr::If(choice) => {
                self.test(&choice.test);
                let (body, orelse) = (self.value(&choice.body), self.value(&choice.orelse));
                return body.or(&orelse);
            }
            Expr::Named(named) => {
                let known = self.value(&named.value);
                self.store(&named.target, known.clone());
                return known;
            }
            Expr::BinOp(operation) => {
                let left = self.value(&operation.left);
                let right = self.value(&operation.right);
                let sides = ((&left, &*operation.left), (&right, &*operation.right));
                self.operation(sides.0, operation.op, sides.1);
            }
            Expr::UnaryOp(operation) if operation.op == UnaryOp::Not => {
                self.test(&operation.operand);
            }
            Expr::UnaryOp(operation) => {
                let operand = self.value(&operation.operand);
                self.used(&operand, &Use::Arithmetic);
            }
            Expr::Compare(comparison) => self.comparison(comparison),
            Expr::Lambda(lambda) => self.lambda(lambda),
            Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                let known = elts.iter().map(|element| self.value(element)).collect();
                return Known { tuple: Some(known), ..Known::default() };
            }
            Expr::List(ast::ExprList { elts, .. }) | Expr::Set(ast::ExprSet { elts, .. }) => {
                self.all(elts);
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    let value = self.value(&item.value);
                    match &item.key {
                        Some(key) => drop(self.value(key)),
                        None => self.used(&value, &Use::Mapping),
                    }
                }
            }
            Expr::ListComp(each) => self.comprehension(&each.generators, &[&each.elt]),
            Expr::SetComp(each) => self.comprehension(&each.generators, &[&each.elt]),
            Expr::Generator(each) => self.comprehension(&each.generators, &[&each.elt]),
            Expr::DictComp(each) => {
                let results: Vec<&'a Expr> =
                    each.key.as_deref().into_iter().chain([&*each.value]).collect();
                self.comprehension(&each.generators, &results);
            }
            Expr::Starred(starred) => {
                let known = self.value(&starred.value);
                self.used(&known, &Use::Iterated);
            }
            Expr::Await(waiting) => {
                let known = self.value(&waiting.value);
                self.used(&known, &Use::Awaited);
                return Known { class: known.class.clone(), ..known.part(&Part::Awaited) };
            }
            Expr::Yield(ast::ExprYield { value: Some(value), .. }) => {
                self.value(value);
            }
            Expr::YieldFrom(from) => {
                let known = self.value(&from.value);
                self.used(&known, &Use::Iterated);
            }
            Expr::FString(string) => {
                for part in &string.value {
                    match part {
                        ast::FStringPart::Literal(text) => self.string(&text.value),
                        ast::FStringPart::FString(inner) => self.interpolated(&inner.elements),
                    }
                }
            }
            Expr::TString(string) => {
                for part in &string.value {
                    self.interpolated(&part.elements);
                }
            }
            Expr::Slice(slice) => {
                for bound in [&slice.lower, &slice.upper, &slice.step].into_iter().flatten() {
                    self.value(bound);
                }
            }
            _ => {}
        }
        Known::default()
    }

    pub(super) fn all(&mut self, exprs: &'a [Expr]) {
        for expr in exprs {
            self.value(expr);
        }
    }

    /// Walks an expression of which only the truth counts.
    pub(super) fn test(&mut self, expr: &'a Expr) {
        let known = self.value(expr);
        self.used(&known, &Use::MaybeNone);
    }

    /// `a or b`, `a and b`: the result is one of them.
    fn either(&mut self, values: &'a [Expr]) -> Known<'a> {
        let mut all: Option<Known<'a>> = None;
        for (index, value) in values.iter().enumerate() {
            let known = self.value(value);
            if index + 1 < values.len() {
                self.used(&known, &Use::MaybeNone);
            }
            all = Some(all.map_or_else(|| known.clone(), |all| all.or(&known)));
        }
        all.unwrap_or_default()
    }

    fn name(&mut self, name: &'a ast::ExprName) -> Known<'a> {
        let id = name.id.as_str();
        let Some(known) = self.env.get(id).cloned() else { return Known::default() };
        if self.frames.len() > 1 && self.env.is_global(id) {
            self.constant(&known);
        }
        Known::clone(&known)
    }

    fn attribute(&mut self, attribute: &'a ast::ExprAttribute) -> Known<'a> {
        let name = attribute.attr.as_str();
        if self.is_receiver(&attribute.value)
            && let Some(known) = self.classes.last().and_then(|class| class.attributes.get(name))
        {
            let known = known.clone();
            self.constant(&known);
            return Known::clone(&known);
        }
        let object = self.value(&attribute.value);
        self.used(&object, &Use::Attribute(name.to_owned()));
        object.part(&Part::Attribute(name.to_owned()))
    }

    fn subscript(&mut self, subscript: &'a ast::ExprSubscript) -> Known<'a> {
        let object = self.value(&subscript.value);
        let index = self.value(&subscript.slice);
        self.looked_up(&index, &object);
        if object.origins.is_empty() {
            return self.element_of(&object);
        }
        let (used, part) = match &*subscript.slice {
            Expr::StringLiteral(key) => {
                let key = key.value.to_str().to_owned();
                (Use::Key(key.clone()), Part::Key(key))
            }
            Expr::Slice(_) => {
                self.used(&object, &Use::Slice);
                return object.like();
            }
            slice => match integer(slice) {
                Some(index) => (Use::Index(index), Part::Index(index)),
                None => (Use::Subscript, Part::Element),
            },
        };
        self.used(&object, &used);
        object.part(&part)
    }

    /// Of a display of literals, any one may be what is looked up.
    fn element_of(&self, object: &Known<'a>) -> Known<'a> {
        let rows = object.written.and_then(elements).unwrap_or_default();
        let texts = rows.iter().filter_map(|row| self.text(row)).take(1).collect();
        Known { texts, ..Known::default() }
    }

    /// A key that is looked up in a dict of literals is best one of its keys.
    pub(super) fn looked_up(&mut self, key: &Known<'a>, table: &Known<'a>) {
        if key.origins.is_empty() {
            return;
        }
        if let Some(Expr::Dict(dict)) = table.written {
            let keys = dict.items.iter().filter_map(|item| item.key.as_ref());
            self.equals_one_of(key, keys);
        }
    }

    fn interpolated(&mut self, elements: &'a ast::InterpolatedStringElements) {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(text) => self.string(&text.value),
                InterpolatedStringElement::Interpolation(inner) => {
                    let known = self.value(&inner.expression);
                    let Some(spec) = &inner.format_spec else { continue };
                    let last = spec.elements.last();
                    let format = last.and_then(InterpolatedStringElement::as_literal);
                    if format.is_some_and(|format| is_for_numbers(&format.value)) {
                        self.used(&known, &Use::Arithmetic);
                    }
                    for bound in spec.elements.interpolations() {
                        self.value(&bound.expression);
                    }
                }
            }
        }
    }

    /// `left operator right`, when both sides have been walked.
    pub(super) fn operation(
        &mut self,
        (left, left_expr): (&Known<'a>, &'a Expr),
        operator: Operator,
        (right, right_expr): (&Known<'a>, &'a Expr),
    ) {
        if operator == Operator::Mod && is_text(left_expr) {
            return self.formatted(left_expr, right);
        }
        for (known, other, is_left) in [(left, right_expr, true), (right, left_expr, false)] {
            let used = match operator {
                Operator::Add | Operator::Mod if is_text(other) => Use::Text,
                Operator::Add | Operator::Mod if other.is_bytes_literal_expr() => Use::Bytes,
                Operator::Div if is_left && is_text(other) => Use::PathJoined,
                Operator::Add if other.is_list_expr() || other.is_tuple_expr() => Use::Iterated,
                Operator::BitOr if other.is_dict_expr() => Use::Mapping,
                _ if other.is_set_expr() => Use::Iterated,
                _ => Use::Arithmetic,
            };
            self.used(known, &used);
        }
    }

    /// `"%d of %s" % (a, b)`.
    fn formatted(&mut self, template: &'a Expr, given: &Known<'a>) {
        let Expr::StringLiteral(template) = template else { return };
        let template = template.value.to_str();
        let keys = template.split("%(").skip(1).filter_map(|rest| rest.split_once(')'));
        if template.contains("%(") {
            return keys.for_each(|(key, _)| self.used(given, &Use::Key(key.to_owned())));
        }
        let arguments = given.tuple.as_deref().unwrap_or(std::slice::from_ref(given));
        for (conversion, argument) in conversions(template).zip(arguments) {
            if matches!(conversion, 'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'f' | 'F' | 'e' | 'g') {
                self.used(argument, &Use::Arithmetic);
            }
        }
    }

    /// The dotted name that an expression leads to.
    pub(super) fn dotted(&self, expr: &Expr) -> Option<String> {
        self.reached(expr).map(|resolved| resolved.name.clone())
    }

    /// What a dotted name leads to, through the local names that are known.
    pub(super) fn reached(&self, expr: &Expr) -> Option<Rc<Resolved>> {
        let root = root_name(expr)?;
        if let Some(known) = self.env.get(root)
            && let Some(meant) = &known.meant
        {
            return Some(attributes_of(meant, expr));
        }
        let reference = self.env.scopes.resolve_expr(expr)?;
        Some(Rc::new(self.resolve(&reference)))
    }

    /// The function or class that a name means, when it is one of the repository.
    pub(super) fn definition(&self, expr: &Expr) -> Option<Rc<Resolved>> {
        if !matches!(expr, Expr::Name(_) | Expr::Attribute(_)) {
            return None;
        }
        self.reached(expr).filter(|reached| reached.module.is_some())
    }
}

/// `.b.c` of `a.b.c`, where `a` is known.
fn attributes_of(root: &Rc<Resolved>, expr: &Expr) -> Rc<Resolved> {
    let Expr::Attribute(attribute) = expr else { return root.clone() };
    let inner = attributes_of(root, &attribute.value);
    Rc::new(member(&inner, attribute.attr.as_str()))
}

/// `name` of a class or module.
pub(super) fn member(of: &Resolved, name: &str) -> Resolved {
    let attributes = if of.attributes.is_empty() {
        name.to_owned()
    } else {
        format!("{}.{name}", of.attributes)
    };
    Resolved { name: format!("{}.{name}", of.name), module: of.module, attributes }
}

/// An integer that is written out, with or without a sign.
pub(super) fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(number), .. }) => {
            number.as_i64()
        }
        Expr::UnaryOp(operation) if operation.op == UnaryOp::USub => {
            integer(&operation.operand).and_then(i64::checked_neg)
        }
        _ => None,
    }
}

pub(super) fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::StringLiteral(_) | Expr::FString(_))
}

/// Is this a format specification that only numbers understand?
fn is_for_numbers(spec: &str) -> bool {
    spec.ends_with(['d', 'f', 'e', 'g', 'x', 'X', 'o', 'b', 'n', '%', 'F', 'E', 'G']) && spec != "s"
}

/// The letters of a template's conversions, in order; `%%` is none.
fn conversions(template: &str) -> impl Iterator<Item = char> + '_ {
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
