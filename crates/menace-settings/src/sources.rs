//! The places that settings come from, already read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use crate::{DotEnvFile, YamlFile};

/// The settings in each place. Plain data: tests construct it, [`SettingsSources::load`] reads it.
/// Its debug form has names of variables but no values, since some are secrets.
#[derive(Clone, Default)]
pub struct SettingsSources {
    /// Flags as typed (`--log-level`) with their values; `1` for a switch. See [`crate::flags`].
    pub flags: BTreeMap<String, String>,
    /// The process environment, which is also used for variables that are no settings, like `PATH`.
    pub environment: BTreeMap<String, String>,
    /// Variables of the environment whose value is not UTF-8.
    pub non_unicode_variables: BTreeSet<String>,
    pub dotenv: Option<DotEnvFile>,
    pub yaml: Option<YamlFile>,
}

impl fmt::Debug for SettingsSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsSources")
            .field("flags", &self.flags.keys())
            .field("environment", &self.environment.keys())
            .field("not_unicode", &self.non_unicode_variables)
            .field("dotenv", &self.dotenv)
            .field("yaml", &self.yaml)
            .finish()
    }
}

impl SettingsSources {
    /// The home directory, from the environment.
    pub fn home(&self) -> Option<PathBuf> {
        self.environment.get("HOME").filter(|home| !home.is_empty()).map(Into::into)
    }

    /// The directory for data that can be recreated: `XDG_CACHE_HOME`, else `~/.cache`.
    pub fn cache_home(&self) -> Option<PathBuf> {
        self.user_directory("XDG_CACHE_HOME", ".cache")
    }

    /// The directory for data that is needed: `XDG_DATA_HOME`, else `~/.local/share`.
    pub fn data_home(&self) -> Option<PathBuf> {
        self.user_directory("XDG_DATA_HOME", ".local/share")
    }

    /// From the environment only, and never relative: `.env`, the YAML file and the working
    /// directory may belong to an untrusted repository.
    fn user_directory(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.environment.get(variable).map(PathBuf::from);
        let usual = || self.home().map(|home| home.join(below_home));
        named
            .filter(|path| path.is_absolute())
            .or_else(|| usual().filter(|path| path.is_absolute()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileTrust;

    fn cache_home(environment: &[(&str, &str)]) -> Option<PathBuf> {
        let environment =
            environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let text = "XDG_CACHE_HOME=/evil\n";
        let dotenv = DotEnvFile::parse(".env", text, &BTreeMap::new(), FileTrust::Trusted);
        let dotenv = Some(dotenv.unwrap());
        SettingsSources { environment, dotenv, ..SettingsSources::default() }.cache_home()
    }

    #[test]
    fn the_cache_is_where_the_user_keeps_caches() {
        let home = ("HOME", "/home/ada");
        assert_eq!(cache_home(&[home]), Some("/home/ada/.cache".into()));
        assert_eq!(cache_home(&[home, ("XDG_CACHE_HOME", "/fast")]), Some("/fast".into()));
        assert_eq!(cache_home(&[("XDG_CACHE_HOME", "/fast")]), Some("/fast".into()));
    }

    #[test]
    fn a_relative_cache_would_lie_where_we_stand_and_is_none() {
        let home = ("HOME", "/home/ada");
        for relative in ["", ".", "cache", "../cache"] {
            let named = ("XDG_CACHE_HOME", relative);
            assert_eq!(cache_home(&[home, named]), Some("/home/ada/.cache".into()), "{relative}");
            assert_eq!(cache_home(&[named, ("HOME", ".")]), None, "{relative}");
        }
        assert_eq!(cache_home(&[]), None);
    }
}
