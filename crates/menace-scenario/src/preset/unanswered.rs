//! Conditions of which the outcome does not say a word.

use menace_model::{Conditions, Limit, Network, Outcome, Stage};

/// What was asked for and neither happened nor was said to be impossible: nothing acted on it.
pub fn unanswered(asked: &Conditions, outcome: &Outcome) -> Vec<Limit> {
    // Conditions are those of the call; what never came to it met none.
    if outcome.stage == Stage::Import {
        return Vec::new();
    }
    let is_told = |limit: &Limit| {
        outcome.enforced_by.contains_key(limit) || outcome.unenforced.contains(limit)
    };
    named(asked).into_iter().filter(|limit| !is_told(limit)).collect()
}

fn named(asked: &Conditions) -> Vec<Limit> {
    let Conditions { network, faults, burst, upstream } = asked;
    let Network { latency_ms, jitter_ms, loss, duplication, bits_per_second, partition } = network;
    let mut limits: Vec<Limit> = [
        (*latency_ms > 0.0, Limit::NetworkLatency),
        (*jitter_ms > 0.0, Limit::NetworkJitter),
        (*loss > 0.0, Limit::PacketLoss),
        (*duplication > 0.0, Limit::PacketDuplication),
        (bits_per_second.is_some(), Limit::Bandwidth),
        (!partition.is_empty(), Limit::Partition),
        (burst.is_some(), Limit::Burst),
        (upstream.is_some(), Limit::Upstream),
    ]
    .into_iter()
    .filter_map(|(is_asked, limit)| is_asked.then_some(limit))
    .collect();
    limits.extend(faults.iter().map(|fault| Limit::from(fault.mode)));
    limits
}

#[cfg(test)]
mod tests {
    use menace_model::{Mechanism, Verdict};

    use crate::preset::read_one;

    use super::*;

    #[test]
    fn what_nobody_speaks_of_is_named() {
        let json = r#"{"FAILURE_MODES": "disk,concurrency_spike", "NETWORK_LATENCY_MS": 5}"#;
        let (_, asked) = read_one(json, "test").unwrap().conditions(0);
        let mut outcome = Outcome::of(Verdict::Returned, Stage::Call);
        let all = [Limit::NetworkLatency, Limit::Burst, Limit::Upstream, Limit::FaultDisk];
        assert_eq!(unanswered(&asked, &outcome), all);
        outcome.enforced_by.insert(Limit::NetworkLatency, vec![Mechanism::Nfqueue]);
        outcome.unenforced.push(Limit::FaultDisk);
        outcome.enforced_by.insert(Limit::Burst, vec![Mechanism::Harness]);
        assert_eq!(unanswered(&asked, &outcome), [Limit::Upstream]);
        outcome.stage = Stage::Import;
        assert_eq!(unanswered(&asked, &outcome), []);
    }
}
