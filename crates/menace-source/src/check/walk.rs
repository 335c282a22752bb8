//! One pass over a syntax tree, parents before children.
//!
//! Invariant: the stack grows as the tree is deep (`1+1+…` a hundred thousand times), so hostile
//! nesting cannot end the process here.

use ruff_python_ast::{
    Comprehension, ElifElseClause, ExceptHandler, ExceptHandlerExceptHandler, Expr, FStringPart,
    InterpolatedElement, InterpolatedStringElement, InterpolatedStringFormatSpec, Keyword,
    MatchCase, Parameter, Parameters, Pattern, Stmt, TypeParam, WithItem,
};
use ruff_text_size::{Ranged, TextRange};

use crate::stack::grown;

/// A node of the tree, as fine as Python's own `ast` module divides it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node<'a> {
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    /// An `elif` or `else` of an `if`.
    Clause(&'a ElifElseClause),
    Handler(&'a ExceptHandlerExceptHandler),
    Case(&'a MatchCase),
    Pattern(&'a Pattern),
    WithItem(&'a WithItem),
    Parameters(&'a Parameters),
    Parameter(&'a Parameter),
    TypeParam(&'a TypeParam),
    Keyword(&'a Keyword),
    Comprehension(&'a Comprehension),
    /// The `{…}` of an f-string.
    Interpolation(&'a InterpolatedElement),
    /// What follows the colon in `{…:…}`.
    FormatSpec(&'a InterpolatedStringFormatSpec),
}

impl Ranged for Node<'_> {
    fn range(&self) -> TextRange {
        match self {
            // Python's own tree starts a definition at `def`, not at its decorators.
            Self::Stmt(Stmt::FunctionDef(def)) => TextRange::new(def.name.start(), def.end()),
            Self::Stmt(Stmt::ClassDef(def)) => TextRange::new(def.name.start(), def.end()),
            Self::Stmt(node) => node.range(),
            Self::Expr(node) => node.range(),
            Self::Clause(node) => node.range(),
            Self::Handler(node) => node.range(),
            Self::Case(node) => node.range(),
            Self::Pattern(node) => node.range(),
            Self::WithItem(node) => node.range(),
            Self::Parameters(node) => node.range(),
            Self::Parameter(node) => node.range(),
            Self::TypeParam(node) => node.range(),
            Self::Keyword(node) => node.range(),
            Self::Comprehension(node) => node.range(),
            Self::Interpolation(node) => node.range(),
            Self::FormatSpec(node) => node.range(),
        }
    }
}

/// Takes the children of a node, in order.
trait Children<'a> {
    fn push(&mut self, node: Node<'a>);

    fn extend(&mut self, nodes: impl IntoIterator<Item = Node<'a>>) {
        for node in nodes {
            self.push(node);
        }
    }
}

/// Visits each child, and its children, as soon as it is pushed.
struct Walk<'a, E> {
    above: Vec<Node<'a>>,
    enter: E,
}

impl<'a, E: FnMut(Node<'a>, &[Node<'a>])> Children<'a> for Walk<'a, E> {
    fn push(&mut self, node: Node<'a>) {
        (self.enter)(node, &self.above);
        // Nothing is below a leaf; most nodes are leaves.
        if matches!(
            node,
            Node::Expr(
                Expr::Name(_)
                    | Expr::StringLiteral(_)
                    | Expr::BytesLiteral(_)
                    | Expr::NumberLiteral(_)
                    | Expr::BooleanLiteral(_)
                    | Expr::NoneLiteral(_)
                    | Expr::EllipsisLiteral(_)
            )
        ) {
            return;
        }
        self.above.push(node);
        grown(|| children(node, self));
        self.above.pop();
    }
}

/// Calls `enter` for every node below `body` with the nodes above it, outermost first.
pub(super) fn walk<'a>(body: &'a [Stmt], enter: impl FnMut(Node<'a>, &[Node<'a>])) {
    Walk { above: Vec::new(), enter }.extend(body.iter().map(Node::Stmt));
}

impl<'a> Children<'a> for Vec<Node<'a>> {
    fn push(&mut self, node: Node<'a>) {
        Vec::push(self, node);
    }
}

/// Every node of the expression, breadth first, as Python's `ast.walk` goes.
pub(super) fn breadth_first(root: &Expr) -> impl Iterator<Item = Node<'_>> {
    let mut seen = vec![Node::Expr(root)];
    let mut next = 0;
    std::iter::from_fn(move || {
        let node = *seen.get(next)?;
        next += 1;
        children(node, &mut seen);
        Some(node)
    })
}

/// The children in the order of the fields of Python's `ast`, which is the order in which Bandit
/// learns about imports.
fn children<'a>(node: Node<'a>, out: &mut impl Children<'a>) {
    match node {
        Node::Stmt(stmt) => statement(stmt, out),
        Node::Expr(expr) => expression(expr, out),
        Node::Clause(clause) => {
            exprs(&clause.test, out);
            stmts(&clause.body, out);
        }
        Node::Handler(handler) => {
            exprs(handler.type_.as_deref(), out);
            stmts(&handler.body, out);
        }
        Node::Case(case) => {
            out.push(Node::Pattern(&case.pattern));
            exprs(case.guard.as_deref(), out);
            stmts(&case.body, out);
        }
        Node::Pattern(node) => pattern(node, out),
        Node::WithItem(item) => {
            out.push(Node::Expr(&item.context_expr));
            exprs(item.optional_vars.as_deref(), out);
        }
        Node::Parameters(params) => parameters(params, out),
        Node::Parameter(param) => exprs(param.annotation.as_deref(), out),
        Node::TypeParam(param) => {
            if let TypeParam::TypeVar(var) = param {
                exprs(var.bound.as_deref(), out);
            }
            exprs(param.default(), out);
        }
        Node::Keyword(keyword) => out.push(Node::Expr(&keyword.value)),
        Node::Comprehension(part) => {
            out.push(Node::Expr(&part.target));
            out.push(Node::Expr(&part.iter));
            exprs(&part.ifs, out);
        }
        Node::Interpolation(element) => {
            out.push(Node::Expr(&element.expression));
            if let Some(spec) = &element.format_spec {
                out.push(Node::FormatSpec(spec));
            }
        }
        Node::FormatSpec(spec) => interpolations(&spec.elements, out),
    }
}

fn statement<'a>(stmt: &'a Stmt, out: &mut impl Children<'a>) {
    match stmt {
        Stmt::FunctionDef(def) => {
            out.push(Node::Parameters(&def.parameters));
            stmts(&def.body, out);
            exprs(def.decorator_list.iter().map(|decorator| &decorator.expression), out);
            exprs(def.returns.as_deref(), out);
            type_params(def.type_params.as_deref(), out);
        }
        Stmt::ClassDef(def) => {
            if let Some(arguments) = &def.arguments {
                exprs(&*arguments.args, out);
                out.extend(arguments.keywords.iter().map(Node::Keyword));
            }
            stmts(&def.body, out);
            exprs(def.decorator_list.iter().map(|decorator| &decorator.expression), out);
            type_params(def.type_params.as_deref(), out);
        }
        Stmt::Return(node) => exprs(node.value.as_deref(), out),
        Stmt::Delete(node) => exprs(&node.targets, out),
        Stmt::TypeAlias(node) => {
            out.push(Node::Expr(&node.name));
            type_params(node.type_params.as_deref(), out);
            out.push(Node::Expr(&node.value));
        }
        Stmt::Assign(node) => {
            exprs(&node.targets, out);
            out.push(Node::Expr(&node.value));
        }
        Stmt::AugAssign(node) => {
            out.push(Node::Expr(&node.target));
            out.push(Node::Expr(&node.value));
        }
        Stmt::AnnAssign(node) => {
            out.push(Node::Expr(&node.target));
            out.push(Node::Expr(&node.annotation));
            exprs(node.value.as_deref(), out);
        }
        Stmt::For(node) => {
            out.push(Node::Expr(&node.target));
            out.push(Node::Expr(&node.iter));
            stmts(&node.body, out);
            stmts(&node.orelse, out);
        }
        Stmt::While(node) => {
            out.push(Node::Expr(&node.test));
            stmts(&node.body, out);
            stmts(&node.orelse, out);
        }
        Stmt::If(node) => {
            out.push(Node::Expr(&node.test));
            stmts(&node.body, out);
            out.extend(node.elif_else_clauses.iter().map(Node::Clause));
        }
        Stmt::With(node) => {
            out.extend(node.items.iter().map(Node::WithItem));
            stmts(&node.body, out);
        }
        Stmt::Match(node) => {
            out.push(Node::Expr(&node.subject));
            out.extend(node.cases.iter().map(Node::Case));
        }
        Stmt::Raise(node) => {
            exprs(node.exc.as_deref(), out);
            exprs(node.cause.as_deref(), out);
        }
        Stmt::Try(node) => {
            stmts(&node.body, out);
            for ExceptHandler::ExceptHandler(handler) in &node.handlers {
                out.push(Node::Handler(handler));
            }
            stmts(&node.orelse, out);
            stmts(&node.finalbody, out);
        }
        Stmt::Assert(node) => {
            out.push(Node::Expr(&node.test));
            exprs(node.msg.as_deref(), out);
        }
        Stmt::Expr(node) => out.push(Node::Expr(&node.value)),
        Stmt::Import(_)
        | Stmt::ImportFrom(_)
        | Stmt::Global(_)
        | Stmt::Nonlocal(_)
        | Stmt::Pass(_)
        | Stmt::Break(_)
        | Stmt::Continue(_)
        | Stmt::IpyEscapeCommand(_) => {}
    }
}

fn expression<'a>(expr: &'a Expr, out: &mut impl Children<'a>) {
    match expr {
        Expr::BoolOp(node) => exprs(&node.values, out),
        Expr::Named(node) => exprs([&*node.target, &node.value], out),
        Expr::BinOp(node) => exprs([&*node.left, &node.right], out),
        Expr::UnaryOp(node) => out.push(Node::Expr(&node.operand)),
        Expr::Lambda(node) => {
            if let Some(params) = &node.parameters {
                out.push(Node::Parameters(params));
            }
            out.push(Node::Expr(&node.body));
        }
        Expr::If(node) => exprs([&*node.test, &node.body, &node.orelse], out),
        Expr::Dict(node) => {
            exprs(node.items.iter().filter_map(|item| item.key.as_ref()), out);
            exprs(node.items.iter().map(|item| &item.value), out);
        }
        Expr::Set(node) => exprs(&node.elts, out),
        Expr::ListComp(node) => {
            out.push(Node::Expr(&node.elt));
            comprehensions(&node.generators, out);
        }
        Expr::SetComp(node) => {
            out.push(Node::Expr(&node.elt));
            comprehensions(&node.generators, out);
        }
        Expr::DictComp(node) => {
            exprs(node.key.as_deref(), out);
            out.push(Node::Expr(&node.value));
            comprehensions(&node.generators, out);
        }
        Expr::Generator(node) => {
            out.push(Node::Expr(&node.elt));
            comprehensions(&node.generators, out);
        }
        Expr::Await(node) => out.push(Node::Expr(&node.value)),
        Expr::Yield(node) => exprs(node.value.as_deref(), out),
        Expr::YieldFrom(node) => out.push(Node::Expr(&node.value)),
        Expr::Compare(node) => {
            out.push(Node::Expr(&node.left));
            exprs(&*node.comparators, out);
        }
        Expr::Call(node) => {
            out.push(Node::Expr(&node.func));
            exprs(&*node.arguments.args, out);
            out.extend(node.arguments.keywords.iter().map(Node::Keyword));
        }
        Expr::FString(node) => {
            for part in &node.value {
                if let FStringPart::FString(part) = part {
                    interpolations(&part.elements, out);
                }
            }
        }
        Expr::TString(node) => {
            for part in node.value.as_slice() {
                interpolations(&part.elements, out);
            }
        }
        Expr::Attribute(node) => out.push(Node::Expr(&node.value)),
        Expr::Subscript(node) => exprs([&*node.value, &node.slice], out),
        Expr::Starred(node) => out.push(Node::Expr(&node.value)),
        Expr::List(node) => exprs(&node.elts, out),
        Expr::Tuple(node) => exprs(&node.elts, out),
        Expr::Slice(node) => {
            exprs(node.lower.as_deref(), out);
            exprs(node.upper.as_deref(), out);
            exprs(node.step.as_deref(), out);
        }
        Expr::Name(_)
        | Expr::StringLiteral(_)
        | Expr::BytesLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_)
        | Expr::IpyEscapeCommand(_) => {}
    }
}

fn pattern<'a>(pattern: &'a Pattern, out: &mut impl Children<'a>) {
    match pattern {
        Pattern::MatchValue(node) => out.push(Node::Expr(&node.value)),
        Pattern::MatchSequence(node) => patterns(&node.patterns, out),
        Pattern::MatchMapping(node) => {
            exprs(&node.keys, out);
            patterns(&node.patterns, out);
        }
        Pattern::MatchClass(node) => {
            out.push(Node::Expr(&node.cls));
            patterns(&node.arguments.patterns, out);
            patterns(node.arguments.keywords.iter().map(|keyword| &keyword.pattern), out);
        }
        Pattern::MatchAs(node) => patterns(node.pattern.as_deref(), out),
        Pattern::MatchOr(node) => patterns(&node.patterns, out),
        Pattern::MatchSingleton(_) | Pattern::MatchStar(_) => {}
    }
}

