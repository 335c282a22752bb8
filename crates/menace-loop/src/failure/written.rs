//! A call as somebody would write it in Python.

use menace_model::{Call, How, Value};

/// Longer ones are cut: a hostile input may have millions of characters.
const LONGEST: usize = 4_000;

/// `discount([], None)`, `Cart().add(item=1)`; `import shop.cart` for the top level of a module.
pub fn python(call: &Call) -> String {
    let name = call.target.qualname.as_str();
    let callee = match (call.target.how, &call.receiver) {
        (How::Module, _) => return format!("import {}", call.target.module.name),
        (_, Some(receiver)) => {
            let method = name.rsplit('.').next().unwrap_or(name);
            format!("{}.{method}", expression(receiver))
        }
        (_, None) => name.to_owned(),
    };
    if call.target.how == How::Property {
        return cut(callee);
    }
    let args = call.args.iter().map(expression);
    let kwargs = call.kwargs.iter().map(|(name, value)| format!("{name}={}", expression(value)));
    let arguments: Vec<String> = args.chain(kwargs).collect();
    cut(format!("{callee}({})", arguments.join(", ")))
}

fn expression(value: &Value) -> String {
    value.to_python().expression
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{ModuleRef, Target};

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
    fn a_huge_input_is_cut() {
        let huge = Call {
            args: vec![Value::from("x".repeat(1_000_000).as_str())],
            ..call("f", How::Function)
        };
        assert_eq!(python(&huge).chars().count(), LONGEST + 1);
    }
}
