//! Reads the real sources. The only file that touches the process environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::resolve::resolve_single;
use crate::{DotEnvFile, SettingsError, SettingsErrors, SettingsSources, YamlFile};

/// The YAML file that is read without being named, when it exists.
const DEFAULT_YAML_FILE: &str = "sandbox_settings.yaml";

impl SettingsSources {
    /// Reads the process environment, `.env` in `cwd` and the YAML file, beside the given flags.
    pub fn load(flags: BTreeMap<String, String>, cwd: &Path) -> Result<Self, SettingsErrors> {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that reads the environment"
        )]
        let environment = std::env::vars_os();
        Self::read(flags, environment, cwd)
    }

    /// As [`SettingsSources::load`], with the environment given.
    pub fn read(
        flags: BTreeMap<String, String>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: &Path,
    ) -> Result<Self, SettingsErrors> {
        let mut sources = Self { flags, ..Self::default() };
        for (name, value) in environment {
            // A name that is not UTF-8 cannot be one of ours.
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(sources.environment.insert(name, value)),
                Err(_) => drop(sources.non_unicode_variables.insert(name)),
            }
        }
        let mut errors = Vec::new();
        match read_dotenv(cwd, &sources.environment) {
            Ok(file) => sources.dotenv = file,
            Err(found) => errors.extend(found.0),
        }
        match read_yaml(cwd, &sources) {
            Ok(file) => sources.yaml = file,
            Err(found) => errors.extend(found.0),
        }
        if errors.is_empty() { Ok(sources) } else { Err(SettingsErrors(errors)) }
    }
}

fn read_dotenv(
    cwd: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Option<DotEnvFile>, SettingsErrors> {
    // Shown relative to where the user stands.
    let shown = PathBuf::from(".env");
    let file = cwd.join(&shown);
    // `.env` is also a common name for the directory of a virtual environment.
    if file.is_dir() {
        return Ok(None);
    }
    match fs::read_to_string(&file) {
        Ok(text) => DotEnvFile::parse(shown, &text, environment).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SettingsError::Read { path: file, source }.into()),
    }
}

fn read_yaml(cwd: &Path, sources: &SettingsSources) -> Result<Option<YamlFile>, SettingsErrors> {
    let named = resolve_single::<PathBuf>(sources, "SANDBOX_SETTINGS_YAML")?;
    let shown =
        named.as_ref().map_or_else(|| DEFAULT_YAML_FILE.into(), |named| named.value.clone());
    match fs::read_to_string(cwd.join(&shown)) {
        Ok(text) => Ok(Some(YamlFile::parse(shown, &text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match named {
            Some(named) => {
                Err(SettingsError::MissingFile { path: shown, origin: named.origin }.into())
            }
            None => Ok(None),
        },
        Err(source) => Err(SettingsError::Read { path: cwd.join(shown), source }.into()),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    fn read(cwd: &Path, environment: &[(&str, &str)]) -> Result<SettingsSources, String> {
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
        SettingsSources::read(BTreeMap::new(), environment, cwd)
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_bare_directory_gives_only_the_environment() {
        let sources = read(tempdir().unwrap().path(), &[("A", "1")]).unwrap();
        assert_eq!(sources.environment["A"], "1");
        assert!(sources.dotenv.is_none() && sources.yaml.is_none());
    }

    #[test]
    fn the_usual_files_are_found() {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join(".env"), "RUN_CYCLES=3\n").unwrap();
        fs::write(dir.path().join(DEFAULT_YAML_FILE), "roi_cycles: 4\n").unwrap();
        let sources = read(dir.path(), &[]).unwrap();
        assert_eq!(sources.dotenv.unwrap().get("RUN_CYCLES"), Some("3"));
        assert_eq!(sources.yaml.unwrap().entries[0].text, "4");
    }

    #[test]
    fn the_dotenv_file_can_name_the_yaml_file() {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join(".env"), "SANDBOX_SETTINGS_YAML=own.yaml\n").unwrap();
        fs::write(dir.path().join("own.yaml"), "roi_cycles: 4\n").unwrap();
        assert_eq!(read(dir.path(), &[]).unwrap().yaml.unwrap().path, PathBuf::from("own.yaml"));
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error() {
        let dir = tempdir().unwrap();
        let message = read(dir.path(), &[("SANDBOX_SETTINGS_YAML", "gone.yaml")]).unwrap_err();
        assert_eq!(
            message,
            "gone.yaml: no such file, but environment SANDBOX_SETTINGS_YAML names it: \
             create it or unset SANDBOX_SETTINGS_YAML"
        );
    }

    #[test]
    fn mistakes_in_both_files_are_reported_at_once() {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join(".env"), "A 1\n").unwrap();
        fs::write(dir.path().join(DEFAULT_YAML_FILE), "a: [\n").unwrap();
        assert_eq!(read(dir.path(), &[]).unwrap_err().lines().count(), 2);
    }

    #[test]
    fn a_virtual_environment_called_dotenv_is_left_alone() {
        let dir = tempdir().unwrap();
        fs::create_dir(dir.path().join(".env")).unwrap();
        assert!(read(dir.path(), &[]).unwrap().dotenv.is_none());
    }

    #[test]
    fn a_file_that_is_not_text_is_an_error_with_its_path() {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join(".env"), b"A=\xff\n").unwrap();
        let message = read(dir.path(), &[]).unwrap_err();
        assert!(message.starts_with("failed to read `") && message.contains(".env"), "{message}");
    }
}
