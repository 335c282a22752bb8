//! The call of a failure as Python source.

use menace_model::{Call, CallStep, PyReference, PythonSource, TargetKind, Value};

/// Enough to get from anywhere to the root.
const MAX_PARENT_STEPS: usize = 24;
const PARENT_DIR: &str = "../";

/// A Python literal of the text.
pub(super) fn literal(text: &str) -> String {
    Value::from(text).to_python().expression
}

pub(super) fn bytes(content: &[u8]) -> String {
    Value::Bytes(content.to_vec()).to_python().expression
}

/// An expression that makes the call.
pub(super) fn call(call: &Call) -> Result<PythonSource, String> {
    let (args, kwargs) = (call.args.clone(), call.kwargs.clone());
    let value = match (call.target.kind, &call.receiver) {
        (TargetKind::Module, _) => {
            return Err("the top level of a module cannot be called".to_owned());
        }
        (TargetKind::Method, Some(receiver)) if is_entered(call) => {
            return Ok(with(receiver, &method(call)));
        }
        (TargetKind::Method, Some(receiver)) => {
            Value::Method { on: Box::new(receiver.clone()), name: method(call), args, kwargs }
        }
        (TargetKind::Property, Some(receiver)) => Value::Method {
            on: Box::new(receiver.clone()),
            name: "__getattribute__".to_owned(),
            args: vec![Value::from(method(call))],
            kwargs: Vec::new(),
        },
        (TargetKind::Method | TargetKind::Property, None) => {
            return Err("it has no instance".to_owned());
        }
        _ => Value::New { class: section(call)?, args, kwargs },
    };
    Ok(value.to_python())
}

/// Calling its method makes a whole `with` of an instance.
fn is_entered(call: &Call) -> bool {
    matches!(method(call).as_str(), "__enter__" | "__aenter__")
        && call.args.is_empty()
        && call.kwargs.is_empty()
}

fn with(receiver: &Value, method: &str) -> PythonSource {
    let mut source = receiver.to_python();
    let manager = &source.expression;
    let (statement, entered) = if method == "__enter__" {
        (format!("with {manager} as entered:\n    pass"), "entered")
    } else {
        let inner = format!("    async with {manager} as entered:\n        return entered");
        (format!("async def through():\n{inner}"), "through()")
    };
    source.statements.push(statement);
    entered.clone_into(&mut source.expression);
    source
}

/// The receiver, the arguments and the keyword arguments, in one tuple.
pub(super) fn parts(call: &Call) -> PythonSource {
    let kwargs =
        call.kwargs.iter().map(|(name, value)| (Value::from(name.as_str()), value.clone()));
    let receiver = call.receiver.clone().unwrap_or(Value::None);
    let parts = vec![receiver, Value::Tuple(call.args.clone()), Value::Dict(kwargs.collect())];
    Value::Tuple(parts).to_python()
}

/// The section itself.
pub(super) fn section(call: &Call) -> Result<PyReference, String> {
    let target = &call.target;
    PyReference::new(&target.module.name, &target.qualname)
        .map_err(|_| format!("nothing can be imported as `{}`", target.qualname))
}

/// The last part of its name.
pub(super) fn method(call: &Call) -> String {
    let qualname = &call.target.qualname;
    qualname.rsplit('.').next().unwrap_or(qualname).to_owned()
}

/// Replaces the number of parent directories in paths, which depends on where the repository is.
pub(super) fn replace_parent_paths(call: &Call) -> Call {
    let mut call = call.clone();
    let CallStep { args, kwargs, .. } = &mut call.step;
    let kwargs = kwargs.iter_mut().map(|(_, value)| value);
    for value in args.iter_mut().chain(kwargs) {
        if let Value::Str(text) = value
            && let Some(text) = text.as_str()
            && let Some(at) = text.find(PARENT_DIR)
        {
            let rest = text[at..].trim_start_matches(PARENT_DIR);
            *value = Value::from(format!(
                "{}{}{rest}",
                &text[..at],
                PARENT_DIR.repeat(MAX_PARENT_STEPS)
            ));
        }
    }
    call
}

/// `def name():` with imports, preparing statements, and the result.
pub(super) fn function(name: &str, source: &PythonSource) -> Vec<String> {
    let mut lines = vec![format!("def {name}():")];
    for statement in source.imports.iter().chain(&source.statements) {
        lines.extend(statement.lines().map(|line| format!("    {line}")));
    }
    lines.push(format!("    return {}", source.expression));
    lines
}

#[cfg(test)]
mod tests {
    use menace_model::{CallTarget, ModuleRef};

    use super::*;

    #[test]
    fn what_is_entered_is_left() {
        let written = |name: &str| {
            let module = ModuleRef { name: "shop".to_owned(), path: None };
            let target =
                CallTarget { module, qualname: format!("Lock.{name}"), kind: TargetKind::Method };
            let class = PyReference::new("shop", "Lock").unwrap();
            let receiver = Value::New { class, args: Vec::new(), kwargs: Vec::new() };
            let asked =
                Call::of_step(CallStep { receiver: Some(receiver), ..CallStep::new(target) });
            function("call", &call(&asked).unwrap())[2..].join("\n")
        };
        let sync = "    with shop.Lock() as entered:\n        pass\n    return entered";
        assert_eq!(written("__enter__"), sync);
        let coroutine = [
            "    async def through():",
            "        async with shop.Lock() as entered:",
            "            return entered",
            "    return through()",
        ];
        assert_eq!(written("__aenter__"), coroutine.join("\n"));
        assert_eq!(written("__exit__"), "    return shop.Lock().__exit__()");
    }
}
