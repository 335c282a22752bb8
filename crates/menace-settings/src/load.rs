//! Reads the real sources. The only file that touches the process environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use menace_files::{UntrustedDir, resolve_named_path};

use crate::resolve::resolve_single;
use crate::trusted_files::TrustedFiles;
use crate::{
    DotEnvFile, FileTrust, SettingValue, Settings, SettingsError, SettingsErrors, SettingsSources,
    SettingsWarning, UntrustedSetting, YamlFile,
};

/// The YAML file that is read without being named, when it exists.
const DEFAULT_YAML_FILE: &str = "sandbox_settings.yaml";
/// Shown relative to where the user stands.
const DOTENV_FILE: &str = ".env";
/// Settings files are small; a larger one is refused.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

impl SettingsSources {
    /// Reads the process environment, `.env` in `cwd` and the YAML file, beside the given flags.
    pub fn load(flags: BTreeMap<String, String>, cwd: &Path) -> Result<Self, SettingsErrors> {
        Self::load_user(flags).with_files(cwd)
    }

    /// The sources that are the user's alone: flags and the process environment.
    pub fn load_user(flags: BTreeMap<String, String>) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that reads the environment"
        )]
        let environment = std::env::vars_os();
        Self::from_user(flags, environment)
    }

    /// Like [`SettingsSources::load`], with this environment.
    pub fn read(
        flags: BTreeMap<String, String>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: &Path,
    ) -> Result<Self, SettingsErrors> {
        Self::from_user(flags, environment).with_files(cwd)
    }

    fn from_user(
        flags: BTreeMap<String, String>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let mut sources = Self { flags, ..Self::default() };
        for (name, value) in environment {
            // A name that is not UTF-8 is no name of a setting.
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(sources.environment.insert(name, value)),
                Err(_) => drop(sources.non_unicode_variables.insert(name)),
            }
        }
        sources
    }

    fn with_files(mut self, cwd: &Path) -> Result<Self, SettingsErrors> {
        let reader = CheckoutReader::open(cwd)?;
        let mut errors = Vec::new();
        // A user without settings files needs no list of trusted ones.
        let trusted = || TrustedFiles::read(self.data_home(), &reader.directory);
        let mut read_trusted = None;
        let mut trust_of = |file: &CheckoutFile| -> Result<FileTrust, SettingsErrors> {
            if read_trusted.is_none() {
                read_trusted = Some(trusted().map_err(SettingsError::TrustedFiles)?);
            }
            Ok(read_trusted.as_ref().map_or(FileTrust::Untrusted, |trusted| {
                trusted.trust_of(&file.path, file.contents.as_bytes())
            }))
        };
        let dotenv = reader.read_text(Path::new(DOTENV_FILE)).and_then(|file| {
            let Some(file) = file else { return Ok(None) };
            let trust = trust_of(&file)?;
            DotEnvFile::parse(DOTENV_FILE, &file.contents, &self.environment, trust).map(Some)
        });
        let yaml_trust = &mut trust_of;
        let dotenv = dotenv.unwrap_or_else(|found| {
            errors.extend(found.0);
            None
        });
        let with_dotenv = Self { dotenv, ..self.clone() };
        let yaml = reader.find_yaml(&with_dotenv).and_then(|found| {
            let Some(NamedFile { shown, file, is_users }) = found else { return Ok(None) };
            let trust = if is_users { FileTrust::Trusted } else { yaml_trust(&file)? };
            YamlFile::parse(shown, &file.contents, trust).map(Some)
        });
        match yaml {
            Ok(yaml) => self.yaml = yaml,
            Err(found) => errors.extend(found.0),
        }
        self.dotenv = with_dotenv.dotenv;
        if errors.is_empty() { Ok(self) } else { Err(SettingsErrors(errors)) }
    }
}

/// The settings files of a directory, and the settings that they can set only when trusted.
#[derive(Debug)]
pub struct TrustReview {
    pub files: Vec<CheckoutFile>,
    pub settings: Vec<UntrustedSetting>,
}

