//! Which scenario profiles a word in a module's path calls for.

use std::collections::BTreeMap;

use crate::{Refusal, Setting, Surroundings};

/// Profiles by keyword. What a user gives is laid over the built-in words; an empty list takes a
/// word away. Profile names are not checked here: users may define their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordProfiles(BTreeMap<String, Vec<String>>);

const LATENCY: &str = "high_latency_api";
const HOSTILE: &str = "hostile_input";
const MISUSE: &str = "user_misuse";
const SPIKE: &str = "concurrency_spike";

/// The built-in words.
const BUILT_IN: [(&str, &[&str]); 18] = [
    ("api", &[LATENCY, HOSTILE]),
    ("async", &[SPIKE]),
    ("auth", &[MISUSE, HOSTILE]),
    ("cache", &[LATENCY, SPIKE]),
    ("client", &[LATENCY]),
    ("concurrency", &[SPIKE]),
    ("database", &[LATENCY, SPIKE]),
    ("db", &[LATENCY, SPIKE]),
    ("form", &[MISUSE, HOSTILE]),
    ("http", &[LATENCY, HOSTILE]),
    ("login", &[MISUSE, HOSTILE]),
    ("network", &[LATENCY]),
    ("parser", &[HOSTILE, MISUSE]),
    ("queue", &[SPIKE]),
    ("server", &[LATENCY, SPIKE]),
    ("thread", &[SPIKE]),
    ("upload", &[HOSTILE, MISUSE]),
    ("worker", &[SPIKE]),
];

impl KeywordProfiles {
    /// The profiles for one keyword.
    pub fn get(&self, keyword: &str) -> Option<&[String]> {
        self.0.get(keyword).map(Vec::as_slice)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|(keyword, profiles)| (keyword.as_str(), profiles.as_slice()))
    }
}

impl Default for KeywordProfiles {
    fn default() -> Self {
        let owned = |profiles: &[&str]| profiles.iter().copied().map(Into::into).collect();
        Self(BUILT_IN.iter().map(|(word, profiles)| ((*word).into(), owned(profiles))).collect())
    }
}

impl Setting for KeywordProfiles {
    fn kind() -> String {
        "lists by keyword".into()
    }

    fn expected() -> String {
        "a mapping from keywords to lists of profiles such as `{\"cache\": [\"high_latency_api\"]}`"
            .into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        let given: BTreeMap<String, Vec<String>> =
            serde_json::from_str(text).map_err(|error| Refusal::because(error.to_string()))?;
        let mut merged = Self::default();
        for (keyword, profiles) in given {
            if profiles.is_empty() {
                merged.0.remove(&keyword.to_lowercase());
            } else {
                merged.0.insert(keyword.to_lowercase(), profiles);
            }
        }
        Ok(merged)
    }

    fn show(&self) -> Option<String> {
        serde_json::to_string(&self.0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_words_are_laid_over_the_built_in_ones() {
        let text = r#"{"Cache": ["high_latency_api"], "ledger": ["user_misuse"], "db": []}"#;
        let profiles = KeywordProfiles::parse(text, &Surroundings::default()).unwrap();
        assert_eq!(profiles.get("cache"), Some(&["high_latency_api".to_owned()][..]));
        assert_eq!(profiles.get("ledger"), Some(&["user_misuse".to_owned()][..]));
        assert_eq!(profiles.get("db"), None);
        assert!(profiles.get("parser").is_some());
    }

    #[test]
    fn a_word_without_a_list_is_refused() {
        assert!(KeywordProfiles::parse(r#"{"db": 3}"#, &Surroundings::default()).is_err());
    }
}
