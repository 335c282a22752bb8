//! Prints source that rebuilds a value, for CPython 3.8 and later.
//!
//! Labels are expected to be valid ([`Value::check_labels`]); otherwise the source raises a
//! `NameError`.

mod literal;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::names::PythonNames;
use super::{MethodCall, Value};

/// The parser of CPython 3.8 stops at about 90 brackets; deeper parts are assigned to a name.
const MAX_BRACKETS: usize = 40;

/// Python source: statements that prepare, then one expression. `Display` prints all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSource {
    /// `import datetime`, `from shop.models import Book`.
    pub imports: BTreeSet<String>,
    /// Statements that have to run first, for parts that occur more than once or contain
    /// themselves: `v1 = []`, `v1.append(v1)`.
    pub statements: Vec<String>,
    pub expression: String,
}

/// The source of several values, one expression for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonParts {
    pub imports: BTreeSet<String>,
    /// Statements that have to run first.
    pub statements: Vec<String>,
    pub expressions: Vec<String>,
}

impl fmt::Display for PythonSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for statement in self.imports.iter().chain(&self.statements) {
            writeln!(f, "{statement}")?;
        }
        f.write_str(&self.expression)
    }
}

impl Value {
    /// Python source whose expression evaluates to this value.
    ///
    /// A whole call is a value, too: [`Value::New`] with the function as `class`.
    pub fn to_python(&self) -> PythonSource {
        let mut printer = PythonPrinter::default();
        let expression = printer.print(self).text;
        PythonSource {
            imports: printer.names.into_imports(),
            statements: printer.statements,
            expression,
        }
    }

    /// The source of several values: names are unique, and an object that two values share is built
    /// once. The subject comes first, and `.attribute` can follow it.
    pub fn all_to_python<'a>(
        subject: Option<&'a Self>,
        values: impl IntoIterator<Item = &'a Self>,
    ) -> PythonParts {
        let mut printer = PythonPrinter::default();
        let subject =
            subject.map(|value| printer.print(value).parenthesized_for(&BindingStrength::Primary));
        let mut expressions: Vec<String> = subject.into_iter().collect();
        expressions.extend(values.into_iter().map(|value| printer.print(value).text));
        PythonParts {
            imports: printer.names.into_imports(),
            statements: printer.statements,
            expressions,
        }
    }
}

/// An expression, and how tightly it binds.
struct PythonExpression {
    text: String,
    binding: BindingStrength,
}

/// The binding strength of an expression's outermost operator, tightest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum BindingStrength {
    /// `.attribute` can follow it.
    Primary,
    /// A number, after which a point would be misread.
    Number,
    Product,
    Lambda,
}

impl PythonExpression {
    fn primary(text: impl Into<String>) -> Self {
        Self { text: text.into(), binding: BindingStrength::Primary }
    }

    fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), binding: BindingStrength::Number }
    }

    /// Adds parentheses unless it binds at least as tightly.
    fn parenthesized_for(self, binding: &BindingStrength) -> String {
        if self.binding <= *binding { self.text } else { format!("({})", self.text) }
    }
}

#[derive(Default)]
struct PythonPrinter {
    names: PythonNames,
    statements: Vec<String>,
    labels: BTreeMap<u32, String>,
    /// The number of open brackets.
    brackets: usize,
}