/// A settings file of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutFile {
    /// Absolute, as the list of trusted files has it.
    pub path: PathBuf,
    pub contents: String,
}

impl TrustReview {
    /// Reads the files that a command in `directory` would read, with the user's flags and
    /// environment. Each file is read once, so the review shows exactly what was read.
    pub fn read(user: &SettingsSources, directory: &Path) -> Result<Self, SettingsErrors> {
        let reader = CheckoutReader::open(directory)?;
        let untrusted = FileTrust::Untrusted;
        let mut sources = user.clone();
        let dotenv = reader.read_text(Path::new(DOTENV_FILE))?;
        if let Some(file) = &dotenv {
            let text = &file.contents;
            sources.dotenv =
                Some(DotEnvFile::parse(DOTENV_FILE, text, &user.environment, untrusted)?);
        }
        let found = reader.find_yaml(&sources)?.filter(|found| !found.is_users);
        if let Some(NamedFile { shown, file, .. }) = &found {
            sources.yaml = Some(YamlFile::parse(shown, &file.contents, untrusted)?);
        }
        let settings = Settings::resolve(&sources)?.warnings.into_iter().find_map(|warning| {
            let SettingsWarning::NotTrusted { settings } = warning else { return None };
            Some(settings)
        });
        let files = dotenv.into_iter().chain(found.map(|found| found.file)).collect();
        Ok(Self { files, settings: settings.unwrap_or_default() })
    }
}

/// A settings file that something names.
struct NamedFile {
    shown: PathBuf,
    file: CheckoutFile,
    /// Whether it is outside of the checkout, and named by the user.
    is_users: bool,
}

/// Reads settings files of the working directory, which may be an untrusted checkout.
struct CheckoutReader {
    /// The canonical path, so that a file has only one path in the list of trusted files.
    directory: PathBuf,
    opened: UntrustedDir,
}

impl CheckoutReader {
    fn open(cwd: &Path) -> Result<Self, SettingsErrors> {
        let opened = resolve_named_path(cwd)
            .and_then(|directory| Ok((UntrustedDir::open(&directory)?, directory)));
        let (opened, directory) =
            opened.map_err(|source| SettingsError::Read { path: cwd.into(), source })?;
        Ok(Self { directory, opened })
    }

    /// The YAML file that the sources name, or the usual one.
    fn find_yaml(&self, sources: &SettingsSources) -> Result<Option<NamedFile>, SettingsErrors> {
        let named = resolve_single::<PathBuf>(sources, "SANDBOX_SETTINGS_YAML")?;
        let Some(SettingValue { value: shown, origin, .. }) = named else {
            let file = self.read_text(Path::new(DEFAULT_YAML_FILE))?;
            let shown = PathBuf::from(DEFAULT_YAML_FILE);
            return Ok(file.map(|file| NamedFile { shown, file, is_users: false }));
        };
        // A file that is not trusted names none outside: `resolve_single` refuses that.
        let read = match self.path_inside(&shown) {
            Some(relative) => self.read_text(relative)?.map(|file| (file, false)),
            None => self.read_outside(&shown)?,
        };
        match read {
            Some((file, is_users)) => Ok(Some(NamedFile { shown, file, is_users })),
            None => Err(SettingsError::MissingFile { path: shown, origin }.into()),
        }
    }

