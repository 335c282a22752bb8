//! Parses Python source of a value, as it is in code and docstrings, into a value.
//!
//! Literals, containers, arithmetic, and calls of dotted names. Nothing is evaluated: an operation
//! becomes a call that the guest makes.

use ruff_python_ast::{Expr, ExprCall, Number, Operator, UnaryOp};
use ruff_python_parser::parse_expression;

use menace_model::{PyReference, Value};

/// Longer source is data, not an example.
const MAX_SOURCE_BYTES: usize = 4096;
/// Longer source is parsed on a larger stack.
const MAX_SMALL_STACK_SOURCE_BYTES: usize = 256;
const PARSER_STACK_BYTES: usize = 32 << 20;
const MAX_EXPRESSION_DEPTH: usize = 40;

/// Resolves a dotted name to a module and a qualified name.
pub(crate) type NameResolver<'a> = &'a dyn Fn(&str) -> Option<PyReference>;

/// The value of an expression; none for other expressions.
pub(crate) fn parse_value(source: &str, resolve: NameResolver<'_>) -> Option<Value> {
    parse_expression_with(source, |expr| convert_expression(expr, resolve, 0))
}

/// A parsed call.
pub(crate) struct ParsedCall {
    pub function: String,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    /// The object of a method call: `Parser('x')` in `Parser('x').parse('y')`.
    pub receiver: Option<Value>,
}

/// Parses a call: `f(1, x=2)`, `Parser('x').parse('y')`.
pub(crate) fn parse_call(source: &str, resolve: NameResolver<'_>) -> Option<ParsedCall> {
    parse_expression_with(source, |expr| {
        let Expr::Call(call) = expr else { return None };
        let (args, kwargs) = convert_arguments(call, resolve, 0)?;
        if let Some(function) = dotted_name(&call.func) {
            return Some(ParsedCall { function, args, kwargs, receiver: None });
        }
        let Expr::Attribute(attribute) = &*call.func else { return None };
        let on = convert_expression(&attribute.value, resolve, 0)?;
        Some(ParsedCall { function: attribute.attr.to_string(), args, kwargs, receiver: Some(on) })
    })
}

/// Parses an expression and calls `look` with it, on a stack that is large enough for nested
/// source.
pub(crate) fn parse_expression_with<T>(
    source: &str,
    look: impl FnOnce(&Expr) -> Option<T>,
) -> Option<T> {
    let source = source.trim();
    if source.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let parse = || look(parse_expression(source).ok()?.expr());
    if source.len() <= MAX_SMALL_STACK_SOURCE_BYTES {
        parse()
    } else {
        stacker::grow(PARSER_STACK_BYTES, parse)
    }
}

pub(crate) fn dotted_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => {
            Some(format!("{}.{}", dotted_name(&attribute.value)?, attribute.attr))
        }
        _ => None,
    }
}

/// The value of a parsed expression.
pub(crate) fn value_of_expression(expr: &Expr, resolve: NameResolver<'_>) -> Option<Value> {
    convert_expression(expr, resolve, 0)
}

