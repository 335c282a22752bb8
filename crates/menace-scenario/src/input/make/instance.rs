//! Instances of the repository's classes, through their constructors.

use std::sync::Arc;

use menace_model::{
    ClassInfo, ClassKind, ClassMethod, ConstructionBlocker, ConstructorCall, FixtureFile,
    MethodCall, PyReference, SectionId, SignatureParam, Value,
};

use super::arguments::{ArgumentPolicy, assemble_call, fit_to_params};
use super::objects::make_coroutine;
use super::{ValueMaker, ValueStyle};
use crate::input::infer::{self, ParamGuess, annotation};
use crate::input::python;
use crate::input::repository_facts::SectionContext;
use crate::input::shape::{RecordField, ValueShape};

/// Depth of instances that are constructed of instances.
const MAX_NESTED_INSTANCES: usize = 4;

impl ValueMaker<'_, '_> {
    /// An instance of a class, by its dotted name; none when it cannot be constructed.
    pub(crate) fn make_instance(&mut self, dotted: &str, choice: ArgumentPolicy) -> Option<Value> {
        let turn = match choice.tries_other_shapes {
            true if self.random.chance(0.4) => return self.make_fresh_instance(dotted, choice),
            true => None,
            false => Some(self.turn),
        };
        self.make_proven_instance(dotted, turn).or_else(|| self.make_fresh_instance(dotted, choice))
    }

    /// A newly constructed instance, without learned hints about instances.
    pub(crate) fn make_fresh_instance(
        &mut self,
        dotted: &str,
        choice: ArgumentPolicy,
    ) -> Option<Value> {
        let class = self.facts.class(dotted)?;
        self.while_building(dotted, |maker| maker.make_of_class(dotted, class, choice))
    }

    /// Calls `inside` while an instance of the class is constructed; none where that would recurse.
    pub(crate) fn while_building<T>(
        &mut self,
        dotted: &str,
        inside: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.building.len() >= MAX_NESTED_INSTANCES
            || self.building.iter().any(|name| name == dotted)
        {
            return None;
        }
        self.building.push(dotted.to_owned());
        let done = inside(self);
        self.building.pop();
        done
    }

