//! Instances of the repository's classes, through their constructors.

use std::sync::Arc;

use menace_model::{
    Blocked, Class, ClassKind, ClassMethod, ConstructorCall, FixtureFile, MethodCall, Param,
    Reference, SectionId, Value,
};

use super::arguments::{Choice, assembled, fitted};
use super::duck::coroutine;
use super::{Maker, Style};
use crate::input::facts::Told;
use crate::input::infer::{self, Guess, annotation};
use crate::input::python;
use crate::input::shape::{Field, Shape};

/// How deep instances are made of instances.
const MAX_NESTED: usize = 4;

impl Maker<'_, '_> {
    /// An instance of a class, by its dotted name; none when there is no way to one.
    pub(crate) fn instance(&mut self, dotted: &str, choice: Choice) -> Option<Value> {
        let turn = match choice.spread {
            true if self.random.chance(0.4) => return self.fresh(dotted, choice),
            true => None,
            false => Some(self.turn),
        };
        self.proven(dotted, turn).or_else(|| self.fresh(dotted, choice))
    }

    /// The same, whatever worked before.
    pub(crate) fn fresh(&mut self, dotted: &str, choice: Choice) -> Option<Value> {
        let class = self.facts.class(dotted)?;
        self.while_building(dotted, |maker| maker.of_class(dotted, class, choice))
    }

    /// Does something while an instance is under way; nothing where that would not come to an end.
    pub(crate) fn while_building<T>(
        &mut self,
        dotted: &str,
        inside: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.building.len() >= MAX_NESTED || self.building.iter().any(|name| name == dotted) {
            return None;
        }
        self.building.push(dotted.to_owned());
        let done = inside(self);
        self.building.pop();
        done
    }

    /// One that could be made before: the `turn`th best, or any.
    pub(crate) fn proven(&mut self, dotted: &str, turn: Option<usize>) -> Option<Value> {
        let lessons = Arc::clone(&self.lessons);
        let (value, files) = lessons.instance(dotted, turn, &mut self.random)?;
        self.add_files(files);
        Some(value)
    }

    pub(crate) fn add_files(&mut self, files: &[FixtureFile]) {
        for file in files {
            if self.files.iter().all(|known| known.path != file.path) {
                self.files.push(file.clone());
            }
        }
    }

    fn of_class(&mut self, dotted: &str, class: &Class, choice: Choice) -> Option<Value> {
        let own = Reference::new(&class.module, &class.qualname).ok()?;
        match class.kind {
            ClassKind::Enum => return self.member(&own, &class.members, choice.style),
            ClassKind::TypedDict => return Some(self.typed_dict(dotted, class, choice.style)),
            _ => {}
        }
        let step = class.construction.steps.last();
        match (&class.construction.blocked, step) {
            (Some(Blocked::Local { .. }), _) => None,
            (Some(Blocked::Abstract { .. } | Blocked::Protocol), _) => {
                Some(self.stand_in(dotted, own, class, step, choice))
            }
            (_, Some(step)) => self.constructed(step, choice),
            (_, None) => Some(Value::New { class: own, args: Vec::new(), kwargs: Vec::new() }),
        }
    }

    fn member(&mut self, class: &Reference, members: &[String], style: Style) -> Option<Value> {
        let member = match style {
            Style::Typical => members.get(self.turn % members.len().max(1)),
            _ => self.random.pick(members),
        }?;
        let name = format!("{}.{member}", class.qualname());
        Reference::new(class.module(), &name).ok().map(Value::Name)
    }

    fn typed_dict(&mut self, dotted: &str, class: &Class, style: Style) -> Value {
        let fields = self.fields(dotted, class);
        self.make(&Shape::Record(fields), "", style)
    }

    /// What a typed dictionary has.
    pub(crate) fn fields(&self, dotted: &str, class: &Class) -> Vec<Field> {
        let field = |field: &menace_model::ClassField| Field {
            name: field.name.clone(),
            shape: field
                .annotation
                .as_ref()
                .map_or(Shape::Any, |kind| annotation::shape_in(self.facts, kind, Some(dotted))),
            required: field.required,
        };
        class.fields.iter().map(field).collect()
    }

