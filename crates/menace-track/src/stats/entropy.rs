//! Whether more entropy still pays.
//!
//! Measuring entropy and complexity belongs to `menace-source`. Invariant: a patch that changes no
//! complexity has no ratio, and no history flags a module without samples.

use serde::{Deserialize, Serialize};

use super::convergence::FEWEST;
use super::describe::{mean, present, usable};
use super::evidence::{Check, Decision, Evidence};

/// One patch of a module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// How much the ROI rose.
    pub roi_delta: f64,
    /// How much the Shannon entropy rose, in bits.
    pub entropy_delta: f64,
    /// How much the complexity rose.
    pub complexity_delta: f64,
}

impl Patch {
    /// The change in entropy per change in complexity; `None` if complexity did not change.
    pub fn entropy_ratio(&self) -> Option<f64> {
        ratio(self.entropy_delta, self.complexity_delta)
    }

    /// The gain in ROI per unit of entropy, which has no direction here; `None` if it did not change.
    pub fn gain(&self) -> Option<f64> {
        ratio(self.roi_delta, self.entropy_delta.abs())
    }
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    let ratio = above / below;
    (usable(above) && usable(below) && below != 0.0 && usable(ratio)).then_some(ratio)
}

/// Whether the mean gain per unit of entropy over the last patches is below `threshold`.
///
/// At least three patches that changed entropy are needed.
pub fn ceiling(patches: &[Patch], threshold: f64, consecutive: usize) -> Decision {
    let gains: Vec<f64> = patches.iter().filter_map(Patch::gain).collect();
    let needed = consecutive.max(FEWEST);
    if gains.len() < needed {
        return Decision::too_few(needed, gains.len());
    }
    let statistic = mean(&gains[gains.len() - needed..]);
    let evidence = Evidence {
        check: Check::EntropyCeiling,
        statistic,
        threshold,
        p_value: None,
        samples: needed,
        holds: statistic < threshold,
    };
    let confidence = f64::from(u8::from(evidence.holds));
    Decision::from(vec![evidence], confidence, needed, gains.len())
}

/// Whether the last `consecutive` entropy ratios all stay under `threshold`, up or down.
pub fn plateau(ratios: &[f64], threshold: f64, consecutive: usize) -> Decision {
    let ratios = present(ratios);
    let needed = consecutive.max(1);
    if ratios.len() < needed {
        return Decision::too_few(needed, ratios.len());
    }
    let recent = &ratios[ratios.len() - needed..];
    let statistic = recent.iter().fold(0.0_f64, |most, ratio| most.max(ratio.abs()));
    let evidence = Evidence {
        check: Check::EntropyPlateau,
        statistic,
        threshold,
        p_value: None,
        samples: needed,
        holds: statistic < threshold,
    };
    let confidence = f64::from(u8::from(evidence.holds));
    Decision::from(vec![evidence], confidence, needed, ratios.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::evidence::Verdict;

    fn patch(roi_delta: f64, entropy_delta: f64) -> Patch {
        Patch { roi_delta, entropy_delta, complexity_delta: 2.0 }
    }

    #[test]
    fn a_module_whose_entropy_no_longer_pays_hits_the_ceiling() {
        let patches = [patch(0.9, 0.1), patch(0.001, 0.5), patch(0.002, 0.4), patch(0.001, 0.6)];
        assert!(ceiling(&patches, 0.02, 3).is_yes());
        assert!(!ceiling(&patches, 0.02, 4).is_yes());
        assert_eq!(ceiling(&patches[..2], 0.02, 3).verdict, Verdict::TooFewSamples);
    }

    #[test]
    fn a_patch_without_change_has_no_ratio() {
        assert_eq!(patch(0.1, 0.0).gain(), None);
        assert_eq!(Patch { complexity_delta: 0.0, ..patch(0.1, 0.2) }.entropy_ratio(), None);
        assert_eq!(patch(0.1, 0.2).entropy_ratio(), Some(0.1));
    }

    #[test]
    fn one_large_ratio_breaks_the_plateau() {
        assert!(plateau(&[0.5, 0.01, -0.02, 0.01], 0.05, 3).is_yes());
        assert!(!plateau(&[0.01, -0.2, 0.01], 0.05, 3).is_yes());
        assert_eq!(plateau(&[], 0.05, 3).verdict, Verdict::TooFewSamples);
    }
}
