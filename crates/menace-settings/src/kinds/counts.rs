//! A count for each of several names: `insight=40,error_fix=20`.

use std::collections::BTreeMap;

use crate::{ParseContext, ParseRefusal, SettingType};

/// Names with counts, in the order of the names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedCounts(BTreeMap<String, u64>);

impl NamedCounts {
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

impl SettingType for NamedCounts {
    described_as!("counts by name", "names with whole numbers such as `insight=40,error_fix=20`");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        if text.starts_with('{') {
            return serde_json::from_str(text)
                .map(Self)
                .map_err(|error| ParseRefusal::with_reason(error.to_string()));
        }
        let mut counts = BTreeMap::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, count) = pair.split_once('=').ok_or_else(ParseRefusal::default)?;
            let (name, count) = (name.trim(), count.trim().parse());
            let (false, Ok(count)) = (name.is_empty(), count) else {
                return Err(ParseRefusal::default());
            };
            if counts.insert(name.to_owned(), count).is_some() {
                return Err(ParseRefusal::with_reason(format!("`{name}` is there twice")));
            }
        }
        Ok(Self(counts))
    }

    fn show(&self) -> Option<String> {
        let plain =
            |name: &String| !name.contains([',', '=']) && name.trim() == name && !name.is_empty();
        let starts_like_json = self.0.keys().next().is_some_and(|name| name.starts_with('{'));
        if self.0.is_empty() || starts_like_json || !self.0.keys().all(plain) {
            return serde_json::to_string(&self.0).ok();
        }
        let pairs: Vec<String> = self.0.iter().map(|(name, n)| format!("{name}={n}")).collect();
        Some(pairs.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn pairs_are_read() {
        let counts =
            NamedCounts::parse("insight=40, error_fix=20", &ParseContext::default()).unwrap();
        assert_eq!((counts.get("insight"), counts.get("error_fix")), (Some(40), Some(20)));
        assert_eq!(counts.iter().count(), 2);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["insight", "insight=many", "=4", "a=1,a=2", "{\"a\": -1}"] {
            assert!(NamedCounts::parse(text, &ParseContext::default()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_counts_read_back(
            counts in proptest::collection::btree_map("\\PC{0,6}", any::<u64>(), 0..4)
        ) {
            laws::assert_reads_back(&NamedCounts(counts));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<NamedCounts>(&text);
        }
    }
}
