//! Inserts a hostile text into a value that is otherwise typical: into a field, a constructor
//! argument, an item.
//!
//! Invariant: the same shape has the same text positions in the same order, whatever is inserted.

use menace_model::{ClassKind, Value};

use crate::input::make::arguments::{assemble_call, wrap_variadic};
use crate::input::make::{ArgumentPolicy, ValueMaker, ValueStyle, construct_by_name};
use crate::input::name_topics::{TextRole, text_role};
use crate::input::shape::{RecordField, ValueShape};

/// A text and the position where it is inserted.
struct HostileTextInsertion {
    /// Number of text positions before the one that is replaced.
    before: usize,
    text: Value,
    /// The role of the replaced text.
    role: Option<TextRole>,
}

/// The value with `text` at its `at`th text position, and the role of that position; none when the
/// value has fewer texts.
pub(crate) fn insert_text(
    maker: &mut ValueMaker<'_, '_>,
    shape: &ValueShape,
    at: usize,
    text: Value,
) -> Option<(Value, TextRole)> {
    let mut insertion = HostileTextInsertion { before: at, text, role: None };
    let value = insertion.insert_into_shape(maker, shape, "")?;
    Some((value, insertion.role?))
}

impl HostileTextInsertion {
    /// The text, if this is the position.
    fn take_text_at(&mut self, role: TextRole) -> Option<Value> {
        if self.before > 0 {
            self.before -= 1;
            return None;
        }
        self.role = Some(role);
        Some(self.text.clone())
    }

    fn insert_into_shape(
        &mut self,
        maker: &mut ValueMaker<'_, '_>,
        shape: &ValueShape,
        name: &str,
    ) -> Option<Value> {
        match shape {
            ValueShape::Str(role) => self.take_text_at(role.unwrap_or_else(|| text_role(name))),
            ValueShape::OneOf(values) if values.iter().any(|it| matches!(it, Value::Str(_))) => {
                self.take_text_at(text_role(name))
            }
            ValueShape::Path { is_text, .. } => {
                let path = self.take_text_at(TextRole::Path)?;
                Some(if *is_text { path } else { construct_by_name("pathlib:Path", vec![path]) })
            }
            ValueShape::List(item) => {
                Some(Value::List(vec![self.insert_into_shape(maker, item, name)?]))
            }
            ValueShape::TupleOf(item) => {
                Some(Value::Tuple(vec![self.insert_into_shape(maker, item, name)?]))
            }
            ValueShape::Dict(_, inner) => {
                let value = self.insert_into_shape(maker, inner, name)?;
                Some(Value::Dict(vec![(Value::from("alpha"), value)]))
            }
            ValueShape::Record(fields) => self.insert_into_record(maker, fields),
            ValueShape::Instance(class) => self.insert_into_instance(maker, class),
            ValueShape::Union(shapes) => {
                shapes.iter().find_map(|shape| self.insert_into_shape(maker, shape, name))
            }
            ValueShape::GenericInstance(inner, args) => {
                maker.with_type_arguments(inner, args, |maker| {
                    self.insert_into_shape(maker, inner, name)
                })
            }
            ValueShape::WithTopic(topic, inner) => self.insert_into_shape(maker, inner, topic),
            ValueShape::Bounded(inner, _) => self.insert_into_shape(maker, inner, name),
            _ => None,
        }
    }

    fn insert_into_record(
        &mut self,
        maker: &mut ValueMaker<'_, '_>,
        fields: &[RecordField],
    ) -> Option<Value> {
        let (field, bad) = fields.iter().find_map(|field| {
            Some((field, self.insert_into_shape(maker, &field.shape, &field.name)?))
        })?;
        let whole = maker.make_value(&ValueShape::Record(fields.to_vec()), "", ValueStyle::Typical);
        let Value::Dict(mut pairs) = whole else { return None };
        let key = Value::from(field.name.as_str());
        pairs.retain(|(other, _)| *other != key);
        pairs.push((key, bad));
        Some(Value::Dict(pairs))
    }

    fn insert_into_instance(
        &mut self,
        maker: &mut ValueMaker<'_, '_>,
        dotted: &str,
    ) -> Option<Value> {
        let class = maker.facts.class(dotted)?;
        match class.kind {
            ClassKind::Enum => return None,
            ClassKind::TypedDict => {
                let fields = maker.typed_dict_fields(dotted, class);
                return maker
                    .while_building(dotted, |maker| self.insert_into_record(maker, &fields));
            }
            _ => {}
        }
        let (class, guesses) = maker.constructor_params(class)?;
        maker.while_building(dotted, |maker| {
            let (index, bad) = guesses.iter().enumerate().find_map(|(index, guess)| {
                let is_given = !guess.is_variable();
                let bad = is_given
                    .then(|| self.insert_into_shape(maker, guess.likeliest_shape(), &guess.name));
                Some((index, bad.flatten()?))
            })?;
            let mut slots = maker.make_slots(&guesses, ArgumentPolicy::COMPLETE);
            slots[index] = Some(wrap_variadic(guesses[index].kind, bad));
            let (args, kwargs) = assemble_call(&guesses, slots);
            Some(Value::New { class, args, kwargs })
        })
    }
}
