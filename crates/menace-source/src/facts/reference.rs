//! A name before linking, written as one string: `module:attribute.attribute`.
//!
//! | written | means |
//! |---|---|
//! | `numpy:ndarray` | `ndarray` of the module `numpy` |
//! | `..shapes:Box` | `Box` of a module two packages up |
//! | `:Box.Lid` | `Box.Lid` of the file itself |
//! | `int` | no binding in the file: a builtin, or from a star import |
//!
//! No Python name contains a colon, so the two parts cannot be confused.

/// The two halves of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameReference<'a> {
    /// Module as imported, leading dots included; empty for the file itself.
    pub module: &'a str,
    /// Dotted attributes inside of the module; may be empty.
    pub attributes: &'a str,
}

impl<'a> NameReference<'a> {
    /// Splits a reference; `None` for a name without a binding in its file.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        text.split_once(':').map(|(module, attributes)| Self { module, attributes })
    }

    pub(crate) fn format_reference(module: &str, attributes: &str) -> String {
        let mut text = String::with_capacity(module.len() + attributes.len() + 1);
        text.push_str(module);
        text.push(':');
        text.push_str(attributes);
        text
    }
}

/// Whether `text` is `attribute` of the typing module, however it was imported.
pub(crate) fn is_typing(text: &str, attribute: &str) -> bool {
    match NameReference::parse(text) {
        Some(NameReference { module: "typing" | "typing_extensions", attributes }) => {
            attributes == attribute
        }
        Some(_) => false,
        None => text == attribute,
    }
}
