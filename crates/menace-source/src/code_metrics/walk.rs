//! The one walk over the tree that feeds both complexity and Halstead's counts.
//!
//! Both follow radon, whose two visitors skip different parts of the tree: neither looks at
//! the head of a function, and only Halstead's looks at the head of a class and into `assert`.

use menace_model::HalsteadCounts;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{
    Visitor, walk_comprehension, walk_elif_else_clause, walk_expr,
    walk_interpolated_string_element, walk_pattern, walk_stmt,
};
use ruff_python_ast::{
    Comprehension, Decorator, ElifElseClause, Expr, InterpolatedStringElement, ModModule, Pattern,
    Stmt, StmtClassDef, StmtFunctionDef, StmtMatch,
};
use ruff_python_parser::Parsed;
use ruff_text_size::{Ranged, TextSize};

use super::complexity::{self, ModuleComplexity};
use super::halstead;
use crate::stack::with_growing_stack;

/// Complexity and Halstead's counts of one tree.
#[derive(Debug)]
pub(super) struct TreeMetrics {
    pub(super) complexities: ModuleComplexity,
    pub(super) halstead: HalsteadCounts,
    pub(super) statements: u32,
}

pub(super) fn measure_tree(source: &str, parsed: &Parsed<ModModule>) -> TreeMetrics {
    let mut walk = MetricsVisitor {
        parsed,
        complexity: complexity::ComplexityTally::new(),
        halstead: halstead::HalsteadTally::new(source),
        statements: 0,
    };
    walk.visit_body(&parsed.syntax().body);
    TreeMetrics {
        complexities: walk.complexity.finish(),
        halstead: walk.halstead.finish(),
        statements: walk.statements,
    }
}

struct MetricsVisitor<'a> {
    parsed: &'a Parsed<ModModule>,
    complexity: complexity::ComplexityTally,
    halstead: halstead::HalsteadTally<'a>,
    statements: u32,
}

impl<'a> MetricsVisitor<'a> {
    /// The position of a definition's keyword, which is CPython's position of the node.
    fn keyword_offset(&self, definition: &impl Ranged, decorators: &[Decorator]) -> TextSize {
        let Some(last) = decorators.last() else { return definition.start() };
        let tokens = self.parsed.tokens();
        let after = tokens.partition_point(|token| token.start() < last.end());
        tokens[after..]
            .iter()
            .find(|token| {
                matches!(token.kind(), TokenKind::Def | TokenKind::Async | TokenKind::Class)
            })
            .map_or(definition.start(), Ranged::start)
    }

    fn visit_function(&mut self, function: &'a StmtFunctionDef) {
        let offset = self.keyword_offset(function, &function.decorator_list);
        let outer = self.complexity.enter_function(offset);
        let context = self.halstead.enter_function(function.name.as_str());
        self.visit_body(&function.body);
        self.halstead.leave_function(context);
        self.complexity.leave(outer);
    }

    fn visit_class(&mut self, class: &'a StmtClassDef) {
        let mark = self.complexity.mark();
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(type_params) = &class.type_params {
            self.visit_type_params(type_params);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.complexity.rewind(mark);

        let offset = self.keyword_offset(class, &class.decorator_list);
        let outer = self.complexity.enter_class(offset);
        self.visit_body(&class.body);
        self.complexity.leave(outer);
    }
}

/// Every case is a decision, except that the first pattern that matches anything counts as the
/// `else`.
///
/// Like radon this treats captures as wildcards, with or without a guard.
fn match_decisions(statement: &StmtMatch) -> usize {
    let catches_all = |pattern: &Pattern| match pattern {
        Pattern::MatchAs(pattern) => pattern.pattern.is_none(),
        _ => false,
    };
    let has_else = statement.cases.iter().any(|case| catches_all(&case.pattern));
    statement.cases.len() - usize::from(has_else)
}

impl<'a> Visitor<'a> for MetricsVisitor<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.statements += 1;
        match stmt {
            Stmt::FunctionDef(function) => {
                return with_growing_stack(|| self.visit_function(function));
            }
            Stmt::ClassDef(class) => return with_growing_stack(|| self.visit_class(class)),
            Stmt::Assert(_) => {
                self.complexity.add_decisions(1);
                let mark = self.complexity.mark();
                walk_stmt(self, stmt);
                self.complexity.rewind(mark);
                return;
            }
            Stmt::If(_) => self.complexity.add_decisions(1),
            Stmt::For(statement) => {
                self.complexity.add_decisions(1 + usize::from(!statement.orelse.is_empty()));
            }
            Stmt::While(statement) => {
                self.complexity.add_decisions(1 + usize::from(!statement.orelse.is_empty()));
            }
            // radon does not know exception groups: `try … except*` adds nothing.
            Stmt::Try(statement) if !statement.is_star => {
                self.complexity.add_decisions(
                    statement.handlers.len() + usize::from(!statement.orelse.is_empty()),
                );
            }
            Stmt::Match(statement) => self.complexity.add_decisions(match_decisions(statement)),
            Stmt::AugAssign(statement) => {
                self.halstead.add_operator(statement.op);
                self.halstead.add_operand(&statement.target);
                self.halstead.add_operand(&statement.value);
            }
            _ => {}
        }
        with_growing_stack(|| walk_stmt(self, stmt));
    }

    fn visit_elif_else_clause(&mut self, clause: &'a ElifElseClause) {
        // In CPython's tree an `elif` is an `if` statement inside `else`.
        if clause.test.is_some() {
            self.statements += 1;
            self.complexity.add_decisions(1);
        }
        walk_elif_else_clause(self, clause);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            // Leaves, as most expressions are: no check of the stack is needed.
            Expr::Name(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => return,
            Expr::BoolOp(operation) => {
                self.complexity.add_decisions(operation.values.len().saturating_sub(1));
                self.halstead.add_operator(operation.op);
                for value in &operation.values {
                    self.halstead.add_operand(value);
                }
            }
            Expr::If(_) => self.complexity.add_decisions(1),
            Expr::BinOp(operation) => {
                self.halstead.add_operator(operation.op);
                self.halstead.add_operand(&operation.left);
                self.halstead.add_operand(&operation.right);
            }
            Expr::UnaryOp(operation) => {
                self.halstead.add_operator(operation.op);
                self.halstead.add_operand(&operation.operand);
            }
            Expr::Compare(comparison) => {
                for op in &comparison.ops {
                    self.halstead.add_operator(*op);
                }
                self.halstead.add_operand(&comparison.left);
                for value in &comparison.comparators {
                    self.halstead.add_operand(value);
                }
            }
            _ => {}
        }
        with_growing_stack(|| walk_expr(self, expr));
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.complexity.add_decisions(1 + comprehension.ifs.len());
        walk_comprehension(self, comprehension);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        with_growing_stack(|| walk_pattern(self, pattern));
    }

    fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
        with_growing_stack(|| walk_interpolated_string_element(self, element));
    }
}
