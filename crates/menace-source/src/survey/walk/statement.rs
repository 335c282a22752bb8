//! Statements, in the order in which they run.

use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};

use menace_model::{Part, Use};

use super::Walker;
use crate::stack::grown;
use crate::survey::env::Changes;
use crate::survey::known::Known;

/// Context managers that want their body to fail, by the last part of their name.
const EXPECT_FAILURE: &[&str] = &["raises", "assertRaises", "assertRaisesRegex"];

impl<'a> Walker<'a> {
    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            grown(|| self.statement(stmt));
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Return(ast::StmtReturn { value: Some(value), .. }) => {
                self.value(value);
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    self.store(target, Known::default());
                }
            }
            Stmt::Assign(assign) => self.assign(&assign.targets, &assign.value),
            Stmt::AugAssign(assign) => self.augment(assign),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.assign(std::slice::from_ref(&assign.target), value);
                }
            }
            Stmt::For(statement) => self.for_loop(statement),
            Stmt::While(statement) => {
                self.test(&statement.test);
                let once = self.way(|this| this.body(&statement.body));
                self.env.join(vec![once, Changes::default()]);
                self.body(&statement.orelse);
            }
            Stmt::If(statement) => self.if_statement(statement),
            Stmt::With(statement) => self.with(statement),
            Stmt::Match(statement) => self.match_statement(statement),
            Stmt::Raise(raise) => self.raise(raise),
            Stmt::Try(statement) => self.try_statement(statement),
            Stmt::Assert(assert) => {
                self.test(&assert.test);
                if let Some(message) = &assert.msg {
                    self.value(message);
                }
            }
            // A string on its own is a docstring or a comment.
            Stmt::Expr(expr) if !expr.value.is_string_literal_expr() => {
                self.value(&expr.value);
            }
            _ => {}
        }
    }

    /// Walks something that may not happen; what it changes is taken back and returned.
    pub(super) fn way(&mut self, walk: impl FnOnce(&mut Self)) -> Changes<'a> {
        let mark = self.env.enter();
        walk(self);
        self.env.leave(mark)
    }

    fn if_statement(&mut self, statement: &'a ast::StmtIf) {
        self.test(&statement.test);
        let mut ways = Vec::new();
        let mut has_else = false;
        let first = self.way(|this| this.body(&statement.body));
        ways.extend((!ends(&statement.body)).then_some(first));
        for clause in &statement.elif_else_clauses {
            match &clause.test {
                Some(test) => self.test(test),
                None => has_else = true,
            }
            let changes = self.way(|this| this.body(&clause.body));
            ways.extend((!ends(&clause.body)).then_some(changes));
        }
        ways.extend((!has_else).then(Changes::default));
        self.env.join(ways);
    }

    fn for_loop(&mut self, statement: &'a ast::StmtFor) {
        let item = self.iterated(&statement.iter, &statement.target, statement.is_async);
        let once = self.way(|this| {
            this.store(&statement.target, item);
            this.body(&statement.body);
        });
        self.env.join(vec![once, Changes::default()]);
        self.body(&statement.orelse);
    }

    fn with(&mut self, statement: &'a ast::StmtWith) {
        let outside = self.expects_failure;
        for item in &statement.items {
            let manager = self.value(&item.context_expr);
            let used = if statement.is_async { Use::EnteredAsync } else { Use::Entered };
            self.used(&manager, &used);
            self.expects_failure |= expects_failure(&item.context_expr);
            if let Some(target) = &item.optional_vars {
                // Most return themselves; what is said about the class is right for those.
                let texts = self.texts(&item.context_expr);
                let entered = manager.part(&Part::Entered);
                self.store(target, Known { class: manager.class, texts, ..entered });
            }
        }
        self.body(&statement.body);
        self.expects_failure = outside;
    }

    fn try_statement(&mut self, statement: &'a ast::StmtTry) {
        let mut ways = Vec::new();
        let whole = self.way(|this| {
            this.body(&statement.body);
            this.body(&statement.orelse);
        });
        let ends_well = !ends(&statement.body) && !ends(&statement.orelse);
        ways.extend(ends_well.then_some(whole));
        for ExceptHandler::ExceptHandler(handler) in &statement.handlers {
            let changes = self.way(|this| {
                if let Some(kind) = &handler.type_ {
                    this.value(kind);
                }
                this.body(&handler.body);
            });
            ways.extend((!ends(&handler.body)).then_some(changes));
        }
        self.env.join(ways);
        self.body(&statement.finalbody);
    }

    fn raise(&mut self, raise: &'a ast::StmtRaise) {
        if let Some(exception) = &raise.exc {
            let known = self.value(exception);
            let is_name = matches!(**exception, Expr::Name(_) | Expr::Attribute(_));
            let class = known.class.map(|class| class.name.clone());
            let name = class.or_else(|| is_name.then(|| self.dotted(exception))?);
            if let Some(name) = name {
                self.raises(&name);
            }
        }
        if let Some(cause) = &raise.cause {
            self.value(cause);
        }
    }
}

/// Does nothing follow this body?
fn ends(body: &[Stmt]) -> bool {
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
    EXPECT_FAILURE.contains(&name)
}
