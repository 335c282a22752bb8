//! Failures as pytest files, which fail today and need nothing but the repository and pytest.
//!
//! Text only: the command writes the files. Code that tests share is in `parts/`, in Python; a file
//! gets the parts that its tests use. Invariant: a test passes once the section returns, or raises
//! explicitly, without the weakness, and never because the section was not found; a failure that
//! cannot be shown without Menace is named and not exported.

mod file;
mod kinds;
mod limits;
mod parts;
mod reply;
mod source;

use std::collections::BTreeMap;
use std::path::Path;

use menace_model::{AnalyzedModule, Failure, FailureId, Section};
use menace_source::Analysis;

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedTestFile {
    /// `test_menace_shop_cart.py`.
    pub name: String,
    pub text: String,
    /// The failures that its tests show, in their order.
    pub failures: Vec<FailureId>,
}

/// A failure that no test can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedExport {
    pub id: FailureId,
    /// Why it was not exported, with the command that shows it if there is one.
    pub why: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestExport {
    pub files: Vec<ExportedTestFile>,
    pub not_exported: Vec<SkippedExport>,
}

/// One test function and the parts that it uses.
#[derive(Debug)]
struct ExportedTest {
    id: FailureId,
    text: String,
    parts: Vec<parts::TestHelper>,
}

/// Tests for all failures that can be shown, one file for each module.
///
/// Files outside of the repository name its path, `home`; files inside of it find it by themselves,
/// on any machine.
pub fn export(failures: &[Failure], analysis: &Analysis, home: Option<&Path>) -> TestExport {
    let mut export = TestExport::default();
    let mut modules: BTreeMap<&str, (&AnalyzedModule, Vec<ExportedTest>)> = BTreeMap::new();
    for failure in failures {
        let written = match section_of(failure, analysis) {
            Some((module, section)) => kinds::test(failure, module, section)
                .map(|test| (module, test))
                .map_err(|why| format!("{why}; `menace repro {}` shows it", failure.id)),
            None => Err(format!("`{}` is not in the repository", failure.section)),
        };
        match written {
            Ok((module, test)) => {
                modules.entry(&module.path).or_insert((module, Vec::new())).1.push(test);
            }
            Err(why) => export.not_exported.push(SkippedExport { id: failure.id.clone(), why }),
        }
    }
    for (module, tests) in modules.into_values() {
        let mut name = file::name(module);
        // Modules of one name in different places.
        let mut number = 2;
        while export.files.iter().any(|file| file.name == name) {
            name = file::name(module).replace(".py", &format!("_{number}.py"));
            number += 1;
        }
        export.files.push(file::write(name, analysis, home, module, &tests));
    }
    export
}

fn section_of<'a>(
    failure: &Failure,
    analysis: &'a Analysis,
) -> Option<(&'a AnalyzedModule, &'a Section)> {
    analysis.modules.iter().find_map(|module| {
        let section = module.sections.iter().find(|section| section.id == failure.section)?;
        Some((module, section))
    })
}
