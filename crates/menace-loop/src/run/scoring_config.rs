//! The scoring config: the profile that computes ROI from metrics, and the severity of a failure in
//! each module.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use menace_settings::{SettingValue, Settings};
use menace_track::{ImpactTable, ImpactTableError, RoiProfile, RoiProfileError, RoiProfiles};

#[derive(Debug, thiserror::Error)]
pub enum ScoringConfigError {
    #[error("cannot read `{}`; fix the file or point {name} elsewhere", .path.display())]
    Read { name: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{}", .path.display())]
    Profiles { path: PathBuf, source: RoiProfileError },
    #[error("{}", .path.display())]
    Impact { path: PathBuf, source: ImpactTableError },
    #[error("ROI_PROFILE")]
    Chosen(#[source] RoiProfileError),
}

#[derive(Debug, Clone)]
pub struct ScoringConfig {
    pub profile: RoiProfile,
    pub impact: ImpactTable,
}

impl ScoringConfig {
    /// Reads the files that the settings name, over the shipped tables; a file that is only the
    /// default may be missing.
    pub fn read(settings: &Settings) -> Result<Self, ScoringConfigError> {
        let risk = &settings.risk;
        let mut profiles = RoiProfiles::shipped();
        if let Some(text) = read_text(&risk.roi_profiles, "ROI_PROFILES")? {
            let path = || risk.roi_profiles.value.clone();
            let own = RoiProfiles::parse(&text, &[])
                .map_err(|source| ScoringConfigError::Profiles { path: path(), source })?;
            profiles = profiles.with_overrides(own);
        }
        let profile =
            profiles.get(&risk.roi_profile.value).map_err(ScoringConfigError::Chosen)?.clone();
        let impact = match read_text(&risk.impact_severity_config, "IMPACT_SEVERITY_CONFIG")? {
            Some(text) => ImpactTable::parse(&text).map_err(|source| {
                let path = risk.impact_severity_config.value.clone();
                ScoringConfigError::Impact { path, source }
            })?,
            None => ImpactTable::shipped(),
        };
        Ok(Self { profile, impact })
    }
}

/// Of a file with profiles or severities.
const MAX_CONFIG_FILE_BYTES: u64 = 4 << 20;

fn read_text(
    path: &SettingValue<PathBuf>,
    name: &'static str,
) -> Result<Option<String>, ScoringConfigError> {
    let file: &Path = &path.value;
    match menace_files::read_named_text(file, MAX_CONFIG_FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_explicit() => Ok(None),
        Err(source) => Err(ScoringConfigError::Read { name, path: file.to_owned(), source }),
    }
}
