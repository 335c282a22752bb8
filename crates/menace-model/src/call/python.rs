//! Prints a call as Python source, for display.

use crate::{Call, TargetKind, Value, truncate_chars};

/// Longer source is truncated: a hostile input may have millions of characters.
const MAX_SOURCE_CHARS: usize = 4_000;

impl Call {
    /// `discount([], None)`, `Cart().add(item=1)`; `import shop.cart` for a module's top-level
    /// code. Statements that have to run before follow as a comment: `v1.pay()  # v1 = Cart();
    /// v1.add(1)`.
    pub fn to_python(&self) -> String {
        let name = self.target.qualname.as_str();
        if self.target.kind == TargetKind::Module {
            return format!("import {}", self.target.module.name);
        }
        let keyword_values = self.kwargs.iter().map(|(_, value)| value);
        let values = self.args.iter().chain(keyword_values);
        let made = Value::all_to_python(self.receiver.as_ref(), values);
        let (lets, mut expressions) = (made.statements, made.expressions.into_iter());
        let callee = match &self.receiver {
            Some(_) => {
                let method = name.rsplit('.').next().unwrap_or(name);
                format!("{}.{method}", expressions.next().unwrap_or_default())
            }
            None => name.to_owned(),
        };
        let names =
            self.args.iter().map(|_| None).chain(self.kwargs.iter().map(|(name, _)| Some(name)));
        let arguments: Vec<String> = names
            .zip(expressions)
            .map(|(name, value)| name.map_or(value.clone(), |name| format!("{name}={value}")))
            .collect();
        let mut text = match self.target.kind {
            TargetKind::Property => callee,
            _ => format!("{callee}({})", arguments.join(", ")),
        };
        if !lets.is_empty() {
            // The body of a function is on the line after its head.
            let statements: Vec<String> =
                lets.iter().map(|one| one.replace(":\n    ", ": ")).collect();
            text = format!("{text}  # {}", statements.join("; "));
        }
        truncate_chars(&text, MAX_SOURCE_CHARS)
    }
}

#[cfg(test)]
mod tests {
    use crate::{CallStep, CallTarget, MethodCall, ModuleRef};

    use super::*;

    fn call(qualname: &str, kind: TargetKind) -> Call {
        let module = ModuleRef { name: "shop.cart".to_owned(), path: None };
        Call::new(CallTarget { module, qualname: qualname.to_owned(), kind })
    }

    #[test]
    fn a_call_is_written_as_python_source() {
        let function = Call::of_step(CallStep {
            args: vec![Value::List(Vec::new()), Value::None],
            kwargs: vec![("tax".to_owned(), Value::Float(0.5))],
            ..call("discount", TargetKind::Function).step
        });
        assert_eq!(function.to_python(), "discount([], None, tax=0.5)");
        let method = Call::of_step(CallStep {
            receiver: Some(Value::from("x")),
            args: vec![Value::Int(1)],
            ..call("Cart.add", TargetKind::Method).step
        });
        assert_eq!(method.to_python(), "'x'.add(1)");
        assert_eq!(call("", TargetKind::Module).to_python(), "import shop.cart");
    }

    #[test]
    fn statements_before_a_call_are_written_once() {
        let list = |method: &str| Value::After {
            value: Box::new(Value::List(Vec::new())),
            calls: vec![MethodCall {
                name: method.to_owned(),
                args: vec![Value::Int(1)],
                kwargs: Vec::new(),
            }],
        };
        let call = Call::of_step(CallStep {
            receiver: Some(list("append")),
            args: vec![Value::Int(2)],
            kwargs: vec![("more".to_owned(), list("extend"))],
            ..call("Cart.add", TargetKind::Method).step
        });
        let first = "v1 = []; v1.append(1); v2 = []; v2.extend(1)";
        assert_eq!(call.to_python(), format!("v1.add(2, more=v2)  # {first}"));
    }

    #[test]
    fn a_huge_input_is_truncated() {
        let huge = Call::of_step(CallStep {
            args: vec![Value::from("x".repeat(1_000_000).as_str())],
            ..call("f", TargetKind::Function).step
        });
        assert_eq!(huge.to_python().chars().count(), MAX_SOURCE_CHARS + 1);
    }
}
