//! Combines tests and the helpers that they use into one file.

use std::collections::BTreeSet;
use std::path::Path;

use menace_model::AnalyzedModule;
use menace_source::Analysis;
use menace_source::file_discovery::{EXPORTED_TEST_HEADER, EXPORTED_TEST_PREFIX};

use super::parts::{ROOT, TestHelper};
use super::source::literal;
use super::{ExportedTest, ExportedTestFile};
use crate::targets;

/// `test_menace_shop_cart.py`.
pub(super) fn name(module: &AnalyzedModule) -> String {
    let word = |char: char| if char.is_ascii_alphanumeric() { char } else { '_' };
    format!("{EXPORTED_TEST_PREFIX}{}.py", module.name.chars().map(word).collect::<String>())
}

pub(super) fn write(
    name: String,
    analysis: &Analysis,
    home: Option<&Path>,
    module: &AnalyzedModule,
    tests: &[ExportedTest],
) -> ExportedTestFile {
    let used: BTreeSet<TestHelper> =
        tests.iter().flat_map(|test| test.parts.iter().copied()).collect();
    let mut imports = BTreeSet::new();
    let (root_imports, root) = split(ROOT);
    imports.extend(root_imports);
    let mut bodies = Vec::new();
    for part in used {
        let (part_imports, body) = split(part.source());
        imports.extend(part_imports);
        bodies.push(body);
    }
    let roots = targets::import_roots(analysis, module);
    let roots: Vec<String> = roots.iter().map(|root| literal(root)).collect();
    let of_library = |import: &&&str| **import != "import pytest";
    let mut text = format!(
        "{EXPORTED_TEST_HEADER}{}` that Menace has found.\n\
         # Each test fails until the weakness is fixed; a deliberate `raise` counts as a fix.\n\n",
        module.path
    );
    for import in imports.iter().filter(of_library) {
        text.push_str(import);
        text.push('\n');
    }
    if imports.contains("import pytest") {
        text.push_str("\nimport pytest\n");
    }
    text.extend(["\nMODULE = ", &literal(&module.path), "\n"]);
    text.extend(["MODULE_NAME = ", &literal(&module.name), "\n"]);
    text.extend(["IMPORT_ROOTS = [", &roots.join(", "), "]\n"]);
    let home = home.map(|home| literal(&home.to_string_lossy())).unwrap_or_default();
    text.extend(["REPOSITORY = [", &home, "]\n\n\n"]);
    text.push_str(root);
    text.push('\n');
    for body in bodies {
        text.push('\n');
        text.push_str(body);
        text.push('\n');
    }
    for test in tests {
        text.push('\n');
        text.push_str(&test.text);
        text.push('\n');
    }
    let text = format!("{}\n", text.trim_end());
    ExportedTestFile { name, text, failures: tests.iter().map(|test| test.id.clone()).collect() }
}

/// The imports of a part, and the rest of it.
fn split(source: &'static str) -> (impl Iterator<Item = &'static str>, &'static str) {
    let is_import = |line: &str| line.starts_with("import ") || line.starts_with("from ");
    let mut head = 0;
    for line in source.split_inclusive('\n') {
        if !is_import(line) && !line.trim().is_empty() {
            break;
        }
        head += line.len();
    }
    let (imports, rest) = source.split_at(head);
    (imports.lines().filter(move |line| is_import(line)), rest)
}
