//! Misuse: calls with missing, superfluous, mistyped or swapped arguments, on closed objects, with
//! forbidden files.

use menace_model::{MethodCall, ParamKind, SeededRng, Value};

use super::infer::ParamGuess;
use super::make::arguments::assemble_call;
use super::make::{ArgumentSlots, CallArguments, construct_by_name, path_kind_by_name};
use super::shape::ValueShape;

/// Methods after which an object must not be used.
const CLOSING_METHODS: [&str; 8] =
    ["close", "shutdown", "stop", "disconnect", "release", "terminate", "dispose", "quit"];

/// Files that a function of the repository has no reason to read.
const FORBIDDEN_FILES: [&str; 4] =
    ["/etc/shadow", "/root/.ssh/id_rsa", "/proc/1/environ", "/etc/passwd"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MisuseKind {
    Missing,
    Extra,
    UnknownKeyword,
    WrongType,
    WrongOrder,
    None,
    AfterClose,
    ForbiddenFile,
}

/// Mistakes that the body of the function receives.
const BODY_MISTAKES: [MisuseKind; 5] = [
    MisuseKind::WrongType,
    MisuseKind::None,
    MisuseKind::WrongOrder,
    MisuseKind::AfterClose,
    MisuseKind::ForbiddenFile,
];

/// Mistakes that Python refuses before the body runs: further mistakes would have no effect.
const BINDING_MISTAKES: [MisuseKind; 3] =
    [MisuseKind::Missing, MisuseKind::Extra, MisuseKind::UnknownKeyword];

/// Share of misuses that Python refuses.
const BINDING_SHARE: f64 = 0.25;

/// A valid input that mistakes are made in.
pub(crate) struct MisuseBuilder<'a> {
    pub guesses: &'a [ParamGuess],
    pub slots: ArgumentSlots,
    pub receiver: Option<Value>,
    /// Public methods of the receiver's class.
    pub methods: Vec<&'a str>,
}

