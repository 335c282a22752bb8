//! From the type that a docstring states in words to a shape.

use super::annotation;
use crate::input::name_topics::TextRole;
use crate::input::python;
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::{PathKind, ValueShape};

/// `list of str, optional`, `:class:`Path` or None`, `{'a', 'b'}`, `array-like`.
pub(crate) fn docstring_shape(facts: &RepositoryFacts<'_>, text: &str) -> Option<ValueShape> {
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
        let choices = python::parse_value(&format!("[{}]", &text[1..text.len() - 1]), &|_| None);
        if let Some(menace_model::Value::List(choices)) = choices {
            return (!choices.is_empty()).then_some(ValueShape::OneOf(choices));
        }
    }
    if let Some((left, right)) = text.split_once(" or ") {
        let shapes: Vec<ValueShape> =
            [left, right].iter().filter_map(|part| docstring_shape(facts, part)).collect();
        return (!shapes.is_empty()).then(|| ValueShape::union_of(shapes));
    }
    let lower = text.to_lowercase();
    let lower = ["a ", "an ", "the ", "optional "]
        .iter()
        .fold(lower.as_str(), |text, article| text.strip_prefix(article).unwrap_or(text))
        .to_owned();
    if let Some((container, item)) = lower.split_once(" of ") {
        let item = Box::new(docstring_shape(facts, item).unwrap_or(ValueShape::Any));
        return match container.split_whitespace().last()?.trim_end_matches('s') {
            "list" | "sequence" | "array" | "iterable" | "collection" | "array-like" => {
                Some(ValueShape::List(item))
            }
            "tuple" => Some(ValueShape::TupleOf(item)),
            "set" => Some(ValueShape::Set(item)),
            "frozenset" => Some(ValueShape::FrozenSet(item)),
            "dict" | "dictionary" | "mapping" => {
                Some(ValueShape::Dict(Box::new(ValueShape::any_text()), item))
            }
            "iterator" | "generator" => Some(ValueShape::Iterator(item)),
            _ => docstring_shape(facts, container),
        };
    }
    if let Some(shape) = word_shape(&lower) {
        return Some(shape);
    }
    let kind = annotation::parse_annotation(text)?;
    match annotation::annotation_shape(facts, &kind) {
        ValueShape::Any => None,
        // A word of prose is no class.
        ValueShape::LibraryInstance(name)
            if !name.contains('.')
                && crate::input::make::objects::find_known_instances(&name).is_none() =>
        {
            None
        }
        shape => Some(shape),
    }
}

fn word_shape(word: &str) -> Option<ValueShape> {
    Some(match word {
        "str" | "string" | "strings" | "text" | "unicode" | "unicode string" | "strs"
        | "basestring" => ValueShape::any_text(),
        "int"
        | "integer"
        | "integers"
        | "ints"
        | "positive integer"
        | "non-negative integer"
        | "positive int"
        | "long" => ValueShape::Int,
        "float" | "floats" | "real" | "double" | "real number" | "number" | "numbers"
        | "numeric" | "scalar" => ValueShape::Float,
        "bool" | "boolean" | "flag" | "bools" => ValueShape::Bool,
        "bytes" | "bytestring" | "byte string" | "bytes-like" | "bytes-like object" | "buffer"
        | "bytes object" => ValueShape::Bytes,
        "none" => ValueShape::None,
        "list" | "sequence" | "iterable" | "array" | "array-like" | "array_like" | "lists" => {
            ValueShape::list_of(ValueShape::Any)
        }
        "tuple" | "tuples" => ValueShape::TupleOf(Box::new(ValueShape::Any)),
        "pair" => ValueShape::Tuple(vec![ValueShape::Any, ValueShape::Any]),
        "set" => ValueShape::Set(Box::new(ValueShape::Any)),
        "dict" | "dictionary" | "mapping" | "dicts" | "mapping object" => {
            ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any))
        }
        "callable" | "function" | "func" | "method" | "callback" | "callable object" => {
            ValueShape::function_returning(ValueShape::Any)
        }
        "coroutine" | "awaitable" => ValueShape::Awaitable(Box::new(ValueShape::Any)),
        "iterator" | "generator" => ValueShape::Iterator(Box::new(ValueShape::Any)),
        "path" | "filename" | "file name" | "path-like" | "path-like object" | "pathlike"
        | "file path" | "filepath" => ValueShape::Path { kind: PathKind::File, is_text: true },
        "directory" | "folder" | "directory name" => {
            ValueShape::Path { kind: PathKind::Directory, is_text: true }
        }
        "file" | "file-like" | "file-like object" | "file object" | "stream" | "text file"
        | "text stream" | "file like object" => {
            ValueShape::LibraryInstance("io.StringIO".to_owned())
        }
        "binary file" | "binary stream" => ValueShape::LibraryInstance("io.BytesIO".to_owned()),
        "url" | "uri" => ValueShape::Str(Some(TextRole::Url)),
        "regex" | "regular expression" | "regexp" => ValueShape::Str(Some(TextRole::Regex)),
        "json" | "json string" => ValueShape::Str(Some(TextRole::Json)),
        "email" | "e-mail" | "email address" => ValueShape::Str(Some(TextRole::Email)),
        "object" | "any" | "anything" | "value" => ValueShape::Any,
        "class" | "type" => ValueShape::Class(Box::new(ValueShape::Any)),
        "exception" | "error" => ValueShape::LibraryInstance("Exception".to_owned()),
        "datetime" => ValueShape::LibraryInstance("datetime.datetime".to_owned()),
        "date" => ValueShape::LibraryInstance("datetime.date".to_owned()),
        "timedelta" => ValueShape::LibraryInstance("datetime.timedelta".to_owned()),
        "decimal" => ValueShape::LibraryInstance("decimal.Decimal".to_owned()),
        "ndarray" | "numpy array" | "np.ndarray" => {
            ValueShape::LibraryInstance("numpy.ndarray".to_owned())
        }
        "dataframe" => ValueShape::LibraryInstance("pandas.DataFrame".to_owned()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::{ClassIndex, NamedTypeIndex, Value};

    #[test]
    fn type_words_of_docstrings_become_shapes() {
        let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
        let facts = RepositoryFacts::new(&classes, &types);
        let read = |text: &str| docstring_shape(&facts, text);
        assert_eq!(read("str, optional"), Some(ValueShape::any_text()));
        assert_eq!(read("list of str"), Some(ValueShape::list_of(ValueShape::any_text())));
        assert_eq!(
            read("a string or None"),
            Some(ValueShape::Union(vec![ValueShape::any_text(), ValueShape::None]))
        );
        assert_eq!(read("List[int]"), Some(ValueShape::list_of(ValueShape::Int)));
        assert_eq!(
            read("{'a', 'b'}"),
            Some(ValueShape::OneOf(vec![Value::from("a"), Value::from("b")]))
        );
        assert_eq!(
            read(":class:`datetime.date`"),
            Some(ValueShape::LibraryInstance("datetime.date".to_owned()))
        );
        assert_eq!(read("whatever you like"), None);
        assert_eq!(read("wombat"), None);
    }
}
