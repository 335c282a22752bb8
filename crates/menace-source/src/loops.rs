//! Lists the `for` and `while` statements of a file, so that a hang can name its loop.

use ruff_python_ast::Stmt;
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_source_file::LineIndex;
use ruff_text_size::Ranged;

use crate::parse::parse;
use crate::stack;

/// A `for` or `while` statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopStatement {
    /// Its first line.
    pub line: u32,
    /// The last line of its body; an `else` branch runs only once.
    pub last_line: u32,
}

/// All loops, in the order of their first lines; empty if the text is no Python.
pub fn find_loops(text: &str) -> Vec<LoopStatement> {
    let lines = LineIndex::from_source_text(text);
    stack::with_large_stack(|| {
        let Ok(parsed) = parse(text, &lines) else { return Vec::new() };
        let mut collector = LoopCollector { lines: &lines, found: Vec::new() };
        collector.visit_body(parsed.suite());
        collector.found
    })
}

struct LoopCollector<'a> {
    lines: &'a LineIndex,
    found: Vec<LoopStatement>,
}

impl<'a> StatementVisitor<'a> for LoopCollector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let body = match stmt {
            Stmt::For(stmt) => stmt.body.last(),
            Stmt::While(stmt) => stmt.body.last(),
            _ => None,
        };
        if let Some(last) = body {
            let line_of = |at| self.lines.line_index(at).get() as u32;
            self.found.push(LoopStatement {
                line: line_of(stmt.start()),
                last_line: line_of(last.end()),
            });
        }
        walk_stmt(self, stmt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_found_wherever_they_are_nested() {
        let text = "\
def f(xs):
    for x in xs:
        while x:
            x = (x
                 - 1)
    else:
        return 1
    with a:
        async for y in b: pass
";
        let found: Vec<(u32, u32)> =
            find_loops(text).iter().map(|found| (found.line, found.last_line)).collect();
        assert_eq!(found, [(2, 5), (3, 5), (9, 9)]);
        assert_eq!(find_loops("while while"), []);
    }
}
