//! All groups of settings together.

use crate::coherence;
use crate::declared::{
    AgentSettings, AlignmentSettings, ConvergenceSettings, GeneralSettings, LimitSettings,
    LoggingSettings, ModelSettings, NetworkSettings, OrphanSettings, PluginSettings, PoolSettings,
    PortSettings, PresetSettings, RiskSettings, SelfTestSettings, StoreSettings, StubSettings,
    SynergySettings,
};
use crate::resolve::SettingsResolver;
use crate::{
    SettingDeclaration, SettingEntry, SettingFlag, SettingsErrors, SettingsSources, SettingsWarning,
};

/// Lists the groups once: the struct, the resolution, the listing and the declarations follow.
macro_rules! all_groups {
    ($($field:ident: $group:ident,)+) => {
        /// Every setting with its effective value; defaults are filled in.
        #[derive(Debug, Clone)]
        pub struct Settings {
            $(pub $field: $group,)+
            /// Warnings about the sources, printed before a command begins.
            pub warnings: Vec<SettingsWarning>,
        }

        impl Settings {
            /// Resolves every value from these sources, or returns all errors.
            pub fn resolve(sources: &SettingsSources) -> Result<Self, SettingsErrors> {
                let mut resolver = SettingsResolver::new(sources);
                $(let $field = $group::resolve(&mut resolver);)+
                let (errors, warnings) = resolver.finish();
                let (true, $(Some($field),)+) = (errors.is_empty(), $($field,)+) else {
                    return Err(SettingsErrors(errors));
                };
                let settings = Self { $($field,)+ warnings };
                let errors = coherence::find_inconsistencies(&settings);
                if errors.is_empty() { Ok(settings) } else { Err(SettingsErrors(errors)) }
            }

            /// Whether a warning says that this setting is set and not implemented yet.
            pub fn warns_of_planned(&self, name: &str) -> bool {
                self.warnings.iter().any(|warning| match warning {
                    SettingsWarning::NotImplemented { settings } => {
                        settings.iter().any(|setting| setting.name == name)
                    }
                    _ => false,
                })
            }

            /// Every setting with its effective value and origin, in the order of the declarations.
            pub fn entries(&self) -> impl Iterator<Item = SettingEntry> {
                let mut entries = Vec::new();
                $(entries.extend(self.$field.entries());)+
                entries.into_iter()
            }
        }

        /// The declarations of each group, beside the field of [`Settings`] that holds it.
        pub(crate) const GROUPS: &[(&str, &[SettingDeclaration])] =
            &[$((stringify!($field), $group::DECLARATIONS)),+];
    };
}

all_groups! {
    general: GeneralSettings,
    limits: LimitSettings,
    network: NetworkSettings,
    presets: PresetSettings,
    stubs: StubSettings,
    pool: PoolSettings,
    orphans: OrphanSettings,
    self_test: SelfTestSettings,
    convergence: ConvergenceSettings,
    synergy: SynergySettings,
    risk: RiskSettings,
    models: ModelSettings,
    alignment: AlignmentSettings,
    agent: AgentSettings,
    ports: PortSettings,
    plugins: PluginSettings,
    store: StoreSettings,
    logging: LoggingSettings,
}

/// Every declared setting, group by group.
pub fn declarations() -> impl Iterator<Item = &'static SettingDeclaration> {
    GROUPS.iter().flat_map(|(_, declared)| declared.iter())
}

/// Every flag that sets a setting.
pub fn flags() -> impl Iterator<Item = SettingFlag> {
    declarations().flat_map(|setting| {
        let with = move |inverse| move |name: &&'static str| SettingFlag { name, inverse, setting };
        setting.flags.iter().map(with(false)).chain(setting.inverse_flags.iter().map(with(true)))
    })
}