    /// An instance that worked before: the `turn`th best, or a random one.
    pub(crate) fn make_proven_instance(
        &mut self,
        dotted: &str,
        turn: Option<usize>,
    ) -> Option<Value> {
        let learned_hints = Arc::clone(&self.learned_hints);
        let (value, files) = learned_hints.instance(dotted, turn, &mut self.random)?;
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

    fn make_of_class(
        &mut self,
        dotted: &str,
        class: &ClassInfo,
        choice: ArgumentPolicy,
    ) -> Option<Value> {
        let own = PyReference::new(&class.module, &class.qualname).ok()?;
        match class.kind {
            ClassKind::Enum => return self.make_enum_member(&own, &class.members, choice.style),
            ClassKind::TypedDict => return Some(self.make_typed_dict(dotted, class, choice.style)),
            _ => {}
        }
        let step = class.construction.steps.last();
        match (&class.construction.blocker, step) {
            (Some(ConstructionBlocker::Local { .. }), _) => None,
            (Some(ConstructionBlocker::Abstract { .. } | ConstructionBlocker::Protocol), _) => {
                Some(self.make_subclass_instance(dotted, own, class, step, choice))
            }
            (_, Some(step)) => self.call_constructor(step, choice),
            (_, None) => Some(Value::New { class: own, args: Vec::new(), kwargs: Vec::new() }),
        }
    }

    fn make_enum_member(
        &mut self,
        class: &PyReference,
        members: &[String],
        style: ValueStyle,
    ) -> Option<Value> {
        let member = match style {
            ValueStyle::Typical => members.get(self.turn % members.len().max(1)),
            _ => self.random.pick(members),
        }?;
        let name = format!("{}.{member}", class.qualname());
        PyReference::new(class.module(), &name).ok().map(Value::Name)
    }

    fn make_typed_dict(&mut self, dotted: &str, class: &ClassInfo, style: ValueStyle) -> Value {
        let fields = self.typed_dict_fields(dotted, class);
        self.make_value(&ValueShape::Record(fields), "", style)
    }

    /// The fields of a typed dictionary.
    pub(crate) fn typed_dict_fields(&self, dotted: &str, class: &ClassInfo) -> Vec<RecordField> {
        let field = |field: &menace_model::ClassField| RecordField {
            name: field.name.clone(),
            shape: field.annotation.as_ref().map_or(ValueShape::Any, |kind| {
                annotation::annotation_shape_in_class(self.facts, kind, Some(dotted))
            }),
            required: field.required,
        };
        class.fields.iter().map(field).collect()
    }

    /// The constructor of a class and its parameters; none when it cannot be called.
    pub(crate) fn constructor_params(
        &self,
        class: &ClassInfo,
    ) -> Option<(PyReference, Vec<ParamGuess>)> {
        let blocked = class.construction.blocker.as_ref();
        let step = class.construction.steps.last()?;
        let is_out_of_reach = |why: &ConstructionBlocker| {
            !matches!(why, ConstructionBlocker::Recursive | ConstructionBlocker::TooDeep)
        };
        if blocked.is_some_and(is_out_of_reach) || !step.members.is_empty() {
            return None;
        }
        let guesses =
            self.constructor_guesses(step.constructor.as_ref(), &step.params, &step.class);
        Some((self.facts.reference(&step.class)?, guesses))
    }

    /// A call of the constructor.
    pub(crate) fn call_constructor(
        &mut self,
        step: &ConstructorCall,
        choice: ArgumentPolicy,
    ) -> Option<Value> {
        let class = self.facts.reference(&step.class)?;
        if !step.members.is_empty() {
            return self.make_enum_member(&class, &step.members, choice.style);
        }
        let guesses =
            self.constructor_guesses(step.constructor.as_ref(), &step.params, &step.class);
        let context = step.constructor.as_ref().and_then(|id| self.facts.section(id));
        if let Some(context) = context
            && choice.tries_other_shapes
            && !self.has_type_arguments(&step.class)
            && self.random.chance(0.5)
            && let Some((args, kwargs)) = self.call_site_arguments(context, &guesses)
        {
            return Some(Value::New { class, args, kwargs });
        }
        let slots = self.make_slots(&guesses, choice);
        let (args, kwargs) = assemble_call(&guesses, slots);
        Some(Value::New { class, args, kwargs })
    }

    /// Are type arguments of the class known? Earlier instances may have other ones.
    pub(super) fn has_type_arguments(&self, class: &str) -> bool {
        self.type_arguments.iter().any(|(applied, _)| applied == class)
    }

    /// Calls `inside` with type arguments for a generic class.
    pub(crate) fn with_type_arguments<T>(
        &mut self,
        class: &ValueShape,
        args: &[ValueShape],
        inside: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let ValueShape::Instance(class) = class else { return inside(self) };
        self.type_arguments.push((class.clone(), args.to_vec()));
        let done = inside(self);
        self.type_arguments.pop();
        done
    }

    /// Parameters of the constructor: from its source if known, else from its signature.
    fn constructor_guesses(
        &self,
        id: Option<&SectionId>,
        params: &[SignatureParam],
        class: &str,
    ) -> Vec<ParamGuess> {
        let context = id.and_then(|id| self.facts.section(id));
        let mut guesses: Vec<ParamGuess> = match context {
            Some(context) => self.guess_params(context, Some(class)),
            None => params
                .iter()
                .map(|param| infer::from_signature(self.facts, param, Some(class)))
                .collect(),
        };
        if let Some((_, args)) =
            self.type_arguments.iter().rev().find(|(applied, _)| applied == class)
        {
            let params = context.map_or(params, |context| &context.section.params);
            annotation::apply_type_arguments(self.facts, class, params, args, &mut guesses);
        }
        guesses
    }

    fn guess_params(&self, context: SectionContext<'_>, class: Option<&str>) -> Vec<ParamGuess> {
        let mut guesses = infer::guess_params(self.facts, context, class);
        self.learned_hints.apply_to_guesses(self.facts, &context.section.id, &mut guesses);
        guesses
    }

    /// The arguments of a random call site in the repository.
    pub(crate) fn call_site_arguments(
        &mut self,
        context: SectionContext<'_>,
        guesses: &[ParamGuess],
    ) -> Option<super::CallArguments> {
        let site = self.random.pick(&context.hints.call_sites)?;
        let resolve = |name: &str| self.facts.reference(name);
        let args: Option<Vec<Value>> =
            site.args.iter().map(|source| python::parse_value(source, &resolve)).collect();
        let kwargs: Option<Vec<(String, Value)>> = site
            .kwargs
            .iter()
            .map(|(name, source)| Some((name.clone(), python::parse_value(source, &resolve)?)))
            .collect();
        fit_to_params(guesses, args?, kwargs?).map(|slots| assemble_call(guesses, slots))
    }

    /// An instance of a stub subclass of an abstract class or protocol.
    fn make_subclass_instance(
        &mut self,
        dotted: &str,
        own: PyReference,
        class: &ClassInfo,
        step: Option<&ConstructorCall>,
        choice: ArgumentPolicy,
    ) -> Value {
        let mut members = Vec::new();
        for field in &class.fields {
            let shape = field.annotation.as_ref().map_or(ValueShape::Any, |kind| {
                annotation::annotation_shape_in_class(self.facts, kind, Some(dotted))
            });
            members.push((field.name.clone(), self.make_value(&shape, &field.name, choice.style)));
        }
        let is_wanted = |name: &str| {
            class.kind == ClassKind::Protocol
                || class.abstract_methods.iter().any(|known| known == name)
        };
        for method in class.methods.iter().filter(|method| is_wanted(&method.name)) {
            let shape = method.returns.as_ref().map_or(ValueShape::Any, |kind| {
                annotation::annotation_shape_in_class(self.facts, kind, Some(dotted))
            });
            let returned = match shape {
                // The stub itself is returned.
                ValueShape::Instance(name) if name == dotted => None,
                shape => Some(self.make_value(&shape, &method.name, choice.style)),
            };
            let value = match (returned, method.is_property, method.is_async) {
                (Some(value), true, _) => value,
                (Some(value), false, true) => make_coroutine(value),
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
        // A protocol has no constructor.
        let (args, kwargs) = match step.filter(|_| class.kind != ClassKind::Protocol) {
            Some(step) => {
                let guesses =
                    self.constructor_guesses(step.constructor.as_ref(), &step.params, dotted);
                let slots = self.make_slots(&guesses, choice);
                assemble_call(&guesses, slots)
            }
            None => (Vec::new(), Vec::new()),
        };
        Value::Stub { bases: vec![own], members, args, kwargs }
    }

    /// Calls that prepare an instance for the tested call: setup methods, and methods that have
    /// returned before.
    pub(crate) fn preparation_calls(
        &mut self,
        dotted: &str,
        but: &str,
        count: usize,
    ) -> Vec<MethodCall> {
        let Some(class) = self.facts.class(dotted) else { return Vec::new() };
        let learned_hints = Arc::clone(&self.learned_hints);
        let has_returned = |name: &str| {
            let context = self.facts.method(dotted, name);
            context.is_some_and(|context| learned_hints.has_returned(&context.section.id))
        };
        let mut fitting: Vec<&ClassMethod> = class
            .methods
            .iter()
            .filter(|method| {
                !method.is_property
                    && !method.is_async
                    && method.name != but
                    && (is_setup_method(&method.name)
                        || !is_teardown_method(&method.name) && has_returned(&method.name))
            })
            .collect();
        while fitting.len() > count {
            let index = self.random.next_below(fitting.len() as u64) as usize;
            // Setup methods are kept twice as likely.
            if is_setup_method(&fitting[index].name) && self.random.chance(0.5) {
                continue;
            }
            fitting.remove(index);
        }
        if self.random.chance(0.5) {
            fitting.reverse();
        }
        fitting.into_iter().map(|method| self.make_method_call(dotted, method)).collect()
    }

    fn make_method_call(&mut self, dotted: &str, method: &ClassMethod) -> MethodCall {
        let context = self.facts.method(dotted, &method.name);
        let learned_hints = Arc::clone(&self.learned_hints);
        let proven = context.and_then(|context| {
            learned_hints.returned_arguments(&context.section.id, &mut self.random)
        });
        if let Some(((args, kwargs), files)) = proven {
            self.add_files(files);
            return MethodCall { name: method.name.clone(), args, kwargs };
        }
        let guesses = if let Some(context) = context {
            self.guess_params(context, Some(dotted))
        } else {
            let params = method.params.iter();
            params.map(|param| infer::from_signature(self.facts, param, Some(dotted))).collect()
        };
        let slots = self.make_slots(&guesses, ArgumentPolicy::TYPICAL);
        let (args, kwargs) = assemble_call(&guesses, slots);
        MethodCall { name: method.name.clone(), args, kwargs }
    }
}

/// Does the name say that the method ends or removes something?
fn is_teardown_method(name: &str) -> bool {
    const TEARDOWN_WORDS: [&str; 14] = [
        "close", "clear", "remove", "delete", "del", "pop", "stop", "end", "exit", "reset",
        "discard", "shutdown", "cancel", "release",
    ];
    let first = crate::input::name_topics::split_words(name).into_iter().next().unwrap_or_default();
    TEARDOWN_WORDS.contains(&first.as_str())
}

/// Does the name say that the method fills or opens something?
fn is_setup_method(name: &str) -> bool {
    const SETUP_WORDS: [&str; 28] = menace_model::words![
        add put append push set insert open start prepare connect begin load read feed write
        register init setup enter extend update store create parse enqueue configure acquire fit
    ];
    let first = crate::input::name_topics::split_words(name).into_iter().next().unwrap_or_default();
    SETUP_WORDS.contains(&first.as_str())
}
