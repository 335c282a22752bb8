//! B610, B611: SQL handed to Django's `extra` and `RawSQL` that is not constant.

use ruff_python_ast::Expr;

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::rule_match::FindingSink;

pub(super) fn check(call: &CheckedCall<'_, '_>, imports: &ImportTable<'_>, sink: &mut FindingSink) {
    if call.name == "extra" {
        if is_extra_injectable(call) {
            sink.report("B610", call, "`extra` takes SQL that is not constant");
        }
    } else if imports.mentions("django.db.models") {
        let sql = call.args().first().or_else(|| call.keyword("sql"));
        if sql.is_some_and(|sql| !sql.is_string_literal_expr()) {
            sink.report("B611", call, "`RawSQL` takes SQL that is not constant");
        }
    }
}

/// `where` and `tables` are lists, `select` a dict, all of constant strings, or the call is open.
fn is_extra_injectable(call: &CheckedCall<'_, '_>) -> bool {
    let argument = |position: usize, name| call.args().get(position).or_else(|| call.keyword(name));
    let open_list = |list: &Expr| match list {
        Expr::List(list) => list.elts.iter().any(|item| !item.is_string_literal_expr()),
        _ => true,
    };
    let open_dict = |dict: &Expr| match dict {
        Expr::Dict(dict) => dict.items.iter().any(|item| {
            !item.key.as_ref().is_some_and(Expr::is_string_literal_expr)
                || !item.value.is_string_literal_expr()
        }),
        _ => true,
    };
    argument(1, "where").is_some_and(open_list)
        || argument(3, "tables").is_some_and(open_list)
        || argument(0, "select").is_some_and(open_dict)
}
