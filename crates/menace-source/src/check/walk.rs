//! One pass over a syntax tree, parents before children.
//!
//! Invariant: the walk's own stack is on the heap, and grows with the depth of the tree (`1+1+…` a
//! hundred thousand times), so deep nesting cannot overflow the call stack here.

use ruff_python_ast::{
    Comprehension, ElifElseClause, ExceptHandler, ExceptHandlerExceptHandler, Expr, FStringPart,
    InterpolatedElement, InterpolatedStringElement, InterpolatedStringFormatSpec, Keyword,
    MatchCase, Parameter, Parameters, Pattern, Stmt, TypeParam, TypeParams, WithItem,
};
use ruff_text_size::{Ranged, TextRange};

use crate::stack::with_growing_stack;

/// A node of the tree, as fine as Python's own `ast` module divides it.
#[derive(Debug, Clone, Copy)]
pub(super) enum SyntaxNode<'a> {
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
    /// The format specification after the colon in `{…:…}`.
    FormatSpec(&'a InterpolatedStringFormatSpec),
}

impl Ranged for SyntaxNode<'_> {
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
trait ChildSink<'a> {
    fn push(&mut self, node: SyntaxNode<'a>);

    fn extend(&mut self, nodes: impl IntoIterator<Item = SyntaxNode<'a>>) {
        for node in nodes {
            self.push(node);
        }
    }
}

/// Visits each child, and its children, as soon as it is pushed.
struct SyntaxTreeWalk<'a, E> {
    ancestors: Vec<SyntaxNode<'a>>,
    enter: E,
}

impl<'a, E: FnMut(SyntaxNode<'a>, &[SyntaxNode<'a>])> ChildSink<'a> for SyntaxTreeWalk<'a, E> {
    fn push(&mut self, node: SyntaxNode<'a>) {
        (self.enter)(node, &self.ancestors);
        // Leaves have no children; most nodes are leaves.
        if matches!(
            node,
            SyntaxNode::Expr(
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
        self.ancestors.push(node);
        with_growing_stack(|| push_children(node, self));
        self.ancestors.pop();
    }
}

/// Calls `enter` for every node below `body` with the nodes above it, outermost first.
pub(super) fn walk_tree<'a>(
    body: &'a [Stmt],
    enter: impl FnMut(SyntaxNode<'a>, &[SyntaxNode<'a>]),
) {
    SyntaxTreeWalk { ancestors: Vec::new(), enter }.extend(body.iter().map(SyntaxNode::Stmt));
}

impl<'a> ChildSink<'a> for Vec<SyntaxNode<'a>> {
    fn push(&mut self, node: SyntaxNode<'a>) {
        Vec::push(self, node);
    }
}

/// Every node of the expression, breadth first, as Python's `ast.walk` goes.
pub(super) fn walk_breadth_first(root: &Expr) -> impl Iterator<Item = SyntaxNode<'_>> {
    let mut seen = vec![SyntaxNode::Expr(root)];
    let mut next = 0;
    std::iter::from_fn(move || {
        let node = *seen.get(next)?;
        next += 1;
        push_children(node, &mut seen);
        Some(node)
    })
}

/// The children in the order of the fields of Python's `ast`, which is the order in which Bandit
/// learns about imports.
fn push_children<'a>(node: SyntaxNode<'a>, out: &mut impl ChildSink<'a>) {
    match node {
        SyntaxNode::Stmt(stmt) => push_statement_children(stmt, out),
        SyntaxNode::Expr(expr) => push_expression_children(expr, out),
        SyntaxNode::Clause(clause) => {
            push_expressions(&clause.test, out);
            push_statements(&clause.body, out);
        }
        SyntaxNode::Handler(handler) => {
            push_expressions(handler.type_.as_deref(), out);
            push_statements(&handler.body, out);
        }
        SyntaxNode::Case(case) => {
            out.push(SyntaxNode::Pattern(&case.pattern));
            push_expressions(case.guard.as_deref(), out);
            push_statements(&case.body, out);
        }
        SyntaxNode::Pattern(node) => push_pattern_children(node, out),
        SyntaxNode::WithItem(item) => {
            out.push(SyntaxNode::Expr(&item.context_expr));
            push_expressions(item.optional_vars.as_deref(), out);
        }
        SyntaxNode::Parameters(params) => push_parameters(params, out),
        SyntaxNode::Parameter(param) => push_expressions(param.annotation.as_deref(), out),
        SyntaxNode::TypeParam(param) => {
            if let TypeParam::TypeVar(var) = param {
                push_expressions(var.bound.as_deref(), out);
            }
            push_expressions(param.default(), out);
        }
        SyntaxNode::Keyword(keyword) => out.push(SyntaxNode::Expr(&keyword.value)),
        SyntaxNode::Comprehension(part) => {
            push_expressions([&part.target, &part.iter], out);
            push_expressions(&part.ifs, out);
        }
        SyntaxNode::Interpolation(element) => {
            out.push(SyntaxNode::Expr(&element.expression));
            out.extend(element.format_spec.as_deref().map(SyntaxNode::FormatSpec));
        }
        SyntaxNode::FormatSpec(spec) => push_interpolations(&spec.elements, out),
    }
}

