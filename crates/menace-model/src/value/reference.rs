//! A reference to a Python object: a module, and the attributes to follow from there.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `shop.models:Book.asking_price`: import the first half, then follow the attributes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PyReference {
    module: String,
    qualname: String,
}

/// The text is no valid reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PyReferenceError {
    text: String,
}

impl PyReference {
    pub fn new(module: &str, qualname: &str) -> Result<Self, PyReferenceError> {
        let is_path = |path: &str| path.split('.').all(|name| !name.is_empty());
        // `<locals>` and `<lambda>` cannot be reached as attributes.
        if is_path(module)
            && is_path(qualname)
            && !format!("{module}{qualname}").contains([':', '<'])
        {
            Ok(Self { module: module.to_owned(), qualname: qualname.to_owned() })
        } else {
            Err(PyReferenceError { text: format!("{module}:{qualname}") })
        }
    }

    pub fn module(&self) -> &str {
        &self.module
    }

    pub fn qualname(&self) -> &str {
        &self.qualname
    }
}

impl fmt::Display for PyReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.qualname)
    }
}

impl FromStr for PyReference {
    type Err = PyReferenceError;

    fn from_str(text: &str) -> Result<Self, PyReferenceError> {
        match text.split_once(':') {
            Some((module, qualname)) => Self::new(module, qualname),
            None => Err(PyReferenceError { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for PyReference {
    type Error = PyReferenceError;

    fn try_from(text: String) -> Result<Self, PyReferenceError> {
        text.parse()
    }
}

impl From<PyReference> for String {
    fn from(reference: PyReference) -> Self {
        reference.to_string()
    }
}

impl fmt::Display for PyReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a name like \"package.module:Class.method\", found {:?}", self.text)
    }
}

impl std::error::Error for PyReferenceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_are_dotted_names() {
        let reference: PyReference = "shop.models:Book.make".parse().expect("a reference");
        assert_eq!((reference.module(), reference.qualname()), ("shop.models", "Book.make"));
        assert_eq!(reference.to_string(), "shop.models:Book.make");
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        for text in ["", "os", ":x", "os:", ".os:x", "os:x.", "a:b:c", "os:f.<locals>.g"] {
            assert!(text.parse::<PyReference>().is_err(), "{text}");
        }
    }
}
