//! What plugins made of the inputs that they were shown.

use menace_model::Value;

use super::records::Record;

/// Arguments by the name of their parameter: an input as a plugin sees it.
pub type Named = Vec<(String, Value)>;

/// What a plugin returns takes the place of what it was shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plugged {
    /// Inputs that it made.
    pub added: Vec<Record>,
    /// Inputs that it was shown and did not return.
    pub dropped: Vec<Named>,
}

impl Plugged {
    pub fn between(shown: &[Named], returned: &[Named]) -> Self {
        let dropped = shown.iter().filter(|input| !returned.contains(input)).cloned().collect();
        let times = |all: &[Named], input: &Named| all.iter().filter(|one| *one == input).count();
        let mut added: Vec<Named> = Vec::new();
        for input in returned {
            // Whoever adds what was there already wants it before the others.
            if times(returned, input) > times(shown, input) && !added.contains(input) {
                added.push(input.clone());
            }
        }
        let added = added.into_iter().map(|arguments| Record {
            section: None,
            environment: Vec::new(),
            receiver: None,
            arguments,
        });
        Self { added: added.collect(), dropped }
    }

    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.dropped.is_empty()
    }
}

/// Is it data, that means the same in every interpreter?
pub(crate) fn is_plain(value: &Value) -> bool {
    let plain = matches!(
        value,
        Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::BigInt(_)
            | Value::Float(_)
            | Value::Complex { .. }
            | Value::Str(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Set(_)
            | Value::FrozenSet(_)
            | Value::Dict(_)
    );
    let mut all = plain;
    if plain {
        value.each_child(&mut |child| all &= is_plain(child));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(value: i64) -> Named {
        vec![("a".to_owned(), Value::Int(value))]
    }

    #[test]
    fn what_is_returned_takes_the_place_of_what_was_shown() {
        let plugged = Plugged::between(&[named(1), named(2)], &[named(2), named(3)]);
        assert_eq!(plugged.dropped, [named(1)]);
        let [added] = plugged.added.as_slice() else { panic!("one") };
        assert_eq!(added.arguments, named(3));
        assert!(Plugged::between(&[named(1)], &[named(1)]).is_empty());
        // One that is there already, and is added all the same, comes first.
        let plugged = Plugged::between(&[named(1), named(2)], &[named(2), named(1), named(2)]);
        assert_eq!((plugged.added.len(), plugged.dropped.len()), (1, 0));
        assert_eq!(plugged.added[0].arguments, named(2));
    }

    #[test]
    fn objects_are_not_plain_however_deep() {
        let object = Value::New {
            class: "m:C".parse().expect("a reference"),
            args: Vec::new(),
            kwargs: Vec::new(),
        };
        assert!(is_plain(&Value::List(vec![Value::Int(1)])));
        assert!(!is_plain(&Value::List(vec![Value::Tuple(vec![object])])));
    }
}
