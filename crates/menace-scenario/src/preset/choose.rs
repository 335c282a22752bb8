//! Which presets a run has: from files, from `SANDBOX_ENV_PRESETS`, canonical, or generated.

use std::sync::Arc;

use menace_model::{Mock, Seed};
use menace_settings::{PresetMode, Settings};

use crate::Problems;

use super::{CANONICAL, Preset, PresetOrigin, Profiles, Values, Wanted, generate, read};

/// A preset file, read by whoever may read files.
#[derive(Debug, Clone)]
pub struct PresetFile {
    pub name: String,
    pub text: String,
}

/// What decides on the presets of a run beside the settings.
#[derive(Debug)]
pub struct Choice<'a> {
    pub settings: &'a Settings,
    pub profiles: &'a Profiles,
    /// Each run takes the next, in turns.
    pub files: &'a [PresetFile],
    /// `--preset-count`.
    pub count: Option<u32>,
    /// What others answered once, for whoever calls out under any of them.
    pub recordings: Arc<[Mock]>,
    pub seed: Seed,
}

impl Choice<'_> {
    /// The presets of the `run`th run, settings laid over them. The first source that there is
    /// wins; a list of the user's is to be completed with [`super::missing`].
    pub fn presets(&self, run: usize) -> Result<Vec<Preset>, Problems> {
        let presets = self.chosen(run)?;
        for preset in &presets {
            tracing::debug!(
                target: "menace_scenario::preset",
                run,
                preset = preset.name(),
                origin = preset.origin.as_str(),
                "took a preset"
            );
        }
        let values = Values::of_settings(self.settings);
        presets.iter().map(|preset| preset.under(&values)).collect()
    }

    fn chosen(&self, run: usize) -> Result<Vec<Preset>, Problems> {
        let of_settings = &self.settings.presets;
        if !self.files.is_empty() {
            let file = &self.files[run % self.files.len()];
            return read(&file.text, &file.name, PresetOrigin::StaticFile);
        }
        if let Some(records) = &of_settings.env_presets.value {
            return read(&records.0.to_string(), "SANDBOX_ENV_PRESETS", PresetOrigin::Given);
        }
        if !of_settings.generate.value {
            return Ok(vec![Preset::empty(PresetOrigin::Generated)]);
        }
        let canonical = of_settings.mode.value == PresetMode::Canonical;
        let names: &[&str] = if canonical { &CANONICAL } else { &[] };
        let wanted = Wanted {
            profiles: self.profiles.all(names.iter().copied(), "canonical profiles")?,
            count: self.count.filter(|_| !canonical),
            canonical,
            settings: Values::of_settings(self.settings),
            containers: self.settings.pool.docker.value,
        };
        generate(&wanted, self.seed.nth(run as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use menace_settings::Sources;

    use super::*;

    fn chosen(environment: &[(&str, &str)], files: &[&str], run: usize) -> Vec<Preset> {
        counted(environment, files, None, run)
    }

    fn counted(
        environment: &[(&str, &str)],
        files: &[&str],
        count: Option<u32>,
        run: usize,
    ) -> Vec<Preset> {
        let environment: BTreeMap<String, String> =
            environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let settings = Settings::resolve(&Sources { environment, ..Sources::default() }).unwrap();
        let files: Vec<PresetFile> = files
            .iter()
            .map(|text| PresetFile { name: "f.json".to_owned(), text: (*text).to_owned() })
            .collect();
        let profiles = Profiles::built_in();
        let choice = Choice {
            settings: &settings,
            profiles: &profiles,
            files: &files,
            count,
            recordings: Arc::default(),
            seed: Seed(1),
        };
        choice.presets(run).unwrap()
    }

    fn origins(presets: &[Preset]) -> Vec<&'static str> {
        presets.iter().map(|preset| preset.origin.as_str()).collect()
    }

    const ENV: (&str, &str) = ("SANDBOX_ENV_PRESETS", r#"[{"CPU_LIMIT": 4}]"#);
    const CANON: (&str, &str) = ("SANDBOX_PRESET_MODE", "canonical");

    #[test]
    fn the_first_source_that_there_is_wins() {
        let file = r#"{"CPU_LIMIT": 1}"#;
        assert_eq!(origins(&chosen(&[ENV, CANON], &[file], 0)), ["static file"]);
        assert_eq!(origins(&chosen(&[ENV, CANON], &[], 0)), ["given"]);
        assert_eq!(origins(&chosen(&[CANON], &[], 0)), ["canonical"; 8]);
        assert_eq!(origins(&chosen(&[], &[], 0)), ["generated"; 3]);
    }

    #[test]
    fn files_take_turns_and_runs_differ() {
        let files = [r#"{"SCENARIO_NAME": "a"}"#, r#"{"SCENARIO_NAME": "b"}"#];
        let name = |run| chosen(&[], &files, run)[0].name().to_owned();
        assert_eq!([name(0), name(1), name(2)], ["a", "b", "a"]);
        assert_ne!(chosen(&[], &[], 0), chosen(&[], &[], 1));
    }

    #[test]
    fn without_generation_there_is_one_empty_preset() {
        let presets = chosen(&[("SANDBOX_GENERATE_PRESETS", "0")], &[], 0);
        assert!(presets.len() == 1 && presets[0].values().changes_nothing());
    }

    #[test]
    fn canonical_presets_stay_what_they_are_about_under_settings() {
        let modes = |environment: &[(&str, &str)]| -> Vec<usize> {
            let presets = chosen(environment, &[], 0);
            presets.iter().map(|preset| preset.failure_modes().len()).collect()
        };
        assert_eq!(modes(&[CANON]), [0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(modes(&[CANON, ("FAILURE_MODES", "disk")]), [1, 1, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn so_many_are_generated_as_are_asked_for() {
        let names = |environment: &[(&str, &str)], count| -> Vec<String> {
            let presets = counted(environment, &[], count, 0);
            presets.iter().map(|preset| preset.name().to_owned()).collect()
        };
        assert_eq!(names(&[], Some(2)), ["random_1", "random_2"]);
        assert_eq!(names(&[], Some(5)).len(), 5);
        assert_eq!(names(&[], Some(1)), ["random_1"]);
        // Canonical ones are as many as they are, and lists of users as long as these are.
        assert_eq!(names(&[CANON], Some(2)).len(), 8);
        assert_eq!(names(&[ENV], Some(2)).len(), 1);
    }

    #[test]
    fn settings_win_over_every_source() {
        for (environment, files) in
            [(&[CANON][..], &[][..]), (&[ENV], &[]), (&[], &[r#"{"CPU_LIMIT": 1}"#]), (&[], &[])]
        {
            let environment = [environment, &[("CPU_LIMIT", "9")]].concat();
            for preset in chosen(&environment, files, 0) {
                let seconds = preset.values().cpu_limit.unwrap().get().as_secs();
                assert_eq!(seconds, 9, "{}", preset.name());
            }
        }
    }
}
