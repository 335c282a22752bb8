//! Annotations as trees: names resolved, strings parsed, `Optional` and `Union` folded.

use std::hash::BuildHasher;

use ruff_python_ast::{Expr, Operator};
use ruff_python_parser::parse_expression;
use ruff_text_size::Ranged;
use rustc_hash::{FxBuildHasher, FxHashSet};

use menace_model::TypeExpr;

use super::reference::is_typing;
use super::scope::ScopeStack;

/// Strings in strings in strings: real code has no more levels.
const MAX_QUOTED_NESTING: u8 = 4;

/// Turns an annotation into a tree whose names are [references](super::reference).
pub(crate) fn convert_annotation(source: &str, expr: &Expr, scopes: &ScopeStack<'_>) -> TypeExpr {
    AnnotationConverter { source, scopes, quoted_nesting: 0 }.convert(expr)
}

struct AnnotationConverter<'s, 'a> {
    source: &'s str,
    scopes: &'s ScopeStack<'a>,
    quoted_nesting: u8,
}

impl AnnotationConverter<'_, '_> {
    fn convert(&self, expr: &Expr) -> TypeExpr {
        match expr {
            Expr::NoneLiteral(_) => TypeExpr::None,
            Expr::EllipsisLiteral(_) => TypeExpr::Ellipsis,
            Expr::Name(_) | Expr::Attribute(_) => match self.scopes.resolve_expr(expr) {
                Some(reference) => TypeExpr::Name(reference),
                None => self.source_type(expr),
            },
            Expr::StringLiteral(string) => self.convert_quoted(string.value.to_str(), expr),
            Expr::BinOp(operation) if operation.op == Operator::BitOr => {
                // `a | b | c` leans to the left: walk down that side instead of recursing.
                let mut sides = vec![self.convert(&operation.right)];
                let mut left = &*operation.left;
                while let Expr::BinOp(inner) = left
                    && inner.op == Operator::BitOr
                {
                    sides.push(self.convert(&inner.right));
                    left = &inner.left;
                }
                sides.push(self.convert(left));
                build_union(sides.into_iter().rev())
            }
            Expr::Subscript(subscript) => {
                self.convert_subscript(&subscript.value, &subscript.slice)
            }
            Expr::List(list) => TypeExpr::List(self.convert_all(&list.elts)),
            Expr::Starred(starred) => TypeExpr::Unpack(Box::new(self.convert(&starred.value))),
            _ => self.source_type(expr),
        }
    }

    fn convert_all(&self, exprs: &[Expr]) -> Vec<TypeExpr> {
        exprs.iter().map(|expr| self.convert(expr)).collect()
    }

    fn convert_subscript(&self, base: &Expr, slice: &Expr) -> TypeExpr {
        let base = self.convert(base);
        let items = match slice {
            Expr::Tuple(tuple) => &tuple.elts[..],
            one => std::slice::from_ref(one),
        };
        let typing =
            |attribute| matches!(&base, TypeExpr::Name(name) if is_typing(name, attribute));
        if typing("Literal") {
            return TypeExpr::Literal(items.iter().map(|item| self.text(item)).collect());
        }
        if typing("Optional") || typing("Union") {
            let none = typing("Optional").then_some(TypeExpr::None);
            return build_union(self.convert_all(items).into_iter().chain(none));
        }
        let args = if typing("Annotated") {
            // Only the first argument is a type; strings after it are no forward references.
            let (kind, metadata) = items.split_first().map_or((None, items), |(a, b)| (Some(a), b));
            let metadata = metadata.iter().map(|item| self.source_type(item));
            kind.map(|kind| self.convert(kind)).into_iter().chain(metadata).collect()
        } else {
            self.convert_all(items)
        };
        TypeExpr::Generic { base: Box::new(base), args }
    }

    fn convert_quoted(&self, text: &str, expr: &Expr) -> TypeExpr {
        let parsed = (self.quoted_nesting < MAX_QUOTED_NESTING)
            .then(|| parse_expression(text.trim()).ok())
            .flatten();
        match parsed {
            Some(parsed) => AnnotationConverter {
                source: text.trim(),
                scopes: self.scopes,
                quoted_nesting: self.quoted_nesting + 1,
            }
            .convert(parsed.expr()),
            None => self.source_type(expr),
        }
    }

    fn text(&self, expr: &Expr) -> String {
        self.source[expr.range()].to_owned()
    }

    fn source_type(&self, expr: &Expr) -> TypeExpr {
        TypeExpr::Other(self.text(expr))
    }
}

/// Flattens nested unions and removes duplicates.
fn build_union(items: impl IntoIterator<Item = TypeExpr>) -> TypeExpr {
    let mut flat: Vec<TypeExpr> = Vec::new();
    let mut seen = FxHashSet::default();
    for item in items {
        let parts = match item {
            TypeExpr::Union(parts) => parts,
            other => vec![other],
        };
        flat.extend(parts.into_iter().filter(|part| seen.insert(FxBuildHasher.hash_one(part))));
    }
    if flat.len() == 1 { flat.remove(0) } else { TypeExpr::Union(flat) }
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::parse_module;

    use super::super::scope::{NameScope, NameScopeKind};
    use super::*;

    fn convert(imports: &str, annotation: &str) -> String {
        let module = parse_module(imports).unwrap();
        let scopes = ScopeStack(vec![NameScope::from_body(
            NameScopeKind::Module,
            String::new(),
            module.suite(),
            false,
        )]);
        let parsed = parse_expression(annotation).unwrap();
        convert_annotation(annotation, parsed.expr(), &scopes).to_string()
    }

    #[test]
    fn optional_and_union_become_one_union() {
        let imports = "from typing import Optional, Union\nimport typing as t";
        assert_eq!(convert(imports, "Optional[int]"), "int | None");
        assert_eq!(convert(imports, "t.Union[int, Optional[str], None]"), "int | str | None");
        assert_eq!(convert(imports, "int | (str | int)"), "int | str");
        assert_eq!(convert(imports, "Union[int]"), "int");
    }

    #[test]
    fn a_union_of_thousands_takes_no_time_to_speak_of() {
        let members: Vec<String> = (0..9_000).map(|number| format!("A{number}")).collect();
        assert_eq!(convert("", &members.join("|")), members.join(" | "));
    }

    #[test]
    fn strings_are_forward_references_except_in_literals_and_metadata() {
        let imports = "from typing import List, Literal, Annotated\nclass Node: pass";
        assert_eq!(convert(imports, "List['Node']"), "typing:List[:Node]");
        assert_eq!(convert(imports, "\"List['Node']\""), "typing:List[:Node]");
        assert_eq!(convert(imports, "Literal['Node', 3]"), "typing.Literal['Node', 3]");
        assert_eq!(convert(imports, "Annotated[int, 'Node']"), "typing:Annotated[int, 'Node']");
    }

    #[test]
    fn what_is_no_type_stays_as_written() {
        assert_eq!(convert("", "f(1)"), "f(1)");
        assert_eq!(convert("", "'not a type'"), "'not a type'");
        assert_eq!(convert("", "tuple[int, ...]"), "tuple[int, ...]");
        assert_eq!(
            convert("from typing import Callable", "Callable[[int], None]"),
            "typing:Callable[[int], None]"
        );
    }
}
