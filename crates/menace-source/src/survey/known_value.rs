//! The knowledge about an expression's value during a walk.

use std::rc::Rc;

use ruff_python_ast::Expr;

use menace_model::ParamPart;

use crate::link::ResolvedName;

/// The deepest path into a parameter: deeper parts reveal little about it.
const MAX_PATH_PARTS: usize = 3;

/// The most origins of one value.
const MAX_VALUE_ORIGINS: usize = 8;

/// Cases that a literal comes in.
pub(super) const MAX_LITERAL_CASES: usize = 16;

/// A parameter that a value is, or is a part of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParamOrigin {
    pub section: usize,
    pub param: usize,
    /// The path from the parameter to the part.
    pub path: Vec<ParamPart>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct KnownValue<'a> {
    pub origins: Vec<Rc<ParamOrigin>>,
    /// Python source of the value: one or, when it takes turns (a loop over a literal list), one
    /// for each.
    pub source_cases: Vec<Rc<str>>,
    /// The literal that it is, or the list, tuple, set or dict that is written out.
    pub literal_expr: Option<&'a Expr>,
    /// The class that it is an instance of.
    pub class: Option<Rc<ResolvedName>>,
    /// The function or class that it is itself.
    pub definition: Option<Rc<ResolvedName>>,
    /// The regular expression that was compiled to make it.
    pub pattern: Option<Rc<str>>,
    /// The elements of a tuple that never was more than a way to write several values.
    pub tuple: Option<Rc<[KnownValue<'a>]>>,
}

impl KnownValue<'_> {
    pub(super) fn from_param(section: usize, param: usize) -> Self {
        let origin = ParamOrigin { section, param, path: Vec::new() };
        Self { origins: vec![Rc::new(origin)], ..Self::default() }
    }

    pub(super) fn from_instance(class: Rc<ResolvedName>) -> Self {
        Self { class: Some(class), ..Self::default() }
    }

    /// The item at an index.
    pub(super) fn item_at(&self, index: usize) -> Self {
        self.part_of_origin(&ParamPart::Index(i64::try_from(index).unwrap_or(i64::MAX)))
    }

    /// A part of the value, as far as its origin is concerned.
    pub(super) fn part_of_origin(&self, part: &ParamPart) -> Self {
        let origins = self.origins.iter().filter(|origin| origin.path.len() < MAX_PATH_PARTS);
        let inner = origins.map(|origin| {
            let path = origin.path.iter().chain([part]).cloned().collect();
            Rc::new(ParamOrigin { path, ..**origin })
        });
        Self { origins: inner.collect(), ..Self::default() }
    }

    /// Values of the same parameters at another path.
    pub(super) fn with_path(&self, path: &[ParamPart]) -> Self {
        let origins = self.origins.iter();
        let origins =
            origins.map(|origin| Rc::new(ParamOrigin { path: path.to_vec(), ..**origin }));
        Self { origins: origins.collect(), ..Self::default() }
    }

    /// A value of the same origin: the same object, or one of its kind.
    pub(super) fn same_origin(&self) -> Self {
        Self { origins: self.origins.clone(), ..Self::default() }
    }

    /// The knowledge about a value that may be either of two.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for origin in &other.origins {
            if both.origins.len() < MAX_VALUE_ORIGINS && !both.origins.contains(origin) {
                both.origins.push(origin.clone());
            }
        }
        for text in &other.source_cases {
            if both.source_cases.len() < MAX_LITERAL_CASES && !both.source_cases.contains(text) {
                both.source_cases.push(text.clone());
            }
        }
        both.literal_expr = both.literal_expr.or(other.literal_expr);
        both.class = both.class.or_else(|| other.class.clone());
        both.definition = both.definition.or_else(|| other.definition.clone());
        both.pattern = both.pattern.or_else(|| other.pattern.clone());
        both.tuple = None;
        both
    }
}