    /// What is called to make an instance of a class, and with what; none when a call is no way.
    pub(crate) fn takes(&self, class: &Class) -> Option<(Reference, Vec<Guess>)> {
        let blocked = class.construction.blocked.as_ref();
        let step = class.construction.steps.last()?;
        let is_out_of_reach = |why: &Blocked| !matches!(why, Blocked::Recursive | Blocked::TooDeep);
        if blocked.is_some_and(is_out_of_reach) || !step.members.is_empty() {
            return None;
        }
        let guesses = self.constructor(step.constructor.as_ref(), &step.params, &step.class);
        Some((self.facts.reference(&step.class)?, guesses))
    }

    /// A call of the constructor.
    pub(crate) fn constructed(&mut self, step: &ConstructorCall, choice: Choice) -> Option<Value> {
        let class = self.facts.reference(&step.class)?;
        if !step.members.is_empty() {
            return self.member(&class, &step.members, choice.style);
        }
        let guesses = self.constructor(step.constructor.as_ref(), &step.params, &step.class);
        let told = step.constructor.as_ref().and_then(|id| self.facts.section(id));
        if let Some(told) = told
            && choice.spread
            && !self.is_applied(&step.class)
            && self.random.chance(0.5)
            && let Some((args, kwargs)) = self.site(told, &guesses)
        {
            return Some(Value::New { class, args, kwargs });
        }
        let slots = self.slots(&guesses, choice);
        let (args, kwargs) = assembled(&guesses, slots);
        Some(Value::New { class, args, kwargs })
    }

    /// Is it known what the class is a class of? What was made of it before may be of another.
    pub(super) fn is_applied(&self, class: &str) -> bool {
        self.applied.iter().any(|(applied, _)| applied == class)
    }

    /// Does something while it is known what a generic class is a class of.
    pub(crate) fn applying<T>(
        &mut self,
        class: &Shape,
        args: &[Shape],
        inside: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let Shape::Instance(class) = class else { return inside(self) };
        self.applied.push((class.clone(), args.to_vec()));
        let done = inside(self);
        self.applied.pop();
        done
    }

    /// What the constructor takes: from its source when that is known, else from its signature.
    fn constructor(&self, id: Option<&SectionId>, params: &[Param], class: &str) -> Vec<Guess> {
        let told = id.and_then(|id| self.facts.section(id));
        let mut guesses: Vec<Guess> = match told {
            Some(told) => self.guesses(told, Some(class)),
            None => params
                .iter()
                .map(|param| infer::from_signature(self.facts, param, Some(class)))
                .collect(),
        };
        if let Some((_, args)) = self.applied.iter().rev().find(|(applied, _)| applied == class) {
            let params = told.map_or(params, |told| &told.section.params);
            infer::generic::apply(self.facts, class, params, args, &mut guesses);
        }
        guesses
    }

    fn guesses(&self, told: Told<'_>, class: Option<&str>) -> Vec<Guess> {
        let mut guesses = infer::guesses(self.facts, told, class);
        self.lessons.adjust(self.facts, &told.section.id, &mut guesses);
        guesses
    }

    /// The arguments of a call that stands in the repository.
    pub(crate) fn site(&mut self, told: Told<'_>, guesses: &[Guess]) -> Option<super::Given> {
        let site = self.random.pick(&told.hints.sites)?;
        let resolve = |name: &str| self.facts.reference(name);
        let args: Option<Vec<Value>> =
            site.args.iter().map(|source| python::value(source, &resolve)).collect();
        let kwargs: Option<Vec<(String, Value)>> = site
            .kwargs
            .iter()
            .map(|(name, source)| Some((name.clone(), python::value(source, &resolve)?)))
            .collect();
        fitted(guesses, args?, kwargs?).map(|slots| assembled(guesses, slots))
    }

