//! B703: text marked as safe HTML in Django although some of it is not constant.
//!
//! Follows, as Bandit does, the assignments before the call in the same function: a name is safe
//! when every value it was given is a constant string or is formatted from safe parts only.

use ruff_python_ast::{ExceptHandler, Expr, Operator, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextSize};

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::rule_match::FindingSink;
use crate::check::walk::SyntaxNode;

/// How many names and formatted strings one proof may follow, which also bounds its recursion. Text
/// that needs more steps is not proven safe.
const MAX_PROOF_STEPS: usize = 500;

pub(super) fn check<'a>(
    call: &CheckedCall<'a, '_>,
    module: &'a [Stmt],
    above: &[SyntaxNode<'a>],
    imports: &ImportTable<'_>,
    sink: &mut FindingSink,
) {
    let Some(text) = call.args().first() else { return };
    if text.is_string_literal_expr() || !imports.mentions("django.utils.safestring") {
        return;
    }
    let mut proof =
        MarkSafeProof { scope: AssignmentScope::enclosing(above, module), steps: MAX_PROOF_STEPS };
    let safe = match text {
        Expr::Name(name) => proof.is_safe_name(&name.id, call.node.start()),
        Expr::Call(_) | Expr::BinOp(_) => proof.is_safe_format(text),
        _ => false,
    };
    if !safe {
        sink.report("B703", call, "text that is not constant is marked as safe HTML");
    }
}

/// The scope whose assignments are searched: the function around the call, or else the module.
#[derive(Clone, Copy)]
enum AssignmentScope<'a> {
    Function(&'a StmtFunctionDef),
    Module(&'a [Stmt]),
}

impl<'a> AssignmentScope<'a> {
    fn enclosing(above: &[SyntaxNode<'a>], module: &'a [Stmt]) -> Self {
        let function = above.iter().rev().find_map(|node| match node {
            // Bandit looks past an `async def`.
            SyntaxNode::Stmt(Stmt::FunctionDef(def)) if !def.is_async => Some(def),
            _ => None,
        });
        function.map_or(Self::Module(module), Self::Function)
    }

    fn body(self) -> &'a [Stmt] {
        match self {
            Self::Function(def) => &def.body,
            Self::Module(body) => body,
        }
    }

    fn has_parameter(self, name: &str) -> bool {
        match self {
            Self::Function(def) => def.parameters.args.iter().any(|arg| arg.name() == name),
            Self::Module(_) => false,
        }
    }
}

struct MarkSafeProof<'a> {
    scope: AssignmentScope<'a>,
    steps: usize,
}

impl<'a> MarkSafeProof<'a> {
    /// Whether the values assigned to `name` before `until` are safe; a name without any is not.
    /// The last plain assignment counts, and every one inside an `if` or a loop.
    fn is_safe_name(&mut self, name: &str, until: TextSize) -> bool {
        if self.scope.has_parameter(name) || self.is_step_budget_exhausted() {
            return false;
        }
        let mut safe = false;
        for stmt in self.scope.body().iter().take_while(|stmt| stmt.start() < until) {
            let mut values = Vec::new();
            collect_assigned_values(stmt, name, &mut values);
            if matches!(stmt, Stmt::Assign(_) | Stmt::AugAssign(_)) {
                for value in values {
                    safe = self.is_safe_value(value);
                    if !safe && !matches!(value, Expr::Name(_) | Expr::Call(_)) {
                        return false;
                    }
                }
            } else if !values.is_empty() {
                safe = values.iter().all(|value| match value {
                    Expr::Name(inner) => self.is_safe_name(&inner.id, stmt.start()),
                    other => other.is_string_literal_expr(),
                });
                if !safe {
                    return false;
                }
            }
        }
        safe
    }

    fn is_safe_value(&mut self, value: &'a Expr) -> bool {
        match value {
            Expr::StringLiteral(_) => true,
            Expr::Name(name) => self.is_safe_name(&name.id, value.start()),
            Expr::Call(_) => self.is_safe_format(value),
            _ => false,
        }
    }

    /// `"…".format(…)` and `"…" % …` of safe parts.
    fn is_safe_format(&mut self, text: &'a Expr) -> bool {
        if self.is_step_budget_exhausted() {
            return false;
        }
        match text {
            Expr::Call(call) if call.arguments.keywords.is_empty() => match &*call.func {
                Expr::Attribute(format) if format.attr.as_str() == "format" => {
                    format.value.is_string_literal_expr()
                        && call.arguments.args.iter().all(|part| self.is_safe_part(part))
                }
                _ => false,
            },
            Expr::BinOp(operation)
                if operation.op == Operator::Mod && operation.left.is_string_literal_expr() =>
            {
                match &*operation.right {
                    Expr::Tuple(parts) => parts.elts.iter().all(|part| self.is_safe_part(part)),
                    part => self.is_safe_part(part),
                }
            }
            _ => false,
        }
    }

    fn is_safe_part(&mut self, part: &'a Expr) -> bool {
        match part {
            Expr::Starred(_) if self.is_step_budget_exhausted() => false,
            Expr::Starred(starred) => match &*starred.value {
                Expr::List(list) => list.elts.iter().all(|part| self.is_safe_part(part)),
                Expr::Tuple(tuple) => tuple.elts.iter().all(|part| self.is_safe_part(part)),
                _ => false,
            },
            other => self.is_safe_value(other),
        }
    }

    fn is_step_budget_exhausted(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps == 0
    }
}

/// Collects the values that `stmt`, or a statement inside it, gives to `name`. A target without a
/// value of its own, such as `with … as name`, counts as the expression it comes from.
fn collect_assigned_values<'a>(stmt: &'a Stmt, name: &str, values: &mut Vec<&'a Expr>) {
    let mut todo = vec![stmt];
    while let Some(stmt) = todo.pop() {
        let mut inside = |bodies: &[&'a [Stmt]]| {
            todo.extend(bodies.iter().flat_map(|body| body.iter()).rev());
        };
        match stmt {
            Stmt::FunctionDef(def) => inside(&[&def.body]),
            Stmt::With(with) => {
                for item in &with.items {
                    if item.optional_vars.as_deref().is_some_and(|target| is_name(target, name)) {
                        values.push(&item.context_expr);
                    }
                }
                inside(&[&with.body]);
            }
            Stmt::Try(node) => {
                let handlers = node.handlers.iter().map(|ExceptHandler::ExceptHandler(h)| &*h.body);
                inside(&[&node.body]);
                handlers.for_each(|body| inside(&[body]));
                inside(&[&node.orelse, &node.finalbody]);
            }
            Stmt::If(node) => {
                inside(&[&node.body]);
                node.elif_else_clauses.iter().for_each(|clause| inside(&[&clause.body]));
            }
            Stmt::For(node) => inside(&[&node.body, &node.orelse]),
            Stmt::While(node) => inside(&[&node.body, &node.orelse]),
            Stmt::AugAssign(node) if is_name(&node.target, name) => values.push(&node.value),
            Stmt::Assign(node) => match (node.targets.first(), &*node.value) {
                (Some(Expr::Tuple(targets)), Expr::Tuple(given)) => {
                    let place = targets.elts.iter().position(|target| is_name(target, name));
                    values.extend(place.and_then(|place| given.elts.get(place)));
                }
                (Some(target), value) if is_name(target, name) => values.push(value),
                _ => {}
            },
            _ => {}
        }
    }
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Name(one) if one.id == name)
}
