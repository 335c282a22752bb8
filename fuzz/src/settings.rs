//! Settings files of a checkout that is not trusted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use menace_settings::{
    DotEnvFile, FileTrust, SettingAuthority, SettingOrigin, Settings, SettingsSources, YamlFile,
    declarations,
};

const SECRET: &str = "s3cret-of-the-environment";

fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("KEY".to_owned(), SECRET.to_owned())])
}

/// Reads a `.env` file and resolves all settings with it.
pub fn read_dotenv(text: &str) {
    let path = PathBuf::from(".env");
    if let Ok(file) = DotEnvFile::parse(path, text, &environment(), FileTrust::Untrusted) {
        check(SettingsSources { dotenv: Some(file), ..SettingsSources::default() });
    }
}

/// The same with a YAML file.
pub fn read_yaml(text: &str) {
    if let Ok(file) = YamlFile::parse("s.yaml", text, FileTrust::Untrusted) {
        check(SettingsSources { yaml: Some(file), ..SettingsSources::default() });
    }
}

/// Whatever a file says, it sets nothing of the user's and reads nothing of the environment.
fn check(sources: SettingsSources) {
    let sources = SettingsSources { environment: environment(), ..sources };
    let Ok(settings) = Settings::resolve(&sources) else { return };
    for (entry, declared) in settings.entries().zip(declarations()) {
        assert_eq!(entry.name, declared.name);
        let is_of_file =
            matches!(entry.origin, SettingOrigin::DotEnv { .. } | SettingOrigin::Yaml { .. });
        let is_users = declared.authority == SettingAuthority::User;
        assert!(!(is_of_file && is_users), "{} was set by a file", entry.name);
        let shown = entry.value.unwrap_or_default();
        assert!(!shown.contains(SECRET), "{} has the secret", entry.name);
    }
    for warning in &settings.warnings {
        assert!(!warning.to_string().contains(SECRET), "{warning}");
    }
}
