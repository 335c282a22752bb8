//! The imports of one file, as written.

use ruff_python_ast::{self as ast, Expr};
use serde::{Deserialize, Serialize};

use menace_model::ImportKind;

/// One import statement or call, before linking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnlinkedImport {
    /// Module as written, leading dots included.
    pub module: String,
    /// Names of a `from` import; empty for `import m` and for calls.
    pub names: Vec<String>,
    pub line: u32,
    pub how: ImportKind,
    pub conditional: bool,
    pub type_checking: bool,
    pub deferred: bool,
}

/// The module that `importlib.import_module(…)` or `__import__(…)` names, when it is a literal.
pub(crate) fn literal_import_target(how: ImportKind, arguments: &ast::Arguments) -> Option<String> {
    let text = |expr: &Expr| match expr {
        Expr::StringLiteral(string) => Some(string.value.to_str().to_owned()),
        _ => None,
    };
    let module = text(arguments.find_argument_value("name", 0)?)?;
    if how == ImportKind::DunderImport {
        let level = match arguments.find_argument_value("level", 4) {
            None => 0,
            Some(Expr::NumberLiteral(number)) => match &number.value {
                ast::Number::Int(level) => level.as_usize()?,
                _ => return None,
            },
            Some(_) => return None,
        };
        return Some(".".repeat(level) + &module);
    }
    if !module.starts_with('.') {
        return Some(module);
    }
    match arguments.find_argument_value("package", 1)? {
        // Relative to the package of this very file, as a statement would be.
        Expr::Name(name) if matches!(name.id.as_str(), "__package__" | "__name__") => Some(module),
        package => {
            let package = text(package)?;
            let level = module.bytes().take_while(|&byte| byte == b'.').count();
            let mut parts: Vec<&str> = package.split('.').collect();
            parts.truncate(parts.len().checked_sub(level - 1)?);
            let rest = &module[level..];
            parts.extend((!rest.is_empty()).then_some(rest));
            Some(parts.join("."))
        }
    }
}

/// Which way a test on `TYPE_CHECKING` goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeCheckingTest {
    /// `if TYPE_CHECKING:`
    Positive,
    /// `if not TYPE_CHECKING:`
    Negative,
}

/// `typing` says whether a name is `typing.TYPE_CHECKING` under another name.
pub(crate) fn parse_type_checking_test(
    test: &Expr,
    typing: &impl Fn(&Expr) -> bool,
) -> Option<TypeCheckingTest> {
    match test {
        Expr::Name(name)
            if matches!(name.id.as_str(), "TYPE_CHECKING" | "MYPY") || typing(test) =>
        {
            Some(TypeCheckingTest::Positive)
        }
        Expr::Attribute(attribute) if attribute.attr.as_str() == "TYPE_CHECKING" => {
            Some(TypeCheckingTest::Positive)
        }
        // Code that never runs is there for type checkers.
        Expr::BooleanLiteral(literal) if !literal.value => Some(TypeCheckingTest::Positive),
        Expr::BoolOp(operation) if operation.op == ast::BoolOp::And => operation
            .values
            .iter()
            .any(|value| {
                parse_type_checking_test(value, typing) == Some(TypeCheckingTest::Positive)
            })
            .then_some(TypeCheckingTest::Positive),
        Expr::UnaryOp(unary) if unary.op == ast::UnaryOp::Not => {
            parse_type_checking_test(&unary.operand, typing).map(|inner| match inner {
                TypeCheckingTest::Positive => TypeCheckingTest::Negative,
                TypeCheckingTest::Negative => TypeCheckingTest::Positive,
            })
        }
        _ => None,
    }
}
