//! Prints source that rebuilds a value, for CPython 3.8 and later.
//!
//! Values are expected to have labels in order ([`Value::check_labels`]); with others the source
//! raises a `NameError`.

mod literal;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::names::Names;
use super::{MethodCall, Value};

/// The parser of CPython 3.8 gives up at about 90 brackets; deeper parts get a name of their own.
const MAX_BRACKETS: usize = 40;

/// Statements that prepare, then one expression. Its `Display` is all of it, a line for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSource {
    /// `import datetime`, `from shop.models import Book`.
    pub imports: BTreeSet<String>,
    /// What has to be run first, because the value has parts that it holds twice or that hold
    /// themselves: `v1 = []`, `v1.append(v1)`.
    pub lets: Vec<String>,
    pub expression: String,
}

impl fmt::Display for PythonSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for statement in self.imports.iter().chain(&self.lets) {
            writeln!(f, "{statement}")?;
        }
        f.write_str(&self.expression)
    }
}

impl Value {
    /// Python source whose expression gives this value.
    ///
    /// A whole call is a value too: [`Value::New`] with the function as `class`.
    pub fn to_python(&self) -> PythonSource {
        let mut printer = Printer::default();
        let expression = printer.print(self).text;
        PythonSource { imports: printer.names.into_imports(), lets: printer.lets, expression }
    }

    /// The expressions of several values, after statements that prepare all of them: nothing has the
    /// same name twice, and what two of them hold is one thing.
    pub fn several_to_python<'a>(
        values: impl IntoIterator<Item = &'a Self>,
    ) -> (Vec<String>, Vec<String>) {
        let mut printer = Printer::default();
        let expressions = values.into_iter().map(|value| printer.print(value).text).collect();
        (printer.lets, expressions)
    }
}

/// An expression, and what has to be put around it.
struct Code {
    text: String,
    binds: Binds,
}

/// How tightly the outermost operator of an expression binds; the tightest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    /// `.attribute` can follow.
    Primary,
    /// A number, whose point or sign would be misread.
    Number,
    Product,
    Lambda,
}

impl Code {
    fn primary(text: impl Into<String>) -> Self {
        Self { text: text.into(), binds: Binds::Primary }
    }

    fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), binds: Binds::Number }
    }

    /// With brackets unless it binds at least as tightly.
    fn at_least(self, binds: &Binds) -> String {
        if self.binds <= *binds { self.text } else { format!("({})", self.text) }
    }
}

#[derive(Default)]
struct Printer {
    names: Names,
    lets: Vec<String>,
    labels: BTreeMap<u32, String>,
    /// How many brackets are open.
    brackets: usize,
}

impl Printer {
    fn print(&mut self, value: &Value) -> Code {
        match value {
            Value::None => Code::primary("None"),
            Value::Bool(true) => Code::primary("True"),
            Value::Bool(false) => Code::primary("False"),
            Value::Int(number) => Code::number(number.to_string()),
            Value::BigInt(number) => Code::number(number.to_string()),
            Value::Float(number) => Code::number(self.float(*number)),
            Value::Complex { re, im } => {
                let (re, im) = (self.float(*re), self.float(*im));
                Code::primary(format!("{}({re}, {im})", self.names.builtin("complex")))
            }
            Value::Str(text) => Code::primary(literal::string(text)),
            Value::Bytes(bytes) => Code::primary(literal::bytes(bytes)),
            Value::ByteArray(bytes) => {
                let bytes = literal::bytes(bytes);
                Code::primary(format!("{}({bytes})", self.names.builtin("bytearray")))
            }
            Value::Ellipsis => Code::number("..."),
            Value::Name(name) => Code::primary(self.names.reference(name)),
            Value::Again(label) => {
                let name = self.labels.get(label).cloned();
                Code::primary(name.unwrap_or_else(|| format!("missing_label_{label}")))
            }
            Value::Shared { label, value } => Code::primary(self.shared(*label, value)),
            Value::Returns(value) => {
                let result = self.kept(value);
                lambda(&result)
            }
            Value::Argument(number) => lambda(&format!("args[{number}]")),
            Value::Raises(_) | Value::Yields(_) | Value::Async(_) => {
                Code::primary(self.function(value))
            }
            Value::After { value, calls } => Code::primary(self.after(value, calls)),
            Value::Repeat { value, times } => Code {
                text: format!("{} * {times}", self.print(value).at_least(&Binds::Product)),
                binds: Binds::Product,
            },
            _ if self.brackets >= MAX_BRACKETS => {
                let outside = std::mem::take(&mut self.brackets);
                let name = self.assign(value);
                self.brackets = outside;
                Code::primary(name)
            }
            _ => {
                self.brackets += 1;
                let text = self.nested(value);
                self.brackets -= 1;
                Code::primary(text)
            }
        }
    }

