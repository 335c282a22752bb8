//! What earlier calls told of a section, which the judgement of later ones rests on.

use std::collections::HashSet;

use menace_model::{Call, Outcome, Section, Verdict};

use super::{Alone, Shape, Witness};

#[derive(Debug)]
pub struct Known<'a> {
    section: &'a Section,
    params: Vec<String>,
    /// Every parameter has a declared type.
    is_annotated: bool,
    /// Shapes of calls that were answered; with declared types also those with an empty list instead.
    accepted: HashSet<Shape>,
    /// Shapes that inputs of the declared types have.
    declared: HashSet<Shape>,
    /// A generator came to its end.
    ends: bool,
}

impl<'a> Known<'a> {
    pub fn new(section: &'a Section) -> Self {
        Self {
            section,
            params: section.params.iter().map(|param| param.name.clone()).collect(),
            is_annotated: section.params.iter().all(|param| param.resolved.is_some()),
            accepted: HashSet::new(),
            declared: HashSet::new(),
            ends: false,
        }
    }

    pub fn section(&self) -> &'a Section {
        self.section
    }

    /// The call has arguments of the declared types.
    pub fn declare(&mut self, call: &Call) {
        self.declared.insert(Shape::of(call));
    }

    /// What came of a call; `in_peace` when nothing troubled it.
    pub fn note(&mut self, call: &Call, outcome: &Outcome, in_peace: bool) {
        if in_peace && matches!(outcome.verdict, Verdict::Returned | Verdict::Refused) {
            self.accepted.insert(Shape::of(call));
            if self.is_annotated {
                self.accepted.extend(Shape::with_less(call));
            }
        }
        let items = outcome.value.as_ref().filter(|value| !value.more);
        self.ends |= items.and_then(|value| value.items).is_some_and(|items| items > 0);
    }

    /// Everything that judging this call takes; `alone` is the same one without its trouble.
    pub fn witness<'w>(
        &'w self,
        call: &'w Call,
        outcome: &'w Outcome,
        alone: Option<&'w Alone>,
    ) -> Witness<'w> {
        let shape = Shape::of(call);
        let is_declared = self.declared.contains(&shape);
        Witness {
            section: self.section.id.qualname(),
            params: &self.params,
            call,
            outcome,
            alone,
            accepted: self.accepted.contains(&shape) && (is_declared || !self.is_annotated),
            annotated: self.is_annotated && is_declared,
            ends: self.ends,
        }
    }
}