fn convert_expression(expr: &Expr, resolve: NameResolver<'_>, depth: usize) -> Option<Value> {
    if depth > MAX_EXPRESSION_DEPTH {
        return None;
    }
    let all = |items: &[Expr]| -> Option<Vec<Value>> {
        items.iter().map(|item| convert_expression(item, resolve, depth + 1)).collect()
    };
    Some(match expr {
        Expr::NoneLiteral(_) => Value::None,
        Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
        Expr::EllipsisLiteral(_) => Value::Ellipsis,
        Expr::StringLiteral(literal) => Value::from(literal.value.to_str()),
        Expr::BytesLiteral(literal) => Value::Bytes(literal.value.bytes().collect()),
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => match number.as_i64() {
                Some(number) => Value::Int(number),
                None => Value::parse_integer(&number.to_string().replace('_', ""))?,
            },
            Number::Float(number) => Value::Float(*number),
            Number::Complex { real, imag } => Value::Complex { re: *real, im: *imag },
        },
        Expr::List(list) => Value::List(all(&list.elts)?),
        Expr::Tuple(tuple) => Value::Tuple(all(&tuple.elts)?),
        Expr::Set(set) => Value::Set(all(&set.elts)?),
        Expr::Dict(dict) => {
            let pair = |item: &ruff_python_ast::DictItem| {
                let key = convert_expression(item.key.as_ref()?, resolve, depth + 1)?;
                Some((key, convert_expression(&item.value, resolve, depth + 1)?))
            };
            Value::Dict(dict.items.iter().map(pair).collect::<Option<_>>()?)
        }
        Expr::UnaryOp(unary) => {
            let operand = convert_expression(&unary.operand, resolve, depth + 1)?;
            match (unary.op, operand) {
                (UnaryOp::UAdd, number @ (Value::Int(_) | Value::Float(_))) => number,
                (UnaryOp::USub, Value::Int(number)) => Value::Int(number.checked_neg()?),
                (UnaryOp::USub, Value::Float(number)) => Value::Float(-number),
                (UnaryOp::USub, Value::Complex { re, im }) => Value::Complex { re: -re, im: -im },
                (UnaryOp::USub, Value::BigInt(number)) => {
                    Value::integer_from_hex(!number.is_negative(), number.hex())?
                }
                (UnaryOp::USub, operand) => operator_call("neg", vec![operand])?,
                (UnaryOp::Invert, operand) => operator_call("invert", vec![operand])?,
                (UnaryOp::Not | UnaryOp::UAdd, _) => return None,
            }
        }
        Expr::BinOp(binary) => {
            let left = convert_expression(&binary.left, resolve, depth + 1)?;
            let right = convert_expression(&binary.right, resolve, depth + 1)?;
            compute_operation(binary.op, left, right)?
        }
        Expr::Name(_) | Expr::Attribute(_) => Value::Name(resolve(&dotted_name(expr)?)?),
        Expr::Call(call) => convert_call(call, resolve, depth)?,
        _ => return None,
    })
}

fn convert_call(call: &ExprCall, resolve: NameResolver<'_>, depth: usize) -> Option<Value> {
    let (args, kwargs) = convert_arguments(call, resolve, depth + 1)?;
    if let Some(class) = dotted_name(&call.func).and_then(|name| resolve(&name)) {
        return Some(match (class.to_string().as_str(), &args[..], &kwargs[..]) {
            ("builtins:set", [], []) => Value::Set(Vec::new()),
            _ => Value::New { class, args, kwargs },
        });
    }
    let Expr::Attribute(attribute) = &*call.func else { return None };
    let on = Box::new(convert_expression(&attribute.value, resolve, depth + 1)?);
    Some(Value::Method { on, name: attribute.attr.to_string(), args, kwargs })
}

type ParsedArguments = (Vec<Value>, Vec<(String, Value)>);

fn convert_arguments(
    call: &ExprCall,
    resolve: NameResolver<'_>,
    depth: usize,
) -> Option<ParsedArguments> {
    let args = call.arguments.args.iter().map(|arg| convert_expression(arg, resolve, depth + 1));
    let kwargs = call.arguments.keywords.iter().map(|keyword| {
        let name = keyword.arg.as_ref()?.to_string();
        Some((name, convert_expression(&keyword.value, resolve, depth + 1)?))
    });
    Some((args.collect::<Option<_>>()?, kwargs.collect::<Option<_>>()?))
}

fn compute_operation(op: Operator, left: Value, right: Value) -> Option<Value> {
    use Operator::{Add, BitAnd, BitOr, FloorDiv, LShift, Mod, Mult, Pow, Sub};
    if let (Value::Int(left), Value::Int(right)) = (&left, &right) {
        let small = match op {
            Add => left.checked_add(*right),
            Sub => left.checked_sub(*right),
            Mult => left.checked_mul(*right),
            Pow => u32::try_from(*right).ok().and_then(|right| left.checked_pow(right)),
            _ => None,
        };
        if let Some(small) = small {
            return Some(Value::Int(small));
        }
    }
    match (op, left, right) {
        (
            Mult,
            value @ (Value::Str(_) | Value::Bytes(_) | Value::List(_) | Value::Tuple(_)),
            Value::Int(times),
        )
        | (
            Mult,
            Value::Int(times),
            value @ (Value::Str(_) | Value::Bytes(_) | Value::List(_) | Value::Tuple(_)),
        ) => {
            let times = u64::try_from(times).unwrap_or(0);
            Some(Value::Repeat { value: Box::new(value), times })
        }
        (op, left, right) => {
            let name = match op {
                Add => "add",
                Sub => "sub",
                Mult => "mul",
                Pow => "pow",
                Mod => "mod",
                FloorDiv => "floordiv",
                Operator::Div => "truediv",
                LShift => "lshift",
                Operator::RShift => "rshift",
                BitOr => "or_",
                BitAnd => "and_",
                Operator::BitXor => "xor",
                Operator::MatMult => return None,
            };
            operator_call(name, vec![left, right])
        }
    }
}

