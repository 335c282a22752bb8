//! Reads the settings file and matches its keys to settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::{Spanned, UserMessageFormatter};

use crate::{FileTrust, SettingsError, SettingsErrors, declarations};

/// The entries of the YAML file, in their order.
#[derive(Debug, Clone)]
pub struct YamlFile {
    pub path: PathBuf,
    pub trust: FileTrust,
    pub entries: Vec<YamlEntry>,
}

/// One key of the file. Its debug form hides the text, which may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct YamlEntry {
    /// The key as written.
    pub key: String,
    pub line: usize,
    /// A scalar as written, a list or mapping as JSON, empty for null.
    pub text: String,
}

impl fmt::Debug for YamlEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.key, self.line)
    }
}

impl YamlFile {
    /// Reads `text`, the contents of `path`. Keys are matched to settings when these are resolved.
    pub fn parse(
        path: impl Into<PathBuf>,
        text: &str,
        trust: FileTrust,
    ) -> Result<Self, SettingsErrors> {
        let path = path.into();
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(Self { path, trust, entries: Vec::new() });
        }
        let options = serde_saphyr::options! { with_snippet: false };
        match serde_saphyr::from_str_with_options::<YamlDocument>(text, options) {
            Ok(YamlDocument(pairs)) => {
                let entries = pairs.into_iter().map(|(key, value)| yaml_entry(text, key, value));
                Ok(Self { path, trust, entries: entries.collect() })
            }
            Err(error) => Err(SettingsError::BadYaml {
                path,
                line: error.location().map_or(1, |at| line_number(at.line())),
                message: short_message(&error),
            }
            .into()),
        }
    }
}

/// The top level of the file: keys with their places, values untyped.
struct YamlDocument(Vec<(Spanned<String>, Spanned<Json>)>);

impl<'de> Deserialize<'de> for YamlDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct YamlDocumentVisitor;

        impl<'de> Visitor<'de> for YamlDocumentVisitor {
            type Value = YamlDocument;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("settings as `key: value`")
            }

            fn visit_unit<E>(self) -> Result<YamlDocument, E> {
                Ok(YamlDocument(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlDocument, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(YamlDocument(pairs))
            }
        }

        // Any value, not a map: then a list or a single word is refused with a message of Menace.
        deserializer.deserialize_any(YamlDocumentVisitor)
    }
}

fn yaml_entry(file: &str, key: Spanned<String>, value: Spanned<Json>) -> YamlEntry {
    let text = match value.value {
        Json::String(text) => text,
        Json::Null => String::new(),
        // The text as written: `0123` in a token must not become 123, nor `1.10` become 1.1.
        plain @ (Json::Bool(_) | Json::Number(_)) => {
            scalar_as_written(file, value.defined).unwrap_or_else(|| plain.to_string())
        }
        nested => nested.to_string(),
    };
    YamlEntry { key: key.value, line: line_number(key.referenced.line()), text }
}

/// The characters of the file that a location covers.
fn scalar_as_written(file: &str, location: serde_saphyr::Location) -> Option<String> {
    let span = location.span();
    let (start, length) = (span.byte_offset()?, span.byte_len()?);
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    Some(file.get(start..end)?.trim().to_owned()).filter(|text| !text.is_empty())
}

fn line_number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The parser's message without its own prefix and place, which we give ourselves.
fn short_message(error: &serde_saphyr::Error) -> String {
    let message = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    let first = message.lines().next().unwrap_or_default();
    let place = first.rfind(" at line ").unwrap_or(first.len());
    first[..place].trim_start_matches("error: ").into()
}

/// The entries of the file by the setting that they set.
#[derive(Debug, Default)]
pub(crate) struct YamlIndex<'a> {
    file: Option<&'a YamlFile>,
    by_name: BTreeMap<&'static str, &'a YamlEntry>,
}

impl<'a> YamlIndex<'a> {
    /// Assigns every key to its setting, and reports unknown keys and settings that occur twice.
    pub(crate) fn new(file: Option<&'a YamlFile>, errors: &mut Vec<SettingsError>) -> Self {
        let Some(file) = file else { return Self::default() };
        let known = known_keys();
        let mut by_name: BTreeMap<&'static str, &'a YamlEntry> = BTreeMap::new();
        for entry in &file.entries {
            let path = || file.path.clone();
            let line = entry.line;
            let Some(name) = known.get(&normalize_key(&entry.key)).copied() else {
                let suggestion = menace_model::suggest_names_or(
                    &normalize_key(&entry.key),
                    known.keys().map(String::as_str),
                    "`menace settings` lists the known ones",
                );
                errors.push(SettingsError::UnknownKey {
                    path: path(),
                    line,
                    key: entry.key.clone(),
                    suggestion,
                });
                continue;
            };
            if let Some(first) = by_name.insert(name, entry) {
                let (first, key) = (first.line, entry.key.clone());
                errors.push(SettingsError::RepeatedKey { path: path(), line, first, key, name });
            }
        }
        Self { file: Some(file), by_name }
    }