impl PythonPrinter {
    fn print(&mut self, value: &Value) -> PythonExpression {
        match value {
            Value::None => PythonExpression::primary("None"),
            Value::Bool(true) => PythonExpression::primary("True"),
            Value::Bool(false) => PythonExpression::primary("False"),
            Value::Int(number) => PythonExpression::number(number.to_string()),
            Value::BigInt(number) => PythonExpression::number(number.to_string()),
            Value::Float(number) => PythonExpression::number(self.print_float(*number)),
            Value::Complex { re, im } => {
                let (re, im) = (self.print_float(*re), self.print_float(*im));
                PythonExpression::primary(format!(
                    "{}({re}, {im})",
                    self.names.builtin_name("complex")
                ))
            }
            Value::Str(text) => PythonExpression::primary(literal::string_literal(text)),
            Value::Bytes(bytes) => PythonExpression::primary(literal::bytes_literal(bytes)),
            Value::ByteArray(bytes) => {
                let bytes = literal::bytes_literal(bytes);
                PythonExpression::primary(format!(
                    "{}({bytes})",
                    self.names.builtin_name("bytearray")
                ))
            }
            Value::Ellipsis => PythonExpression::number("..."),
            Value::Name(name) => PythonExpression::primary(self.names.reference_expression(name)),
            Value::SharedRef(label) => {
                let name = self.labels.get(label).cloned();
                PythonExpression::primary(name.unwrap_or_else(|| format!("missing_label_{label}")))
            }
            Value::Shared { label, value } => {
                PythonExpression::primary(self.print_shared(*label, value))
            }
            Value::Returns(value) => {
                let result = self.print_once(value);
                print_lambda(&result)
            }
            Value::Argument(number) => print_lambda(&format!("args[{number}]")),
            Value::Raises(_) | Value::Yields(_) | Value::Async(_) => {
                PythonExpression::primary(self.define_function(value))
            }
            Value::After { value, calls } => {
                PythonExpression::primary(self.print_after_calls(value, calls))
            }
            Value::Repeat { value, times } => PythonExpression {
                text: format!(
                    "{} * {times}",
                    self.print(value).parenthesized_for(&BindingStrength::Product)
                ),
                binding: BindingStrength::Product,
            },
            _ if self.brackets >= MAX_BRACKETS => {
                let outside = std::mem::take(&mut self.brackets);
                let name = self.assign_name(value);
                self.brackets = outside;
                PythonExpression::primary(name)
            }
            _ => {
                self.brackets += 1;
                let text = self.print_nested(value);
                self.brackets -= 1;
                PythonExpression::primary(text)
            }
        }
    }

    /// Prints a value that has others inside of brackets.
    fn print_nested(&mut self, value: &Value) -> String {
        match value {
            Value::List(items) => format!("[{}]", self.print_items(items)),
            Value::Tuple(items) => match &items[..] {
                [item] => format!("({},)", self.print(item).text),
                items => format!("({})", self.print_items(items)),
            },
            Value::Set(items) if items.is_empty() => {
                format!("{}()", self.names.builtin_name("set"))
            }
            Value::Set(items) => format!("{{{}}}", self.print_items(items)),
            Value::FrozenSet(items) => {
                let items = self.print_items(items);
                format!("{}([{items}])", self.names.builtin_name("frozenset"))
            }
            Value::Dict(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| {
                    let key = self.print(key).text;
                    format!("{key}: {}", self.print(value).text)
                });
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::New { class, args, kwargs } => {
                let class = self.names.reference_expression(class);
                format!("{class}({})", self.print_arguments(args, kwargs))
            }
            Value::Method { on, name, args, kwargs } => {
                let on = self.print(on).parenthesized_for(&BindingStrength::Primary);
                let method = self.names.attribute_expression(&on, name);
                format!("{method}({})", self.print_arguments(args, kwargs))
            }
            Value::Stub { bases, members, args, kwargs } => {
                let bases = match &bases[..] {
                    [base] => format!("{},", self.names.reference_expression(base)),
                    bases => {
                        let bases = bases.iter().map(|base| self.names.reference_expression(base));
                        bases.collect::<Vec<_>>().join(", ")
                    }
                };
                let members = members.iter().map(|(name, value)| {
                    let name = literal::string_literal(&name.as_str().into());
                    format!("{name}: {}", self.print(value).text)
                });
                let members = members.collect::<Vec<_>>().join(", ");
                let class = self.names.builtin_name("type");
                format!(
                    "{class}('Stub', ({bases}), {{{members}}})({})",
                    self.print_arguments(args, kwargs)
                )
            }
            other => self.print(other).text,
        }
    }

    fn print_items(&mut self, items: &[Value]) -> String {
        items.iter().map(|item| self.print(item).text).collect::<Vec<_>>().join(", ")
    }

    fn print_arguments(&mut self, args: &[Value], kwargs: &[(String, Value)]) -> String {
        let mut arguments: Vec<_> = args.iter().map(|value| self.print(value).text).collect();
        for (name, value) in kwargs {
            let value = self.print(value).text;
            arguments.push(if names::is_plain_identifier(name) {
                format!("{name}={value}")
            } else {
                format!("**{{{}: {value}}}", literal::string_literal(&name.as_str().into()))
            });
        }
        arguments.join(", ")
    }

    fn print_float(&mut self, number: f64) -> String {
        if number.is_finite() {
            return format!("{number:?}");
        }
        // Rust prints `NaN` and `inf`, and Python reads both in lower case.
        let word = number.to_string().to_lowercase();
        format!("{}('{word}')", self.names.builtin_name("float"))
    }

