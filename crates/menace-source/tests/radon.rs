//! Compares every number with radon's, on ten packages of the standard library.
//!
//! The reference comes from the interpreter of the test virtual environment, which has radon,
//! and from that interpreter's own standard library. No difference is known, so none is
//! tolerated: should one ever have to stay, list it here with its explanation.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod test_venv;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use menace_model::{HalsteadCounts, LineCounts};
use menace_source::code_metrics::{FStringTokens, ModuleComplexity, measure_with};
use ruff_python_parser::parse_module;
use serde::Deserialize;

const RADON_SCRIPT_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/radon_reference.py");

/// The packages hold this many and more; fewer means that the comparison compares nothing.
const MIN_FILES: usize = 150;
const MIN_BLOCKS: usize = 5_000;

#[derive(Deserialize)]
struct RadonReference {
    splits_f_strings: bool,
    modules: Vec<RadonModule>,
}

#[derive(Deserialize)]
struct RadonModule {
    path: PathBuf,
    /// The source, when it is not UTF-8 on disk.
    text: Option<String>,
    numbers: Option<RadonNumbers>,
    /// Why radon has no numbers.
    error: Option<String>,
}

#[derive(Deserialize)]
struct RadonNumbers {
    blocks: Vec<RadonBlock>,
    complexity: u32,
    maintainability: f64,
    lines: LineCounts,
    halstead: [u32; 4],
    statements: u32,
}

#[derive(Debug, PartialEq, Deserialize)]
struct RadonBlock {
    line: usize,
    /// In bytes, as CPython counts.
    column: usize,
    name: String,
    complexity: u32,
    real_complexity: u32,
}

fn run_radon() -> RadonReference {
    let output = Command::new(test_venv::venv_directory().join("bin/python"))
        .arg(RADON_SCRIPT_PATH)
        .output()
        .expect("the interpreter starts");
    assert!(
        output.status.success(),
        "radon_reference.py failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("radon_reference.py prints the document")
}

fn read_source(module: &RadonModule) -> String {
    module.text.clone().unwrap_or_else(|| {
        let text = std::fs::read_to_string(&module.path).expect("a file of the standard library");
        // Python's reader drops the mark, and its columns do not count it.
        text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
    })
}

/// Our blocks by line and column, for the names that radon gives them.
fn find_blocks(
    source: &str,
    complexities: &ModuleComplexity,
    expected: &[RadonBlock],
) -> Vec<RadonBlock> {
    let mut starts = vec![0];
    for (offset, byte) in source.bytes().enumerate() {
        if byte == b'\n' || (byte == b'\r' && source.as_bytes().get(offset + 1) != Some(&b'\n')) {
            starts.push(offset + 1);
        }
    }
    complexities
        .blocks()
        .iter()
        .map(|block| {
            let offset = block.offset.to_usize();
            let line = starts.partition_point(|start| *start <= offset);
            let column = offset - starts[line - 1];
            let name = expected
                .binary_search_by_key(&(line, column), |block| (block.line, block.column))
                .map_or("(radon has no block here)", |index| &expected[index].name)
                .to_owned();
            let (complexity, real_complexity) = (block.complexity, block.real_complexity);
            RadonBlock { line, column, name, complexity, real_complexity }
        })
        .collect()
}

/// What is not radon's number, one line each.
fn find_differences(
    module: &RadonModule,
    expected: &RadonNumbers,
    f_strings: FStringTokens,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |what: String| found.push(format!("{}: {what}", module.path.display()));
    let source = read_source(module);
    let parsed = match parse_module(&source) {
        Ok(parsed) => parsed,
        Err(error) => {
            report(format!("does not parse: {error}"));
            return found;
        }
    };
    let (numbers, complexities) = measure_with(&source, &parsed, f_strings);

    let ours = find_blocks(&source, &complexities, &expected.blocks);
    for block in expected.blocks.iter().filter(|block| !ours.contains(block)) {
        report(format!("radon has {block:?}"));
    }
    for block in ours.iter().filter(|block| !expected.blocks.contains(block)) {
        report(format!("we have {block:?}"));
    }

    let [distinct_operators, distinct_operands, operators, operands] = expected.halstead;
    let halstead = HalsteadCounts { distinct_operators, distinct_operands, operators, operands };
    if numbers.halstead != halstead {
        report(format!("{:?}, radon {halstead:?}", numbers.halstead));
    }
    if numbers.lines != expected.lines {
        report(format!("{:?}, radon {:?}", numbers.lines, expected.lines));
    }
    if numbers.complexity != expected.complexity {
        report(format!("complexity {}, radon {}", numbers.complexity, expected.complexity));
    }
    if numbers.statements != expected.statements {
        report(format!("{} statements, radon {}", numbers.statements, expected.statements));
    }
    let (maintainability, theirs) = (numbers.maintainability, expected.maintainability);
    if (maintainability - theirs).abs() > 1e-9 {
        report(format!("maintainability {maintainability}, radon {theirs}"));
    }
    found
}

#[test]
fn numbers_equal_radons_on_ten_packages_of_the_standard_library() {
    let reference = run_radon();
    let f_strings =
        if reference.splits_f_strings { FStringTokens::Split } else { FStringTokens::Whole };
    let mut files = 0;
    let mut blocks = 0;
    let mut rejected = String::new();
    let mut found = Vec::new();
    for module in &reference.modules {
        if let Some(expected) = &module.numbers {
            files += 1;
            blocks += expected.blocks.len();
            found.extend(find_differences(module, expected, f_strings));
        } else {
            let error = module.error.as_deref().unwrap_or("no reason given");
            writeln!(rejected, "  {}: {error}", module.path.display()).unwrap();
        }
    }
    println!("{files} files with {blocks} functions and classes compared");
    if !rejected.is_empty() {
        println!("radon has no numbers for\n{rejected}");
    }
    assert!(files >= MIN_FILES && blocks >= MIN_BLOCKS, "only {files} files, {blocks} blocks");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
