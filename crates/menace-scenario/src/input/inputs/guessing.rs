//! What is thought of a section's parameters before anything is made.

use menace_model::{Section, SectionKind, Value};

use super::{Facts, Guess, Lessons, Shape, Told, infer};

/// Values of an optional parameter that are tried one by one, of so many of its shapes.
const MAX_CHOICES: usize = 6;
const MAX_SHAPES: usize = 4;

pub(super) fn guesses(
    facts: &Facts<'_>,
    told: Told<'_>,
    class: Option<&str>,
    lessons: &Lessons,
) -> Vec<Guess> {
    let mut guesses = infer::guesses(facts, told, class);
    guesses.iter_mut().for_each(Guess::widen);
    lessons.adjust(facts, &told.section.id, &mut guesses);
    guesses
}

/// Parameter and rank of the shapes that are not the likeliest, the next likeliest first.
pub(super) fn others(guesses: &[Guess]) -> Vec<(usize, usize)> {
    let mut others: Vec<(usize, usize)> = guesses
        .iter()
        .enumerate()
        .filter(|(_, guess)| !guess.has_default && !guess.is_variable())
        .flat_map(|(index, guess)| (1..guess.shapes.len()).map(move |rank| (index, rank)))
        .collect();
    others.sort_by(|one, other| {
        let weight = |(index, rank): &(usize, usize)| guesses[*index].shapes[*rank].1;
        weight(other).total_cmp(&weight(one))
    });
    others
}

/// What the source, or an exception, names as values of parameters that have a default.
pub(super) fn choices(guesses: &[Guess]) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    for (index, guess) in guesses.iter().enumerate() {
        if !guess.has_default || guess.is_variable() {
            continue;
        }
        for (shape, _) in guess.shapes.iter().take(MAX_SHAPES) {
            if let Shape::OneOf(values) = shape.bare() {
                let values = values.iter().take(MAX_CHOICES).cloned();
                found.extend(values.map(|value| (index, value)));
            }
        }
    }
    found
}

/// Making an instance is how Python itself gets to a constructor.
pub(super) fn is_constructor(section: &Section) -> bool {
    let name = section.id.qualname().rsplit('.').next().unwrap_or_default();
    matches!(name.split('#').next(), Some("__init__" | "__new__"))
}

/// The dotted name of the class around a method.
pub(super) fn class_of(told: Told<'_>) -> Option<String> {
    if matches!(
        told.section.kind,
        SectionKind::Function | SectionKind::Nested | SectionKind::Module
    ) {
        return None;
    }
    let qualname = told.section.id.qualname();
    let class = qualname.rsplit_once('.').map(|(class, _)| class)?;
    // `C.size.setter` is about `C`.
    let class = match qualname.rsplit('.').next() {
        Some(name) if name.starts_with("setter") || name.starts_with("deleter") => {
            class.rsplit_once('.').map(|(class, _)| class)?
        }
        _ => class,
    };
    Some(if told.module.is_empty() { class.to_owned() } else { format!("{}.{class}", told.module) })
}
