//! Prints a call as a snippet that can be pasted into a plain Python interpreter: imports and files
//! first, then the set-up, then the call, with operators in place of special methods.

use crate::{Call, CallStage, Outcome, PyReference, PythonParts, TargetKind, Value};

/// Python source that shows what an outcome reports of this call.
pub fn format_snippet(call: &Call, outcome: &Outcome) -> String {
    if call.target.kind == TargetKind::Module {
        return format!("import {}\n", call.target.module.name);
    }
    let is_consumed = outcome.stage == CallStage::Consume
        || outcome.value.as_ref().is_some_and(|value| value.items.is_some());
    let written = write_call(call);
    let mut lines: Vec<String> = written.imports;
    let fixtures = &call.fixtures;
    if !fixtures.files.is_empty() {
        lines.push("from pathlib import Path".to_owned());
    }
    if !fixtures.environment.is_empty() {
        lines.push("import os".to_owned());
    }
    lines.sort();
    lines.dedup();
    for file in &fixtures.files {
        let path = literal(&Value::from(file.path.as_str()));
        if let Some((directory, _)) = file.path.rsplit_once('/') {
            let directory = literal(&Value::from(directory));
            lines.push(format!("Path({directory}).mkdir(parents=True, exist_ok=True)"));
        }
        let content = literal(&Value::Bytes(file.content.clone()));
        lines.push(format!("Path({path}).write_bytes({content})"));
    }
    for (name, value) in &fixtures.environment {
        let (name, value) =
            (literal(&Value::from(name.as_str())), literal(&Value::from(value.as_str())));
        lines.push(format!("os.environ[{name}] = {value}"));
    }
    for statement in written.statements {
        let is_block = statement.contains('\n');
        lines.push(statement);
        if is_block {
            // The interpreter ends a block at an empty line.
            lines.push(String::new());
        }
    }
    lines.push(match written.last {
        SnippetEnd::Expression(text) if is_consumed => format!("list({text})"),
        SnippetEnd::Expression(text) | SnippetEnd::Statement(text) => text,
    });
    lines.join("\n") + "\n"
}

/// The last line of a snippet.
enum SnippetEnd {
    Expression(String),
    Statement(String),
}

struct WrittenCall {
    imports: Vec<String>,
    statements: Vec<String>,
    last: SnippetEnd,
}

fn write_call(call: &Call) -> WrittenCall {
    let method = call.target.qualname.rsplit('.').next().unwrap_or_default();
    let keywords = call.kwargs.iter().map(|(_, value)| value);
    let function = match &call.receiver {
        Some(receiver) => receiver.clone(),
        None => match PyReference::new(&call.target.module.name, &call.target.qualname) {
            Ok(reference) => Value::Name(reference),
            Err(_) => Value::None,
        },
    };
    let values = call.args.iter().chain(keywords);
    let made = Value::all_to_python(Some(&function), values);
    let PythonParts { imports, statements, expressions } = made;
    let mut expressions = expressions.into_iter();
    let subject = expressions.next().unwrap_or_default();
    let arguments: Vec<String> = expressions.collect();
    let last = if call.receiver.is_some() {
        let is_plain = call.kwargs.is_empty();
        let operands: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let operation = is_plain.then(|| write_operation(&subject, method, &operands)).flatten();
        operation.unwrap_or_else(|| {
            SnippetEnd::Expression(match call.target.kind {
                TargetKind::Property => format!("{subject}.{method}"),
                _ => format!("{subject}.{method}({})", write_arguments(call, &arguments)),
            })
        })
    } else {
        SnippetEnd::Expression(format!("{subject}({})", write_arguments(call, &arguments)))
    };
    WrittenCall { imports: imports.into_iter().collect(), statements, last }
}

fn write_arguments(call: &Call, arguments: &[String]) -> String {
    let names =
        call.args.iter().map(|_| None).chain(call.kwargs.iter().map(|(name, _)| Some(name)));
    let written = names.zip(arguments);
    let written = written
        .map(|(name, value)| name.map_or_else(|| value.clone(), |name| format!("{name}={value}")));
    written.collect::<Vec<_>>().join(", ")
}

/// Operators of special methods with one operand beside the object.
const BINARY_OPERATORS: [(&str, &str); 19] = [
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("truediv", "/"),
    ("floordiv", "//"),
    ("mod", "%"),
    ("pow", "**"),
    ("matmul", "@"),
    ("and", "&"),
    ("or", "|"),
    ("xor", "^"),
    ("lshift", "<<"),
    ("rshift", ">>"),
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
];
/// Functions that call a special method without operands.
const BUILTIN_FUNCTIONS: [(&str, &str); 14] = [
    ("__len__", "len"),
    ("__iter__", "iter"),
    ("__next__", "next"),
    ("__str__", "str"),
    ("__repr__", "repr"),
    ("__hash__", "hash"),
    ("__bool__", "bool"),
    ("__int__", "int"),
    ("__float__", "float"),
    ("__bytes__", "bytes"),
    ("__abs__", "abs"),
    ("__reversed__", "reversed"),
    ("__complex__", "complex"),
    ("__dir__", "dir"),
];

