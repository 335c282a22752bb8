//! Finds the metrics that keep a module from the best RAROI of its profile.
//!
//! Invariant: each bottleneck names the largest possible gain; the largest comes first, and none is
//! without a gain.

use serde::{Deserialize, Serialize};

use super::{RoiBreakdown, RoiRisk};

/// Smaller gains are not reported.
const MIN_BOTTLENECK_GAIN: f64 = 0.005;

/// A metric or factor that limits a module's RAROI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoiBottleneck {
    /// A metric of the profile, or `risk`, `stability`, `veto`.
    pub what: String,
    /// How much ROI or RAROI would rise without it.
    pub gain: f64,
    /// A hint for the user.
    pub hint: String,
}

/// The bottlenecks of a module, the worst first.
pub fn find_bottlenecks(roi: &RoiBreakdown, risk: &RoiRisk) -> Vec<RoiBottleneck> {
    let mut found: Vec<RoiBottleneck> = Vec::new();
    let mut add = |what: &str, gain: f64, hint: String| {
        if gain.is_finite() && gain >= MIN_BOTTLENECK_GAIN {
            found.push(RoiBottleneck { what: what.to_owned(), gain, hint });
        }
    };
    for term in &roi.terms {
        let (Some(scaled), Some(value)) = (term.scaled, term.value) else { continue };
        // A term is best at 1 for a positive weight, and at 0 for a negative one (a cost).
        let gain = if term.weight >= 0.0 {
            term.weight * (1.0 - scaled)
        } else {
            -term.weight * scaled.max(0.0)
        };
        let hint = format!("{} is {value:.3}: {}", term.metric, hint_for_metric(&term.metric));
        add(&term.metric, gain, hint);
    }
    if !roi.vetoes.is_empty() {
        let sum: f64 = roi.terms.iter().map(|term| term.contribution).sum();
        let hint = format!("ROI is capped by {}", roi.vetoes.join(" and "));
        add("veto", sum - roi.value, hint);
    }
    // How much each factor of RAROI takes from a positive ROI, with the other factors unchanged.
    let whole = roi.value.max(0.0);
    let part = |value: f64| value.clamp(0.0, 1.0);
    let kept = 1.0 - part(risk.rollback_probability) * part(risk.impact_severity);
    let (stability, safety) = (part(risk.stability), part(risk.safety));
    add(
        "risk",
        whole * (1.0 - kept) * stability * safety,
        format!(
            "a bad call has probability {:.3} and severity {:.3}: fix what `menace failures` \
             lists first",
            risk.rollback_probability, risk.impact_severity
        ),
    );
    add(
        "stability",
        whole * kept * (1.0 - stability) * safety,
        format!(
            "ROI jumps from cycle to cycle (stability {stability:.3}): look for results that vary"
        ),
    );
    found.sort_by(|one, two| two.gain.total_cmp(&one.gain).then_with(|| one.what.cmp(&two.what)));
    found
}

fn hint_for_metric(metric: &str) -> &'static str {
    match metric {
        "reliability" => "valid inputs fail; `menace failures` lists them",
        "resilience" | "antifragility" | "recovery_time" => {
            "faults and bad inputs are not handled; `menace explain` shows under which scenario"
        }
        "safety_rating" => "calls crash or do what the policy forbids",
        "security_score" => "dangerous constructs; `menace analyze` lists them",
        "efficiency" | "energy_consumption" | "throughput" => "calls cost more than their budget",
        "network_latency" => "calls wait for the network",
        "adaptability" | "flexibility" => "inputs or lines that no scenario could reach",
        "maintainability" | "code_quality" => "the code itself; `menace analyze` has the numbers",
        "risk_index" => "bad verdicts where they matter most",
        _ => "`menace explain` shows what it is made of",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoiTerm;

    fn term(metric: &str, scaled: f64, weight: f64) -> RoiTerm {
        RoiTerm {
            metric: metric.to_owned(),
            value: Some(scaled),
            scaled: Some(scaled),
            weight,
            contribution: scaled * weight,
        }
    }

    #[test]
    fn the_largest_loss_comes_first_and_what_is_perfect_is_not_named() {
        let terms = vec![
            term("reliability", 0.2, 0.5),
            term("resilience", 1.0, 0.3),
            term("risk_index", 0.5, -0.2),
        ];
        let value = terms.iter().map(|term| term.contribution).sum();
        let roi = RoiBreakdown { value, terms, vetoes: Vec::new() };
        let risk = RoiRisk { stability: 0.9, ..RoiRisk::default() };
        let found = find_bottlenecks(&roi, &risk);
        let names: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(names, ["reliability", "risk_index", "stability"]);
        assert!((found[0].gain - 0.4).abs() < 1e-12 && (found[1].gain - 0.1).abs() < 1e-12);
        assert!((found[2].gain - 0.03).abs() < 1e-12);
        assert!(found[0].hint.contains("menace failures"), "{}", found[0].hint);
    }

    #[test]
    fn a_veto_costs_all_that_it_caps() {
        let terms = vec![term("reliability", 1.0, 1.0)];
        let roi =
            RoiBreakdown { value: 0.0, terms, vetoes: vec!["safety_rating < 0.5".to_owned()] };
        let found = find_bottlenecks(&roi, &RoiRisk::default());
        assert_eq!((found[0].what.as_str(), found[0].gain), ("veto", 1.0));
    }

    #[test]
    fn a_perfect_module_has_no_bottleneck() {
        let roi =
            RoiBreakdown { value: 1.0, terms: vec![term("reliability", 1.0, 1.0)], vetoes: vec![] };
        assert_eq!(find_bottlenecks(&roi, &RoiRisk::default()), []);
    }
}
