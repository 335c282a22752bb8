//! Follows a parameter that is passed on to another function of the same module.

use rustc_hash::FxHashMap;

use menace_model::{AnalyzedModule, ParamHints, ParamKind, ParamUse, Section, SectionHints};

use super::walk::MAX_USES_PER_PARAM;
use crate::link::strip_definition_number;

/// Functions that a parameter is followed through.
const MAX_PASSED_ON_CALLS: usize = 3;

/// Adds to each parameter's uses those of the functions that it is passed to unchanged.
pub(super) fn follow_passed_params(module: &AnalyzedModule, hints: &mut [SectionHints]) {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for (index, section) in module.sections.iter().enumerate() {
        let qualname = strip_definition_number(section.id.qualname());
        // The call of a class is that of its constructor.
        if let Some(class) = qualname.strip_suffix(".__init__") {
            places.insert(format!("{}.{class}", module.name), index);
        }
        places.insert(format!("{}.{qualname}", module.name), index);
    }
    for _ in 0..MAX_PASSED_ON_CALLS {
        let before: Vec<Vec<ParamHints>> = hints.iter().map(|hints| hints.params.clone()).collect();
        let mut grew = false;
        for param in hints.iter_mut().flat_map(|hints| &mut hints.params) {
            for place in 0..param.uses.len() {
                let ParamUse::PassedTo { function, argument } = &param.uses[place] else {
                    continue;
                };
                let Some(&callee) = places.get(function) else { continue };
                let Some(param_index) = receiving_param(&module.sections[callee], argument) else {
                    continue;
                };
                for used in &before[callee][param_index].uses {
                    if param.uses.len() < MAX_USES_PER_PARAM && !param.uses.contains(used) {
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
fn receiving_param(section: &Section, argument: &str) -> Option<usize> {
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
