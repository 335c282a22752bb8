//! Checks that every `SharedRef` refers to a label that is defined before it.

use std::collections::BTreeMap;

use super::{Value, ValueError};

/// Whether the labelled value can be referred to.
#[derive(PartialEq)]
enum LabelState {
    Building,
    Available,
}

impl Value {
    /// Checks the labels of values that are built together and in this order: receiver, arguments
    /// and keyword arguments of one call.
    ///
    /// A label is defined once, and used only after its value, or inside of it for lists, dicts and
    /// sets.
    pub fn check_labels<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<(), ValueError> {
        let mut labels = BTreeMap::new();
        values.into_iter().try_for_each(|value| check_value_labels(value, &mut labels))
    }
}

fn check_value_labels(
    value: &Value,
    labels: &mut BTreeMap<u32, LabelState>,
) -> Result<(), ValueError> {
    let problem = |label: u32, problem: &str| ValueError {
        place: format!("label {label}"),
        reason: problem.to_owned(),
    };
    match value {
        Value::SharedRef(label) => match labels.get(label) {
            Some(LabelState::Available) => Ok(()),
            Some(LabelState::Building) => Err(problem(
                *label,
                "named inside of the value itself, which only a list, dict or set may do",
            )),
            None => Err(problem(*label, "named by `$again` before any `$shared` gives it")),
        },
        Value::Shared { label, value } => {
            let early = matches!(**value, Value::List(_) | Value::Dict(_) | Value::Set(_));
            let state = if early { LabelState::Available } else { LabelState::Building };
            if labels.insert(*label, state).is_some() {
                return Err(problem(*label, "given by more than one `$shared`"));
            }
            check_value_labels(value, labels)?;
            labels.insert(*label, LabelState::Available);
            Ok(())
        }
        _ => {
            let mut outcome = Ok(());
            value.each_child(&mut |child| {
                if outcome.is_ok() {
                    outcome = check_value_labels(child, labels);
                }
            });
            outcome
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_args(args: &str) -> String {
        let args = Value::args_from_json(args).expect("the notation");
        Value::check_labels(&args).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn a_value_can_be_named_after_it_and_in_itself() {
        assert_eq!(
            check_args(r#"[{"$shared": {"$tuple": []}, "label": 1}, {"$again": 1}]"#),
            "fine"
        );
        assert_eq!(check_args(r#"[{"$shared": [[{"$again": 1}]], "label": 1}]"#), "fine");
    }

    #[test]
    fn a_name_without_a_value_is_refused() {
        assert_eq!(
            check_args(r#"[{"$again": 1}, {"$shared": [], "label": 1}]"#),
            "label 1: named by `$again` before any `$shared` gives it"
        );
        assert_eq!(
            check_args(r#"[{"$shared": {"$tuple": [[{"$again": 2}]]}, "label": 2}]"#),
            "label 2: named inside of the value itself, which only a list, dict or set may do"
        );
        assert_eq!(
            check_args(r#"[{"$shared": 1, "label": 3}, {"$shared": 2, "label": 3}]"#),
            "label 3: given by more than one `$shared`"
        );
    }
}