fn parameters<'a>(params: &'a Parameters, out: &mut impl Children<'a>) {
    let positional = params.posonlyargs.iter().chain(&params.args);
    out.extend(positional.clone().map(|param| Node::Parameter(&param.parameter)));
    out.extend(params.vararg.as_deref().map(Node::Parameter));
    out.extend(params.kwonlyargs.iter().map(|param| Node::Parameter(&param.parameter)));
    exprs(params.kwonlyargs.iter().filter_map(|param| param.default()), out);
    out.extend(params.kwarg.as_deref().map(Node::Parameter));
    exprs(positional.filter_map(|param| param.default()), out);
}

fn type_params<'a>(params: Option<&'a ruff_python_ast::TypeParams>, out: &mut impl Children<'a>) {
    out.extend(params.into_iter().flatten().map(Node::TypeParam));
}

fn interpolations<'a>(
    elements: impl IntoIterator<Item = &'a InterpolatedStringElement>,
    out: &mut impl Children<'a>,
) {
    for element in elements {
        if let InterpolatedStringElement::Interpolation(element) = element {
            out.push(Node::Interpolation(element));
        }
    }
}

fn stmts<'a>(body: &'a [Stmt], out: &mut impl Children<'a>) {
    out.extend(body.iter().map(Node::Stmt));
}

fn exprs<'a>(list: impl IntoIterator<Item = &'a Expr>, out: &mut impl Children<'a>) {
    out.extend(list.into_iter().map(Node::Expr));
}

fn comprehensions<'a>(parts: &'a [Comprehension], out: &mut impl Children<'a>) {
    out.extend(parts.iter().map(Node::Comprehension));
}

fn patterns<'a>(list: impl IntoIterator<Item = &'a Pattern>, out: &mut impl Children<'a>) {
    out.extend(list.into_iter().map(Node::Pattern));
}
