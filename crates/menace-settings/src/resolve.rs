//! Resolves values: searches the places in order, and collects errors and warnings.

use std::path::PathBuf;

use crate::authority::find_objection;
use crate::yaml::YamlIndex;
use crate::{
    FileTrust, ParseContext, ParseRefusal, PlannedSetting, SettingDeclaration, SettingFlag,
    SettingImplication, SettingOrigin, SettingType, SettingValue, SettingsError, SettingsErrors,
    SettingsSources, SettingsWarning, UntrustedSetting, declarations, flags,
};

/// The variable that other defaults are relative to.
const DATA_DIR_VARIABLE: &str = "SANDBOX_DATA_DIR";

/// Prefixes that make an unknown variable look like a setting of Menace.
const MENACE_VARIABLE_PREFIXES: [&str; 5] =
    ["SANDBOX_", "SELF_TEST_", "VISUAL_AGENT_", "SYNERGY_", "MENACE_"];

/// The state of one resolution.
pub(crate) struct SettingsResolver<'a> {
    sources: &'a SettingsSources,
    yaml: YamlIndex<'a>,
    parse_context: ParseContext,
    errors: Vec<SettingsError>,
    warnings: Vec<SettingsWarning>,
    /// Planned settings that some place sets.
    planned: Vec<PlannedSetting>,
}

/// A text that some place gives for a setting.
struct FoundValue {
    text: String,
    origin: SettingOrigin,
    /// Whether a file decided it that the user has not trusted.
    is_from_checkout: bool,
}

impl FoundValue {
    fn of_user(text: String, origin: SettingOrigin) -> Self {
        Self { text, origin, is_from_checkout: false }
    }

    /// The stronger of two places wins: the user's come before those of a checkout.
    fn precedence(&self) -> (bool, u8) {
        (!self.is_from_checkout, self.origin.precedence())
    }
}

/// A text that a file gives for a setting, allowed or not.
struct FileValue {
    found: FoundValue,
    trust: FileTrust,
    withheld_variable: Option<String>,
}

impl FileValue {
    fn new(
        text: String,
        origin: SettingOrigin,
        trust: FileTrust,
        withheld_variable: Option<String>,
    ) -> Self {
        let is_from_checkout = trust == FileTrust::Untrusted;
        let found = FoundValue { text, origin, is_from_checkout };
        Self { found, trust, withheld_variable }
    }
}

impl<'a> SettingsResolver<'a> {
    pub(crate) fn new(sources: &'a SettingsSources) -> Self {
        let mut errors = Vec::new();
        let yaml = YamlIndex::new(sources.yaml.as_ref(), &mut errors);
        let mut resolver = Self {
            sources,
            yaml,
            parse_context: ParseContext { home: sources.home() },
            errors,
            warnings: Vec::new(),
            planned: Vec::new(),
        };
        resolver.check_flags();
        resolver.check_names();
        resolver.check_authority();
        resolver
    }

    /// The value of one setting, or `None` after noting why there is none.
    pub(crate) fn value<T: SettingType>(
        &mut self,
        declared: &'static SettingDeclaration,
    ) -> Option<SettingValue<T>> {
        let found = self.find_explicit_or_implied(declared).filter(|found| !found.text.is_empty());
        if let Some(FoundValue { origin, .. }) = &found
            && declared.planned
            && origin.is_explicit()
        {
            self.planned.push(PlannedSetting { name: declared.name, origin: origin.clone() });
        }
        let Some(FoundValue { text, origin, is_from_checkout }) =
            found.or_else(|| self.find_default(declared))
        else {
            let origin = SettingOrigin::Default;
            return T::unset().map(|value| SettingValue { value, origin, is_from_checkout: false });
        };
        match T::parse(&text, &self.parse_context) {
            Ok(value) => Some(SettingValue { value, origin, is_from_checkout }),
            Err(refusal) => {
                // If the value comes from another, malformed setting, the error is reported for
                // that one.
                if !self.is_already_reported(&origin) {
                    self.errors.push(malformed_error::<T>(declared, &text, origin, refusal));
                }
                None
            }
        }
    }

    fn is_already_reported(&self, origin: &SettingOrigin) -> bool {
        let SettingOrigin::Implied { by } = origin else { return false };
        self.errors
            .iter()
            .any(|error| matches!(error, SettingsError::Malformed { name, .. } if name == by))
    }

    pub(crate) fn finish(self) -> (Vec<SettingsError>, Vec<SettingsWarning>) {
        let mut warnings = self.warnings;
        if !self.planned.is_empty() {
            warnings.push(SettingsWarning::NotImplemented { settings: self.planned });
        }
        (self.errors, warnings)
    }