    pub(crate) fn get(&self, name: &str) -> Option<(&'a YamlFile, &'a YamlEntry)> {
        Some((self.file?, *self.by_name.get(name)?))
    }
}

/// Keys are matched without regard to case, and `-` is as good as `_`.
fn normalize_key(key: &str) -> String {
    key.to_lowercase().replace('-', "_")
}

/// All accepted keys, each with its setting: the name, its synonyms, additional keys, and the name
/// without `SANDBOX_` unless that is the key of another setting.
fn known_keys() -> BTreeMap<String, &'static str> {
    let mut known = BTreeMap::new();
    for declared in declarations() {
        let proper = [declared.name].into_iter().chain(declared.synonyms.iter().copied());
        for key in proper.chain(declared.yaml_keys.iter().copied()) {
            known.insert(normalize_key(key), declared.name);
        }
    }
    let proper: BTreeSet<String> = known.keys().cloned().collect();
    for declared in declarations() {
        if let Some(short) = declared.name.strip_prefix("SANDBOX_")
            && !proper.contains(&normalize_key(short))
        {
            known.insert(normalize_key(short), declared.name);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_entries(text: &str) -> Result<Vec<YamlEntry>, String> {
        let file = YamlFile::parse("s.yaml", text, FileTrust::Trusted);
        file.map(|file| file.entries).map_err(|error| error.to_string())
    }

    fn read_texts(text: &str) -> Vec<(String, String)> {
        read_entries(text).unwrap().into_iter().map(|entry| (entry.key, entry.text)).collect()
    }

    #[test]
    fn scalars_stay_as_written() {
        let pairs = read_texts("a: 0123\nb: 1.10\nc: yes\nd: true\ne: 512Mi\nf: '7'\ng:\nh: ~\n");
        let expected = ["0123", "1.10", "yes", "true", "512Mi", "7", "", ""];
        assert_eq!(pairs.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lists_and_mappings_become_json() {
        let pairs = read_texts("a: [x, 1]\nb:\n  - c: d\n");
        assert_eq!(pairs[0].1, r#"["x",1]"#);
        assert_eq!(pairs[1].1, r#"[{"c":"d"}]"#);
    }

    #[test]
    fn lines_are_those_of_the_keys() {
        let entries = read_entries("# why\na: 1\n\nb:\n  - 2\nc: 3\n").unwrap();
        assert_eq!(entries.iter().map(|entry| entry.line).collect::<Vec<_>>(), [2, 4, 6]);
    }

    #[test]
    fn an_empty_file_sets_nothing() {
        assert_eq!(read_entries(""), Ok(vec![]));
        assert_eq!(read_entries("# nothing yet\n"), Ok(vec![]));
        assert_eq!(read_entries("---\n"), Ok(vec![]));
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (text, start) in [
            ("a: 1\nb: [1\n", "s.yaml: line "),
            ("a: 1\na: 2\n", "s.yaml: line 2: "),
            ("- a\n", "s.yaml: line 1: invalid type: sequence, expected settings as `key: value`"),
            ("just text\n", "s.yaml: line 1: invalid type: string"),
        ] {
            let message = read_entries(text).unwrap_err();
            assert!(message.starts_with(start), "{text:?}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let levels = (1..30).map(|level| {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            format!("a{level}: &a{level} [{items}]\n")
        });
        let bomb = format!("a0: &a0 [x, x, x]\n{}", levels.collect::<String>());
        assert!(read_entries(&bomb).is_err());
    }

    #[test]
    fn every_setting_has_a_key_without_prefix_unless_taken() {
        let known = known_keys();
        for (key, name) in [
            ("roi_cycles", "ROI_CYCLES"),
            ("auto_include_isolated", "SANDBOX_AUTO_INCLUDE_ISOLATED"),
            ("recursive_orphan_scan", "SANDBOX_RECURSIVE_ORPHANS"),
            ("sandbox_cycles", "SANDBOX_CYCLES"),
            ("keyword_profiles", "keyword_profiles"),
        ] {
            assert_eq!(known.get(key), Some(&name), "{key}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = read_entries(&text);
        }

        #[test]
        fn yaml_like_text_does_not_panic(
            text in "([a-c]{1,2}: ?[&*a-c0-9\\[\\]\\{\\},'\"~-]{0,6}\n ?){0,6}"
        ) {
            let _ = read_entries(&text);
        }
    }
}
