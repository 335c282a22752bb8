//! Builds the receiver of a method when the user gives none.
//!
//! It follows the section's construction plan as long as all arguments are known; `menace-scenario`
//! invents arguments.

use anyhow::{Error, anyhow};

use menace_model::{
    ConstructionBlocker, ConstructionPlan, ConstructorCall, ParamKind, PyReference, Section,
    SignatureParam, TypeExpr, Value,
};
use menace_source::Analysis;

use crate::call_target::ResolvedTarget;

/// The instance, or a message that shows how to give one.
pub(super) fn construct_receiver(
    analysis: &Analysis,
    found: &ResolvedTarget<'_>,
    section: &Section,
) -> Result<Value, Error> {
    let name = format!("{}:{}", found.target.module.name, found.target.qualname);
    let plan = section.construction.as_deref();
    if let Some(ConstructionPlan { blocker: Some(blocked), .. }) = plan {
        return Err(receiver_needed_error(
            &name,
            &blocked_reason(blocked),
            &class_call_json(found),
        ));
    }
    let Some((plan, last)) = plan.and_then(|plan| Some((plan, plan.steps.last()?))) else {
        return Err(receiver_needed_error(
            &name,
            "nothing is known about its class",
            &class_call_json(found),
        ));
    };
    build_instance(analysis, plan, last, MissingArguments::Refused).map_err(|missing| {
        let shown = build_instance(analysis, plan, last, MissingArguments::Invented)
            .ok()
            .and_then(|value| serde_json::to_string(&value).ok())
            .map_or_else(|| class_call_json(found), |json| json.replace('\'', "\\u0027"));
        receiver_needed_error(&name, &missing, &shown)
    })
}

fn receiver_needed_error(name: &str, why: &str, json: &str) -> Error {
    anyhow!("`{name}` needs an instance, and {why}; give one, for example\n  --receiver '{json}'")
}

/// A call of the class without arguments, in the notation for users.
fn class_call_json(found: &ResolvedTarget<'_>) -> String {
    let class = found.target.qualname.rsplit_once('.').map_or("Class", |(class, _)| class);
    format!("{{\"$call\": \"{}:{class}\", \"args\": []}}", found.target.module.name)
}

fn blocked_reason(blocked: &ConstructionBlocker) -> String {
    match blocked {
        ConstructionBlocker::Abstract { methods } => {
            format!("its class is abstract ({}) and has no subclass here", methods.join(", "))
        }
        ConstructionBlocker::Protocol => {
            "its class is a protocol that nothing here names as a base".to_owned()
        }
        ConstructionBlocker::Local { function } => {
            format!("its class is defined inside `{function}`")
        }
        ConstructionBlocker::Recursive => "making one takes another one".to_owned(),
        ConstructionBlocker::TooDeep => "making one takes too many others".to_owned(),
    }
}

/// How missing arguments are treated.
#[derive(Clone, Copy, PartialEq)]
enum MissingArguments {
    Refused,
    /// Replaced by placeholders, for an example in a message.
    Invented,
}

/// Builds the value of one step of the plan; an error names the missing arguments.
fn build_instance(
    analysis: &Analysis,
    plan: &ConstructionPlan,
    step: &ConstructorCall,
    missing: MissingArguments,
) -> Result<Value, String> {
    let class = class_reference(analysis, &step.class)
        .ok_or_else(|| format!("`{}` is not part of the repository", step.class))?;
    if let Some(member) = step.members.first() {
        let member = PyReference::new(class.module(), &format!("{}.{member}", class.qualname()));
        return member.map(Value::Name).map_err(|error| error.to_string());
    }
    if !step.signature_known && missing == MissingArguments::Refused {
        return Err(format!("the constructor of `{}` is outside of the repository", step.class));
    }
    let (mut args, mut kwargs) = (Vec::new(), Vec::new());
    for param in step.params.iter().filter(|param| is_required(param)) {
        let earlier = plan.steps.iter().find(|other| {
            other.class != step.class
                && param.resolved.as_ref().is_some_and(|kind| is_named(kind, &other.class))
        });
        let value = match (earlier, missing) {
            (Some(earlier), _) => build_instance(analysis, plan, earlier, missing)?,
            (None, MissingArguments::Invented) => placeholder(param),
            (None, MissingArguments::Refused) => {
                let kind = param.annotation.as_ref().map_or(String::new(), |it| format!(": {it}"));
                return Err(format!("`{}` takes `{}{kind}`", step.class, param.name));
            }
        };
        match param.kind {
            ParamKind::KeywordOnly => kwargs.push((param.name.clone(), value)),
            _ => args.push(value),
        }
    }
    Ok(Value::New { class, args, kwargs })
}

fn is_required(param: &SignatureParam) -> bool {
    let variable = matches!(param.kind, ParamKind::VarPositional | ParamKind::VarKeyword);
    param.default.is_none() && !variable
}

fn is_named(kind: &TypeExpr, class: &str) -> bool {
    matches!(kind, TypeExpr::Name(name) if name == class)
}

/// The class by module and name: the longest module that the dotted name begins with.
fn class_reference(analysis: &Analysis, class: &str) -> Option<PyReference> {
    class.match_indices('.').rev().find_map(|(at, _)| {
        let module = &class[..at];
        let known = analysis.modules.iter().any(|report| report.name == module);
        known.then(|| PyReference::new(module, &class[at + 1..]).ok())?
    })
}

/// A placeholder of about the right type, which the user should replace.
fn placeholder(param: &SignatureParam) -> Value {
    let kind = match &param.resolved {
        Some(TypeExpr::Name(name)) => name.as_str(),
        Some(TypeExpr::Generic { base, .. }) => match &**base {
            TypeExpr::Name(name) => name.as_str(),
            _ => "",
        },
        _ => "",
    };
    match kind.rsplit('.').next().unwrap_or_default() {
        "str" => Value::from(param.name.as_str()),
        "int" => Value::Int(1),
        "float" => Value::Float(1.5),
        "bool" => Value::Bool(false),
        "list" | "List" | "Sequence" | "Iterable" => Value::List(Vec::new()),
        "dict" | "Dict" | "Mapping" => Value::Dict(Vec::new()),
        "Decimal" => match PyReference::new("decimal", "Decimal") {
            Ok(class) => Value::New { class, args: vec![Value::from("1.50")], kwargs: Vec::new() },
            Err(_) => Value::None,
        },
        _ => Value::None,
    }
}