    /// The value of a place, or else of a setting that implies it.
    fn find_explicit_or_implied(&self, declared: &SettingDeclaration) -> Option<FoundValue> {
        let own = self.find_explicit(declared);
        match (own, declared.implied) {
            // A mirrored setting in a stronger place wins: `--no-recursive-include` also holds for
            // the self-tests when `.env` has `SELF_TEST_RECURSIVE_ORPHANS=1`.
            (Some(own), Some(implication @ SettingImplication::Mirrors(by))) => {
                let mirrored = find_declaration(by).and_then(|other| self.find_explicit(other));
                let stronger = mirrored.is_some_and(|it| it.precedence() > own.precedence());
                if stronger { self.find_implied(implication) } else { Some(own) }
            }
            (Some(own), _) => Some(own),
            (None, implication) => self.find_implied(implication?),
        }
    }

    fn find_implied(&self, implication: SettingImplication) -> Option<FoundValue> {
        let by = implication.source_name();
        let found = self.find_explicit_or_implied(find_declaration(by)?)?;
        let text = match implication {
            SettingImplication::Mirrors(_) => found.text.clone(),
            SettingImplication::EnabledBy(_) => {
                bool::parse(&found.text, &self.parse_context).ok().filter(|on| *on)?;
                "1".into()
            }
        };
        Some(FoundValue { text, origin: SettingOrigin::Implied { by }, ..found })
    }

    /// The value in the first place that has the setting; an empty text if that place clears it.
    fn find_explicit(&self, declared: &SettingDeclaration) -> Option<FoundValue> {
        self.find_in_flags(declared)
            .or_else(|| self.find_in_environment(declared))
            .or_else(|| self.find_in_files(declared, FileTrust::Trusted))
            .or_else(|| self.find_in_files(declared, FileTrust::Untrusted))
    }

    fn find_in_flags(&self, declared: &SettingDeclaration) -> Option<FoundValue> {
        let given = |flag: &&'static str| self.sources.flags.get_key_value(*flag);
        let found = |name: &String, text: String| {
            FoundValue::of_user(text, SettingOrigin::Flag { name: name.clone() })
        };
        let direct = declared.flags.iter().find_map(given);
        direct.map(|(name, text)| found(name, text.trim().into())).or_else(|| {
            let (name, text) = declared.inverse_flags.iter().find_map(given)?;
            let text = match bool::parse(text.trim(), &self.parse_context) {
                Ok(on) => (!on).show().unwrap_or_default(),
                Err(_) => text.clone(),
            };
            Some(found(name, text))
        })
    }

    fn find_in_environment(&self, declared: &SettingDeclaration) -> Option<FoundValue> {
        declared.names().find_map(|name| {
            let text = self.sources.environment.get(name)?.trim().to_owned();
            Some(FoundValue::of_user(text, SettingOrigin::Environment { name: name.into() }))
        })
    }

    fn find_in_dotenv(&self, declared: &SettingDeclaration) -> Option<FileValue> {
        let file = self.sources.dotenv.as_ref()?;
        declared.names().find_map(|name| {
            let line = file.lines.get(name)?;
            let origin = SettingOrigin::DotEnv {
                path: file.path.clone(),
                line: line.number,
                name: name.into(),
            };
            let withheld_variable = line.withheld_variable.clone();
            let text = line.value.trim().into();
            Some(FileValue::new(text, origin, file.trust, withheld_variable))
        })
    }

    fn find_in_yaml(&self, declared: &SettingDeclaration) -> Option<FileValue> {
        let (file, entry) = self.yaml.get(declared.name)?;
        let (path, key) = (file.path.clone(), entry.key.clone());
        let origin = SettingOrigin::Yaml { path, line: entry.line, key };
        Some(FileValue::new(entry.text.trim().into(), origin, file.trust, None))
    }

    /// The value in `.env`, else in the YAML file, among files of this trust. Trusted files come
    /// first: a checkout neither overrides nor clears what the user has set.
    fn find_in_files(&self, declared: &SettingDeclaration, trust: FileTrust) -> Option<FoundValue> {
        let in_files = [self.find_in_dotenv(declared), self.find_in_yaml(declared)];
        let mut values = in_files.into_iter().flatten().filter(|value| value.trust == trust);
        values.find(|value| self.find_objection(declared, value).is_none()).map(|value| value.found)
    }

    fn find_objection(&self, declared: &SettingDeclaration, value: &FileValue) -> Option<String> {
        if value.trust == FileTrust::Trusted {
            return None;
        }
        if let Some(variable) = &value.withheld_variable {
            return Some(format!("it asks for {variable} of your environment; set it yourself"));
        }
        if value.found.text.is_empty() {
            return Some("an empty value clears nothing".to_owned());
        }
        find_objection(declared, &value.found.text, &self.parse_context)
    }

    /// Records settings that files set without being allowed to.
    fn check_authority(&mut self) {
        let mut settings = Vec::new();
        for declared in declarations() {
            let in_files = [self.find_in_dotenv(declared), self.find_in_yaml(declared)];
            for value in in_files.into_iter().flatten() {
                // `NAME=` in a template sets nothing.
                let is_empty = value.found.text.is_empty() && value.withheld_variable.is_none();
                let Some(reason) = self.find_objection(declared, &value).filter(|_| !is_empty)
                else {
                    continue;
                };
                let FoundValue { text, origin, .. } = value.found;
                let shown = declared.check(&text, &self.parse_context).ok().flatten();
                settings.push(UntrustedSetting {
                    name: declared.name,
                    origin,
                    value: shown.unwrap_or_else(|| "(not readable)".to_owned()),
                    reason,
                    flag: declared.flags.first().copied(),
                });
            }
        }
        settings.sort_by_key(|setting: &UntrustedSetting| match &setting.origin {
            SettingOrigin::DotEnv { line, .. } => (0, *line),
            SettingOrigin::Yaml { line, .. } => (1, *line),
            _ => (2, 0),
        });
        if !settings.is_empty() {
            self.warnings.push(SettingsWarning::NotTrusted { settings });
        }
    }