impl MisuseBuilder<'_> {
    /// Makes this number of mistakes; `None` when the call allows no mistake.
    pub(crate) fn build(
        mut self,
        mistakes: usize,
        random: &mut SeededRng,
    ) -> Option<(Option<Value>, CallArguments)> {
        let mut inside = BODY_MISTAKES;
        let mut binding = BINDING_MISTAKES;
        random.shuffle(&mut inside);
        random.shuffle(&mut binding);
        let refused = random.chance(BINDING_SHARE);
        let mut made = Vec::new();
        if !refused {
            made = self.make_several(&inside, mistakes, random);
        }
        if made.is_empty() {
            made = self.make_several(&binding, 1, random);
        }
        if made.is_empty() {
            made = self.make_several(&inside, mistakes, random);
        }
        if made.is_empty() {
            return None;
        }
        let (mut args, mut kwargs) = assemble_call(self.guesses, self.slots);
        if made.contains(&MisuseKind::Extra) {
            args.push(Value::from("one too many"));
        }
        if made.contains(&MisuseKind::UnknownKeyword) {
            kwargs.push(("unheard_of".to_owned(), Value::Int(1)));
        }
        Some((self.receiver, (args, kwargs)))
    }

    /// Makes the first possible mistakes of the list, at most `most`.
    fn make_several(
        &mut self,
        order: &[MisuseKind],
        most: usize,
        random: &mut SeededRng,
    ) -> Vec<MisuseKind> {
        let mut made = Vec::new();
        for mistake in order {
            if made.len() < most && self.make_mistake(*mistake, random) {
                made.push(*mistake);
            }
        }
        made
    }

    /// Whether the mistake is possible. Extra arguments are added by `build`.
    fn make_mistake(&mut self, mistake: MisuseKind, random: &mut SeededRng) -> bool {
        let takes = |kind: ParamKind| self.guesses.iter().any(|it| it.kind == kind);
        match mistake {
            MisuseKind::Missing => self.leave_out(random),
            MisuseKind::WrongType => self.change_type(random),
            MisuseKind::None => self.replace(random, |_| Some(Value::None)),
            MisuseKind::WrongOrder => self.swap(random),
            MisuseKind::AfterClose => self.close(random),
            MisuseKind::ForbiddenFile => self.use_forbidden_file(random),
            MisuseKind::Extra => !takes(ParamKind::VarPositional),
            MisuseKind::UnknownKeyword => !takes(ParamKind::VarKeyword),
        }
    }

    /// Positions of parameters that are passed.
    fn given_positions(&self) -> Vec<usize> {
        let filled_slots = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        let positions = filled_slots.map(|(index, _)| index);
        positions.filter(|index| !self.guesses[*index].is_variable()).collect()
    }

    fn leave_out(&mut self, random: &mut SeededRng) -> bool {
        let required: Vec<usize> = self
            .given_positions()
            .into_iter()
            .filter(|index| !self.guesses[*index].has_default)
            .collect();
        match random.pick(&required) {
            // The last one: without another, the following arguments would only move.
            Some(_) => {
                let last = required[required.len() - 1];
                self.slots[last] = None;
                true
            }
            None => false,
        }
    }

    fn replace(&mut self, random: &mut SeededRng, with: impl Fn(&Value) -> Option<Value>) -> bool {
        let positions = self.given_positions();
        let Some(index) = random.pick(&positions).copied() else { return false };
        let new = self.slots[index].as_ref().and_then(|old| with(old).filter(|new| new != old));
        let done = new.is_some();
        if done {
            self.slots[index] = new;
        }
        done
    }

    fn change_type(&mut self, random: &mut SeededRng) -> bool {
        let others = [
            Value::Int(1),
            Value::from("text"),
            Value::Float(1.5),
            Value::List(vec![Value::Int(1)]),
            Value::Dict(vec![(Value::from("a"), Value::Int(1))]),
            Value::Bytes(b"bytes".to_vec()),
            Value::Bool(true),
            construct_by_name("builtins:object", Vec::new()),
            Value::Name(match "builtins:int".parse() {
                Ok(name) => name,
                Err(_) => return false,
            }),
        ];
        let mut order: Vec<usize> = (0..others.len()).collect();
        random.shuffle(&mut order);
        self.replace(random, |old| {
            let other = order.iter().map(|index| &others[*index]);
            other.into_iter().find(|other| !is_same_type(old, other)).cloned()
        })
    }

    fn swap(&mut self, random: &mut SeededRng) -> bool {
        let positions = self.given_positions();
        if positions.len() < 2 {
            return false;
        }
        let first = random.next_below(positions.len() as u64 - 1) as usize;
        let (one, other) = (positions[first], positions[first + 1]);
        if self.slots[one] == self.slots[other] {
            return false;
        }
        self.slots.swap(one, other);
        true
    }

    /// Closes the receiver, or a file among the arguments.
    fn close(&mut self, random: &mut SeededRng) -> bool {
        let closing = CLOSING_METHODS.iter().find(|name| self.methods.contains(name));
        let after = |value: Value, name: &str| Value::After {
            value: Box::new(value),
            calls: vec![MethodCall { name: name.to_owned(), args: Vec::new(), kwargs: Vec::new() }],
        };
        if let Some(name) = closing
            && let Some(receiver) = self.receiver.take()
        {
            self.receiver = Some(after(receiver, name));
            return true;
        }
        self.replace(random, |old| match old {
            Value::New { class, .. } if matches!(class.qualname(), "StringIO" | "BytesIO") => {
                Some(after(old.clone(), "close"))
            }
            _ => None,
        })
    }

    fn use_forbidden_file(&mut self, random: &mut SeededRng) -> bool {
        // A text parameter is a path if its name says so.
        let is_path = |shape: &ValueShape, name: &str| match shape.without_bounds() {
            ValueShape::Path { .. } => true,
            ValueShape::Str(role) => path_kind_by_name(*role, name).is_some(),
            _ => false,
        };
        let leads_to_a_file = |index: &usize| {
            let guess = &self.guesses[*index];
            guess.shapes.iter().take(2).any(|(shape, _)| is_path(shape, &guess.name))
        };
        let paths: Vec<usize> =
            self.given_positions().into_iter().filter(leads_to_a_file).collect();
        let (Some(index), Some(file)) =
            (random.pick(&paths).copied(), random.pick(&FORBIDDEN_FILES))
        else {
            return false;
        };
        self.slots[index] = Some(Value::from(*file));
        true
    }
}

