//! Which presets a run has: from files, from `SANDBOX_ENV_PRESETS`, canonical, or generated.

use std::sync::Arc;

use menace_model::{MockResponse, Seed};
use menace_settings::{PresetMode, Settings};

use crate::config::ConfigError;

use super::{
    CANONICAL_PROFILES, CallSettings, Preset, PresetOrigin, PresetRequest, ProfileCatalog,
    generate_presets, read_presets,
};

/// Name and text of a preset file; the caller reads it.
#[derive(Debug, Clone)]
pub struct PresetFile {
    pub name: String,
    pub text: String,
}

/// Everything that determines the presets of a run beside the settings.
#[derive(Debug)]
pub struct PresetSelection<'a> {
    pub settings: &'a Settings,
    pub profiles: &'a ProfileCatalog,
    /// Each cycle takes the next file, and the first one again after the last.
    pub files: &'a [PresetFile],
    /// `--preset-count`.
    pub count: Option<u32>,
    /// Recorded upstream answers, for calls under any preset.
    pub recordings: Arc<[MockResponse]>,
    pub seed: Seed,
}

impl PresetSelection<'_> {
    /// The presets of a cycle, counted from 0, with settings laid over them. The first available
    /// source wins; presets of the user are completed with [`super::missing_presets`].
    pub fn presets(&self, cycle: usize) -> Result<Vec<Preset>, ConfigError> {
        let presets = self.select_source(cycle)?;
        for preset in &presets {
            tracing::debug!(
                target: "menace_scenario::preset",
                cycle,
                preset = preset.name(),
                origin = preset.origin.as_str(),
                "took a preset"
            );
        }
        let values = CallSettings::from_settings(self.settings);
        presets.iter().map(|preset| preset.with_settings(&values)).collect()
    }

    fn select_source(&self, cycle: usize) -> Result<Vec<Preset>, ConfigError> {
        let preset_settings = &self.settings.presets;
        if !self.files.is_empty() {
            let file = &self.files[cycle % self.files.len()];
            return read_presets(&file.text, &file.name, PresetOrigin::StaticFile);
        }
        if let Some(records) = &preset_settings.env_presets.value {
            return read_presets(
                &records.0.to_string(),
                "SANDBOX_ENV_PRESETS",
                PresetOrigin::UserProvided,
            );
        }
        if !preset_settings.generate.value {
            return Ok(vec![Preset::empty(PresetOrigin::Generated)]);
        }
        let canonical = preset_settings.mode.value == PresetMode::Canonical;
        let names: &[&str] = if canonical { &CANONICAL_PROFILES } else { &[] };
        let wanted = PresetRequest {
            profiles: self.profiles.get_all(names.iter().copied(), "canonical profiles")?,
            count: self.count.filter(|_| !canonical),
            canonical,
            settings: CallSettings::from_settings(self.settings),
        };
        generate_presets(&wanted, self.seed.derive_nth(cycle as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use menace_settings::{DotEnvFile, FileTrust, SettingsSources};

    use super::*;

    fn select_presets(environment: &[(&str, &str)], files: &[&str], cycle: usize) -> Vec<Preset> {
        select_presets_with_count(environment, files, None, cycle)
    }

    fn select_presets_with_count(
        environment: &[(&str, &str)],
        files: &[&str],
        count: Option<u32>,
        cycle: usize,
    ) -> Vec<Preset> {
        let environment: BTreeMap<String, String> =
            environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let sources = SettingsSources { environment, ..SettingsSources::default() };
        select_presets_from(&sources, files, count, cycle)
    }

    fn select_presets_from(
        sources: &SettingsSources,
        files: &[&str],
        count: Option<u32>,
        cycle: usize,
    ) -> Vec<Preset> {
        let settings = Settings::resolve(sources).unwrap();
        let files: Vec<PresetFile> = files
            .iter()
            .map(|text| PresetFile { name: "f.json".to_owned(), text: (*text).to_owned() })
            .collect();
        let profiles = ProfileCatalog::built_in();
        let selection = PresetSelection {
            settings: &settings,
            profiles: &profiles,
            files: &files,
            count,
            recordings: Arc::default(),
            seed: Seed(1),
        };
        selection.presets(cycle).unwrap()
    }

    /// The presets under a `.env` of an untrusted checkout.
    fn select_presets_with_dotenv(
        environment: &[(&str, &str)],
        dotenv: &str,
        files: &[&str],
    ) -> Vec<Preset> {
        let environment: BTreeMap<String, String> =
            environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let file = DotEnvFile::parse(".env", dotenv, &BTreeMap::new(), FileTrust::Untrusted);
        let dotenv = Some(file.unwrap());
        let sources = SettingsSources { environment, dotenv, ..SettingsSources::default() };
        select_presets_from(&sources, files, None, 0)
    }

    fn origins(presets: &[Preset]) -> Vec<&'static str> {
        presets.iter().map(|preset| preset.origin.as_str()).collect()
    }

    const ENV_PRESETS_VARIABLE: (&str, &str) = ("SANDBOX_ENV_PRESETS", r#"[{"CPU_LIMIT": 4}]"#);
    const CANONICAL_MODE_VARIABLE: (&str, &str) = ("SANDBOX_PRESET_MODE", "canonical");

    #[test]
    fn the_first_available_source_wins() {
        let file = r#"{"CPU_LIMIT": 1}"#;
        assert_eq!(
            origins(&select_presets(&[ENV_PRESETS_VARIABLE, CANONICAL_MODE_VARIABLE], &[file], 0)),
            ["static file"]
        );
        assert_eq!(
            origins(&select_presets(&[ENV_PRESETS_VARIABLE, CANONICAL_MODE_VARIABLE], &[], 0)),
            ["given"]
        );
        assert_eq!(origins(&select_presets(&[CANONICAL_MODE_VARIABLE], &[], 0)), ["canonical"; 8]);
        assert_eq!(origins(&select_presets(&[], &[], 0)), ["generated"; 3]);
    }

    #[test]
    fn files_take_turns_and_runs_differ() {
        let files = [r#"{"SCENARIO_NAME": "a"}"#, r#"{"SCENARIO_NAME": "b"}"#];
        let name = |cycle| select_presets(&[], &files, cycle)[0].name().to_owned();
        assert_eq!([name(0), name(1), name(2)], ["a", "b", "a"]);
        assert_ne!(select_presets(&[], &[], 0), select_presets(&[], &[], 1));
    }

    #[test]
    fn without_generation_there_is_one_empty_preset() {
        let presets = select_presets(&[("SANDBOX_GENERATE_PRESETS", "0")], &[], 0);
        assert!(presets.len() == 1 && presets[0].values().has_no_effect());
    }

    #[test]
    fn canonical_presets_stay_what_they_are_about_under_settings() {
        let modes = |environment: &[(&str, &str)]| -> Vec<usize> {
            let presets = select_presets(environment, &[], 0);
            presets.iter().map(|preset| preset.failure_modes().len()).collect()
        };
        assert_eq!(modes(&[CANONICAL_MODE_VARIABLE]), [0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(
            modes(&[CANONICAL_MODE_VARIABLE, ("FAILURE_MODES", "disk")]),
            [1, 1, 2, 2, 2, 2, 2, 2]
        );
    }

    #[test]
    fn the_requested_number_of_presets_is_generated() {
        let names = |environment: &[(&str, &str)], count| -> Vec<String> {
            let presets = select_presets_with_count(environment, &[], count, 0);
            presets.iter().map(|preset| preset.name().to_owned()).collect()
        };
        assert_eq!(names(&[], Some(2)), ["random_1", "random_2"]);
        assert_eq!(names(&[], Some(5)).len(), 5);
        assert_eq!(names(&[], Some(1)), ["random_1"]);
        // The count applies neither to canonical presets nor to lists of the user.
        assert_eq!(names(&[CANONICAL_MODE_VARIABLE], Some(2)).len(), 8);
        assert_eq!(names(&[ENV_PRESETS_VARIABLE], Some(2)).len(), 1);
    }

    #[test]
    fn settings_win_over_every_source() {
        for (environment, files) in [
            (&[CANONICAL_MODE_VARIABLE][..], &[][..]),
            (&[ENV_PRESETS_VARIABLE], &[]),
            (&[], &[r#"{"CPU_LIMIT": 1}"#]),
            (&[], &[]),
        ] {
            let environment = [environment, &[("CPU_LIMIT", "9")]].concat();
            for preset in select_presets(&environment, files, 0) {
                let seconds = preset.values().cpu_limit.unwrap().get().as_secs();
                assert_eq!(seconds, 9, "{}", preset.name());
            }
        }
    }

    #[test]
    fn settings_of_a_checkout_loosen_nothing_of_the_user() {
        let dotenv = "SECURITY_LEVEL=3\nMEMORY_LIMIT=512Mi\nCPU_LIMIT=1h\nCPU_SHARE=4\n\
                      TIMEOUT=10s\n";
        let strict = r#"{"SECURITY_LEVEL": 5, "MEMORY_LIMIT": "64Mi", "CPU_LIMIT": 1,
                         "CPU_SHARE": 0.5, "TIMEOUT": 2}"#;
        let expected = read_presets(strict, "mine", PresetOrigin::StaticFile).unwrap();
        let of_file = select_presets_with_dotenv(&[], dotenv, &[strict]);
        assert_eq!(of_file[0].values(), expected[0].values());
        let of_list = select_presets_with_dotenv(&[("SANDBOX_ENV_PRESETS", strict)], dotenv, &[]);
        assert_eq!(of_list[0].values(), expected[0].values());
        let of_environment = select_presets_with_dotenv(&[("CPU_LIMIT", "2")], dotenv, &["{}"]);
        assert_eq!(of_environment[0].values().cpu_limit.unwrap().get().as_secs(), 2);
    }

    #[test]
    fn settings_of_a_checkout_make_calls_stricter() {
        let dotenv = "SECURITY_LEVEL=4\nCPU_LIMIT=1\n";
        let loose = r#"{"SECURITY_LEVEL": 1, "CPU_LIMIT": 9}"#;
        let preset = &select_presets_with_dotenv(&[], dotenv, &[loose])[0];
        assert_eq!(preset.values().security_level.unwrap().get(), 4);
        assert_eq!(preset.values().cpu_limit.unwrap().get().as_secs(), 1);
    }
}