fn operator_call(name: &str, args: Vec<Value>) -> Option<Value> {
    let class = PyReference::new("operator", name).ok()?;
    Some(Value::New { class, args, kwargs: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Option<String> {
        let resolve = |name: &str| {
            let (module, name) = name.rsplit_once('.').unwrap_or(("builtins", name));
            PyReference::new(module, name).ok()
        };
        parse_value(source, &resolve).map(|value| serde_json::to_string(&value).expect("JSON"))
    }

    #[test]
    fn literals_are_read_as_python_reads_them() {
        for (source, json) in [
            ("-5", "-5"),
            ("1_000", "1000"),
            ("0x_ff", "255"),
            ("'a\\tb' \"c\"", r#""a\tbc""#),
            ("b'\\xff'", r#"{"$bytes":"/w=="}"#),
            ("(1,)", r#"{"$tuple":[1]}"#),
            ("{'a': [None, True]}", r#"{"a":[null,true]}"#),
            ("{1, 2}", r#"{"$set":[1,2]}"#),
            ("-12345678901234567890", r#"{"$int":"-12345678901234567890"}"#),
            ("-1.5e3", "-1500.0"),
            ("2j", r#"{"$complex":[0.0,2.0]}"#),
            ("'ab' * 3", r#"{"$repeat":"ab","times":3}"#),
            ("[0] * -1", r#"{"$repeat":[0],"times":0}"#),
            ("10 ** 2 + 1", "101"),
            ("10 ** 400", r#"{"$call":"operator:pow","args":[10,400]}"#),
            ("...", r#"{"$ellipsis":true}"#),
        ] {
            assert_eq!(read(source).as_deref(), Some(json), "{source}");
        }
    }

    #[test]
    fn calls_and_names_are_left_to_the_guest() {
        for (source, json) in [
            ("decimal.Decimal('1.5')", r#"{"$call":"decimal:Decimal","args":["1.5"]}"#),
            ("shop.Genre.NOVEL", r#"{"$name":"shop.Genre:NOVEL"}"#),
            ("f(1, x=2)", r#"{"$call":"builtins:f","args":[1],"kwargs":{"x":2}}"#),
            ("'a'.encode('utf-8')", r#"{"$method":"encode","on":"a","args":["utf-8"]}"#),
        ] {
            assert_eq!(read(source).as_deref(), Some(json), "{source}");
        }
    }

    #[test]
    fn expressions_without_a_value_are_none() {
        for source in ["lambda: 1", "x if y else z", "f'{a}'", "[i for i in x]", "not", "", "a.b("]
        {
            assert_eq!(read(source), None, "{source}");
        }
        assert_eq!(read(&"[".repeat(5000)), None);
        assert_eq!(read(&format!("{}1", "-".repeat(4000))), None);
        assert_eq!(read(&format!("1{}", "**1".repeat(1300))), None);
    }

    #[test]
    fn a_call_comes_apart() {
        let resolve = |_: &str| PyReference::new("m", "Parser").ok();
        let taken = parse_call("Parser('x').parse('y', strict=True)", &resolve).expect("a call");
        assert_eq!(taken.function, "parse");
        assert_eq!(taken.args, [Value::from("y")]);
        assert_eq!(taken.kwargs, [("strict".to_owned(), Value::Bool(true))]);
        assert!(matches!(taken.receiver, Some(Value::New { .. })));
        assert_eq!(parse_call("pkg.f(1)", &resolve).expect("a call").function, "pkg.f");
        assert!(parse_call("1 + 1", &resolve).is_none());
    }
}
