//! The directories of metric plugins: one from the environment, and those that a YAML file lists
//! under `plugin_dirs`, relative to that file.

use std::path::{Path, PathBuf};

use menace_settings::{FileTrust, YamlFile};

const KEY: &str = "plugin_dirs";

#[derive(Debug, thiserror::Error)]
pub enum MetricsFileError {
    #[error("cannot read `{}`, which SANDBOX_METRICS_FILE names", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Yaml(#[from] menace_settings::SettingsErrors),
    #[error("{}: line {line}: expected a list of directories for `{KEY}`", .path.display())]
    List { path: PathBuf, line: usize },
}

/// The directories in the order in which they were named, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginDirectories {
    pub paths: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

impl PluginDirectories {
    /// `directory` is `SANDBOX_METRICS_PLUGIN_DIR`, `file` is `SANDBOX_METRICS_FILE`.
    #[expect(clippy::disallowed_methods, reason = "only the user can name it")]
    pub fn read(directory: Option<&Path>, file: Option<&Path>) -> Result<Self, MetricsFileError> {
        let mut found = Self::default();
        found.add(directory.map(Path::to_owned));
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|source| MetricsFileError::Read { path: path.to_owned(), source })?;
            found.add_listed(path, &text)?;
        }
        Ok(found)
    }

    fn add_listed(&mut self, path: &Path, text: &str) -> Result<(), MetricsFileError> {
        let beside = path.parent().unwrap_or(Path::new(""));
        for entry in YamlFile::parse(path, text, FileTrust::Trusted)?.entries {
            if entry.key != KEY {
                self.warnings.push(format!(
                    "{}: line {}: `{}` is not a key of this file; only `{KEY}` is",
                    path.display(),
                    entry.line,
                    entry.key
                ));
            } else if !entry.text.is_empty() {
                let listed: Vec<PathBuf> = serde_json::from_str(&entry.text).map_err(|_| {
                    MetricsFileError::List { path: path.to_owned(), line: entry.line }
                })?;
                self.add(listed.into_iter().map(|listed| beside.join(listed)));
            }
        }
        Ok(())
    }

    fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Result<PluginDirectories, MetricsFileError> {
        let mut found = PluginDirectories::default();
        found.add_listed(Path::new("conf/metrics.yaml"), text).map(|()| found)
    }

    #[test]
    fn listed_directories_are_beside_the_file() {
        let found = listed("plugin_dirs:\n  - plugins\n  - /else/where\n  - plugins\n").unwrap();
        assert_eq!(found.paths, [Path::new("conf/plugins"), Path::new("/else/where")]);
        assert_eq!(listed("# none yet\n").unwrap(), PluginDirectories::default());
        assert_eq!(listed("plugin_dirs:\n").unwrap(), PluginDirectories::default());
    }

    #[test]
    fn the_directory_of_the_environment_comes_first_and_needs_no_file() {
        let found = PluginDirectories::read(Some(Path::new("mine")), None).unwrap();
        assert_eq!(found.paths, [Path::new("mine")]);
        assert_eq!(PluginDirectories::read(None, None).unwrap(), PluginDirectories::default());
    }

    #[test]
    fn unknown_keys_give_warnings_with_their_line() {
        let found = listed("plugin_dirs: [a]\nplugin_dir: b\n").unwrap();
        assert_eq!(found.warnings.len(), 1);
        assert!(found.warnings[0].starts_with("conf/metrics.yaml: line 2: `plugin_dir`"));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let text = listed("\nplugin_dirs: plugins\n").unwrap_err().to_string();
        assert!(text.starts_with("conf/metrics.yaml: line 2: expected a list"), "{text}");
        let missing = PluginDirectories::read(None, Some(Path::new("no.yaml"))).unwrap_err();
        assert!(missing.to_string().contains("no.yaml"), "{missing}");
    }
}