    /// A value that holds others in brackets.
    fn nested(&mut self, value: &Value) -> String {
        match value {
            Value::List(items) => format!("[{}]", self.items(items)),
            Value::Tuple(items) => match &items[..] {
                [item] => format!("({},)", self.print(item).text),
                items => format!("({})", self.items(items)),
            },
            Value::Set(items) if items.is_empty() => format!("{}()", self.names.builtin("set")),
            Value::Set(items) => format!("{{{}}}", self.items(items)),
            Value::FrozenSet(items) => {
                let items = self.items(items);
                format!("{}([{items}])", self.names.builtin("frozenset"))
            }
            Value::Dict(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| {
                    let key = self.print(key).text;
                    format!("{key}: {}", self.print(value).text)
                });
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::New { class, args, kwargs } => {
                let class = self.names.reference(class);
                format!("{class}({})", self.given(args, kwargs))
            }
            Value::Method { on, name, args, kwargs } => {
                let on = self.print(on).at_least(&Binds::Primary);
                let method = self.names.attribute(&on, name);
                format!("{method}({})", self.given(args, kwargs))
            }
            Value::Stub { bases, members, args, kwargs } => {
                let bases = match &bases[..] {
                    [base] => format!("{},", self.names.reference(base)),
                    bases => {
                        let bases = bases.iter().map(|base| self.names.reference(base));
                        bases.collect::<Vec<_>>().join(", ")
                    }
                };
                let members = members.iter().map(|(name, value)| {
                    let name = literal::string(&name.as_str().into());
                    format!("{name}: {}", self.print(value).text)
                });
                let members = members.collect::<Vec<_>>().join(", ");
                let class = self.names.builtin("type");
                format!("{class}('Stub', ({bases}), {{{members}}})({})", self.given(args, kwargs))
            }
            other => self.print(other).text,
        }
    }

    fn items(&mut self, items: &[Value]) -> String {
        items.iter().map(|item| self.print(item).text).collect::<Vec<_>>().join(", ")
    }

    fn given(&mut self, args: &[Value], kwargs: &[(String, Value)]) -> String {
        let mut given: Vec<_> = args.iter().map(|value| self.print(value).text).collect();
        for (name, value) in kwargs {
            let value = self.print(value).text;
            given.push(if names::is_plain(name) {
                format!("{name}={value}")
            } else {
                format!("**{{{}: {value}}}", literal::string(&name.as_str().into()))
            });
        }
        given.join(", ")
    }

    fn float(&mut self, number: f64) -> String {
        if number.is_finite() {
            return format!("{number:?}");
        }
        // Rust prints `NaN` and `inf`, and Python reads both.
        let word = number.to_string().to_lowercase();
        format!("{}('{word}')", self.names.builtin("float"))
    }

