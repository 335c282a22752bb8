//! Statements, in the order in which they run.

use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};

use menace_model::{ParamPart, ParamUse};

use super::SurveyWalker;
use crate::stack::with_growing_stack;
use crate::survey::known_value::KnownValue;
use crate::survey::name_environment::BranchChanges;

/// Context managers that expect their body to fail, by the last part of their name.
const EXPECTED_FAILURE_MANAGERS: &[&str] = &["raises", "assertRaises", "assertRaisesRegex"];

impl<'a> SurveyWalker<'a> {
    pub(super) fn visit_body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            with_growing_stack(|| self.visit_statement(stmt));
        }
    }

    fn visit_statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.visit_function(function),
            Stmt::ClassDef(class) => self.visit_class(class),
            Stmt::Return(ast::StmtReturn { value: Some(value), .. }) => {
                self.evaluate(value);
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    self.bind_target(target, KnownValue::default());
                }
            }
            Stmt::Assign(assign) => self.visit_assign(&assign.targets, &assign.value),
            Stmt::AugAssign(assign) => self.visit_aug_assign(assign),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.visit_assign(std::slice::from_ref(&assign.target), value);
                }
            }
            Stmt::For(statement) => self.visit_for(statement),
            Stmt::While(statement) => {
                self.evaluate_condition(&statement.test);
                let once = self.visit_branch(|this| this.visit_body(&statement.body));
                self.env.join_branches(vec![once, BranchChanges::default()]);
                self.visit_body(&statement.orelse);
            }
            Stmt::If(statement) => self.visit_if(statement),
            Stmt::With(statement) => self.visit_with(statement),
            Stmt::Match(statement) => self.visit_match(statement),
            Stmt::Raise(raise) => self.visit_raise(raise),
            Stmt::Try(statement) => self.visit_try(statement),
            Stmt::Assert(assert) => {
                self.evaluate_condition(&assert.test);
                if let Some(message) = &assert.msg {
                    self.evaluate(message);
                }
            }
            // A string on its own is a docstring or a comment.
            Stmt::Expr(expr) if !expr.value.is_string_literal_expr() => {
                self.evaluate(&expr.value);
            }
            _ => {}
        }
    }

    /// Walks code that may not run; its changes are undone and returned.
    pub(super) fn visit_branch(&mut self, walk: impl FnOnce(&mut Self)) -> BranchChanges<'a> {
        let mark = self.env.enter_branch();
        walk(self);
        self.env.leave_branch(mark)
    }

    fn visit_if(&mut self, statement: &'a ast::StmtIf) {
        self.evaluate_condition(&statement.test);
        let mut branch_changes = Vec::new();
        let mut has_else = false;
        let first = self.visit_branch(|this| this.visit_body(&statement.body));
        branch_changes.extend((!ends_flow(&statement.body)).then_some(first));
        for clause in &statement.elif_else_clauses {
            match &clause.test {
                Some(test) => self.evaluate_condition(test),
                None => has_else = true,
            }
            let changes = self.visit_branch(|this| this.visit_body(&clause.body));
            branch_changes.extend((!ends_flow(&clause.body)).then_some(changes));
        }
        branch_changes.extend((!has_else).then(BranchChanges::default));
        self.env.join_branches(branch_changes);
    }

    fn visit_for(&mut self, statement: &'a ast::StmtFor) {
        let item = self.evaluate_iteration(&statement.iter, &statement.target, statement.is_async);
        let once = self.visit_branch(|this| {
            this.bind_target(&statement.target, item);
            this.visit_body(&statement.body);
        });
        self.env.join_branches(vec![once, BranchChanges::default()]);
        self.visit_body(&statement.orelse);
    }

    fn visit_with(&mut self, statement: &'a ast::StmtWith) {
        let outside = self.expects_failure;
        for item in &statement.items {
            let manager = self.evaluate(&item.context_expr);
            let used = if statement.is_async { ParamUse::EnteredAsync } else { ParamUse::Entered };
            self.record_use(&manager, &used);
            self.expects_failure |= expects_failure(&item.context_expr);
            if let Some(target) = &item.optional_vars {
                // Most context managers return themselves; for those the knowledge about the class
                // is right.
                let texts = self.render_cases(&item.context_expr);
                let entered = manager.part_of_origin(&ParamPart::Entered);
                self.bind_target(
                    target,
                    KnownValue { class: manager.class, source_cases: texts, ..entered },
                );
            }
        }
        self.visit_body(&statement.body);
        self.expects_failure = outside;
    }

    fn visit_try(&mut self, statement: &'a ast::StmtTry) {
        let mut branch_changes = Vec::new();
        let whole = self.visit_branch(|this| {
            this.visit_body(&statement.body);
            this.visit_body(&statement.orelse);
        });
        let ends_well = !ends_flow(&statement.body) && !ends_flow(&statement.orelse);
        branch_changes.extend(ends_well.then_some(whole));
        for ExceptHandler::ExceptHandler(handler) in &statement.handlers {
            let changes = self.visit_branch(|this| {
                if let Some(kind) = &handler.type_ {
                    this.evaluate(kind);
                }
                this.visit_body(&handler.body);
            });
            branch_changes.extend((!ends_flow(&handler.body)).then_some(changes));
        }
        self.env.join_branches(branch_changes);
        self.visit_body(&statement.finalbody);
    }

    fn visit_raise(&mut self, raise: &'a ast::StmtRaise) {
        if let Some(exception) = &raise.exc {
            let known = self.evaluate(exception);
            let is_name = matches!(**exception, Expr::Name(_) | Expr::Attribute(_));
            let class = known.class.map(|class| class.name.clone());
            let name = class.or_else(|| is_name.then(|| self.dotted_name(exception))?);
            if let Some(name) = name {
                self.record_raise(&name);
            }
        }
        if let Some(cause) = &raise.cause {
            self.evaluate(cause);
        }
    }
}

/// Whether no code after this body runs.
fn ends_flow(body: &[Stmt]) -> bool {
    matches!(
        body.last(),
        Some(Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_))
    )
}

fn expects_failure(manager: &Expr) -> bool {
    let Expr::Call(call) = manager else { return false };
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    EXPECTED_FAILURE_MANAGERS.contains(&name)
}
