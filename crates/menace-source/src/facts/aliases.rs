//! Top-level names that refer to types (aliases), and `__all__`.

use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use rustc_hash::FxHashMap;

use menace_model::TypeExpr;

use super::annotation::convert_annotation;
use super::reference::is_typing;
use super::scope::ScopeStack;

/// The type of each alias: `X = Y`, `X = Optional[Y]`, `X: TypeAlias = …`, `type X = …`.
pub(crate) fn collect_aliases(
    source: &str,
    body: &[Stmt],
    scopes: &ScopeStack<'_>,
) -> FxHashMap<String, TypeExpr> {
    let mut found = FxHashMap::default();
    for stmt in body {
        let (target, value) = match stmt {
            Stmt::Assign(assign) => match &assign.targets[..] {
                [target] if may_be_type(&assign.value) => (target, &assign.value),
                _ => continue,
            },
            Stmt::AnnAssign(assign) => match &assign.value {
                Some(value) if is_type_alias(&assign.annotation, scopes) => {
                    (&*assign.target, value)
                }
                _ => continue,
            },
            Stmt::TypeAlias(alias) => (&*alias.name, &alias.value),
            _ => continue,
        };
        if let Expr::Name(name) = target {
            found.insert(name.id.to_string(), convert_annotation(source, value, scopes));
        }
    }
    found
}

fn is_type_alias(annotation: &Expr, scopes: &ScopeStack<'_>) -> bool {
    scopes.resolve_expr(annotation).is_some_and(|reference| is_typing(&reference, "TypeAlias"))
}

fn may_be_type(value: &Expr) -> bool {
    match value {
        Expr::Name(_) | Expr::Attribute(_) => true,
        Expr::Subscript(subscript) => may_be_type(&subscript.value),
        Expr::BinOp(operation) => operation.op == Operator::BitOr && may_be_type(&operation.left),
        _ => false,
    }
}

/// The names in `__all__`; `None` without such a list, or if it is not a plain one.
pub(crate) fn collect_exports(body: &[Stmt]) -> Option<Vec<String>> {
    let mut all: Option<Vec<String>> = None;
    for stmt in body {
        let (target, value, adds) = match stmt {
            Stmt::Assign(assign) if assign.targets.len() == 1 => {
                (&assign.targets[0], &*assign.value, false)
            }
            Stmt::AnnAssign(ast::StmtAnnAssign { target, value: Some(value), .. }) => {
                (&**target, &**value, false)
            }
            Stmt::AugAssign(assign) => (&*assign.target, &*assign.value, true),
            _ => continue,
        };
        if !matches!(target, Expr::Name(name) if name.id.as_str() == "__all__") {
            continue;
        }
        let names = string_items(value)?;
        match &mut all {
            Some(all) if adds => all.extend(names),
            _ => all = Some(names),
        }
    }
    all
}

fn string_items(list: &Expr) -> Option<Vec<String>> {
    let items = match list {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return None,
    };
    let text = |item: &Expr| Some(item.as_string_literal_expr()?.value.to_str().to_owned());
    items.iter().map(text).collect()
}
