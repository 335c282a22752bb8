//! Notes down what was found.

use std::rc::Rc;

use menace_model::Use;
use ruff_python_ast::Expr;

use super::Walker;
use crate::survey::known::{Known, Origin};

/// What a parameter is used for; a body that does more is not understood better by it.
pub(in crate::survey) const MAX_USES: usize = 200;

/// Different functions that a section calls.
const MAX_CALLS: usize = 100;

impl<'a> Walker<'a> {
    pub(super) fn used(&mut self, known: &Known<'a>, used: &Use) {
        self.used_by(&known.origins, used);
    }

    pub(super) fn used_by(&mut self, origins: &[Rc<Origin>], used: &Use) {
        for origin in origins {
            let whole = origin.path.iter().rev().fold(used.clone(), |used, part| Use::Inside {
                part: part.clone(),
                used: Box::new(used),
            });
            let known = &mut self.hints[origin.section].params[origin.param].uses;
            if known.len() < MAX_USES && !known.contains(&whole) {
                known.push(whole);
            }
        }
    }

    pub(super) fn raises(&mut self, name: &str) {
        for section in self.sections_here() {
            let raises = &mut self.hints[section].raises;
            if !raises.iter().any(|known| known == name) {
                raises.push(name.to_owned());
            }
        }
    }

    pub(super) fn calls(&mut self, function: &Expr) {
        let name = written(function);
        for section in self.sections_here() {
            let calls = &mut self.hints[section].calls;
            if calls.len() < MAX_CALLS && !calls.contains(&name) {
                calls.push(name.clone());
            }
        }
    }

    /// The functions around this point or, outside of any, the module.
    ///
    /// What a nested function contains counts for those around it as well: nobody else calls it.
    pub(super) fn sections_here(&self) -> Vec<usize> {
        match &self.frames[..] {
            [_, functions @ ..] if !functions.is_empty() => functions.to_vec(),
            all => all.to_vec(),
        }
    }
}

/// `a.b.c` as it stands there; what is no name leaves only what follows it.
fn written(function: &Expr) -> String {
    match function {
        Expr::Name(name) => name.id.to_string(),
        Expr::Attribute(attribute) => format!("{}.{}", written(&attribute.value), attribute.attr),
        _ => String::new(),
    }
}
