//! What is known about the value of an expression while a body is walked.

use std::rc::Rc;

use ruff_python_ast::Expr;

use menace_model::Part;

use crate::link::Resolved;

/// Parts of parts: what is deeper says little about the whole.
const MAX_PARTS: usize = 3;

/// Different things that one name may stand for; nobody needs more.
const MAX_ORIGINS: usize = 8;

/// Cases that a literal comes in.
pub(super) const MAX_TEXTS: usize = 16;

/// A parameter that a value is, or is a part of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub section: usize,
    pub param: usize,
    /// From the parameter inwards.
    pub path: Vec<Part>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Known<'a> {
    pub origins: Vec<Rc<Origin>>,
    /// Python source of the value: one or, when it takes turns (a loop over a literal list), one
    /// for each.
    pub texts: Vec<Rc<str>>,
    /// The literal that it is, or the list, tuple, set or dict that is written out.
    pub written: Option<&'a Expr>,
    /// The class that it is an instance of.
    pub class: Option<Rc<Resolved>>,
    /// The function or class that it is itself.
    pub meant: Option<Rc<Resolved>>,
    /// The regular expression that was compiled to make it.
    pub pattern: Option<Rc<str>>,
    /// The elements of a tuple that never was more than a way to write several values.
    pub tuple: Option<Rc<[Known<'a>]>>,
}

impl Known<'_> {
    pub(super) fn param(section: usize, param: usize) -> Self {
        let origin = Origin { section, param, path: Vec::new() };
        Self { origins: vec![Rc::new(origin)], ..Self::default() }
    }

    pub(super) fn instance(class: Rc<Resolved>) -> Self {
        Self { class: Some(class), ..Self::default() }
    }

    /// What stands in a place of it.
    pub(super) fn place(&self, index: usize) -> Self {
        self.part(&Part::Index(i64::try_from(index).unwrap_or(i64::MAX)))
    }

    /// A part of the value, as far as its origin is concerned.
    pub(super) fn part(&self, part: &Part) -> Self {
        let origins = self.origins.iter().filter(|origin| origin.path.len() < MAX_PARTS);
        let inner = origins.map(|origin| {
            let path = origin.path.iter().chain([part]).cloned().collect();
            Rc::new(Origin { path, ..**origin })
        });
        Self { origins: inner.collect(), ..Self::default() }
    }

    /// What is reached from the parameters by another path.
    pub(super) fn with_path(&self, path: &[Part]) -> Self {
        let origins = self.origins.iter();
        let origins = origins.map(|origin| Rc::new(Origin { path: path.to_vec(), ..**origin }));
        Self { origins: origins.collect(), ..Self::default() }
    }

    /// The same object or one of the same kind, as far as its origin is concerned.
    pub(super) fn like(&self) -> Self {
        Self { origins: self.origins.clone(), ..Self::default() }
    }

    /// What is known when the value may be either.
    pub(super) fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for origin in &other.origins {
            if both.origins.len() < MAX_ORIGINS && !both.origins.contains(origin) {
                both.origins.push(origin.clone());
            }
        }
        for text in &other.texts {
            if both.texts.len() < MAX_TEXTS && !both.texts.contains(text) {
                both.texts.push(text.clone());
            }
        }
        both.written = both.written.or(other.written);
        both.class = both.class.or_else(|| other.class.clone());
        both.meant = both.meant.or_else(|| other.meant.clone());
        both.pattern = both.pattern.or_else(|| other.pattern.clone());
        both.tuple = None;
        both
    }
}