    /// The path below the checkout, where its text leads into it.
    fn path_inside<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let relative =
            if path.is_absolute() { path.strip_prefix(&self.directory).ok()? } else { path };
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        relative.components().all(is_plain).then_some(relative)
    }

    /// A file below the working directory; `None` where there is none.
    fn read_text(&self, relative: &Path) -> Result<Option<CheckoutFile>, SettingsErrors> {
        let path = self.directory.join(relative);
        // `.env` is also a common name for the directory of a virtual environment.
        if self.opened.subdirectory(relative).is_ok() {
            return Ok(None);
        }
        read_found(self.opened.read_to_string(relative, MAX_FILE_BYTES), path)
    }

    /// A file that the user named outside of the checkout; the way to it may lead through links,
    /// and back into the checkout.
    fn read_outside(&self, named: &Path) -> Result<Option<(CheckoutFile, bool)>, SettingsErrors> {
        let path = self.directory.join(named);
        let resolved = resolve_named_path(&path);
        let read = resolved.and_then(|resolved| {
            let parent = resolved.parent().unwrap_or(Path::new("/"));
            let name = Path::new(resolved.file_name().unwrap_or_default());
            let text = UntrustedDir::open(parent)?.read_to_string(name, MAX_FILE_BYTES)?;
            Ok((text, resolved))
        });
        match read {
            Ok((contents, resolved)) => {
                let is_users = !resolved.starts_with(&self.directory);
                Ok(Some((CheckoutFile { path: resolved, contents }, is_users)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(SettingsError::Read { path, source }.into()),
        }
    }
}

fn read_found(
    read: io::Result<String>,
    path: PathBuf,
) -> Result<Option<CheckoutFile>, SettingsErrors> {
    match read {
        Ok(contents) => Ok(Some(CheckoutFile { path, contents })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SettingsError::Read { path, source }.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

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

    #[test]
    fn links_pipes_and_endless_files_are_errors_and_block_nothing() {
        for name in [DOTENV_FILE, DEFAULT_YAML_FILE] {
            let dir = tempdir().unwrap();
            let file = dir.path().join(name);
            symlink("/dev/zero", &file).unwrap();
            let message = read(dir.path(), &[]).unwrap_err();
            assert!(message.contains("symbolic link"), "{message}");
            fs::remove_file(&file).unwrap();
            let status = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
            assert!(status.success());
            let message = read(dir.path(), &[]).unwrap_err();
            assert!(message.contains("named pipe"), "{message}");
        }
    }

    #[test]
    fn files_are_trusted_by_path_and_contents() {
        let (dir, home) = (tempdir().unwrap(), tempdir().unwrap());
        let data_home = home.path().to_str().unwrap();
        fs::write(dir.path().join(".env"), "OPENAI_API_KEY=sk-1\n").unwrap();
        let trust =
            || read(dir.path(), &[("XDG_DATA_HOME", data_home)]).unwrap().dotenv.unwrap().trust;
        assert_eq!(trust(), FileTrust::Untrusted);
        let mut trusted = TrustedFiles::read(Some(home.path().into()), dir.path()).unwrap();
        let path = dir.path().canonicalize().unwrap().join(".env");
        trusted.add(&path, b"OPENAI_API_KEY=sk-1\n");
        trusted.write().unwrap();
        assert_eq!(trust(), FileTrust::Trusted);
        fs::write(dir.path().join(".env"), "OPENAI_API_KEY=sk-2\n").unwrap();
        assert_eq!(trust(), FileTrust::Untrusted);
    }

    #[test]
    fn a_yaml_file_outside_of_the_directory_is_the_users_own() {
        let (dir, own) = (tempdir().unwrap(), tempdir().unwrap());
        let path = own.path().join("mine.yaml");
        fs::write(&path, "dashboard_host: 127.0.0.2\n").unwrap();
        let named = [("SANDBOX_SETTINGS_YAML", path.to_str().unwrap())];
        assert_eq!(read(dir.path(), &named).unwrap().yaml.unwrap().trust, FileTrust::Trusted);
        fs::write(dir.path().join("theirs.yaml"), "roi_cycles: 4\n").unwrap();
        let named = [("SANDBOX_SETTINGS_YAML", "theirs.yaml")];
        assert_eq!(read(dir.path(), &named).unwrap().yaml.unwrap().trust, FileTrust::Untrusted);
    }

    #[test]
    fn a_dotenv_file_cannot_name_a_yaml_file_outside() {
        let (dir, own) = (tempdir().unwrap(), tempdir().unwrap());
        let path = own.path().join("mine.yaml");
        fs::write(&path, "roi_cycles: 4\n").unwrap();
        let text = format!("SANDBOX_SETTINGS_YAML={}\n", path.display());
        fs::write(dir.path().join(".env"), text).unwrap();
        assert!(read(dir.path(), &[]).unwrap().yaml.is_none());
    }
}
