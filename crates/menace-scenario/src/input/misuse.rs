//! Calls that no caller should make: arguments missing, too many, of another type, in another
//! order; objects that were closed; files that are nobody's business.

use menace_model::{MethodCall, ParamKind, Random, Value};

use super::infer::Guess;
use super::make::arguments::assembled;
use super::make::{Given, Slots, new, path_by_name};
use super::shape::Shape;

/// Methods after which an object is not to be used.
const CLOSING: [&str; 8] =
    ["close", "shutdown", "stop", "disconnect", "release", "terminate", "dispose", "quit"];

/// Files that belong to nobody who calls a function.
const FORBIDDEN: [&str; 4] = ["/etc/shadow", "/root/.ssh/id_rsa", "/proc/1/environ", "/etc/passwd"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    Missing,
    Extra,
    UnknownKeyword,
    WrongType,
    WrongOrder,
    None,
    AfterClose,
    ForbiddenFile,
}

/// What the body of the function meets.
const INSIDE: [Mistake; 5] = [
    Mistake::WrongType,
    Mistake::None,
    Mistake::WrongOrder,
    Mistake::AfterClose,
    Mistake::ForbiddenFile,
];

/// What Python refuses before the body runs: whatever else is wrong, nobody sees it.
const BINDING: [Mistake; 3] = [Mistake::Missing, Mistake::Extra, Mistake::UnknownKeyword];

/// How many of all misuses end there.
const BINDING_SHARE: f64 = 0.25;

/// A good input on its way to become a bad one.
pub(crate) struct Misuse<'a> {
    pub guesses: &'a [Guess],
    pub slots: Slots,
    pub receiver: Option<Value>,
    /// Public methods of the receiver's class.
    pub methods: Vec<&'a str>,
}

impl Misuse<'_> {
    /// Makes so many mistakes; none when the call has nothing that could be done wrong.
    pub(crate) fn made(
        mut self,
        mistakes: usize,
        random: &mut Random,
    ) -> Option<(Option<Value>, Given)> {
        let (mut inside, mut binding) = (INSIDE, BINDING);
        random.shuffle(&mut inside);
        random.shuffle(&mut binding);
        let refused = random.chance(BINDING_SHARE);
        let mut made = Vec::new();
        if !refused {
            made = self.several(&inside, mistakes, random);
        }
        if made.is_empty() {
            made = self.several(&binding, 1, random);
        }
        if made.is_empty() {
            made = self.several(&inside, mistakes, random);
        }
        if made.is_empty() {
            return None;
        }
        let (mut args, mut kwargs) = assembled(self.guesses, self.slots);
        if made.contains(&Mistake::Extra) {
            args.push(Value::from("one too many"));
        }
        if made.contains(&Mistake::UnknownKeyword) {
            kwargs.push(("unheard_of".to_owned(), Value::Int(1)));
        }
        Some((self.receiver, (args, kwargs)))
    }

    /// The first of these that can be made, at most so many.
    fn several(&mut self, order: &[Mistake], most: usize, random: &mut Random) -> Vec<Mistake> {
        let mut made = Vec::new();
        for mistake in order {
            if made.len() < most && self.make(*mistake, random) {
                made.push(*mistake);
            }
        }
        made
    }

    /// Extra arguments are only allowed here; they are added to the finished call.
    fn make(&mut self, mistake: Mistake, random: &mut Random) -> bool {
        let takes = |kind: ParamKind| self.guesses.iter().any(|it| it.kind == kind);
        match mistake {
            Mistake::Missing => self.leave_out(random),
            Mistake::WrongType => self.change_type(random),
            Mistake::None => self.replace(random, |_| Some(Value::None)),
            Mistake::WrongOrder => self.swap(random),
            Mistake::AfterClose => self.close(random),
            Mistake::ForbiddenFile => self.forbidden(random),
            Mistake::Extra => !takes(ParamKind::VarPositional),
            Mistake::UnknownKeyword => !takes(ParamKind::VarKeyword),
        }
    }

    /// Positions of parameters that are given.
    fn given(&self) -> Vec<usize> {
        let given = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        let given = given.map(|(index, _)| index);
        given.filter(|index| !self.guesses[*index].is_variable()).collect()
    }

    fn leave_out(&mut self, random: &mut Random) -> bool {
        let required: Vec<usize> =
            self.given().into_iter().filter(|index| !self.guesses[*index].has_default).collect();
        match random.pick(&required) {
            // The last one: leaving out another would only move the rest.
            Some(_) => {
                let last = required[required.len() - 1];
                self.slots[last] = None;
                true
            }
            None => false,
        }
    }

    fn replace(&mut self, random: &mut Random, with: impl Fn(&Value) -> Option<Value>) -> bool {
        let given = self.given();
        let Some(index) = random.pick(&given).copied() else { return false };
        let new = self.slots[index].as_ref().and_then(|old| with(old).filter(|new| new != old));
        let done = new.is_some();
        if done {
            self.slots[index] = new;
        }
        done
    }

    fn change_type(&mut self, random: &mut Random) -> bool {
        let others = [
            Value::Int(1),
            Value::from("text"),
            Value::Float(1.5),
            Value::List(vec![Value::Int(1)]),
            Value::Dict(vec![(Value::from("a"), Value::Int(1))]),
            Value::Bytes(b"bytes".to_vec()),
            Value::Bool(true),
            new("builtins:object", Vec::new()),
            Value::Name(match "builtins:int".parse() {
                Ok(name) => name,
                Err(_) => return false,
            }),
        ];
        let mut order: Vec<usize> = (0..others.len()).collect();
        random.shuffle(&mut order);
        self.replace(random, |old| {
            let other = order.iter().map(|index| &others[*index]);
            other.into_iter().find(|other| !same_type(old, other)).cloned()
        })
    }

    fn swap(&mut self, random: &mut Random) -> bool {
        let given = self.given();
        if given.len() < 2 {
            return false;
        }
        let first = random.below(given.len() as u64 - 1) as usize;
        let (one, other) = (given[first], given[first + 1]);
        if self.slots[one] == self.slots[other] {
            return false;
        }
        self.slots.swap(one, other);
        true
    }

    /// The receiver, or a file among the arguments, is closed before it is used.
    fn close(&mut self, random: &mut Random) -> bool {
        let closing = CLOSING.iter().find(|name| self.methods.contains(name));
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

    fn forbidden(&mut self, random: &mut Random) -> bool {
        // Whoever takes a path as text most often only says so with its name.
        let is_path = |shape: &Shape, name: &str| match shape.bare() {
            Shape::Path { .. } => true,
            Shape::Str(role) => path_by_name(*role, name).is_some(),
            _ => false,
        };
        let leads_to_a_file = |index: &usize| {
            let guess = &self.guesses[*index];
            guess.shapes.iter().take(2).any(|(shape, _)| is_path(shape, &guess.name))
        };
        let paths: Vec<usize> = self.given().into_iter().filter(leads_to_a_file).collect();
        let (Some(index), Some(file)) = (random.pick(&paths).copied(), random.pick(&FORBIDDEN))
        else {
            return false;
        };
        self.slots[index] = Some(Value::from(*file));
        true
    }
}

