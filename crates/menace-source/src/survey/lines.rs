//! The lines of a section that can run: those on which a statement begins.
//!
//! An interpreter may count a few more (the arguments of a long call) and leave out others that it
//! optimised away; a share of these lines is comparable between interpreters.

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{Expr, ModModule, Stmt};
use ruff_source_file::LineIndex;
use ruff_text_size::Ranged;

use menace_model::{Section, SectionKind};

/// For each section, in the order of the sections, its lines in ascending order.
pub(super) fn section_lines(
    tree: &ModModule,
    lines: &LineIndex,
    sections: &[Section],
) -> Vec<Vec<u32>> {
    let mut collector = SectionLineCollector {
        lines,
        sections,
        enclosing_section: sections.iter().position(|section| section.kind == SectionKind::Module),
        found: vec![Vec::new(); sections.len()],
    };
    collector.visit_body(&tree.body);
    for lines in &mut collector.found {
        lines.sort_unstable();
        lines.dedup();
    }
    collector.found
}

struct SectionLineCollector<'a> {
    lines: &'a LineIndex,
    sections: &'a [Section],
    /// The section that the statement belongs to.
    enclosing_section: Option<usize>,
    found: Vec<Vec<u32>>,
}

impl SectionLineCollector<'_> {
    fn line(&self, stmt: &Stmt) -> u32 {
        self.lines.line_index(stmt.start()).get() as u32
    }
}

impl<'a> StatementVisitor<'a> for SectionLineCollector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let line = self.line(stmt);
        let is_silent = match stmt {
            // Docstrings, and statements that only the compiler needs.
            Stmt::Expr(expr) => {
                matches!(&*expr.value, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_))
            }
            Stmt::Global(_) | Stmt::Nonlocal(_) => true,
            Stmt::AnnAssign(assign) => assign.value.is_none(),
            _ => false,
        };
        if let (Some(around), false) = (self.enclosing_section, is_silent) {
            self.found[around].push(line);
        }
        if !matches!(stmt, Stmt::FunctionDef(_)) {
            walk_stmt(self, stmt);
            return;
        }
        let outer = self.enclosing_section;
        let starts_here =
            |section: &Section| section.kind != SectionKind::Module && section.start_line == line;
        self.enclosing_section = self.sections.iter().position(starts_here);
        walk_stmt(self, stmt);
        self.enclosing_section = outer;
    }
}
