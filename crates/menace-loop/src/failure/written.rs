//! A call as somebody would write it in Python.

use menace_model::{Call, How, Value};

/// Longer ones are cut: a hostile input may have millions of characters.
const LONGEST: usize = 4_000;

/// `discount([], None)`, `Cart().add(item=1)`; `import shop.cart` for the top level of a module. What has
/// to be made first follows as a comment: `v1.pay()  # v1 = Cart(); v1.add(1)`.
pub fn python(call: &Call) -> String {
    let name = call.target.qualname.as_str();
    if call.target.how == How::Module {
        return format!("import {}", call.target.module.name);
    }
    let given = call.kwargs.iter().map(|(_, value)| value);
    let values = call.receiver.iter().chain(&call.args).chain(given);
    let (lets, expressions) = Value::several_to_python(values);
    let mut expressions = expressions.into_iter();
    let callee = match &call.receiver {
        Some(_) => {
            let method = name.rsplit('.').next().unwrap_or(name);
            format!("{}.{method}", expressions.next().unwrap_or_default())
        }
        None => name.to_owned(),
    };
    let names =
        call.args.iter().map(|_| None).chain(call.kwargs.iter().map(|(name, _)| Some(name)));
    let arguments: Vec<String> = names
        .zip(expressions)
        .map(|(name, value)| name.map_or(value.clone(), |name| format!("{name}={value}")))
        .collect();
    let mut text = match call.target.how {
        How::Property => callee,
        _ => format!("{callee}({})", arguments.join(", ")),
    };
    if !lets.is_empty() {
        // A function has its body on the next line.
        let first: Vec<String> = lets.iter().map(|one| one.replace(":\n    ", ": ")).collect();
        text = format!("{text}  # {}", first.join("; "));
    }
    cut(text)
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{MethodCall, ModuleRef, Target};

    use super::*;

    fn call(qualname: &str, how: How) -> Call {
        let module = ModuleRef { name: "shop.cart".to_owned(), path: None };
        Call::new(Target { module, qualname: qualname.to_owned(), how })
    }

    #[test]
    fn a_call_is_written_as_somebody_would() {
        let function = Call {
            args: vec![Value::List(Vec::new()), Value::None],
            kwargs: vec![("tax".to_owned(), Value::Float(0.5))],
            ..call("discount", How::Function)
        };
        assert_eq!(python(&function), "discount([], None, tax=0.5)");
        let method = Call {
            receiver: Some(Value::from("x")),
            args: vec![Value::Int(1)],
            ..call("Cart.add", How::Method)
        };
        assert_eq!(python(&method), "'x'.add(1)");
        assert_eq!(python(&call("", How::Module)), "import shop.cart");
    }

    #[test]
    fn what_has_to_be_made_first_is_told_once_for_all_of_a_call() {
        let list = |method: &str| Value::After {
            value: Box::new(Value::List(Vec::new())),
            calls: vec![MethodCall {
                name: method.to_owned(),
                args: vec![Value::Int(1)],
                kwargs: Vec::new(),
            }],
        };
        let call = Call {
            receiver: Some(list("append")),
            args: vec![Value::Int(2)],
            kwargs: vec![("more".to_owned(), list("extend"))],
            ..call("Cart.add", How::Method)
        };
        let first = "v1 = []; v1.append(1); v2 = []; v2.extend(1)";
        assert_eq!(python(&call), format!("v1.add(2, more=v2)  # {first}"));
    }

    #[test]
    fn a_huge_input_is_cut() {
        let huge = Call {
            args: vec![Value::from("x".repeat(1_000_000).as_str())],
            ..call("f", How::Function)
        };
        assert_eq!(python(&huge).chars().count(), LONGEST + 1);
    }
}
