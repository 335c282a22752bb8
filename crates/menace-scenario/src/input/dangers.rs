//! What can become of a text, from what its section calls: commands, code, queries, markup, paths.

use menace_model::Hints;

use super::topic::Role;

/// Functions, as they are written where they are called, and what a text is to them. A name that
/// ends in a dot is a module, one that begins with a dot a method of anything.
const CALLS: [(&str, Role); 25] = [
    ("subprocess.", Role::Command),
    ("os.system", Role::Command),
    ("os.popen", Role::Command),
    (".create_subprocess_shell", Role::Command),
    ("eval", Role::Code),
    ("exec", Role::Code),
    ("compile", Role::Code),
    (".execute", Role::Sql),
    (".executemany", Role::Sql),
    (".executescript", Role::Sql),
    ("open", Role::Path),
    ("io.open", Role::Path),
    ("os.open", Role::Path),
    ("os.path.", Role::Path),
    ("shutil.", Role::Path),
    (".read_text", Role::Path),
    (".read_bytes", Role::Path),
    (".write_text", Role::Path),
    (".format", Role::Format),
    ("json.loads", Role::Json),
    ("yaml.", Role::Yaml),
    ("ET.", Role::Xml),
    ("csv.", Role::Csv),
    ("re.", Role::Regex),
    ("urllib.request.", Role::Url),
];

/// Beginnings that a text may need to be looked at further: `=` of a formula, `#` of a colour.
const MAX_PREFIXES: usize = 3;
const MAX_PREFIX: usize = 3;

/// The roles that a text of the section may have, each once.
pub(super) fn of(hints: &Hints) -> Vec<Role> {
    let mut roles = Vec::new();
    let mut add = |role| {
        if !roles.contains(&role) {
            roles.push(role);
        }
    };
    for call in &hints.calls {
        CALLS.iter().filter(|(name, _)| is(call, name)).for_each(|(_, role)| add(*role));
    }
    if hints.literals.strings.iter().any(|text| text.contains("</") || text.contains("<br")) {
        add(Role::Html);
    }
    roles
}

fn is(call: &str, name: &str) -> bool {
    if name.ends_with('.') {
        call.starts_with(name)
    } else if name.starts_with('.') {
        call.ends_with(name)
    } else {
        call == name
    }
}

/// Signs that the source has, to be put before a text.
pub(super) fn prefixes(hints: &Hints) -> impl Iterator<Item = &str> {
    let is_sign = |text: &&String| {
        text.chars().count() <= MAX_PREFIX && !text.chars().any(char::is_alphanumeric)
    };
    let signs = hints.literals.strings.iter().filter(is_sign).map(String::as_str);
    signs.filter(|text| !text.trim().is_empty()).take(MAX_PREFIXES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(calls: &[&str], strings: &[&str]) -> Hints {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let mut hints = Hints { calls: owned(calls), ..Hints::default() };
        hints.literals.strings = owned(strings);
        hints
    }

    #[test]
    fn calls_tell_what_a_text_can_become() {
        let found = |calls: &[&str]| of(&hints(calls, &[]));
        assert_eq!(found(&["subprocess.run", "eval"]), [Role::Command, Role::Code]);
        assert_eq!(found(&["self._connection.execute", "db.execute"]), [Role::Sql]);
        assert_eq!(found(&["my_eval", "evaluate", "open_it"]), []);
        assert_eq!(of(&hints(&[], &["<td>", "</td>"])), [Role::Html]);
    }

    #[test]
    fn signs_of_the_source_can_come_first() {
        let hints = hints(&[], &["=", "name", " ", "::", "sum("]);
        assert_eq!(prefixes(&hints).collect::<Vec<_>>(), ["=", "::"]);
    }
}