    /// A value that a function uses repeatedly: assigned to a name outside of it, unless it is
    /// immutable, so that it is the same object each time.
    fn print_once(&mut self, value: &Value) -> String {
        match value {
            Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::BigInt(_)
            | Value::Float(_)
            | Value::Complex { .. }
            | Value::Str(_)
            | Value::Bytes(_)
            | Value::Ellipsis
            | Value::SharedRef(_)
            | Value::Shared { .. } => self.print(value).text,
            _ => {
                let outside = std::mem::take(&mut self.brackets);
                let name = self.assign_name(value);
                self.brackets = outside;
                name
            }
        }
    }

    /// Defines a function that cannot be written as a lambda.
    fn define_function(&mut self, value: &Value) -> String {
        let (keyword, body) = match value {
            Value::Raises(error) => ("def", format!("raise {}", self.print_once(error))),
            Value::Yields(items) => ("def", format!("yield from {}", self.print_sequence(items))),
            Value::Async(inner) => {
                let body = match &**inner {
                    Value::Returns(value) => format!("return {}", self.print_once(value)),
                    Value::Raises(error) => format!("raise {}", self.print_once(error)),
                    Value::Argument(number) => format!("return args[{number}]"),
                    Value::Yields(items) => {
                        format!("for item in {}:\n        yield item", self.print_sequence(items))
                    }
                    callable => format!("return {}(*args, **kwargs)", self.print_once(callable)),
                };
                ("async def", body)
            }
            other => ("def", format!("return {}", self.print_once(other))),
        };
        let name = self.names.fresh_name();
        self.statements.push(format!("{keyword} {name}(*args, **kwargs):\n    {body}"));
        name
    }

    /// A tuple of items that are evaluated once.
    fn print_sequence(&mut self, items: &[Value]) -> String {
        if items.is_empty() {
            "()".to_owned()
        } else {
            self.print_once(&Value::Tuple(items.to_vec()))
        }
    }

    fn print_after_calls(&mut self, value: &Value, calls: &[MethodCall]) -> String {
        let outside = std::mem::take(&mut self.brackets);
        let name = self.assign_name(value);
        for MethodCall { name: method, args, kwargs } in calls {
            let method = self.names.attribute_expression(&name, method);
            let call = format!("{method}({})", self.print_arguments(args, kwargs));
            self.statements.push(call);
        }
        self.brackets = outside;
        name
    }

    fn assign_name(&mut self, value: &Value) -> String {
        let text = self.print(value).text;
        let name = self.names.fresh_name();
        self.statements.push(format!("{name} = {text}"));
        name
    }

    fn print_shared(&mut self, label: u32, value: &Value) -> String {
        let outside = std::mem::take(&mut self.brackets);
        let name = if mentions_label(value, label) {
            self.print_cycle(label, value)
        } else {
            let name = self.assign_name(value);
            self.labels.insert(label, name.clone());
            name
        };
        self.brackets = outside;
        name
    }

    /// A container that contains itself: created empty, then filled.
    fn print_cycle(&mut self, label: u32, value: &Value) -> String {
        let name = self.names.fresh_name();
        let empty = match value {
            Value::List(_) => "[]".to_owned(),
            Value::Dict(_) => "{}".to_owned(),
            Value::Set(_) => format!("{}()", self.names.builtin_name("set")),
            // Other values cannot contain themselves; `check_labels` reports them.
            other => {
                let text = self.print(other).text;
                self.statements.push(format!("{name} = {text}"));
                return name;
            }
        };
        self.statements.push(format!("{name} = {empty}"));
        self.labels.insert(label, name.clone());
        match value {
            Value::List(items) => {
                for item in items {
                    let item = self.print(item).text;
                    self.statements.push(format!("{name}.append({item})"));
                }
            }
            Value::Set(items) => {
                for item in items {
                    let item = self.print(item).text;
                    self.statements.push(format!("{name}.add({item})"));
                }
            }
            Value::Dict(pairs) => {
                for (key, value) in pairs {
                    let (key, value) = (self.print(key).text, self.print(value).text);
                    self.statements.push(format!("{name}[{key}] = {value}"));
                }
            }
            _ => {}
        }
        name
    }
}

fn print_lambda(result: &str) -> PythonExpression {
    PythonExpression {
        text: format!("lambda *args, **kwargs: {result}"),
        binding: BindingStrength::Lambda,
    }
}

/// Whether the label is used anywhere inside.
fn mentions_label(value: &Value, label: u32) -> bool {
    let mut found = *value == Value::SharedRef(label);
    value.each_child(&mut |child| found = found || mentions_label(child, label));
    found
}
