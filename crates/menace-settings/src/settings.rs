//! All groups together.

use crate::coherence;
use crate::declared::{
    Agent, Alignment, Convergence, General, Limits, Logging, Models, Network, Orphans, Plugins,
    Pool, Ports, Presets, Risk, SelfTest, Store, Stubs, Synergy,
};
use crate::resolve::Resolver;
use crate::{Declaration, Entry, Errors, Flag, Sources, Warning};

/// Lists the groups once: the struct, the resolution, the listing and the declarations follow.
macro_rules! all_groups {
    ($($field:ident: $group:ident,)+) => {
        /// Every setting with its effective value. Complete: a default stands where nobody set one.
        #[derive(Debug, Clone)]
        pub struct Settings {
            $(pub $field: $group,)+
            /// What is odd about the sources, for the user to be told.
            pub warnings: Vec<Warning>,
        }

        impl Settings {
            /// Decides every value from the given sources, or tells everything that is wrong.
            pub fn resolve(sources: &Sources) -> Result<Self, Errors> {
                let mut resolver = Resolver::new(sources);
                $(let $field = $group::resolve(&mut resolver);)+
                let (errors, warnings) = resolver.finish();
                let (true, $(Some($field),)+) = (errors.is_empty(), $($field,)+) else {
                    return Err(Errors(errors));
                };
                let settings = Self { $($field,)+ warnings };
                let errors = coherence::problems(&settings);
                if errors.is_empty() { Ok(settings) } else { Err(Errors(errors)) }
            }

            /// Every setting with its effective value and origin, in the order of the declarations.
            pub fn entries(&self) -> impl Iterator<Item = Entry> {
                let mut entries = Vec::new();
                $(entries.extend(self.$field.entries());)+
                entries.into_iter()
            }
        }

        const GROUPS: &[&[Declaration]] = &[$($group::DECLARATIONS),+];
    };
}

all_groups! {
    general: General,
    limits: Limits,
    network: Network,
    presets: Presets,
    stubs: Stubs,
    pool: Pool,
    orphans: Orphans,
    self_test: SelfTest,
    convergence: Convergence,
    synergy: Synergy,
    risk: Risk,
    models: Models,
    alignment: Alignment,
    agent: Agent,
    ports: Ports,
    plugins: Plugins,
    store: Store,
    logging: Logging,
}

/// Every declared setting, group by group.
pub fn declarations() -> impl Iterator<Item = &'static Declaration> {
    GROUPS.iter().copied().flatten()
}

/// Every flag that sets a setting.
pub fn flags() -> impl Iterator<Item = Flag> {
    declarations().flat_map(|setting| {
        let with = move |inverse| move |name: &&'static str| Flag { name, inverse, setting };
        setting.flags.iter().map(with(false)).chain(setting.inverse_flags.iter().map(with(true)))
    })
}
