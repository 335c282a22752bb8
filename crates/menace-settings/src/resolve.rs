//! Decides values: goes through the places in order and remembers what is wrong or odd.

use std::path::PathBuf;

use crate::yaml::YamlIndex;
use crate::{
    Declaration, Errors, Flag, Implication, Origin, Refusal, Setting, SettingsError, Sources,
    Surroundings, Value, Warning, declarations, flags, suggest,
};

/// The variable that other defaults are relative to.
const DATA_DIR: &str = "SANDBOX_DATA_DIR";

/// Prefixes that make an unknown variable look like one of ours.
const OUR_PREFIXES: [&str; 5] = ["SANDBOX_", "SELF_TEST_", "VISUAL_AGENT_", "SYNERGY_", "MENACE_"];

/// The state of one resolution.
pub(crate) struct Resolver<'a> {
    sources: &'a Sources,
    yaml: YamlIndex<'a>,
    around: Surroundings,
    errors: Vec<SettingsError>,
    warnings: Vec<Warning>,
}

/// A text that some place gives for a setting.
struct Found {
    text: String,
    origin: Origin,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        let mut errors = Vec::new();
        let yaml = YamlIndex::new(sources.yaml.as_ref(), &mut errors);
        let mut resolver = Self {
            sources,
            yaml,
            around: Surroundings { home: sources.home() },
            errors,
            warnings: Vec::new(),
        };
        resolver.check_flags();
        resolver.check_names();
        resolver
    }

    /// The value of one setting, or `None` after noting why there is none.
    pub(crate) fn value<T: Setting>(&mut self, declared: &'static Declaration) -> Option<Value<T>> {
        let found = self.decided(declared).filter(|found| !found.text.is_empty());
        let Some(Found { text, origin }) = found.or_else(|| self.default(declared)) else {
            return T::unset().map(|value| Value { value, origin: Origin::Default });
        };
        match T::parse(&text, &self.around) {
            Ok(value) => Some(Value { value, origin }),
            Err(refusal) => {
                // What was taken over from a malformed setting is that setting's error.
                if !self.told_already(&origin) {
                    self.errors.push(malformed::<T>(declared, &text, origin, refusal));
                }
                None
            }
        }
    }

    fn told_already(&self, origin: &Origin) -> bool {
        let Origin::Implied { by } = origin else { return false };
        self.errors
            .iter()
            .any(|error| matches!(error, SettingsError::Malformed { name, .. } if name == by))
    }

    pub(crate) fn finish(self) -> (Vec<SettingsError>, Vec<Warning>) {
        (self.errors, self.warnings)
    }

    /// What a place says, else what another setting implies.
    fn decided(&self, declared: &Declaration) -> Option<Found> {
        let own = self.explicit(declared);
        match (own, declared.implied) {
            // A mirrored setting in a stronger place wins: `--no-recursive-include` also holds for
            // the self-tests of somebody whose `.env` says `SELF_TEST_RECURSIVE_ORPHANS=1`.
            (Some(own), Some(implication @ Implication::Mirrors(by))) => {
                let mirrored = declared_as(by).and_then(|other| self.explicit(other));
                let stronger =
                    mirrored.is_some_and(|it| it.origin.strength() > own.origin.strength());
                if stronger { self.implied(implication) } else { Some(own) }
            }
            (Some(own), _) => Some(own),
            (None, implication) => self.implied(implication?),
        }
    }

    fn implied(&self, implication: Implication) -> Option<Found> {
        let by = implication.by();
        let found = self.decided(declared_as(by)?)?;
        let text = match implication {
            Implication::Mirrors(_) => found.text,
            Implication::EnabledBy(_) => {
                bool::parse(&found.text, &self.around).ok().filter(|on| *on)?;
                "1".into()
            }
        };
        Some(Found { text, origin: Origin::Implied { by } })
    }

    /// What the first place that knows the setting says; an empty text when it clears it.
    fn explicit(&self, declared: &Declaration) -> Option<Found> {
        self.flag(declared)
            .or_else(|| self.environment(declared))
            .or_else(|| self.dotenv(declared))
            .or_else(|| self.yaml(declared))
    }

    fn flag(&self, declared: &Declaration) -> Option<Found> {
        let given = |flag: &&'static str| self.sources.flags.get_key_value(*flag);
        let found = |name: &String, text: String| Found {
            text,
            origin: Origin::Flag { name: name.clone() },
        };
        let direct = declared.flags.iter().find_map(given);
        direct.map(|(name, text)| found(name, text.trim().into())).or_else(|| {
            let (name, text) = declared.inverse_flags.iter().find_map(given)?;
            let text = match bool::parse(text.trim(), &self.around) {
                Ok(on) => (!on).show().unwrap_or_default(),
                Err(_) => text.clone(),
            };
            Some(found(name, text))
        })
    }

    fn environment(&self, declared: &Declaration) -> Option<Found> {
        declared.names().find_map(|name| {
            let text = self.sources.environment.get(name)?.trim().to_owned();
            Some(Found { text, origin: Origin::Environment { name: name.into() } })
        })
    }

    fn dotenv(&self, declared: &Declaration) -> Option<Found> {
        let file = self.sources.dotenv.as_ref()?;
        declared.names().find_map(|name| {
            let line = file.lines.get(name)?;
            let origin =
                Origin::DotEnv { path: file.path.clone(), line: line.number, name: name.into() };
            Some(Found { text: line.value.trim().into(), origin })
        })
    }

    fn yaml(&self, declared: &Declaration) -> Option<Found> {
        let (path, entry) = self.yaml.get(declared.name)?;
        let origin = Origin::Yaml { path: path.into(), line: entry.line, key: entry.key.clone() };
        Some(Found { text: entry.text.trim().into(), origin })
    }

    /// The default; one below the data directory follows when that was moved.
    fn default(&self, declared: &Declaration) -> Option<Found> {
        let text = declared.default?;
        if declared.in_data_dir
            && let Some(moved) = self.data_dir()
            && let Some((_, file)) = text.split_once('/')
        {
            let text = PathBuf::from(moved).join(file).display().to_string();
            return Some(Found { text, origin: Origin::Implied { by: DATA_DIR } });
        }
        Some(Found { text: text.into(), origin: Origin::Default })
    }

    fn data_dir(&self) -> Option<String> {
        Some(self.explicit(declared_as(DATA_DIR)?)?.text).filter(|text| !text.is_empty())
    }

    fn check_flags(&mut self) {
        let given: Vec<Flag> =
            flags().filter(|flag| self.sources.flags.contains_key(flag.name)).collect();
        for typed in self.sources.flags.keys() {
            if !given.iter().any(|flag| flag.name == typed) {
                self.errors.push(SettingsError::UnknownFlag { flag: typed.clone() });
            }
        }
        for (index, flag) in given.iter().enumerate() {
            let contradicting = given[index + 1..].iter().find(|other| {
                other.setting.name == flag.setting.name && other.inverse != flag.inverse
            });
            if let Some(other) = contradicting {
                self.errors
                    .push(SettingsError::ContradictingFlags(flag.name.into(), other.name.into()));
            }
        }
    }

    /// Looks at the names in the environment and `.env`, whatever their values.
    fn check_names(&mut self) {
        for name in &self.sources.not_unicode {
            if declarations().any(|declared| declared.names().any(|own| own == name)) {
                self.errors.push(SettingsError::NotUnicode { name: name.clone() });
            }
        }
        for name in self.sources.environment.keys() {
            let origin = Origin::Environment { name: name.clone() };
            let looks_ours = OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            self.check_name(name, origin, looks_ours);
        }
        let Some(file) = &self.sources.dotenv else { return };
        for (name, line) in &file.lines {
            let origin =
                Origin::DotEnv { path: file.path.clone(), line: line.number, name: name.clone() };
            if line.repeated {
                self.warnings
                    .push(Warning::SetTwice { name: name.clone(), origin: origin.clone() });
            }
            // The file is the user's own, so a slip in any name is worth a word.
            let looks_ours = OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || (name.len() > 6 && closest_name(name).is_some());
            self.check_name(name, origin, looks_ours);
        }
    }

    fn check_name(&mut self, name: &str, origin: Origin, looks_ours: bool) {
        let declared = declarations().find(|declared| declared.names().any(|own| own == name));
        match declared {
            Some(declared) if declared.legacy.contains(&name) => {
                let used = name.to_owned();
                self.warnings.push(Warning::LegacyName { used, instead: declared.name, origin });
            }
            None if looks_ours => {
                let (name, suggestion) = (name.to_owned(), closest_name(name));
                self.warnings.push(Warning::UnknownName { name, origin, suggestion });
            }
            _ => {}
        }
    }
}

