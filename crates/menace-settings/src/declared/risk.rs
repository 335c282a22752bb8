//! Risk-adjusted returns and what happens to doubtful workflows.

use std::path::PathBuf;

use crate::group::group;
use crate::{MicropilotMode, Probability};

group! {
    /// Risk-adjusted returns and what happens to doubtful workflows.
    pub struct RiskSettings = "Risk" {
        /// The file that says how bad a failure of each kind is.
        impact_severity_config: PathBuf = "IMPACT_SEVERITY_CONFIG".path_inside()
            .default("config/impact_severity.yaml");

        /// A YAML file with profiles of your own that make metrics into ROI, laid over the built-in
        /// ones.
        roi_profiles: PathBuf = "ROI_PROFILES".path_inside().default("roi_profiles.yaml");

        /// The profile that is used.
        roi_profile: String = "ROI_PROFILE".repository().default("default");

        /// The risk-adjusted return under which a workflow is put aside for a closer look.
        borderline_raroi_threshold: f64 = "BORDERLINE_RAROI_THRESHOLD".repository().default("0");

        /// The confidence under which it is put aside as well.
        borderline_confidence_threshold: Probability = "BORDERLINE_CONFIDENCE_THRESHOLD"
            .repository()
            .default("0");

        /// What follows: `auto` tries it in small at once, `queue` keeps it for later, `off` puts
        /// nothing aside.
        micropilot_mode: MicropilotMode = "MICROPILOT_MODE".repository().default("auto");

        /// A YAML file with the ROI that new workflows are expected to begin with.
        foresight_templates: PathBuf = "FORESIGHT_TEMPLATES".path_inside()
            .default("configs/foresight_templates.yaml");
    }
}
