//! A text that does harm, somewhere inside of a value that is otherwise as usual: in a field, a
//! constructor's argument, an item.
//!
//! Invariant: the same shape has the same texts in the same order, whatever is planted.

use menace_model::{ClassKind, Value};

use crate::input::make::arguments::{assembled, in_place};
use crate::input::make::{Choice, Maker, Style, new};
use crate::input::shape::{Field, Shape};
use crate::input::topic::{Role, role_of};

/// Where in a value, and what.
struct Planting {
    /// How many texts come before the one that is meant.
    before: usize,
    text: Value,
    /// The role of what it takes the place of.
    role: Option<Role>,
}

/// The value with this text in the place of its `at`th one, and the role of that; none when it has no
/// more of them.
pub(crate) fn planted(
    maker: &mut Maker<'_, '_>,
    shape: &Shape,
    at: usize,
    text: Value,
) -> Option<(Value, Role)> {
    let mut planting = Planting { before: at, text, role: None };
    let value = planting.inside(maker, shape, "")?;
    Some((value, planting.role?))
}

impl Planting {
    /// This text, should it be the one that is meant.
    fn here(&mut self, role: Role) -> Option<Value> {
        if self.before > 0 {
            self.before -= 1;
            return None;
        }
        self.role = Some(role);
        Some(self.text.clone())
    }

    fn inside(&mut self, maker: &mut Maker<'_, '_>, shape: &Shape, name: &str) -> Option<Value> {
        match shape {
            Shape::Str(role) => self.here(role.unwrap_or_else(|| role_of(name))),
            Shape::OneOf(values) if values.iter().any(|it| matches!(it, Value::Str(_))) => {
                self.here(role_of(name))
            }
            Shape::Path { is_text, .. } => {
                let path = self.here(Role::Path)?;
                Some(if *is_text { path } else { new("pathlib:Path", vec![path]) })
            }
            Shape::List(item) => Some(Value::List(vec![self.inside(maker, item, name)?])),
            Shape::TupleOf(item) => Some(Value::Tuple(vec![self.inside(maker, item, name)?])),
            Shape::Dict(_, inner) => {
                let value = self.inside(maker, inner, name)?;
                Some(Value::Dict(vec![(Value::from("alpha"), value)]))
            }
            Shape::Record(fields) => self.record(maker, fields),
            Shape::Instance(class) => self.instance(maker, class),
            Shape::Union(shapes) => shapes.iter().find_map(|shape| self.inside(maker, shape, name)),
            Shape::Applied(inner, args) => {
                maker.applying(inner, args, |maker| self.inside(maker, inner, name))
            }
            Shape::About(topic, inner) => self.inside(maker, inner, topic),
            Shape::Bounded(inner, _) => self.inside(maker, inner, name),
            _ => None,
        }
    }

    fn record(&mut self, maker: &mut Maker<'_, '_>, fields: &[Field]) -> Option<Value> {
        let (field, bad) = fields
            .iter()
            .find_map(|field| Some((field, self.inside(maker, &field.shape, &field.name)?)))?;
        let whole = maker.make(&Shape::Record(fields.to_vec()), "", Style::Typical);
        let Value::Dict(mut pairs) = whole else { return None };
        let key = Value::from(field.name.as_str());
        pairs.retain(|(other, _)| *other != key);
        pairs.push((key, bad));
        Some(Value::Dict(pairs))
    }

    fn instance(&mut self, maker: &mut Maker<'_, '_>, dotted: &str) -> Option<Value> {
        let class = maker.facts.class(dotted)?;
        match class.kind {
            ClassKind::Enum => return None,
            ClassKind::TypedDict => {
                let fields = maker.fields(dotted, class);
                return maker.while_building(dotted, |maker| self.record(maker, &fields));
            }
            _ => {}
        }
        let (class, guesses) = maker.takes(class)?;
        maker.while_building(dotted, |maker| {
            let (index, bad) = guesses.iter().enumerate().find_map(|(index, guess)| {
                let is_given = !guess.is_variable();
                let bad = is_given.then(|| self.inside(maker, guess.best(), &guess.name));
                Some((index, bad.flatten()?))
            })?;
            let mut slots = maker.slots(&guesses, Choice::COMPLETE);
            slots[index] = Some(in_place(guesses[index].kind, bad));
            let (args, kwargs) = assembled(&guesses, slots);
            Some(Value::New { class, args, kwargs })
        })
    }
}
