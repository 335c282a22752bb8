//! Paths of files and directories.

use std::path::PathBuf;

use crate::{ParseContext, ParseRefusal, SettingType};

impl SettingType for PathBuf {
    described_as!("path", "a path");

    /// Expands a leading `~` or `~/`. Homes of other users (`~name`) are not expanded.
    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        if text.contains('\0') {
            return Err(ParseRefusal::with_reason("a path cannot contain a zero byte"));
        }
        let Some(below) =
            text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return Ok(text.into());
        };
        let home = around
            .home
            .as_ref()
            .ok_or_else(|| ParseRefusal::with_reason("HOME is not set, so `~` has no meaning"))?;
        Ok(match below.trim_start_matches('/') {
            "" => home.clone(),
            below => home.join(below),
        })
    }

    fn show(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    fn context_with_home() -> ParseContext {
        ParseContext { home: Some("/home/ada".into()) }
    }

    #[test]
    fn a_tilde_is_the_home_directory() {
        for (text, path) in [
            ("~/menace_data", "/home/ada/menace_data"),
            ("~", "/home/ada"),
            ("~//etc", "/home/ada/etc"),
            ("~bob/x", "~bob/x"),
            ("data/~", "data/~"),
        ] {
            assert_eq!(PathBuf::parse(text, &context_with_home()), Ok(path.into()), "{text}");
        }
    }

    #[test]
    fn a_tilde_without_a_home_is_refused() {
        assert!(PathBuf::parse("~/x", &ParseContext::default()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<PathBuf>(&text);
            let _ = PathBuf::parse(&text, &context_with_home());
        }
    }
}