/// Would a function that expects the first value accept the second?
fn is_same_type(one: &Value, other: &Value) -> bool {
    use std::mem::discriminant;
    let number = |value: &Value| matches!(value, Value::Int(_) | Value::Bool(_) | Value::Float(_));
    discriminant(one) == discriminant(other) || (number(one) && number(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    fn guess(name: &str, shape: ValueShape) -> ParamGuess {
        ParamGuess {
            name: name.to_owned(),
            kind: ParamKind::PositionalOrKeyword,
            is_needed: false,
            has_default: false,
            shapes: vec![(shape, 1.0)],
            is_certain: true,
        }
    }

    #[test]
    fn every_kind_of_mistake_is_made() {
        let guesses = [
            guess(
                "path",
                ValueShape::Path { kind: super::super::shape::PathKind::File, is_text: true },
            ),
            guess("count", ValueShape::Int),
        ];
        let right = vec![Some(Value::from("data.txt")), Some(Value::Int(3))];
        let stream = construct_by_name("io:StringIO", Vec::new());
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let misuse = MisuseBuilder {
                guesses: &guesses,
                slots: right.clone(),
                receiver: Some(stream.clone()),
                methods: vec!["close", "read"],
            };
            let (receiver, (args, kwargs)) =
                misuse.build(1, &mut Seed(seed).rng()).expect("a misuse");
            let what = match (&receiver, args.len(), kwargs.len()) {
                (Some(Value::After { .. }), ..) => "closed",
                (_, 1, 0) => "missing",
                (_, 3, 0) => "extra",
                (_, 2, 1) => "keyword",
                _ if args == [Value::Int(3), Value::from("data.txt")] => "order",
                _ if args.contains(&Value::None) => "none",
                _ if args
                    .iter()
                    .any(|arg| FORBIDDEN_FILES.iter().any(|it| *arg == Value::from(*it))) =>
                {
                    "forbidden"
                }
                _ => "type",
            };
            assert!(
                args != [Value::from("data.txt"), Value::Int(3)]
                    || !kwargs.is_empty()
                    || what == "closed"
            );
            seen.insert(what);
        }
        assert_eq!(seen.len(), 8, "{seen:?}");
    }

    #[test]
    fn several_mistakes_are_made_at_once_except_in_a_refused_call() {
        let guesses = [guess("a", ValueShape::Int), guess("b", ValueShape::any_text())];
        let right = [Value::Int(1), Value::from("x")];
        let (mut refused, mut several) = (0, 0);
        for seed in 0..200 {
            let slots = right.iter().cloned().map(Some).collect();
            let misuse =
                MisuseBuilder { guesses: &guesses, slots, receiver: None, methods: Vec::new() };
            let (_, (args, kwargs)) = misuse.build(8, &mut Seed(seed).rng()).expect("mistakes");
            if args.len() == 2 && kwargs.is_empty() {
                let wrong = args.iter().filter(|arg| !right.contains(arg)).count();
                several += usize::from(wrong == 2);
                continue;
            }
            refused += 1;
            let same = args.iter().zip(&right).all(|(arg, right)| arg == right);
            assert!(same && args.len() + kwargs.len() != 2, "{args:?} {kwargs:?}");
        }
        assert!((25..75).contains(&refused), "{refused}");
        assert!(several > 50, "{several}");
    }

    #[test]
    fn an_instance_that_cannot_be_closed_stays_as_it_is() {
        let guesses = [guess("count", ValueShape::Int)];
        let instance = construct_by_name("m:Box", Vec::new());
        for (seed, mistakes) in (0..50).flat_map(|seed| [(seed, 1), (seed, 8)]) {
            let misuse = MisuseBuilder {
                guesses: &guesses,
                slots: vec![Some(Value::Int(3))],
                receiver: Some(instance.clone()),
                methods: vec!["add"],
            };
            let (receiver, _) = misuse.build(mistakes, &mut Seed(seed).rng()).expect("mistakes");
            assert_eq!(receiver.as_ref(), Some(&instance), "{seed}");
        }
    }

    #[test]
    fn a_text_with_the_name_of_a_path_leads_to_a_forbidden_file() {
        let is_forbidden = |name: &str| {
            (0..100).any(|seed| {
                let guesses = [guess(name, ValueShape::any_text())];
                let slots = vec![Some(Value::from("data.txt"))];
                let misuse =
                    MisuseBuilder { guesses: &guesses, slots, receiver: None, methods: Vec::new() };
                let made = misuse.build(1, &mut Seed(seed).rng());
                made.is_some_and(|(_, (args, _))| args == [Value::from("/etc/shadow")])
            })
        };
        assert!(is_forbidden("path"));
        assert!(!is_forbidden("title"));
    }
}
