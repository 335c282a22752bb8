//! Which sections send requests, as far as the source shows.

use std::collections::HashSet;

use menace_model::{Section, TypeExpr};

use crate::input::{RepositoryFacts, SectionContext};

/// Modules whose functions use the network.
const NETWORK_MODULES: [&str; 14] = [
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

/// Methods of sessions, clients and sockets that send or receive.
const REQUEST_METHODS: [&str; 18] = menace_model::words![
    connect delete fetch get getresponse head open options patch post put recv request send
    sendall send_message sendmail stream
];

const MAX_CALLED_SECTIONS: usize = 256;

/// Does the section use the network: itself, or through sections that it calls?
pub fn section_uses_network(section: &Section, facts: &RepositoryFacts<'_>) -> bool {
    let mut visited = HashSet::from([&section.id]);
    let mut pending = vec![section];
    while let Some(section) = pending.pop() {
        if calls_network_module(section) || uses_network_client(section, facts) {
            return true;
        }
        for called in facts.called_sections(&section.id) {
            if visited.len() < MAX_CALLED_SECTIONS && visited.insert(&called.section.id) {
                pending.push(called.section);
            }
        }
    }
    false
}

fn calls_network_module(section: &Section) -> bool {
    section.calls.iter().any(|call| is_network_name(&call.target))
}

fn is_network_name(dotted: &str) -> bool {
    let below = |module: &str| dotted.strip_prefix(module);
    NETWORK_MODULES
        .iter()
        .filter_map(|module| below(module))
        .any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Calls a client that its constructor or module creates or that it is passed:
/// `self.session.get(…)`.
fn uses_network_client(section: &Section, facts: &RepositoryFacts<'_>) -> bool {
    let Some(context) = facts.section(&section.id) else { return false };
    let asked: Vec<&str> = context
        .hints
        .callees
        .iter()
        .filter(|name| !is_imported_call(section, name))
        .filter_map(|name| name.rsplit_once('.'))
        .filter_map(|(object, what)| REQUEST_METHODS.contains(&what).then_some(object))
        .collect();
    let is_made_by = |maker: Option<SectionContext<'_>>| {
        maker.is_some_and(|context| calls_network_module(context.section))
    };
    let find_param = |object: &str| section.params.iter().find(|param| param.name == object);
    let is_session =
        |kind: &TypeExpr| matches!(kind, TypeExpr::Name(name) if is_network_name(name));
    asked.into_iter().any(|object| match (object.strip_prefix("self."), find_param(object)) {
        (Some(_), _) => is_made_by(facts.constructor_of(context)),
        (None, Some(param)) => param.resolved.as_ref().is_some_and(is_session),
        (None, None) => is_made_by(facts.module_section_of(context)),
    })
}

/// `os.environ.get`: the callee is known and belongs to an imported module.
fn is_imported_call(section: &Section, name: &str) -> bool {
    section.calls.iter().any(|call| {
        call.target.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use menace_model::{ClassIndex, NamedTypeIndex, SectionHints};
    use serde_json::json;

    use super::*;

    /// Module and name of a section, its resolved callees, its callees as written, the type of its
    /// parameter `it`.
    struct NetworkUseCase(
        &'static str,
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
    );

    fn section(NetworkUseCase(module, name, elsewhere, _, given): &NetworkUseCase) -> Section {
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
    fn a_section_that_calls_a_network_section_uses_the_network() {
        let table = [
            (
                NetworkUseCase("shop", "fetch", &["urllib.request.urlopen"], &["urlopen"], "int"),
                true,
            ),
            (NetworkUseCase("shop", "behind_a_function", &[], &["fetch"], "int"), true),
            (
                NetworkUseCase("web", "behind_two", &["shop.behind_a_function"], &["rates"], "int"),
                true,
            ),
            (NetworkUseCase("shop", "Client.__init__", &[], &["super"], "int"), false),
            (
                NetworkUseCase("shop", "Client._send", &["requests.get"], &["requests.get"], "int"),
                true,
            ),
            (NetworkUseCase("shop", "Client.behind_a_method", &[], &["self._send"], "int"), true),
            (
                NetworkUseCase("shop", "Special.inherited", &[], &["self.behind_a_method"], "int"),
                true,
            ),
            (
                NetworkUseCase(
                    "web",
                    "makes_one",
                    &["shop.Client"],
                    &["Client", "client._send"],
                    "int",
                ),
                true,
            ),
            (NetworkUseCase("web", "is_given_one", &[], &["it._send"], "shop.Client"), true),
            (NetworkUseCase("web", "Page.__init__", &["shop.Client"], &["Client"], "int"), false),
            (NetworkUseCase("web", "Page.has_one", &[], &["self.client._send"], "int"), true),
            (NetworkUseCase("web", "outer", &[], &["inner"], "int"), true),
            (
                NetworkUseCase("web", "outer.<locals>.inner", &["shop.fetch"], &["fetch"], "int"),
                true,
            ),
            (
                NetworkUseCase(
                    "api",
                    "Api.__init__",
                    &["requests.Session"],
                    &["requests.Session"],
                    "int",
                ),
                true,
            ),
            (NetworkUseCase("api", "Api.its_session", &[], &["self.session.get"], "int"), true),
            (NetworkUseCase("api", "Api.its_log", &[], &["self.log.info"], "int"), false),
            (
                NetworkUseCase("api", "is_given_a_session", &[], &["it.post"], "requests.Session"),
                true,
            ),
            (NetworkUseCase("api", "is_given_a_dictionary", &[], &["it.get"], "dict"), false),
            (NetworkUseCase("wire", "<module>", &["httpx.Client"], &["httpx.Client"], "int"), true),
            (NetworkUseCase("wire", "that_of_the_module", &[], &["client.get"], "int"), true),
            (
                NetworkUseCase("wire", "something_of_the_module", &[], &["names.append"], "int"),
                false,
            ),
            (NetworkUseCase("wire", "is_given_a_dictionary", &[], &["it.get"], "dict"), false),
            (
                NetworkUseCase(
                    "wire",
                    "asks_the_system",
                    &["os.environ.get"],
                    &["os.environ.get"],
                    "int",
                ),
                false,
            ),
            (NetworkUseCase("web", "only_makes_one", &["shop.Client"], &["Client"], "int"), false),
            (NetworkUseCase("web", "sends_something_else", &[], &["queue._send"], "int"), false),
            (NetworkUseCase("web", "goes_round", &[], &["and_round", "goes_round"], "int"), false),
            (NetworkUseCase("web", "and_round", &[], &["goes_round"], "int"), false),
        ];
        let class = |module: &str, name: &str, bases: &[&str]| {
            let id = format!("{module}.py::{name}.__init__");
            let step = json!({"class": format!("{module}.{name}"), "constructor": id,
                "signature_known": true, "params": [], "members": []});
            json!({"module": module, "qualname": name, "kind": "plain", "bases": bases,
                "fields": [], "members": [], "methods": [], "abstract_methods": [],
                "construction": {"steps": [step], "blocker": null}})
        };
        let classes: ClassIndex = serde_json::from_value(json!({
            "shop.Client": class("shop", "Client", &[]),
            "shop.Special": class("shop", "Special", &["shop.Client"]),
            "web.Page": class("web", "Page", &[]),
            "api.Api": class("api", "Api", &[]),
        }))
        .expect("classes");
        let types = NamedTypeIndex::default();
        let sections: Vec<(Section, SectionHints)> = table
            .iter()
            .map(|(row, _)| {
                let calls = row.3.iter().map(|&it| it.to_owned()).collect();
                (section(row), SectionHints { callees: calls, ..SectionHints::default() })
            })
            .collect();
        let mut facts = RepositoryFacts::new(&classes, &types);
        for ((section, hints), (row, _)) in sections.iter().zip(&table) {
            facts.add_section(row.0, section, hints);
        }
        for ((section, _), (_, uses_network)) in sections.iter().zip(&table) {
            assert_eq!(section_uses_network(section, &facts), *uses_network, "{}", section.id);
        }
    }
}
