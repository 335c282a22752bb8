//! Maps keywords in module paths to scenario profiles.

use std::collections::BTreeMap;

use crate::{ParseContext, ParseRefusal, SettingType};

/// Profiles by keyword. The user's entries are laid over the built-in ones; an empty list removes a
/// keyword. Profile names are not checked here, since users may define their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordProfiles(BTreeMap<String, Vec<String>>);

const HIGH_LATENCY_PROFILE: &str = "high_latency_api";
const HOSTILE_INPUT_PROFILE: &str = "hostile_input";
const USER_MISUSE_PROFILE: &str = "user_misuse";
const CONCURRENCY_SPIKE_PROFILE: &str = "concurrency_spike";

/// The built-in keywords.
const BUILT_IN_KEYWORDS: [(&str, &[&str]); 18] = [
    ("api", &[HIGH_LATENCY_PROFILE, HOSTILE_INPUT_PROFILE]),
    ("async", &[CONCURRENCY_SPIKE_PROFILE]),
    ("auth", &[USER_MISUSE_PROFILE, HOSTILE_INPUT_PROFILE]),
    ("cache", &[HIGH_LATENCY_PROFILE, CONCURRENCY_SPIKE_PROFILE]),
    ("client", &[HIGH_LATENCY_PROFILE]),
    ("concurrency", &[CONCURRENCY_SPIKE_PROFILE]),
    ("database", &[HIGH_LATENCY_PROFILE, CONCURRENCY_SPIKE_PROFILE]),
    ("db", &[HIGH_LATENCY_PROFILE, CONCURRENCY_SPIKE_PROFILE]),
    ("form", &[USER_MISUSE_PROFILE, HOSTILE_INPUT_PROFILE]),
    ("http", &[HIGH_LATENCY_PROFILE, HOSTILE_INPUT_PROFILE]),
    ("login", &[USER_MISUSE_PROFILE, HOSTILE_INPUT_PROFILE]),
    ("network", &[HIGH_LATENCY_PROFILE]),
    ("parser", &[HOSTILE_INPUT_PROFILE, USER_MISUSE_PROFILE]),
    ("queue", &[CONCURRENCY_SPIKE_PROFILE]),
    ("server", &[HIGH_LATENCY_PROFILE, CONCURRENCY_SPIKE_PROFILE]),
    ("thread", &[CONCURRENCY_SPIKE_PROFILE]),
    ("upload", &[HOSTILE_INPUT_PROFILE, USER_MISUSE_PROFILE]),
    ("worker", &[CONCURRENCY_SPIKE_PROFILE]),
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
        Self(
            BUILT_IN_KEYWORDS
                .iter()
                .map(|(word, profiles)| ((*word).into(), owned(profiles)))
                .collect(),
        )
    }
}

impl SettingType for KeywordProfiles {
    described_as!(
        "lists by keyword",
        "a mapping from keywords to lists of profiles such as `{\"cache\": [\"high_latency_api\"]}`"
    );

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        let given: BTreeMap<String, Vec<String>> = serde_json::from_str(text)
            .map_err(|error| ParseRefusal::with_reason(error.to_string()))?;
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
        let profiles = KeywordProfiles::parse(text, &ParseContext::default()).unwrap();
        assert_eq!(profiles.get("cache"), Some(&["high_latency_api".to_owned()][..]));
        assert_eq!(profiles.get("ledger"), Some(&["user_misuse".to_owned()][..]));
        assert_eq!(profiles.get("db"), None);
        assert!(profiles.get("parser").is_some());
    }

    #[test]
    fn a_word_without_a_list_is_refused() {
        assert!(KeywordProfiles::parse(r#"{"db": 3}"#, &ParseContext::default()).is_err());
    }
}
