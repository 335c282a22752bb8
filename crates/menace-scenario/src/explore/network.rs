//! Sections that talk to others.

use std::collections::HashSet;

use menace_model::{Section, TypeExpr};

use crate::input::{Facts, Told};

/// Modules whose use means that somebody is called.
const TALKS: [&str; 14] = [
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "urllib3",
    "requests",
    "httpx",
    "aiohttp",
    "xmlrpc",
    "ftplib",
    "smtplib",
    "poplib",
    "imaplib",
    "asyncio.open_connection",
];

/// What is asked of a session, a client or a socket.
const ASKS: [&str; 18] = [
    "connect",
    "delete",
    "fetch",
    "get",
    "getresponse",
    "head",
    "open",
    "options",
    "patch",
    "post",
    "put",
    "recv",
    "request",
    "send",
    "sendall",
    "send_message",
    "sendmail",
    "stream",
];

/// So many sections behind one are looked at.
const MOST: usize = 256;

/// Does it call out, as far as its source tells: itself, or through what it calls in the repository?
pub fn is_used_by(section: &Section, facts: &Facts<'_>) -> bool {
    let mut seen = HashSet::from([&section.id]);
    let mut left = vec![section];
    while let Some(section) = left.pop() {
        if calls_out(section) || asks_what_it_has(section, facts) {
            return true;
        }
        for called in facts.called_by(&section.id) {
            if seen.len() < MOST && seen.insert(&called.section.id) {
                left.push(called.section);
            }
        }
    }
    false
}

fn calls_out(section: &Section) -> bool {
    section.calls.iter().any(|call| talks(&call.target))
}

