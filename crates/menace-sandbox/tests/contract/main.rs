//! What every backend promises, tried out on every tier: each fact is a test of its own.
//!
//! `calls::root::a_function_is_called` is the fact `calls::a_function_is_called` on the tier
//! `root`. The same facts run once more without root, through [`without_root`]. A tier that this
//! machine lacks fails: nothing is skipped, and a fact that a machine cannot show says so
//! ([`process::not_tested`]).

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod backends;
mod bad_guests;
mod bad_objects;
mod bench;
mod burst;
mod call_isolation;
mod calls;
mod combined;
mod coverage;
mod daemons;
mod descriptors;
mod drift;
mod escapes;
mod extensions;
mod faults;
mod fixtures;
mod hang_location;
mod host;
mod import_misbehaviour;
mod imports;
mod layers;
mod lies;
mod lifecycle;
mod limits;
mod loopholes;
mod network;
mod outcome;
mod policy;
mod pristine;
mod process;
mod proof;
mod reading;
mod refusals;
mod restoring;
mod seeds;
mod services;
mod shaping;
mod shared_process;
mod soak;
mod trials;
mod unisolated;
mod upstream;
mod venv;
mod without_root;

/// Makes a test of each fact for each tier.
macro_rules! on_every_tier {
    ($($fact:ident),* $(,)?) => {
        mod root {
            $(#[test]
            fn $fact() {
                crate::process::in_own_process(
                    concat!(module_path!(), "::", stringify!($fact)),
                    || super::$fact(menace_sandbox::Tier::Root),
                );
            })*
        }

        mod user_namespaces {
            $(#[test]
            fn $fact() {
                crate::process::in_own_process(
                    concat!(module_path!(), "::", stringify!($fact)),
                    || super::$fact(menace_sandbox::Tier::UserNamespaces),
                );
            })*
        }

        mod landlock {
            $(#[test]
            fn $fact() {
                crate::process::in_own_process(
                    concat!(module_path!(), "::", stringify!($fact)),
                    || super::$fact(menace_sandbox::Tier::Landlock),
                );
            })*
        }
    };
}
pub(crate) use on_every_tier;
