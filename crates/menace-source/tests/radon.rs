//! Compares every number with radon's, on ten packages of the standard library.
//!
//! The reference comes from the interpreter of the test virtual environment, which has radon,
//! and from that interpreter's own standard library. No difference is known, so none is
//! tolerated: should one ever have to stay, list it here with its explanation.

mod test_venv;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use menace_model::{Halstead, Lines};
use menace_source::numbers::{Complexities, FStrings, measure_as};
use ruff_python_parser::parse_module;
use serde::Deserialize;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/radon_reference.py");

/// The packages hold this many and more; fewer means that the comparison compares nothing.
const LEAST_FILES: usize = 150;
const LEAST_BLOCKS: usize = 5_000;

#[derive(Deserialize)]
struct Reference {
    splits_f_strings: bool,
    modules: Vec<Module>,
}

#[derive(Deserialize)]
struct Module {
    path: PathBuf,
    /// The source, when it is not UTF-8 on disk.
    text: Option<String>,
    numbers: Option<Numbers>,
    /// Why radon has no numbers.
    error: Option<String>,
}

#[derive(Deserialize)]
struct Numbers {
    blocks: Vec<Block>,
    complexity: u32,
    maintainability: f64,
    lines: Lines,
    halstead: [u32; 4],
    statements: u32,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Block {
    line: usize,
    /// In bytes, as CPython counts.
    column: usize,
    name: String,
    complexity: u32,
    real_complexity: u32,
}

fn reference() -> Reference {
    let output = Command::new(test_venv::directory().join("bin/python"))
        .arg(SCRIPT)
        .output()
        .expect("the interpreter starts");
    assert!(
        output.status.success(),
        "radon_reference.py failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("radon_reference.py prints the document")
}

fn source(module: &Module) -> String {
    module.text.clone().unwrap_or_else(|| {
        let text = std::fs::read_to_string(&module.path).expect("a file of the standard library");
        // Python's reader drops the mark, and its columns do not count it.
        text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
    })
}

/// Our blocks by line and column, for the names that radon gives them.
fn blocks(source: &str, complexities: &Complexities, expected: &[Block]) -> Vec<Block> {
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
            Block { line, column, name, complexity, real_complexity }
        })
        .collect()
}

/// What is not radon's number, one line each.
fn differences(module: &Module, expected: &Numbers, f_strings: FStrings) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |what: String| found.push(format!("{}: {what}", module.path.display()));
    let source = source(module);
    let parsed = match parse_module(&source) {
        Ok(parsed) => parsed,
        Err(error) => {
            report(format!("does not parse: {error}"));
            return found;
        }
    };
    let (numbers, complexities) = measure_as(&source, &parsed, f_strings);

    let ours = blocks(&source, &complexities, &expected.blocks);
    for block in expected.blocks.iter().filter(|block| !ours.contains(block)) {
        report(format!("radon has {block:?}"));
    }
    for block in ours.iter().filter(|block| !expected.blocks.contains(block)) {
        report(format!("we have {block:?}"));
    }

    let [distinct_operators, distinct_operands, operators, operands] = expected.halstead;
    let halstead = Halstead { distinct_operators, distinct_operands, operators, operands };
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
    let reference = reference();
    let f_strings = if reference.splits_f_strings { FStrings::Split } else { FStrings::Whole };
    let mut files = 0;
    let mut blocks = 0;
    let mut rejected = String::new();
    let mut found = Vec::new();
    for module in &reference.modules {
        if let Some(expected) = &module.numbers {
            files += 1;
            blocks += expected.blocks.len();
            found.extend(differences(module, expected, f_strings));
        } else {
            let error = module.error.as_deref().unwrap_or("no reason given");
            writeln!(rejected, "  {}: {error}", module.path.display()).unwrap();
        }
    }
    println!("{files} files with {blocks} functions and classes compared");
    if !rejected.is_empty() {
        println!("radon has no numbers for\n{rejected}");
    }
    assert!(files >= LEAST_FILES && blocks >= LEAST_BLOCKS, "only {files} files, {blocks} blocks");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
