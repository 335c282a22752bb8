//! Text that somebody would pass, by what it is about.

use menace_model::{Random, Value};

use super::Style;
use crate::input::topic::{Role, Topic, words};

/// The name of the topic that has examples of a role.
pub(crate) fn example_of(role: Role) -> &'static str {
    match role {
        Role::Plain | Role::Path => "text",
        Role::Sql => "sql",
        Role::Html => "html",
        Role::Url => "url",
        Role::Code => "expression",
        Role::Command => "command",
        Role::Regex => "pattern",
        Role::Json => "json",
        Role::Xml => "xml",
        Role::Yaml => "yaml",
        Role::Csv => "csv",
        Role::Format => "format",
        Role::Email => "email",
        Role::Number => "number_str",
        Role::Date => "date_str",
    }
}

/// Texts about a name, the likeliest first.
fn examples(role: Option<Role>, name: &str) -> Vec<&'static str> {
    let texts = |topic: &'static Topic| -> Vec<&'static str> {
        let text = |value: &'static Value| match value {
            Value::Str(text) => text.as_str(),
            _ => None,
        };
        topic.values.iter().filter_map(text).collect()
    };
    let own = Topic::of(name).filter(|topic| role.is_none_or(|role| topic.role == role));
    let own = own.map(texts).unwrap_or_default();
    if !own.is_empty() {
        return own;
    }
    let role = role.or_else(|| Topic::of(name).map(|topic| topic.role)).unwrap_or(Role::Plain);
    if role == Role::Plain {
        Vec::new()
    } else {
        Topic::named(example_of(role)).map_or(Vec::new(), texts)
    }
}

/// The text for a parameter of that name; the `turn`th of several that stand side by side.
pub(crate) fn text(
    role: Option<Role>,
    name: &str,
    style: Style,
    turn: usize,
    random: &mut Random,
) -> String {
    if style == Style::Random && role.is_none() {
        return any(random);
    }
    let examples = examples(role, name);
    match (style, examples.is_empty()) {
        (Style::Typical, false) => examples[turn % examples.len()].to_owned(),
        (_, false) if random.chance(0.8) => {
            random.pick(&examples).copied().unwrap_or_default().to_owned()
        }
        (Style::Typical, true) => numbered(&plain(name), turn),
        _ => lorem(random),
    }
}

/// The name itself says what is meant, when it is a word.
fn plain(name: &str) -> String {
    let is_word = name.len() > 2 && name.is_ascii();
    if is_word { words(name).pop().unwrap_or_default() } else { "text".to_owned() }
}

fn numbered(text: &str, turn: usize) -> String {
    if turn == 0 { text.to_owned() } else { format!("{text}{}", turn + 1) }
}

const WORDS: [&str; 24] = [
    "alpha", "beta", "river", "stone", "quick", "brown", "fox", "lazy", "dog", "naïve", "café",
    "Straße", "東京", "2024", "42", "don't", "e-mail", "x=1", "/usr/bin", "OK", "nil", "a.b",
    "100%", "end",
];

/// A few words.
fn lorem(random: &mut Random) -> String {
    let count = 1 + random.below(5);
    let words = (0..count).filter_map(|_| random.pick(&WORDS).copied());
    words.collect::<Vec<_>>().join(if random.chance(0.8) { " " } else { "\n" })
}

/// Any text: letters, signs and, now and then, what nobody expects.
pub(crate) fn any(random: &mut Random) -> String {
    let longest = if random.chance(0.1) { 200 } else { 16 };
    let length = random.below(longest);
    let mut text = String::new();
    for _ in 0..length {
        let point = match random.below(10) {
            0..=5 => random.between(0x61, 0x7a),
            6 => random.between(0x30, 0x39),
            7 => random.between(0x20, 0x7e),
            8 => random.between(0, 0x2ff),
            _ => random.between(0, 0x1_ffff),
        };
        text.extend(u32::try_from(point).ok().and_then(char::from_u32));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    #[test]
    fn text_is_about_its_name() {
        let mut random = Seed(1).random();
        let mut typical = |role, name: &str| text(role, name, Style::Typical, 0, &mut random);
        assert_eq!(typical(None, "user_email"), "ada@example.com");
        assert_eq!(typical(Some(Role::Regex), "x"), "[a-z]+");
        assert_eq!(typical(Some(Role::Url), "website"), "https://example.com/");
        assert_eq!(typical(None, "wombat_tail"), "tail");
    }

    #[test]
    fn every_role_but_the_plain_one_has_examples() {
        for role in Role::ALL {
            let expected = role != Role::Plain;
            assert_eq!(!examples(Some(role), "").is_empty(), expected, "{role:?}");
        }
    }
}
