//! Each security level forbids what the documentation says, and more than the one before.

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, guest};

crate::on_every_tier![each_level_takes_another_right_away, every_level_leaves_ordinary_code_alone,];

const GUEST: &str = guest!("policy.py");

/// A right, and the highest level that has it.
const RIGHTS: [(&str, u8); 6] = [
    ("rare_call", 2),
    ("rare_protocol", 2),
    ("network", 3),
    ("program", 3),
    ("process", 4),
    ("write_repository", 4),
];

fn each_level_takes_another_right_away(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        for (right, until) in RIGHTS {
            let is_network = matches!(right, "network" | "rare_protocol");
            let expected = level <= until && (tier.has_namespaces() || !is_network);
            let outcome = session.run(build_call("is_allowed").with([Value::from(right)]));
            let allowed = outcome.value.as_ref().and_then(|value| value.value.clone());
            assert_eq!(allowed, Some(Value::Bool(expected)), "{right} at {level}: {outcome:#?}");
            // Writing to what is read-only is a mistake; the rest has to be tried on purpose.
            if right != "write_repository" {
                let verdict = if expected { Verdict::Returned } else { Verdict::Violated };
                assert_eq!(outcome.verdict, verdict, "{right} at {level}: {outcome:#?}");
            }
        }
        if tier.has_namespaces() {
            // It is there, and empty, but only level 1 lets it be seen.
            let strange = [Value::from("strange_file"), Value::from("/run")];
            let outcome = session.run(build_call("is_allowed").with(strange));
            let allowed = outcome.result.value.and_then(|value| value.value);
            assert_eq!(allowed, Some(Value::Bool(level == 1)), "level {level}");
        }
        session.assert_still_works();
    }
}

fn every_level_leaves_ordinary_code_alone(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        for right in ["thread", "pair", "user", "write_elsewhere"] {
            let outcome = session.run(build_call(right));
            assert_eq!(outcome.verdict, Verdict::Returned, "{right} at {level}: {outcome:#?}");
        }
    }
}
