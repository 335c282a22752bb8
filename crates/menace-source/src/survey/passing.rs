//! What becomes of a parameter that is passed on to another function of the same module.

use rustc_hash::FxHashMap;

use menace_model::{Hints, ModuleReport, ParamHints, ParamKind, Section, Use};

use super::walk::MAX_USES;
use crate::link::without_number;

/// Functions that a parameter is followed through.
const MAX_HOPS: usize = 3;

/// Adds to the uses of each parameter what the functions do that it is passed to as it is.
pub(super) fn follow(module: &ModuleReport, hints: &mut [Hints]) {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for (index, section) in module.sections.iter().enumerate() {
        let qualname = without_number(section.id.qualname());
        // The call of a class is that of its constructor.
        if let Some(class) = qualname.strip_suffix(".__init__") {
            places.insert(format!("{}.{class}", module.name), index);
        }
        places.insert(format!("{}.{qualname}", module.name), index);
    }
    for _ in 0..MAX_HOPS {
        let before: Vec<Vec<ParamHints>> = hints.iter().map(|hints| hints.params.clone()).collect();
        let mut grew = false;
        for param in hints.iter_mut().flat_map(|hints| &mut hints.params) {
            for place in 0..param.uses.len() {
                let Use::PassedTo { function, argument } = &param.uses[place] else { continue };
                let Some(&callee) = places.get(function) else { continue };
                let Some(taken) = taker(&module.sections[callee], argument) else { continue };
                for used in &before[callee][taken].uses {
                    if param.uses.len() < MAX_USES && !param.uses.contains(used) {
                        param.uses.push(used.clone());
                        grew = true;
                    }
                }
            }
        }
        if !grew {
            return;
        }
    }
}

/// The parameter that takes an argument, given by position or by name.
fn taker(section: &Section, argument: &str) -> Option<usize> {
    let Ok(position) = argument.parse::<usize>() else {
        return section.params.iter().position(|param| {
            param.name == argument
                && matches!(param.kind, ParamKind::PositionalOrKeyword | ParamKind::KeywordOnly)
        });
    };
    let kind = section.params.get(position)?.kind;
    let takes = matches!(kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword);
    takes.then_some(position)
}