    /// The default; one below the data directory follows when that was moved.
    fn find_default(&self, declared: &SettingDeclaration) -> Option<FoundValue> {
        let text = declared.default?;
        if declared.in_data_dir
            && let Some(moved) = self.data_dir()
            && let Some((_, file)) = text.split_once('/')
        {
            let text = PathBuf::from(&moved.text).join(file).display().to_string();
            let origin = SettingOrigin::Implied { by: DATA_DIR_VARIABLE };
            return Some(FoundValue { text, origin, ..moved });
        }
        Some(FoundValue::of_user(text.into(), SettingOrigin::Default))
    }

    fn data_dir(&self) -> Option<FoundValue> {
        self.find_explicit(find_declaration(DATA_DIR_VARIABLE)?)
            .filter(|found| !found.text.is_empty())
    }

    fn check_flags(&mut self) {
        let given: Vec<SettingFlag> =
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

    /// Checks the names in the environment and in `.env`, whatever their values.
    fn check_names(&mut self) {
        for name in &self.sources.non_unicode_variables {
            if declarations().any(|declared| declared.names().any(|own| own == name)) {
                self.errors.push(SettingsError::NotUnicode { name: name.clone() });
            }
        }
        for name in self.sources.environment.keys() {
            let origin = SettingOrigin::Environment { name: name.clone() };
            let looks_ours = MENACE_VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            self.check_name(name, origin, looks_ours);
        }
        let Some(file) = &self.sources.dotenv else { return };
        for (name, line) in &file.lines {
            let origin = SettingOrigin::DotEnv {
                path: file.path.clone(),
                line: line.number,
                name: name.clone(),
            };
            if line.repeated {
                self.warnings
                    .push(SettingsWarning::SetTwice { name: name.clone(), origin: origin.clone() });
            }
            // The file is the user's own, so every unknown name that looks like a setting is
            // reported.
            let looks_ours = MENACE_VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || (name.len() > 6 && closest_name(name).is_some());
            self.check_name(name, origin, looks_ours);
        }
    }

    fn check_name(&mut self, name: &str, origin: SettingOrigin, looks_ours: bool) {
        let declared = declarations().find(|declared| declared.names().any(|own| own == name));
        match declared {
            Some(declared) if declared.legacy.contains(&name) => {
                let used = name.to_owned();
                self.warnings.push(SettingsWarning::LegacyName {
                    used,
                    instead: declared.name,
                    origin,
                });
            }
            None if looks_ours => {
                let (name, suggestion) = (name.to_owned(), closest_name(name));
                self.warnings.push(SettingsWarning::UnknownName { name, origin, suggestion });
            }
            _ => {}
        }
    }
}

fn malformed_error<T: SettingType>(
    declared: &SettingDeclaration,
    text: &str,
    origin: SettingOrigin,
    refusal: ParseRefusal,
) -> SettingsError {
    SettingsError::Malformed {
        name: declared.name,
        value: T::quote(text),
        origin,
        expected: T::expected(),
        why: refusal.reason,
    }
}

fn find_declaration(name: &str) -> Option<&'static SettingDeclaration> {
    declarations().find(|declared| declared.name == name)
}

fn closest_name(name: &str) -> Option<&'static str> {
    menace_model::closest_name(name, declarations().filter(|it| !it.yaml_only).map(|it| it.name))
}

/// The text that the places above the YAML file give for one setting, parsed.
///
/// Needed to find the YAML file itself, before there is anything to resolve.
pub(crate) fn resolve_single<T: SettingType>(
    sources: &SettingsSources,
    name: &str,
) -> Result<Option<SettingValue<T>>, SettingsErrors> {
    let resolver = SettingsResolver {
        sources,
        yaml: YamlIndex::default(),
        parse_context: ParseContext { home: sources.home() },
        errors: Vec::new(),
        warnings: Vec::new(),
        planned: Vec::new(),
    };
    let Some(declared) = find_declaration(name) else {
        return Ok(None);
    };
    let Some(found) = resolver.find_explicit(declared).filter(|found| !found.text.is_empty())
    else {
        return Ok(None);
    };
    match T::parse(&found.text, &resolver.parse_context) {
        Ok(value) => {
            let FoundValue { origin, is_from_checkout, .. } = found;
            Ok(Some(SettingValue { value, origin, is_from_checkout }))
        }
        Err(refusal) => {
            Err(malformed_error::<T>(declared, &found.text, found.origin, refusal).into())
        }
    }
}