fn malformed<T: Setting>(
    declared: &Declaration,
    text: &str,
    origin: Origin,
    refusal: Refusal,
) -> SettingsError {
    SettingsError::Malformed {
        name: declared.name,
        value: T::quote(text),
        origin,
        expected: T::expected(),
        why: refusal.why,
    }
}

fn declared_as(name: &str) -> Option<&'static Declaration> {
    declarations().find(|declared| declared.name == name)
}

fn closest_name(name: &str) -> Option<&'static str> {
    suggest::closest(name, declarations().filter(|it| !it.yaml_only).map(|it| it.name))
}

/// The text that the places above the YAML file give for one setting, parsed.
///
/// Needed to find the YAML file itself, before there is anything to resolve.
pub(crate) fn single<T: Setting>(
    sources: &Sources,
    name: &str,
) -> Result<Option<Value<T>>, Errors> {
    let resolver = Resolver {
        sources,
        yaml: YamlIndex::default(),
        around: Surroundings { home: sources.home() },
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let Some(declared) = declared_as(name) else {
        return Ok(None);
    };
    let Some(found) = resolver.explicit(declared).filter(|found| !found.text.is_empty()) else {
        return Ok(None);
    };
    match T::parse(&found.text, &resolver.around) {
        Ok(value) => Ok(Some(Value { value, origin: found.origin })),
        Err(refusal) => Err(malformed::<T>(declared, &found.text, found.origin, refusal).into()),
    }
}