    /// What a function can use again and again: made outside unless it cannot be changed, so that
    /// it is the same object each time.
    fn kept(&mut self, value: &Value) -> String {
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
            | Value::Again(_)
            | Value::Shared { .. } => self.print(value).text,
            _ => {
                let outside = std::mem::take(&mut self.brackets);
                let name = self.assign(value);
                self.brackets = outside;
                name
            }
        }
    }

    /// Defines a function that no lambda can stand for.
    fn function(&mut self, value: &Value) -> String {
        let (keyword, body) = match value {
            Value::Raises(error) => ("def", format!("raise {}", self.kept(error))),
            Value::Yields(items) => ("def", format!("yield from {}", self.sequence(items))),
            Value::Async(inner) => {
                let body = match &**inner {
                    Value::Returns(value) => format!("return {}", self.kept(value)),
                    Value::Raises(error) => format!("raise {}", self.kept(error)),
                    Value::Argument(number) => format!("return args[{number}]"),
                    Value::Yields(items) => {
                        format!("for item in {}:\n        yield item", self.sequence(items))
                    }
                    callable => format!("return {}(*args, **kwargs)", self.kept(callable)),
                };
                ("async def", body)
            }
            other => ("def", format!("return {}", self.kept(other))),
        };
        let name = self.names.fresh();
        self.lets.push(format!("{keyword} {name}(*args, **kwargs):\n    {body}"));
        name
    }

    /// The items, made once.
    fn sequence(&mut self, items: &[Value]) -> String {
        if items.is_empty() { "()".to_owned() } else { self.kept(&Value::Tuple(items.to_vec())) }
    }

    fn after(&mut self, value: &Value, calls: &[MethodCall]) -> String {
        let outside = std::mem::take(&mut self.brackets);
        let name = self.assign(value);
        for MethodCall { name: method, args, kwargs } in calls {
            let method = self.names.attribute(&name, method);
            let call = format!("{method}({})", self.given(args, kwargs));
            self.lets.push(call);
        }
        self.brackets = outside;
        name
    }

    fn assign(&mut self, value: &Value) -> String {
        let text = self.print(value).text;
        let name = self.names.fresh();
        self.lets.push(format!("{name} = {text}"));
        name
    }

    fn shared(&mut self, label: u32, value: &Value) -> String {
        let outside = std::mem::take(&mut self.brackets);
        let name = if holds(value, label) {
            self.cycle(label, value)
        } else {
            let name = self.assign(value);
            self.labels.insert(label, name.clone());
            name
        };
        self.brackets = outside;
        name
    }

    /// A container that holds itself: made empty, then filled.
    fn cycle(&mut self, label: u32, value: &Value) -> String {
        let name = self.names.fresh();
        let empty = match value {
            Value::List(_) => "[]".to_owned(),
            Value::Dict(_) => "{}".to_owned(),
            Value::Set(_) => format!("{}()", self.names.builtin("set")),
            // Nothing else can; `check_labels` says so.
            other => {
                let text = self.print(other).text;
                self.lets.push(format!("{name} = {text}"));
                return name;
            }
        };
        self.lets.push(format!("{name} = {empty}"));
        self.labels.insert(label, name.clone());
        match value {
            Value::List(items) => {
                for item in items {
                    let item = self.print(item).text;
                    self.lets.push(format!("{name}.append({item})"));
                }
            }
            Value::Set(items) => {
                for item in items {
                    let item = self.print(item).text;
                    self.lets.push(format!("{name}.add({item})"));
                }
            }
            Value::Dict(pairs) => {
                for (key, value) in pairs {
                    let (key, value) = (self.print(key).text, self.print(value).text);
                    self.lets.push(format!("{name}[{key}] = {value}"));
                }
            }
            _ => {}
        }
        name
    }
}

fn lambda(result: &str) -> Code {
    Code { text: format!("lambda *args, **kwargs: {result}"), binds: Binds::Lambda }
}

/// Is the label named anywhere inside?
fn holds(value: &Value, label: u32) -> bool {
    let mut found = *value == Value::Again(label);
    value.each_child(&mut |child| found = found || holds(child, label));
    found
}
