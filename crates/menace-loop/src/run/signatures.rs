//! The signatures of sections, stored so that a new, removed or changed one is reported.
//!
//! Invariant: a module that a cycle leaves out, or that cannot be parsed, is compared with its
//! stored signatures by the next cycle that has it.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{AnalyzedModule, SectionId};
use menace_track::{CycleDiscrepancy, RoiHistory, Tracker, find_changed_sections, hash_signature};
use serde_json::{Map, Value};

use crate::cycle::SectionFilter;

/// Key in the history: hashes of signatures, by section.
const SIGNATURES_KEY: &str = "section_signatures";

#[derive(Debug)]
pub(super) struct SectionSignatures<'r> {
    modules: &'r [AnalyzedModule],
    sections: &'r dyn SectionFilter,
}

impl<'r> SectionSignatures<'r> {
    /// `modules` are all of the repository; `sections` selects those of the cycle.
    pub(super) fn new(modules: &'r [AnalyzedModule], sections: &'r dyn SectionFilter) -> Self {
        Self { modules, sections }
    }

    /// Sections that were added, removed or changed since the last cycle with their module.
    pub(super) fn find_changes(&self, history: &RoiHistory) -> Vec<CycleDiscrepancy> {
        let stored = history.extra_fields.get(SIGNATURES_KEY).and_then(Value::as_object);
        let Some(stored) = stored else {
            return Vec::new();
        };
        let is_compared = self.is_compared();
        let before = stored.iter().filter_map(|(id, value)| {
            let section = parse_id(id).filter(|section| is_compared(section.path()))?;
            Some((section, u64::from_str_radix(value.as_str()?, 16).ok()?))
        });
        let before: Vec<(SectionId, u64)> = before.collect();
        find_changed_sections(&before, &self.current(&is_compared))
    }

    pub(super) fn record(&self, tracker: &mut Tracker) {
        let fields = tracker.extra_fields_mut();
        // The first cycle stores all modules: modules that appear later are new.
        let is_first = !fields.contains_key(SIGNATURES_KEY);
        let stored = fields.entry(SIGNATURES_KEY).or_insert_with(|| Map::new().into());
        let Some(stored) = stored.as_object_mut() else { return };
        let is_compared = self.is_compared();
        stored.retain(|id, _| parse_id(id).is_some_and(|section| !is_compared(section.path())));
        for (section, hash) in self.current(&|path| is_first || is_compared(path)) {
            stored.insert(section.to_string(), format!("{hash:016x}").into());
        }
    }

    /// Whether the cycle has the module of this path, which may be deleted.
    fn is_compared(&self) -> impl Fn(&str) -> bool {
        let present: BTreeMap<&str, bool> = self
            .modules
            .iter()
            .map(|module| {
                let is_readable = module.error.is_none();
                (module.path.as_str(), is_readable && self.sections.has_module(module))
            })
            .collect();
        move |path| present.get(path).copied().unwrap_or_else(|| self.sections.has_path(path))
    }

    fn current(&self, is_selected: &dyn Fn(&str) -> bool) -> Vec<(SectionId, u64)> {
        let modules =
            self.modules.iter().filter(|one| one.error.is_none() && is_selected(&one.path));
        // A name that is defined twice is one section.
        let mut ids = BTreeSet::new();
        let sections = modules.flat_map(|module| &module.sections);
        sections
            .filter(|section| ids.insert(&section.id))
            .map(|section| (section.id.clone(), hash_signature(section)))
            .collect()
    }
}

fn parse_id(id: &str) -> Option<SectionId> {
    let (path, qualname) = id.rsplit_once("::")?;
    Some(SectionId::new(path, qualname))
}
