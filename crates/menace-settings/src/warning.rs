//! Problems with the settings that do not prevent a run.

use std::fmt;

use serde::Serialize;

use crate::SettingOrigin;

/// A warning for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
pub enum SettingsWarning {
    /// A name kept for old configurations was used.
    LegacyName { used: String, instead: &'static str, origin: SettingOrigin },
    /// A name that looks like a setting but is not declared.
    UnknownName { name: String, origin: SettingOrigin, suggestion: Option<&'static str> },
    /// A name that occurs twice in `.env`; the last one counts.
    SetTwice { name: String, origin: SettingOrigin },
    /// Planned settings that are set: they have no effect. One warning names all of them.
    NotImplemented { settings: Vec<PlannedSetting> },
    /// Settings that files of the checkout may not set as they are not trusted. One warning names
    /// all of them.
    NotTrusted { settings: Vec<UntrustedSetting> },
}

/// A setting that was left out, and the line that sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UntrustedSetting {
    pub name: &'static str,
    pub origin: SettingOrigin,
    /// The value as listings show it: a secret is masked.
    pub value: String,
    /// Why the file may not set it.
    pub reason: String,
    /// The flag that sets it instead; where there is none, the environment does.
    pub flag: Option<&'static str>,
}

/// A planned setting, and the place that sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedSetting {
    pub name: &'static str,
    pub origin: SettingOrigin,
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LegacyName { used, instead, origin } => {
                write!(f, "{used} ({origin}) is an old name: use {instead}")
            }
            Self::UnknownName { name, origin, suggestion: Some(known) } => {
                write!(f, "{name} ({origin}) is not a setting; did you mean `{known}`?")
            }
            Self::UnknownName { name, origin, suggestion: None } => {
                write!(f, "{name} ({origin}) is not a setting; `menace settings` lists them all")
            }
            Self::SetTwice { name, origin } => {
                write!(f, "{name} is set twice ({origin}): remove one, the last one counts")
            }
            Self::NotImplemented { settings } => {
                let named = settings.iter().map(|it| format!("{} ({})", it.name, it.origin));
                let named = named.collect::<Vec<_>>().join(", ");
                write!(f, "not implemented yet, so without effect: {named}")
            }
            Self::NotTrusted { settings } => {
                f.write_str("left out, since files of a checkout may not set them:")?;
                for (index, UntrustedSetting { name, origin, reason, flag, .. }) in
                    settings.iter().enumerate()
                {
                    let separator = if index == 0 { "" } else { ";" };
                    write!(f, "{separator} {name} ({origin}): {reason}")?;
                    match flag {
                        Some(flag) => write!(f, ", with {flag} or in the environment")?,
                        None => f.write_str(", in the environment")?,
                    }
                }
                f.write_str(" (`menace trust` shows and allows what your own files set)")
            }
        }
    }
}
