//! Topics of parameter names: possible kinds, the role of a text, and realistic values. The table
//! is `data/topics.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use menace_model::Value;

menace_model::named_enum! {
    /// The grammar of a text, which determines the possible injections.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum TextRole {
        Plain = "plain",
        Sql = "sql",
        Html = "html",
        Path = "path",
        Url = "url",
        Command = "command",
        /// Python source.
        Code = "code",
        Regex = "regex",
        Json = "json",
        Xml = "xml",
        Yaml = "yaml",
        Csv = "csv",
        Format = "format",
        Email = "email",
        Number = "number",
        Date = "date",
    }
}

/// A topic, which a group of names shares.
#[derive(Debug)]
pub(crate) struct NameTopic {
    /// Annotations, the likeliest first.
    pub kinds: Vec<&'static str>,
    pub role: TextRole,
    pub values: Vec<Value>,
}

/// All topics, found by each of their names.
#[derive(Debug)]
struct NameTopicIndex {
    topics: Vec<NameTopic>,
    by_name: HashMap<&'static str, usize>,
}

fn topic_index() -> &'static NameTopicIndex {
    static TOPICS: OnceLock<NameTopicIndex> = OnceLock::new();
    TOPICS.get_or_init(|| {
        let lines = include_str!("data/topics.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut all = NameTopicIndex { topics: Vec::new(), by_name: HashMap::new() };
        for line in lines {
            let mut parts = line.splitn(4, '|').map(str::trim);
            let mut part = || parts.next().unwrap_or_default();
            let (names, kinds, role, values) = (part(), part(), part(), part());
            let values = Value::args_from_json(values);
            all.topics.push(NameTopic {
                kinds: kinds.split(';').map(str::trim).collect(),
                role: role.parse().unwrap_or(TextRole::Plain),
                values: values.unwrap_or_default(),
            });
            for name in names.split_whitespace() {
                all.by_name.entry(name).or_insert(all.topics.len() - 1);
            }
        }
        all
    })
}

impl NameTopic {
    /// The topic of a name: by the whole name, then by its last words, then by its first.
    pub(crate) fn find_for_name(name: &str) -> Option<&'static Self> {
        let all = topic_index();
        let find = |name: &str| all.by_name.get(name).map(|index| &all.topics[*index]);
        if let Some(topic) = find(name) {
            return Some(topic);
        }
        let words = split_words(name);
        if let [first, _, ..] = &words[..]
            && matches!(&**first, "is" | "has" | "can" | "should" | "allow" | "use" | "with" | "no")
        {
            return find("flag");
        }
        let last = (0..words.len()).find_map(|from| find(&words[from..].join("_")));
        let singular = || {
            let word = words.last()?;
            let stem = word.trim_end_matches(|char: char| char.is_ascii_digit());
            (stem != word && !stem.is_empty()).then(|| find(stem)).flatten()
        };
        let first = || (1..words.len()).rev().find_map(|to| find(&words[..to].join("_")));
        last.or_else(singular).or_else(first)
    }

    /// The topic of exactly this name, for references in tables.
    pub(crate) fn find_exact(name: &str) -> Option<&'static Self> {
        let all = topic_index();
        all.by_name.get(name).map(|index| &all.topics[*index])
    }
}

/// `userEmail_2` → `user`, `email`, `2`.
pub(crate) fn split_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = '_';
    for char in name.chars() {
        let begins = char.is_uppercase() && before.is_lowercase();
        if (begins || !char.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
        before = char;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

pub(crate) fn text_role(name: &str) -> TextRole {
    NameTopic::find_for_name(name).map_or(TextRole::Plain, |topic| topic.role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_valid() {
        let lines = include_str!("data/topics.txt").lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let parts: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
            let [names, kinds, role, values] = parts[..] else { panic!("{line}") };
            assert!(!names.is_empty() && !kinds.is_empty(), "{line}");
            assert!(role.parse::<TextRole>().is_ok(), "{line}");
            assert!(Value::args_from_json(values).is_ok(), "{line}");
        }
    }

    #[test]
    fn the_topic_of_a_name_follows_from_its_words() {
        let role = |name: &str| text_role(name);
        assert_eq!(role("userEmail"), TextRole::Email);
        assert_eq!(role("callback_url"), TextRole::Url);
        assert_eq!(role("url2"), TextRole::Url);
        assert_eq!(role("sql_query"), TextRole::Sql);
        assert_eq!(role("zzz"), TextRole::Plain);
        assert_eq!(NameTopic::find_for_name("is_open").map(|topic| topic.kinds[0]), Some("bool"));
        assert_eq!(NameTopic::find_for_name("n_rows").map(|topic| topic.kinds[0]), Some("int"));
    }
}
