//! What ordinary code does works, unnoticed.

use nix::sys::wait::WaitStatus;

use super::{ConfinementPolicy, ConfinementTrial, policy, safe_policy};

const SMOKE: &str = include_str!("smoke.py");

#[test]
fn ordinary_python_runs_unnoticed_up_to_level_3() {
    for level in 1..=3 {
        let seen = ConfinementTrial::new(policy(level)).python(SMOKE);
        assert_eq!(seen.output.lines().last(), Some("all well"), "{}", seen.output);
        assert!(seen.violations.is_empty(), "{:?}", seen.violations);
        assert!(matches!(seen.exit_status, WaitStatus::Exited(_, 0)), "{seen:?}");
    }
}

#[test]
fn python_without_network_and_processes_runs_unnoticed_at_level_5() {
    let script = SMOKE.replace("STRICT = False", "STRICT = True");
    for namespaces in [true, false] {
        let seen = ConfinementTrial::new(ConfinementPolicy { namespaces, ..safe_policy(5) })
            .python(&script);
        assert_eq!(seen.output.lines().last(), Some("all well"), "{}", seen.output);
        assert!(seen.violations.is_empty(), "{:?}", seen.violations);
    }
}