fn talks(dotted: &str) -> bool {
    let below = |module: &str| dotted.strip_prefix(module);
    TALKS
        .iter()
        .filter_map(|module| below(module))
        .any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Asks a session that its class or its module has made, or that it was given: `self.session.get(…)`.
fn asks_what_it_has(section: &Section, facts: &Facts<'_>) -> bool {
    let Some(told) = facts.section(&section.id) else { return false };
    let asked: Vec<&str> = told
        .hints
        .calls
        .iter()
        .filter(|name| !is_of_elsewhere(section, name))
        .filter_map(|name| name.rsplit_once('.'))
        .filter_map(|(whom, what)| ASKS.contains(&what).then_some(whom))
        .collect();
    let is_made_by = |maker: Option<Told<'_>>| maker.is_some_and(|told| calls_out(told.section));
    let given = |whom: &str| section.params.iter().find(|param| param.name == whom);
    let is_session = |kind: &TypeExpr| matches!(kind, TypeExpr::Name(name) if talks(name));
    asked.into_iter().any(|whom| match (whom.strip_prefix("self."), given(whom)) {
        (Some(_), _) => is_made_by(facts.maker_of(told)),
        (None, Some(param)) => param.resolved.as_ref().is_some_and(is_session),
        (None, None) => is_made_by(facts.top_of(told)),
    })
}

/// `os.environ.get`: what is called is known, and belongs to a module that was imported.
fn is_of_elsewhere(section: &Section, name: &str) -> bool {
    section.calls.iter().any(|call| {
        call.target.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use menace_model::{Classes, Hints, TypeNames};
    use serde_json::json;

    use super::*;

    /// A section of a module: what it calls elsewhere, what it calls as written, what it is given.
    struct Row(
        &'static str,
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
    );

    fn section(Row(module, name, elsewhere, _, given): &Row) -> Section {
        let edge = |target: &&str| json!({"target": target, "path": null, "line": 1});
        let calls: Vec<_> = elsewhere.iter().map(edge).collect();
        let param = json!({"name": "it", "kind": "positional_or_keyword", "annotation": null,
            "resolved": {"Name": given}, "default": null});
        serde_json::from_value(json!({
            "id": format!("{module}.py::{name}"), "kind": "function", "is_async": false,
            "is_generator": false, "line": 1, "start_line": 1, "end_line": 2, "decorators": [],
            "docstring": null, "params": [param], "returns": null, "complexity": 1,
            "calls": calls, "construction": null
        }))
        .expect("a section")
    }

    #[test]
    fn who_calls_out_behind_others_talks_too() {
        let table = [
            (Row("shop", "fetch", &["urllib.request.urlopen"], &["urlopen"], "int"), true),
            (Row("shop", "behind_a_function", &[], &["fetch"], "int"), true),
            (Row("web", "behind_two", &["shop.behind_a_function"], &["rates"], "int"), true),
            (Row("shop", "Client.__init__", &[], &["super"], "int"), false),
            (Row("shop", "Client._send", &["requests.get"], &["requests.get"], "int"), true),
            (Row("shop", "Client.behind_a_method", &[], &["self._send"], "int"), true),
            (Row("shop", "Special.inherited", &[], &["self.behind_a_method"], "int"), true),
            (Row("web", "makes_one", &["shop.Client"], &["Client", "client._send"], "int"), true),
            (Row("web", "is_given_one", &[], &["it._send"], "shop.Client"), true),
            (Row("web", "Page.__init__", &["shop.Client"], &["Client"], "int"), false),
            (Row("web", "Page.has_one", &[], &["self.client._send"], "int"), true),
            (Row("web", "outer", &[], &["inner"], "int"), true),
            (Row("web", "outer.<locals>.inner", &["shop.fetch"], &["fetch"], "int"), true),
            (Row("api", "Api.__init__", &["requests.Session"], &["requests.Session"], "int"), true),
            (Row("api", "Api.its_session", &[], &["self.session.get"], "int"), true),
            (Row("api", "Api.its_log", &[], &["self.log.info"], "int"), false),
            (Row("api", "is_given_a_session", &[], &["it.post"], "requests.Session"), true),
            (Row("api", "is_given_a_dictionary", &[], &["it.get"], "dict"), false),
            (Row("wire", "<module>", &["httpx.Client"], &["httpx.Client"], "int"), true),
            (Row("wire", "that_of_the_module", &[], &["client.get"], "int"), true),
            (Row("wire", "something_of_the_module", &[], &["names.append"], "int"), false),
            (Row("wire", "is_given_a_dictionary", &[], &["it.get"], "dict"), false),
            (
                Row("wire", "asks_the_system", &["os.environ.get"], &["os.environ.get"], "int"),
                false,
            ),
            (Row("web", "only_makes_one", &["shop.Client"], &["Client"], "int"), false),
            (Row("web", "sends_something_else", &[], &["queue._send"], "int"), false),
            (Row("web", "goes_round", &[], &["and_round", "goes_round"], "int"), false),
            (Row("web", "and_round", &[], &["goes_round"], "int"), false),
        ];
        let class = |module: &str, name: &str, bases: &[&str]| {
            let id = format!("{module}.py::{name}.__init__");
            let step = json!({"class": format!("{module}.{name}"), "constructor": id,
                "known": true, "params": [], "members": []});
            json!({"module": module, "qualname": name, "kind": "plain", "bases": bases,
                "fields": [], "members": [], "methods": [], "abstract_methods": [],
                "construction": {"steps": [step], "blocked": null}})
        };
        let classes: Classes = serde_json::from_value(json!({
            "shop.Client": class("shop", "Client", &[]),
            "shop.Special": class("shop", "Special", &["shop.Client"]),
            "web.Page": class("web", "Page", &[]),
            "api.Api": class("api", "Api", &[]),
        }))
        .expect("classes");
        let types = TypeNames::default();
        let sections: Vec<(Section, Hints)> = table
            .iter()
            .map(|(row, _)| {
                let calls = row.3.iter().map(|&it| it.to_owned()).collect();
                (section(row), Hints { calls, ..Hints::default() })
            })
            .collect();
        let mut facts = Facts::new(&classes, &types);
        for ((section, hints), (row, _)) in sections.iter().zip(&table) {
            facts.add(row.0, section, hints);
        }
        for ((section, _), (_, talks)) in sections.iter().zip(&table) {
            assert_eq!(is_used_by(section, &facts), *talks, "{}", section.id);
        }
    }
}
