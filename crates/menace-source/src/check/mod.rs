//! stub
use menace_model::*;
#[derive(Debug, Clone, Default)]
pub struct Choice;
#[derive(Debug)]
pub struct Scanner;
pub struct Scan;
impl Scan {
    pub(crate) fn apply(self, _: &mut [ModuleReport], _: &mut Vec<String>) -> Scanner {
        Scanner
    }
}
pub(crate) fn external(_: &std::path::Path, _: &[crate::walk::SourceFile], _: &Choice) -> Scan {
    Scan
}
pub struct Found {
    pub findings: Vec<Finding>,
    pub lints: Vec<Lint>,
}
pub(crate) fn builtin(
    _: &str,
    _: &str,
    _: &ruff_python_parser::Parsed<ruff_python_ast::ModModule>,
    _: &ruff_source_file::LineIndex,
) -> Found {
    Found { findings: vec![], lints: vec![] }
}
