//! Inputs of a section for machines.

use serde::Serialize;

use menace_model::{CallTarget, InputIntent, PyReference, Section, TargetKind, Value};
use menace_scenario::input::{CallInput, InputStrategy};

#[derive(Debug, Serialize)]
pub(crate) struct InputListJson<'a> {
    pub section: &'a str,
    pub target: String,
    pub seed: u64,
    pub inputs: Vec<GeneratedInputJson<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct GeneratedInputJson<'a> {
    pub strategy: InputStrategy,
    pub intent: InputIntent,
    pub receiver: Option<&'a Value>,
    pub args: &'a [Value],
    pub kwargs: Vec<(&'a str, &'a Value)>,
    /// Files that are there before the call.
    pub files: Vec<&'a str>,
    /// The call as Python source.
    pub python: String,
}

impl<'a> InputListJson<'a> {
    pub(crate) fn new(
        section: &'a Section,
        target: &CallTarget,
        seed: u64,
        made: &'a [CallInput],
    ) -> Self {
        let inputs = made.iter().map(|input| GeneratedInputJson {
            strategy: input.strategy,
            intent: input.intent,
            receiver: input.receiver.as_ref(),
            args: &input.args,
            kwargs: input.kwargs.iter().map(|(name, value)| (name.as_str(), value)).collect(),
            files: input.fixtures.files.iter().map(|file| file.path.as_str()).collect(),
            python: call_as_python(target, input),
        });
        Self {
            section: section.id.as_str(),
            target: format!("{}:{}", target.module.name, target.qualname),
            seed,
            inputs: inputs.collect(),
        }
    }
}

/// The call as it would be written; without imports of the names in it.
fn call_as_python(target: &CallTarget, input: &CallInput) -> String {
    let (args, kwargs) = (input.args.clone(), input.kwargs.clone());
    let name = target.qualname.rsplit('.').next().unwrap_or_default().to_owned();
    let call = match (&input.receiver, target.kind) {
        (Some(receiver), TargetKind::Property) => {
            return format!("{}.{name}", receiver.to_python().expression);
        }
        (Some(receiver), _) => {
            Some(Value::Method { on: Box::new(receiver.clone()), name, args, kwargs })
        }
        (None, _) => PyReference::new(&target.module.name, &target.qualname)
            .ok()
            .map(|class| Value::New { class, args, kwargs }),
    };
    call.map_or_else(String::new, |call| {
        let source = call.to_python();
        let mut lines = source.statements;
        lines.push(source.expression);
        lines.join("; ")
    })
}