fn push_statement_children<'a>(stmt: &'a Stmt, out: &mut impl ChildSink<'a>) {
    match stmt {
        Stmt::FunctionDef(def) => {
            out.push(SyntaxNode::Parameters(&def.parameters));
            push_statements(&def.body, out);
            push_expressions(def.decorator_list.iter().map(|decorator| &decorator.expression), out);
            push_expressions(def.returns.as_deref(), out);
            push_type_params(def.type_params.as_deref(), out);
        }
        Stmt::ClassDef(def) => {
            if let Some(arguments) = &def.arguments {
                push_expressions(&*arguments.args, out);
                out.extend(arguments.keywords.iter().map(SyntaxNode::Keyword));
            }
            push_statements(&def.body, out);
            push_expressions(def.decorator_list.iter().map(|decorator| &decorator.expression), out);
            push_type_params(def.type_params.as_deref(), out);
        }
        Stmt::Return(node) => push_expressions(node.value.as_deref(), out),
        Stmt::Delete(node) => push_expressions(&node.targets, out),
        Stmt::TypeAlias(node) => {
            out.push(SyntaxNode::Expr(&node.name));
            push_type_params(node.type_params.as_deref(), out);
            out.push(SyntaxNode::Expr(&node.value));
        }
        Stmt::Assign(node) => {
            push_expressions(&node.targets, out);
            out.push(SyntaxNode::Expr(&node.value));
        }
        Stmt::AugAssign(node) => push_expressions([&*node.target, &node.value], out),
        Stmt::AnnAssign(node) => {
            push_expressions([&*node.target, &node.annotation], out);
            push_expressions(node.value.as_deref(), out);
        }
        Stmt::For(node) => {
            push_expressions([&*node.target, &node.iter], out);
            push_statements(&node.body, out);
            push_statements(&node.orelse, out);
        }
        Stmt::While(node) => {
            out.push(SyntaxNode::Expr(&node.test));
            push_statements(&node.body, out);
            push_statements(&node.orelse, out);
        }
        Stmt::If(node) => {
            out.push(SyntaxNode::Expr(&node.test));
            push_statements(&node.body, out);
            out.extend(node.elif_else_clauses.iter().map(SyntaxNode::Clause));
        }
        Stmt::With(node) => {
            out.extend(node.items.iter().map(SyntaxNode::WithItem));
            push_statements(&node.body, out);
        }
        Stmt::Match(node) => {
            out.push(SyntaxNode::Expr(&node.subject));
            out.extend(node.cases.iter().map(SyntaxNode::Case));
        }
        Stmt::Raise(node) => {
            push_expressions(node.exc.as_deref(), out);
            push_expressions(node.cause.as_deref(), out);
        }
        Stmt::Try(node) => {
            push_statements(&node.body, out);
            for ExceptHandler::ExceptHandler(handler) in &node.handlers {
                out.push(SyntaxNode::Handler(handler));
            }
            push_statements(&node.orelse, out);
            push_statements(&node.finalbody, out);
        }
        Stmt::Assert(node) => {
            out.push(SyntaxNode::Expr(&node.test));
            push_expressions(node.msg.as_deref(), out);
        }
        Stmt::Expr(node) => out.push(SyntaxNode::Expr(&node.value)),
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

fn push_expression_children<'a>(expr: &'a Expr, out: &mut impl ChildSink<'a>) {
    match expr {
        Expr::BoolOp(node) => push_expressions(&node.values, out),
        Expr::Named(node) => push_expressions([&*node.target, &node.value], out),
        Expr::BinOp(node) => push_expressions([&*node.left, &node.right], out),
        Expr::UnaryOp(node) => out.push(SyntaxNode::Expr(&node.operand)),
        Expr::Lambda(node) => {
            out.extend(node.parameters.as_deref().map(SyntaxNode::Parameters));
            out.push(SyntaxNode::Expr(&node.body));
        }
        Expr::If(node) => push_expressions([&*node.test, &node.body, &node.orelse], out),
        Expr::Dict(node) => {
            push_expressions(node.items.iter().filter_map(|item| item.key.as_ref()), out);
            push_expressions(node.items.iter().map(|item| &item.value), out);
        }
        Expr::Set(node) => push_expressions(&node.elts, out),
        Expr::ListComp(node) => push_comprehension(&node.elt, &node.generators, out),
        Expr::SetComp(node) => push_comprehension(&node.elt, &node.generators, out),
        Expr::DictComp(node) => {
            push_expressions(node.key.as_deref(), out);
            push_comprehension(&node.value, &node.generators, out);
        }
        Expr::Generator(node) => push_comprehension(&node.elt, &node.generators, out),
        Expr::Await(node) => out.push(SyntaxNode::Expr(&node.value)),
        Expr::Yield(node) => push_expressions(node.value.as_deref(), out),
        Expr::YieldFrom(node) => out.push(SyntaxNode::Expr(&node.value)),
        Expr::Compare(node) => {
            out.push(SyntaxNode::Expr(&node.left));
            push_expressions(&*node.comparators, out);
        }
        Expr::Call(node) => {
            out.push(SyntaxNode::Expr(&node.func));
            push_expressions(&*node.arguments.args, out);
            out.extend(node.arguments.keywords.iter().map(SyntaxNode::Keyword));
        }
        Expr::FString(node) => {
            for part in &node.value {
                if let FStringPart::FString(part) = part {
                    push_interpolations(&part.elements, out);
                }
            }
        }
        Expr::TString(node) => {
            for part in node.value.as_slice() {
                push_interpolations(&part.elements, out);
            }
        }
        Expr::Attribute(node) => out.push(SyntaxNode::Expr(&node.value)),
        Expr::Subscript(node) => push_expressions([&*node.value, &node.slice], out),
        Expr::Starred(node) => out.push(SyntaxNode::Expr(&node.value)),
        Expr::List(node) => push_expressions(&node.elts, out),
        Expr::Tuple(node) => push_expressions(&node.elts, out),
        Expr::Slice(node) => {
            push_expressions(node.lower.as_deref(), out);
            push_expressions(node.upper.as_deref(), out);
            push_expressions(node.step.as_deref(), out);
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

fn push_pattern_children<'a>(pattern: &'a Pattern, out: &mut impl ChildSink<'a>) {
    match pattern {
        Pattern::MatchValue(node) => out.push(SyntaxNode::Expr(&node.value)),
        Pattern::MatchSequence(node) => push_patterns(&node.patterns, out),
        Pattern::MatchMapping(node) => {
            push_expressions(&node.keys, out);
            push_patterns(&node.patterns, out);
        }
        Pattern::MatchClass(node) => {
            out.push(SyntaxNode::Expr(&node.cls));
            push_patterns(&node.arguments.patterns, out);
            push_patterns(node.arguments.keywords.iter().map(|keyword| &keyword.pattern), out);
        }
        Pattern::MatchAs(node) => push_patterns(node.pattern.as_deref(), out),
        Pattern::MatchOr(node) => push_patterns(&node.patterns, out),
        Pattern::MatchSingleton(_) | Pattern::MatchStar(_) => {}
    }
}

fn push_parameters<'a>(params: &'a Parameters, out: &mut impl ChildSink<'a>) {
    let positional = params.posonlyargs.iter().chain(&params.args);
    out.extend(positional.clone().map(|param| SyntaxNode::Parameter(&param.parameter)));
    out.extend(params.vararg.as_deref().map(SyntaxNode::Parameter));
    out.extend(params.kwonlyargs.iter().map(|param| SyntaxNode::Parameter(&param.parameter)));
    push_expressions(params.kwonlyargs.iter().filter_map(|param| param.default()), out);
    out.extend(params.kwarg.as_deref().map(SyntaxNode::Parameter));
    push_expressions(positional.filter_map(|param| param.default()), out);
}

fn push_type_params<'a>(params: Option<&'a TypeParams>, out: &mut impl ChildSink<'a>) {
    out.extend(params.into_iter().flatten().map(SyntaxNode::TypeParam));
}

fn push_interpolations<'a>(
    elements: impl IntoIterator<Item = &'a InterpolatedStringElement>,
    out: &mut impl ChildSink<'a>,
) {
    for element in elements {
        if let InterpolatedStringElement::Interpolation(element) = element {
            out.push(SyntaxNode::Interpolation(element));
        }
    }
}

fn push_statements<'a>(body: &'a [Stmt], out: &mut impl ChildSink<'a>) {
    out.extend(body.iter().map(SyntaxNode::Stmt));
}

fn push_expressions<'a>(list: impl IntoIterator<Item = &'a Expr>, out: &mut impl ChildSink<'a>) {
    out.extend(list.into_iter().map(SyntaxNode::Expr));
}

fn push_comprehension<'a>(
    element: &'a Expr,
    parts: &'a [Comprehension],
    out: &mut impl ChildSink<'a>,
) {
    out.push(SyntaxNode::Expr(element));
    out.extend(parts.iter().map(SyntaxNode::Comprehension));
}

fn push_patterns<'a>(list: impl IntoIterator<Item = &'a Pattern>, out: &mut impl ChildSink<'a>) {
    out.extend(list.into_iter().map(SyntaxNode::Pattern));
}
