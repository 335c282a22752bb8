//! What ordinary code does works, unnoticed.

use nix::sys::wait::WaitStatus;

use super::{Policy, Trial, policy};

const SMOKE: &str = include_str!("smoke.py");

#[test]
fn ordinary_python_runs_unnoticed_up_to_level_3() {
    for level in 1..=3 {
        let seen = Trial::new(policy(level)).python(SMOKE);
        assert_eq!(seen.said.lines().last(), Some("all well"), "{}", seen.said);
        assert!(seen.attempts.is_empty(), "{:?}", seen.attempts);
        assert!(matches!(seen.ended, WaitStatus::Exited(_, 0)), "{seen:?}");
    }
}

#[test]
fn python_without_network_and_processes_runs_unnoticed_at_level_5() {
    let script = SMOKE.replace("STRICT = False", "STRICT = True");
    for namespaces in [true, false] {
        let seen = Trial::new(Policy { namespaces, safe_mode: true, ..policy(5) }).python(&script);
        assert_eq!(seen.said.lines().last(), Some("all well"), "{}", seen.said);
        assert!(seen.attempts.is_empty(), "{:?}", seen.attempts);
    }
}
