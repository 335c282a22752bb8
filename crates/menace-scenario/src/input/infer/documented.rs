//! From what a docstring says about a type, in words, to a shape.

use super::annotation;
use crate::input::facts::Facts;
use crate::input::python;
use crate::input::shape::{PathWhat, Shape};
use crate::input::topic::Role;

/// `list of str, optional`, `:class:`Path` or None`, `{'a', 'b'}`, `array-like`.
pub(crate) fn shape(facts: &Facts<'_>, text: &str) -> Option<Shape> {
    let text = text.trim().trim_matches('`').replace(":class:", "").replace('`', "");
    let text = text.trim().trim_end_matches('.');
    if text.is_empty() || text.len() > 200 {
        return None;
    }
    // `int, optional`, `bool, default True`, `str (optional)`.
    let end = [", optional", ", default", " (optional", ", keyword", "; ", ", required"]
        .iter()
        .filter_map(|marker| text.find(marker))
        .min();
    let text = end.map_or(text, |end| &text[..end]).trim();
    if text.starts_with('{') && text.ends_with('}') {
        let choices = python::value(&format!("[{}]", &text[1..text.len() - 1]), &|_| None);
        if let Some(menace_model::Value::List(choices)) = choices {
            return (!choices.is_empty()).then_some(Shape::OneOf(choices));
        }
    }
    if let Some((left, right)) = text.split_once(" or ") {
        let shapes: Vec<Shape> =
            [left, right].iter().filter_map(|part| shape(facts, part)).collect();
        return (!shapes.is_empty()).then(|| Shape::union(shapes));
    }
    let lower = text.to_lowercase();
    let lower = ["a ", "an ", "the ", "optional "]
        .iter()
        .fold(lower.as_str(), |text, article| text.strip_prefix(article).unwrap_or(text))
        .to_owned();
    if let Some((container, item)) = lower.split_once(" of ") {
        let item = Box::new(shape(facts, item).unwrap_or(Shape::Any));
        return match container.split_whitespace().last()?.trim_end_matches('s') {
            "list" | "sequence" | "array" | "iterable" | "collection" | "array-like" => {
                Some(Shape::List(item))
            }
            "tuple" => Some(Shape::TupleOf(item)),
            "set" => Some(Shape::Set(item)),
            "frozenset" => Some(Shape::FrozenSet(item)),
            "dict" | "dictionary" | "mapping" => Some(Shape::Dict(Box::new(Shape::text()), item)),
            "iterator" | "generator" => Some(Shape::Iterator(item)),
            _ => shape(facts, container),
        };
    }
    if let Some(shape) = word(&lower) {
        return Some(shape);
    }
    let kind = annotation::written(text)?;
    match annotation::shape(facts, &kind) {
        Shape::Any => None,
        // A word of prose is no class.
        Shape::Known(name)
            if !name.contains('.') && crate::input::make::known::find(&name).is_none() =>
        {
            None
        }
        shape => Some(shape),
    }
}

fn word(word: &str) -> Option<Shape> {
    Some(match word {
        "str" | "string" | "strings" | "text" | "unicode" | "unicode string" | "strs"
        | "basestring" => Shape::text(),
        "int"
        | "integer"
        | "integers"
        | "ints"
        | "positive integer"
        | "non-negative integer"
        | "positive int"
        | "long" => Shape::Int,
        "float" | "floats" | "real" | "double" | "real number" | "number" | "numbers"
        | "numeric" | "scalar" => Shape::Float,
        "bool" | "boolean" | "flag" | "bools" => Shape::Bool,
        "bytes" | "bytestring" | "byte string" | "bytes-like" | "bytes-like object" | "buffer"
        | "bytes object" => Shape::Bytes,
        "none" => Shape::None,
        "list" | "sequence" | "iterable" | "array" | "array-like" | "array_like" | "lists" => {
            Shape::list(Shape::Any)
        }
        "tuple" | "tuples" => Shape::TupleOf(Box::new(Shape::Any)),
        "pair" => Shape::Tuple(vec![Shape::Any, Shape::Any]),
        "set" => Shape::Set(Box::new(Shape::Any)),
        "dict" | "dictionary" | "mapping" | "dicts" | "mapping object" => {
            Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any))
        }
        "callable" | "function" | "func" | "method" | "callback" | "callable object" => {
            Shape::function(Shape::Any)
        }
        "coroutine" | "awaitable" => Shape::Awaitable(Box::new(Shape::Any)),
        "iterator" | "generator" => Shape::Iterator(Box::new(Shape::Any)),
        "path" | "filename" | "file name" | "path-like" | "path-like object" | "pathlike"
        | "file path" | "filepath" => Shape::Path { what: PathWhat::File, is_text: true },
        "directory" | "folder" | "directory name" => {
            Shape::Path { what: PathWhat::Directory, is_text: true }
        }
        "file" | "file-like" | "file-like object" | "file object" | "stream" | "text file"
        | "text stream" | "file like object" => Shape::Known("io.StringIO".to_owned()),
        "binary file" | "binary stream" => Shape::Known("io.BytesIO".to_owned()),
        "url" | "uri" => Shape::Str(Some(Role::Url)),
        "regex" | "regular expression" | "regexp" => Shape::Str(Some(Role::Regex)),
        "json" | "json string" => Shape::Str(Some(Role::Json)),
        "email" | "e-mail" | "email address" => Shape::Str(Some(Role::Email)),
        "object" | "any" | "anything" | "value" => Shape::Any,
        "class" | "type" => Shape::Class(Box::new(Shape::Any)),
        "exception" | "error" => Shape::Known("Exception".to_owned()),
        "datetime" => Shape::Known("datetime.datetime".to_owned()),
        "date" => Shape::Known("datetime.date".to_owned()),
        "timedelta" => Shape::Known("datetime.timedelta".to_owned()),
        "decimal" => Shape::Known("decimal.Decimal".to_owned()),
        "ndarray" | "numpy array" | "np.ndarray" => Shape::Known("numpy.ndarray".to_owned()),
        "dataframe" => Shape::Known("pandas.DataFrame".to_owned()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::{Classes, TypeNames, Value};

    #[test]
    fn words_of_docstrings_are_understood() {
        let (classes, types) = (Classes::default(), TypeNames::default());
        let facts = Facts::new(&classes, &types);
        let read = |text: &str| shape(&facts, text);
        assert_eq!(read("str, optional"), Some(Shape::text()));
        assert_eq!(read("list of str"), Some(Shape::list(Shape::text())));
        assert_eq!(read("a string or None"), Some(Shape::Union(vec![Shape::text(), Shape::None])));
        assert_eq!(read("List[int]"), Some(Shape::list(Shape::Int)));
        assert_eq!(
            read("{'a', 'b'}"),
            Some(Shape::OneOf(vec![Value::from("a"), Value::from("b")]))
        );
        assert_eq!(read(":class:`datetime.date`"), Some(Shape::Known("datetime.date".to_owned())));
        assert_eq!(read("whatever you like"), None);
        assert_eq!(read("wombat"), None);
    }
}
