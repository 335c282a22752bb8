//! B703: text marked as safe HTML in Django although some of it is not constant.
//!
//! Follows, as Bandit does, the assignments before the call in the same function: a name is safe
//! when every value it was given is a constant string or is formatted from safe parts only.

use menace_model::{Confidence, Severity};
use ruff_python_ast::{ExceptHandler, Expr, Operator, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextSize};

use super::call::Call;
use super::hit::Sink;
use super::imports::Imports;
use crate::check::walk::Node;

/// How many names and formatted strings one proof may look at, which also bounds its recursion.
/// Text that takes more steps is not proven safe.
const STEP_LIMIT: usize = 500;

pub(super) fn check<'a>(
    call: &Call<'a, '_>,
    module: &'a [Stmt],
    above: &[Node<'a>],
    imports: &Imports<'_>,
    sink: &mut Sink,
) {
    let Some(text) = call.args().first() else { return };
    if text.is_string_literal_expr() || !imports.mentions("django.utils.safestring") {
        return;
    }
    let mut proof = Proof { scope: Scope::around(above, module), steps: STEP_LIMIT };
    let safe = match text {
        Expr::Name(name) => proof.name(&name.id, call.node.start()),
        Expr::Call(_) | Expr::BinOp(_) => proof.formatted(text),
        _ => false,
    };
    if !safe {
        let message = "text that is not constant is marked as safe HTML";
        sink.report("B703", (Severity::Medium, Confidence::High), call.range(), message);
    }
}

/// The statements around the call: of its function, or else of the module.
#[derive(Clone, Copy)]
enum Scope<'a> {
    Function(&'a StmtFunctionDef),
    Module(&'a [Stmt]),
}

impl<'a> Scope<'a> {
    fn around(above: &[Node<'a>], module: &'a [Stmt]) -> Self {
        let function = above.iter().rev().find_map(|node| match node {
            // Bandit looks past an `async def`.
            Node::Stmt(Stmt::FunctionDef(def)) if !def.is_async => Some(def),
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

struct Proof<'a> {
    scope: Scope<'a>,
    steps: usize,
}

impl<'a> Proof<'a> {
    /// Whether the values given to `name` before `until` are safe; a name without any is not.
    /// Of plain assignments the last one counts, of those inside an `if` or a loop every one.
    fn name(&mut self, name: &str, until: TextSize) -> bool {
        if self.scope.has_parameter(name) || self.spent() {
            return false;
        }
        let mut safe = false;
        for stmt in self.scope.body().iter().take_while(|stmt| stmt.start() < until) {
            let mut values = Vec::new();
            assigned(stmt, name, &mut values);
            if matches!(stmt, Stmt::Assign(_) | Stmt::AugAssign(_)) {
                for value in values {
                    safe = self.value(value);
                    if !safe && !matches!(value, Expr::Name(_) | Expr::Call(_)) {
                        return false;
                    }
                }
            } else if !values.is_empty() {
                safe = values.iter().all(|value| match value {
                    Expr::Name(inner) => self.name(&inner.id, stmt.start()),
                    other => other.is_string_literal_expr(),
                });
                if !safe {
                    return false;
                }
            }
        }
        safe
    }

    fn value(&mut self, value: &'a Expr) -> bool {
        match value {
            Expr::StringLiteral(_) => true,
            Expr::Name(name) => self.name(&name.id, value.start()),
            Expr::Call(_) => self.formatted(value),
            _ => false,
        }
    }

    /// `"…".format(…)` and `"…" % …` of safe parts.
    fn formatted(&mut self, text: &'a Expr) -> bool {
        if self.spent() {
            return false;
        }
        match text {
            Expr::Call(call) if call.arguments.keywords.is_empty() => match &*call.func {
                Expr::Attribute(format) if format.attr.as_str() == "format" => {
                    format.value.is_string_literal_expr()
                        && call.arguments.args.iter().all(|part| self.part(part))
                }
                _ => false,
            },
            Expr::BinOp(operation)
                if operation.op == Operator::Mod && operation.left.is_string_literal_expr() =>
            {
                match &*operation.right {
                    Expr::Tuple(parts) => parts.elts.iter().all(|part| self.part(part)),
                    part => self.part(part),
                }
            }
            _ => false,
        }
    }

    fn part(&mut self, part: &'a Expr) -> bool {
        match part {
            Expr::Starred(_) if self.spent() => false,
            Expr::Starred(starred) => match &*starred.value {
                Expr::List(list) => list.elts.iter().all(|part| self.part(part)),
                Expr::Tuple(tuple) => tuple.elts.iter().all(|part| self.part(part)),
                _ => false,
            },
            other => self.value(other),
        }
    }

    fn spent(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps == 0
    }
}

/// Collects the values that `stmt`, or a statement inside it, gives to `name`. A target without a
/// value of its own, such as `with … as name`, counts as the expression it comes from.
fn assigned<'a>(stmt: &'a Stmt, name: &str, values: &mut Vec<&'a Expr>) {
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
