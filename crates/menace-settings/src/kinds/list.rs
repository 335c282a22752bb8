//! Lists, separated by commas or written as a JSON array.

use serde_json::Value as Json;

use crate::{ParseContext, ParseRefusal, SettingType};

impl<T: SettingType> SettingType for Vec<T> {
    fn kind() -> String {
        format!("list ({})", T::kind())
    }

    fn expected() -> String {
        format!("a list, separated by commas or a JSON array, each item {}", T::expected())
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        split_items(text)?
            .iter()
            .map(|item| {
                T::parse(item, around).map_err(|refusal| {
                    let why = refusal.reason.map(|why| format!(": {why}")).unwrap_or_default();
                    ParseRefusal::with_reason(format!("{} is not{why}", T::quote(item)))
                })
            })
            .collect()
    }

    fn show(&self) -> Option<String> {
        let items: Vec<String> = self.iter().filter_map(T::show).collect();
        let joined = items.join(",");
        // Commas only when they would be read back as the same items.
        if !items.is_empty() && super::list::split_items(&joined).as_ref() == Ok(&items) {
            return Some(joined);
        }
        Some(Json::from(items).to_string())
    }
}

/// The items as text, empty ones dropped.
fn split_items(text: &str) -> Result<Vec<String>, ParseRefusal> {
    let raw: Vec<String> = if text.starts_with('[') {
        let array: Vec<Json> = serde_json::from_str(text)
            .map_err(|error| ParseRefusal::with_reason(error.to_string()))?;
        array
            .into_iter()
            .map(|item| match item {
                Json::String(text) => Ok(text),
                Json::Number(number) => Ok(number.to_string()),
                Json::Bool(switch) => Ok(switch.to_string()),
                other => Err(ParseRefusal::with_reason(format!("`{other}` is not a plain item"))),
            })
            .collect::<Result<_, _>>()?
    } else {
        text.split(',').map(Into::into).collect()
    };
    Ok(raw.iter().map(|item| item.trim()).filter(|item| !item.is_empty()).map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;
    use menace_model::{FailureMode, FaultMode};

    #[test]
    fn commas_and_json_give_the_same_list() {
        let around = ParseContext::default();
        let expected =
            Ok(vec![FailureMode::Fault(FaultMode::Disk), FailureMode::Fault(FaultMode::CpuSpike)]);
        assert_eq!(Vec::parse("disk, cpu_spike,", &around), expected);
        assert_eq!(Vec::parse(r#"["disk", "cpu_spike"]"#, &around), expected);
    }

    #[test]
    fn a_bad_item_is_named() {
        let refusal = Vec::<FailureMode>::parse("disk,dsik", &ParseContext::default());
        assert_eq!(refusal, Err(ParseRefusal::with_reason("`dsik` is not: did you mean `disk`?")));
    }

    #[test]
    fn items_with_commas_are_shown_as_json() {
        assert_eq!(vec!["a,b".to_owned()].show(), Some(r#"["a,b"]"#.into()));
        assert_eq!(Vec::<String>::new().show(), Some("[]".into()));
    }

    proptest! {
        #[test]
        fn shown_lists_read_back(
            items in proptest::collection::vec("[^\\s]([^\\n]{0,6}[^\\s])?", 0..5)
        ) {
            laws::assert_reads_back(&items);
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<Vec<String>>(&text);
        }
    }
}
