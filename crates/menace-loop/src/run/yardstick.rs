//! What results are measured with: the profile that makes metrics into ROI, and how bad a failure of
//! each module would be.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use menace_settings::{Settings, Value};
use menace_track::{ImpactError, ImpactTable, Profile, ProfileError, Profiles};

#[derive(Debug, thiserror::Error)]
pub enum YardstickError {
    #[error("cannot read `{}`; mend the file or point {name} elsewhere", .path.display())]
    Read { name: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{}", .path.display())]
    Profiles { path: PathBuf, source: ProfileError },
    #[error("{}", .path.display())]
    Impact { path: PathBuf, source: ImpactError },
    #[error("ROI_PROFILE")]
    Chosen(#[source] ProfileError),
}

#[derive(Debug, Clone)]
pub struct Yardstick {
    pub profile: Profile,
    pub impact: ImpactTable,
}

impl Yardstick {
    /// The shipped ones, and over them the files that the settings name; what is only a default need
    /// not be there.
    pub fn read(settings: &Settings) -> Result<Self, YardstickError> {
        let risk = &settings.risk;
        let mut profiles = Profiles::shipped();
        if let Some(text) = text(&risk.roi_profiles, "ROI_PROFILES")? {
            let path = || risk.roi_profiles.value.clone();
            let own = Profiles::parse(&text, &[])
                .map_err(|source| YardstickError::Profiles { path: path(), source })?;
            profiles = profiles.under(own);
        }
        let profile =
            profiles.get(&risk.roi_profile.value).map_err(YardstickError::Chosen)?.clone();
        let impact = match text(&risk.impact_severity_config, "IMPACT_SEVERITY_CONFIG")? {
            Some(text) => ImpactTable::parse(&text).map_err(|source| {
                let path = risk.impact_severity_config.value.clone();
                YardstickError::Impact { path, source }
            })?,
            None => ImpactTable::shipped(),
        };
        Ok(Self { profile, impact })
    }
}

fn text(path: &Value<PathBuf>, name: &'static str) -> Result<Option<String>, YardstickError> {
    let file: &Path = &path.value;
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_explicit() => Ok(None),
        Err(source) => Err(YardstickError::Read { name, path: file.to_owned(), source }),
    }
}
