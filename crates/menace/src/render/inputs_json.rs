//! Inputs of a section for machines.

use serde::Serialize;

use menace_model::{How, Intent, Reference, Section, Target, Value};
use menace_scenario::input::{Input, Strategy};

#[derive(Debug, Serialize)]
pub(crate) struct InputsJson<'a> {
    pub section: &'a str,
    pub target: String,
    pub seed: u64,
    pub inputs: Vec<InputJson<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct InputJson<'a> {
    pub strategy: Strategy,
    pub intent: Intent,
    pub receiver: Option<&'a Value>,
    pub args: &'a [Value],
    pub kwargs: Vec<(&'a str, &'a Value)>,
    /// Files that are there before the call.
    pub files: Vec<&'a str>,
    /// The call as Python source.
    pub python: String,
}

impl<'a> InputsJson<'a> {
    pub(crate) fn new(section: &'a Section, target: &Target, seed: u64, made: &'a [Input]) -> Self {
        let inputs = made.iter().map(|input| InputJson {
            strategy: input.strategy,
            intent: input.intent,
            receiver: input.receiver.as_ref(),
            args: &input.args,
            kwargs: input.kwargs.iter().map(|(name, value)| (name.as_str(), value)).collect(),
            files: input.fixtures.files.iter().map(|file| file.path.as_str()).collect(),
            python: python(target, input),
        });
        Self {
            section: section.id.as_str(),
            target: format!("{}:{}", target.module.name, target.qualname),
            seed,
            inputs: inputs.collect(),
        }
    }
}

/// The call as it would be written; names are imported by whoever runs it.
fn python(target: &Target, input: &Input) -> String {
    let (args, kwargs) = (input.args.clone(), input.kwargs.clone());
    let name = target.qualname.rsplit('.').next().unwrap_or_default().to_owned();
    let call = match (&input.receiver, target.how) {
        (Some(receiver), How::Property) => {
            return format!("{}.{name}", receiver.to_python().expression);
        }
        (Some(receiver), _) => {
            Some(Value::Method { on: Box::new(receiver.clone()), name, args, kwargs })
        }
        (None, _) => Reference::new(&target.module.name, &target.qualname)
            .ok()
            .map(|class| Value::New { class, args, kwargs }),
    };
    call.map_or_else(String::new, |call| {
        let source = call.to_python();
        let mut lines = source.lets;
        lines.push(source.expression);
        lines.join("; ")
    })
}
