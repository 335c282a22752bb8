//! Metrics that follow from a module's text alone, equal to those of radon 6.
//!
//! [`measure`] works on one parse: it walks the tree once, the tokens twice and the physical lines
//! once. Invariant: every step is linear in the size of the source and cannot overflow the stack.

mod complexity;
mod entropy;
mod halstead;
mod lines;
mod maintainability;
mod operand;
mod physical_lines;
mod walk;

use menace_model::CodeMetrics;
use ruff_python_ast::ModModule;
use ruff_python_parser::Parsed;
use ruff_source_file::LineIndex;

pub use complexity::{ComplexityBlock, ComplexityBlockKind, ModuleComplexity};
pub use lines::FStringTokens;

/// Measures a text that is no file of its own; `None` if it is no Python.
pub fn measure_text(source: &str) -> Option<CodeMetrics> {
    let lines = LineIndex::from_source_text(source);
    let parsed = crate::parse::parse(source, &lines).ok()?;
    Some(measure(source, &parsed).0)
}

/// Measures one module, and every function and class in it.
pub fn measure(source: &str, parsed: &Parsed<ModModule>) -> (CodeMetrics, ModuleComplexity) {
    measure_with(source, parsed, FStringTokens::Whole)
}

/// [`measure`] with a choice of how line counts read f-strings.
///
/// radon's counts depend on the interpreter that runs it; Menace's must not, so the product
/// always uses [`FStringTokens::Whole`]. The other reading serves comparisons with a radon on
/// 3.12+.
pub fn measure_with(
    source: &str,
    parsed: &Parsed<ModModule>,
    f_strings: FStringTokens,
) -> (CodeMetrics, ModuleComplexity) {
    let tree = walk::measure_tree(source, parsed);
    let lines = lines::count_lines(source, parsed.tokens(), f_strings);
    let complexity = tree.complexities.module_complexity();
    let numbers = CodeMetrics {
        lines,
        halstead: tree.halstead,
        complexity,
        maintainability: maintainability::maintainability_index(lines, tree.halstead, complexity),
        entropy: entropy::compute_token_entropy(source, parsed.tokens()),
        statements: tree.statements,
    };
    (numbers, tree.complexities)
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::parse_module;

    use super::{CodeMetrics, ModuleComplexity, measure};

    pub(super) fn measure_source(source: &str) -> (CodeMetrics, ModuleComplexity) {
        let parsed = parse_module(source).expect("the test's source is valid Python");
        measure(source, &parsed)
    }

    #[test]
    fn an_empty_module_is_perfectly_maintainable() {
        let (numbers, complexities) = measure_source("");
        let expected =
            CodeMetrics { complexity: 1, maintainability: 100.0, ..CodeMetrics::default() };
        assert_eq!(numbers, expected);
        assert!(complexities.blocks().is_empty());
    }

    #[test]
    fn statements_of_every_depth_count_and_elif_is_one() {
        let source = "if a:\n    b\nelif c:\n    def f():\n        return\nelse:\n    d; e\n";
        assert_eq!(measure_source(source).0.statements, 7);
    }

    /// The usual stack of a thread in a pool, and far less than recursion over these trees would
    /// need.
    const SMALL_STACK_BYTES: usize = 2 * 1024 * 1024;

    fn measure_on_small_stack(source: String) -> CodeMetrics {
        std::thread::Builder::new()
            .stack_size(SMALL_STACK_BYTES)
            .spawn(move || {
                let parsed = parse_module(&source).expect("the test's source is valid Python");
                let (numbers, _) = measure(&source, &parsed);
                // Dropping the tree would recurse in the parser's crate, which is not tested here.
                std::mem::forget(parsed);
                numbers
            })
            .expect("a thread starts")
            .join()
            .expect("the thread returns")
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_operators_does_not_exhaust_the_stack() {
        let numbers = measure_on_small_stack(format!("x = {}1\n", "1 + ".repeat(100_000)));
        assert_eq!(numbers.halstead.operators, 100_000);
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        measure_on_small_stack(format!("x = {}1{}\n", "(".repeat(5_000), ")".repeat(5_000)));
        measure_on_small_stack(format!("x = {}1{}\n", "[".repeat(20_000), "]".repeat(20_000)));
        measure_on_small_stack(format!("x = a{}\n", ".b()".repeat(50_000)));
        measure_on_small_stack(format!("x = {}1\n", "not ".repeat(20_000)));
        measure_on_small_stack(format!("x = {}1\n", "lambda: ".repeat(20_000)));
    }

    #[test]
    fn three_thousand_elifs_count_once_each() {
        let numbers =
            measure_on_small_stack(format!("if a:\n    b\n{}", "elif a:\n    b\n".repeat(3_000)));
        assert_eq!(numbers.complexity, 3_002);
        assert_eq!(numbers.statements, 6_002);
    }
}
