//! Paths of files and directories.

use std::path::PathBuf;

use crate::{Refusal, Setting, Surroundings};

impl Setting for PathBuf {
    fn kind() -> String {
        "path".into()
    }

    fn expected() -> String {
        "a path".into()
    }

    /// Expands a leading `~` or `~/`. Other people's homes (`~name`) are not looked up.
    fn parse(text: &str, around: &Surroundings) -> Result<Self, Refusal> {
        if text.contains('\0') {
            return Err(Refusal::because("a path cannot contain a zero byte"));
        }
        let Some(below) =
            text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return Ok(text.into());
        };
        let home = around
            .home
            .as_ref()
            .ok_or_else(|| Refusal::because("HOME is not set, so `~` has no meaning"))?;
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

    fn at_home() -> Surroundings {
        Surroundings { home: Some("/home/ada".into()) }
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
            assert_eq!(PathBuf::parse(text, &at_home()), Ok(path.into()), "{text}");
        }
    }

    #[test]
    fn a_tilde_without_a_home_is_refused() {
        assert!(PathBuf::parse("~/x", &Surroundings::default()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<PathBuf>(&text);
            let _ = PathBuf::parse(&text, &at_home());
        }
    }
}