/// Would a function that wants the one take the other?
fn same_type(one: &Value, other: &Value) -> bool {
    use std::mem::discriminant;
    let number = |value: &Value| matches!(value, Value::Int(_) | Value::Bool(_) | Value::Float(_));
    discriminant(one) == discriminant(other) || (number(one) && number(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    fn guess(name: &str, shape: Shape) -> Guess {
        Guess {
            name: name.to_owned(),
            kind: ParamKind::PositionalOrKeyword,
            is_needed: false,
            has_default: false,
            shapes: vec![(shape, 1.0)],
            is_certain: true,
        }
    }

    #[test]
    fn every_mistake_is_made_and_none_is_silent() {
        let guesses = [
            guess("path", Shape::Path { what: super::super::shape::PathWhat::File, is_text: true }),
            guess("count", Shape::Int),
        ];
        let right = vec![Some(Value::from("data.txt")), Some(Value::Int(3))];
        let stream = new("io:StringIO", Vec::new());
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let misuse = Misuse {
                guesses: &guesses,
                slots: right.clone(),
                receiver: Some(stream.clone()),
                methods: vec!["close", "read"],
            };
            let (receiver, (args, kwargs)) =
                misuse.made(1, &mut Seed(seed).random()).expect("something can be done wrong");
            let what = match (&receiver, args.len(), kwargs.len()) {
                (Some(Value::After { .. }), ..) => "closed",
                (_, 1, 0) => "missing",
                (_, 3, 0) => "extra",
                (_, 2, 1) => "keyword",
                _ if args == [Value::Int(3), Value::from("data.txt")] => "order",
                _ if args.contains(&Value::None) => "none",
                _ if args.iter().any(|arg| FORBIDDEN.iter().any(|it| *arg == Value::from(*it))) => {
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
    fn more_mistakes_at_once_when_asked_for_but_none_behind_a_refused_call() {
        let guesses = [guess("a", Shape::Int), guess("b", Shape::text())];
        let right = [Value::Int(1), Value::from("x")];
        let (mut refused, mut several) = (0, 0);
        for seed in 0..200 {
            let slots = right.iter().cloned().map(Some).collect();
            let misuse = Misuse { guesses: &guesses, slots, receiver: None, methods: Vec::new() };
            let (_, (args, kwargs)) = misuse.made(8, &mut Seed(seed).random()).expect("mistakes");
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
        let guesses = [guess("count", Shape::Int)];
        let instance = new("m:Box", Vec::new());
        for (seed, mistakes) in (0..50).flat_map(|seed| [(seed, 1), (seed, 8)]) {
            let misuse = Misuse {
                guesses: &guesses,
                slots: vec![Some(Value::Int(3))],
                receiver: Some(instance.clone()),
                methods: vec!["add"],
            };
            let (receiver, _) = misuse.made(mistakes, &mut Seed(seed).random()).expect("mistakes");
            assert_eq!(receiver.as_ref(), Some(&instance), "{seed}");
        }
    }

    #[test]
    fn a_text_with_the_name_of_a_path_leads_to_a_forbidden_file() {
        let is_forbidden = |name: &str| {
            (0..100).any(|seed| {
                let guesses = [guess(name, Shape::text())];
                let slots = vec![Some(Value::from("data.txt"))];
                let misuse =
                    Misuse { guesses: &guesses, slots, receiver: None, methods: Vec::new() };
                let made = misuse.made(1, &mut Seed(seed).random());
                made.is_some_and(|(_, (args, _))| args == [Value::from("/etc/shadow")])
            })
        };
        assert!(is_forbidden("path"));
        assert!(!is_forbidden("title"));
    }
}