    /// An instance of a subclass that exists only for the call.
    fn stand_in(
        &mut self,
        dotted: &str,
        own: Reference,
        class: &Class,
        step: Option<&ConstructorCall>,
        choice: Choice,
    ) -> Value {
        let mut members = Vec::new();
        for field in &class.fields {
            let shape = field
                .annotation
                .as_ref()
                .map_or(Shape::Any, |kind| annotation::shape_in(self.facts, kind, Some(dotted)));
            members.push((field.name.clone(), self.make(&shape, &field.name, choice.style)));
        }
        let is_wanted = |name: &str| {
            class.kind == ClassKind::Protocol
                || class.abstract_methods.iter().any(|known| known == name)
        };
        for method in class.methods.iter().filter(|method| is_wanted(&method.name)) {
            let shape = method
                .returns
                .as_ref()
                .map_or(Shape::Any, |kind| annotation::shape_in(self.facts, kind, Some(dotted)));
            let returned = match shape {
                // Itself will do.
                Shape::Instance(name) if name == dotted => None,
                shape => Some(self.make(&shape, &method.name, choice.style)),
            };
            let value = match (returned, method.is_property, method.is_async) {
                (Some(value), true, _) => value,
                (Some(value), false, true) => coroutine(value),
                (Some(value), false, false) => Value::Returns(Box::new(value)),
                (None, _, false) => Value::Argument(0),
                (None, _, true) => Value::Async(Box::new(Value::Argument(0))),
            };
            members.push((method.name.clone(), value));
        }
        for name in &class.abstract_methods {
            if members.iter().all(|(known, _)| known != name) {
                members.push((name.clone(), Value::Returns(Box::new(Value::None))));
            }
        }
        // Only an abstract class has a constructor that wants something.
        let (args, kwargs) = match step.filter(|_| class.kind != ClassKind::Protocol) {
            Some(step) => {
                let guesses = self.constructor(step.constructor.as_ref(), &step.params, dotted);
                let slots = self.slots(&guesses, choice);
                assembled(&guesses, slots)
            }
            None => (Vec::new(), Vec::new()),
        };
        Value::Stub { bases: vec![own], members, args, kwargs }
    }

    /// Calls that an instance may need before others make sense: what fills it, opens it, starts
    /// it, and what has returned before.
    pub(crate) fn preparations(
        &mut self,
        dotted: &str,
        but: &str,
        count: usize,
    ) -> Vec<MethodCall> {
        let Some(class) = self.facts.class(dotted) else { return Vec::new() };
        let lessons = Arc::clone(&self.lessons);
        let has_returned = |name: &str| {
            let told = self.facts.method(dotted, name);
            told.is_some_and(|told| lessons.has_returned(&told.section.id))
        };
        let mut fitting: Vec<&ClassMethod> = class
            .methods
            .iter()
            .filter(|method| {
                !method.is_property
                    && !method.is_async
                    && method.name != but
                    && (prepares(&method.name)
                        || !undoes(&method.name) && has_returned(&method.name))
            })
            .collect();
        while fitting.len() > count {
            let index = self.random.below(fitting.len() as u64) as usize;
            // What others were made for may stay twice as likely.
            if prepares(&fitting[index].name) && self.random.chance(0.5) {
                continue;
            }
            fitting.remove(index);
        }
        if self.random.chance(0.5) {
            fitting.reverse();
        }
        fitting.into_iter().map(|method| self.called(dotted, method)).collect()
    }

    fn called(&mut self, dotted: &str, method: &ClassMethod) -> MethodCall {
        let told = self.facts.method(dotted, &method.name);
        let lessons = Arc::clone(&self.lessons);
        let proven = told.and_then(|told| lessons.call(&told.section.id, &mut self.random));
        if let Some(((args, kwargs), files)) = proven {
            self.add_files(files);
            return MethodCall { name: method.name.clone(), args, kwargs };
        }
        let guesses = if let Some(told) = told {
            self.guesses(told, Some(dotted))
        } else {
            let params = method.params.iter();
            params.map(|param| infer::from_signature(self.facts, param, Some(dotted))).collect()
        };
        let slots = self.slots(&guesses, Choice::TYPICAL);
        let (args, kwargs) = assembled(&guesses, slots);
        MethodCall { name: method.name.clone(), args, kwargs }
    }
}

/// Does the name say that the method ends what others began?
fn undoes(name: &str) -> bool {
    const FIRST: [&str; 14] = [
        "close", "clear", "remove", "delete", "del", "pop", "stop", "end", "exit", "reset",
        "discard", "shutdown", "cancel", "release",
    ];
    let first = crate::input::topic::words(name).into_iter().next().unwrap_or_default();
    FIRST.contains(&first.as_str())
}

/// Does the name say that the method makes others possible?
fn prepares(name: &str) -> bool {
    const FIRST: [&str; 28] = [
        "add",
        "put",
        "append",
        "push",
        "set",
        "insert",
        "open",
        "start",
        "prepare",
        "connect",
        "begin",
        "load",
        "read",
        "feed",
        "write",
        "register",
        "init",
        "setup",
        "enter",
        "extend",
        "update",
        "store",
        "create",
        "parse",
        "enqueue",
        "configure",
        "acquire",
        "fit",
    ];
    let first = crate::input::topic::words(name).into_iter().next().unwrap_or_default();
    FIRST.contains(&first.as_str())
}