/// A special method as its callers write it.
fn write_operation(subject: &str, method: &str, operands: &[&str]) -> Option<SnippetEnd> {
    let expression = |text: String| Some(SnippetEnd::Expression(text));
    let statement = |text: String| Some(SnippetEnd::Statement(text));
    match (method, operands) {
        ("__getitem__", [key]) => return expression(format!("{subject}[{key}]")),
        ("__setitem__", [key, value]) => return statement(format!("{subject}[{key}] = {value}")),
        ("__delitem__", [key]) => return statement(format!("del {subject}[{key}]")),
        ("__contains__", [item]) => return expression(format!("{item} in {subject}")),
        ("__call__", operands) => {
            return expression(format!("{subject}({})", operands.join(", ")));
        }
        ("__format__", [text]) => return expression(format!("format({subject}, {text})")),
        ("__enter__", []) => return statement(format!("with {subject}:\n    pass\n")),
        ("__neg__", []) => return expression(format!("-{subject}")),
        ("__pos__", []) => return expression(format!("+{subject}")),
        ("__invert__", []) => return expression(format!("~{subject}")),
        _ => {}
    }
    if let ([], Some((_, function))) =
        (operands, BUILTIN_FUNCTIONS.iter().find(|(name, _)| *name == method))
    {
        return expression(format!("{function}({subject})"));
    }
    let [operand] = operands else { return None };
    let name = method.strip_prefix("__")?.strip_suffix("__")?;
    let operator = |name: &str| {
        let found = BINARY_OPERATORS.iter().find(|(known, _)| *known == name);
        found.map(|(_, operator)| *operator)
    };
    // A lambda would take the rest of the line.
    let operand = if operand.starts_with("lambda") { &*format!("({operand})") } else { *operand };
    if let Some(operator) = operator(name) {
        return expression(format!("{subject} {operator} {operand}"));
    }
    if let Some(operator) = name.strip_prefix('r').and_then(operator) {
        return expression(format!("{operand} {operator} {subject}"));
    }
    None
}

fn literal(value: &Value) -> String {
    value.to_python().expression
}

#[cfg(test)]
mod tests {
    use crate::{CallStep, CallTarget, FixtureFile, MethodCall, ModuleRef, Verdict};

    use super::*;

    fn call(qualname: &str, receiver: Option<Value>, args: Vec<Value>) -> Call {
        let module = ModuleRef { name: "shop.cart".to_owned(), path: None };
        let kind = if receiver.is_some() { TargetKind::Method } else { TargetKind::Function };
        let target = CallTarget { module, qualname: qualname.to_owned(), kind };
        Call::of_step(CallStep { receiver, args, ..CallStep::new(target) })
    }

    fn snippet(call: &Call) -> String {
        format_snippet(call, &Outcome::new(Verdict::Raised, CallStage::Call))
    }

    fn cart() -> Value {
        let class = PyReference::new("shop.cart", "Cart").unwrap();
        Value::New { class, args: Vec::new(), kwargs: Vec::new() }
    }

    #[test]
    fn imports_come_first_and_the_call_last() {
        let discount = call("discount", None, vec![Value::List(Vec::new())]);
        assert_eq!(snippet(&discount), "from shop.cart import discount\ndiscount([])\n");
        let filled = Value::After {
            value: Box::new(cart()),
            calls: vec![MethodCall {
                name: "add".to_owned(),
                args: vec![Value::Int(1)],
                kwargs: Vec::new(),
            }],
        };
        let pay = call("Cart.pay", Some(filled), Vec::new());
        let lines = ["from shop.cart import Cart", "v1 = Cart()", "v1.add(1)", "v1.pay()", ""];
        assert_eq!(snippet(&pay), lines.join("\n"));
    }

    #[test]
    fn special_methods_are_written_as_operators() {
        let last = |method: &str, args: Vec<Value>| {
            let text = snippet(&call(&format!("Cart.{method}"), Some(cart()), args));
            text.lines().skip(1).collect::<Vec<_>>().join("\n")
        };
        let one = || vec![Value::Int(1)];
        assert_eq!(last("__getitem__", one()), "Cart()[1]");
        assert_eq!(last("__radd__", one()), "1 + Cart()");
        assert_eq!(last("__eq__", one()), "Cart() == 1");
        assert_eq!(last("__contains__", one()), "1 in Cart()");
        assert_eq!(last("__call__", one()), "Cart()(1)");
        assert_eq!(last("__len__", Vec::new()), "len(Cart())");
        assert_eq!(last("__setitem__", vec![Value::Int(1), Value::None]), "Cart()[1] = None");
        assert_eq!(last("__reduce_ex__", one()), "Cart().__reduce_ex__(1)");
    }

    #[test]
    fn files_are_written_before_they_are_used() {
        let mut read = call("read", None, vec![Value::from("in/a.txt")]);
        read.fixtures.files =
            vec![FixtureFile { path: "in/a.txt".to_owned(), content: b"x".to_vec() }];
        let lines = [
            "from pathlib import Path",
            "from shop.cart import read",
            "Path('in').mkdir(parents=True, exist_ok=True)",
            "Path('in/a.txt').write_bytes(b'x')",
            "read('in/a.txt')",
            "",
        ];
        assert_eq!(snippet(&read), lines.join("\n"));
    }
}
