//! Stores hints by parameter.

use std::rc::Rc;

use menace_model::ParamUse;
use ruff_python_ast::Expr;

use super::SurveyWalker;
use crate::survey::known_value::{KnownValue, ParamOrigin};

/// The most uses that are recorded for a parameter; more would not help.
pub(in crate::survey) const MAX_USES_PER_PARAM: usize = 200;

/// Different functions that a section calls.
const MAX_CALLED_FUNCTIONS: usize = 100;

impl<'a> SurveyWalker<'a> {
    pub(super) fn record_use(&mut self, known: &KnownValue<'a>, used: &ParamUse) {
        self.record_use_of_origins(&known.origins, used);
    }

    pub(super) fn record_use_of_origins(&mut self, origins: &[Rc<ParamOrigin>], used: &ParamUse) {
        for origin in origins {
            let whole = origin.path.iter().rev().fold(used.clone(), |used, part| {
                ParamUse::Inside { part: part.clone(), inner_use: Box::new(used) }
            });
            let known = &mut self.hints[origin.section].params[origin.param].uses;
            if known.len() < MAX_USES_PER_PARAM && !known.contains(&whole) {
                known.push(whole);
            }
        }
    }

    pub(super) fn record_raise(&mut self, name: &str) {
        for section in self.enclosing_sections() {
            let raises = &mut self.hints[section].raises;
            if !raises.iter().any(|known| known == name) {
                raises.push(name.to_owned());
            }
        }
    }

    pub(super) fn record_call(&mut self, function: &Expr) {
        let name = dotted_source(function);
        for section in self.enclosing_sections() {
            let calls = &mut self.hints[section].callees;
            if calls.len() < MAX_CALLED_FUNCTIONS && !calls.contains(&name) {
                calls.push(name.clone());
            }
        }
    }

    /// The functions around this point or, outside of any, the module.
    ///
    /// Uses in a nested function also count for the enclosing function, which is the only one that
    /// calls it.
    pub(super) fn enclosing_sections(&self) -> Vec<usize> {
        match &self.frames[..] {
            [_, functions @ ..] if !functions.is_empty() => functions.to_vec(),
            all => all.to_vec(),
        }
    }
}

/// `a.b.c` as written; an expression that is no name is left out, and only the attributes after it
/// remain.
fn dotted_source(function: &Expr) -> String {
    match function {
        Expr::Name(name) => name.id.to_string(),
        Expr::Attribute(attribute) => {
            format!("{}.{}", dotted_source(&attribute.value), attribute.attr)
        }
        _ => String::new(),
    }
}
