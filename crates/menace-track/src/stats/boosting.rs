//! Gradient-boosted regression trees with squared loss.
//!
//! Friedman's (2001) algorithm with exact splits and no randomness; equal to scikit-learn's, and
//! much smaller than crates that have it. Invariant: predictions stay within the range of sums of
//! leaf means, whatever the features.

use serde::{Deserialize, Serialize};

/// Number and depth of trees, and the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BoostingParams {
    /// Number of trees.
    pub trees: usize,
    /// Splits from root to leaf.
    pub depth: usize,
    /// The learning rate: each tree's prediction is multiplied with it.
    pub rate: f64,
}

impl Default for BoostingParams {
    fn default() -> Self {
        Self { trees: 100, depth: 2, rate: 0.1 }
    }
}

/// A boosted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostedTrees {
    start: f64,
    rate: f64,
    trees: Vec<BoostingNode>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum BoostingNode {
    Leaf(f64),
    Split { feature: usize, threshold: f64, below: Box<BoostingNode>, above: Box<BoostingNode> },
}

impl BoostingNode {
    fn predict(&self, features: &[f64]) -> f64 {
        match self {
            Self::Leaf(value) => *value,
            Self::Split { feature, threshold, below, above } => {
                // A missing feature goes to the branch of large values.
                let goes_below = features.get(*feature).is_some_and(|value| value <= threshold);
                if goes_below { below.predict(features) } else { above.predict(features) }
            }
        }
    }
}

impl BoostedTrees {
    /// Fits rows of equal length to targets; without rows the model predicts zero.
    pub fn fit(rows: &[Vec<f64>], targets: &[f64], growth: BoostingParams) -> Self {
        let start = targets.iter().sum::<f64>() / targets.len().max(1) as f64;
        let mut rest: Vec<f64> = targets.iter().map(|target| target - start).collect();
        let mut trees = Vec::new();
        let all: Vec<usize> = (0..rows.len().min(targets.len())).collect();
        if !all.is_empty() {
            for _ in 0..growth.trees {
                let tree = fit_tree(rows, &rest, &all, growth.depth);
                for (row, left) in rows.iter().zip(&mut rest) {
                    *left -= growth.rate * tree.predict(row);
                }
                trees.push(tree);
            }
        }
        Self { start, rate: growth.rate, trees }
    }

    /// The value for one row of features.
    pub fn predict(&self, features: &[f64]) -> f64 {
        self.start + self.trees.iter().map(|tree| self.rate * tree.predict(features)).sum::<f64>()
    }
}

fn fit_tree(rows: &[Vec<f64>], residuals: &[f64], chosen: &[usize], depth: usize) -> BoostingNode {
    let mean = chosen.iter().map(|row| residuals[*row]).sum::<f64>() / chosen.len() as f64;
    if depth == 0 || chosen.len() < 2 {
        return BoostingNode::Leaf(mean);
    }
    let Some((feature, threshold)) = best_split(rows, residuals, chosen) else {
        return BoostingNode::Leaf(mean);
    };
    let (below, above): (Vec<usize>, Vec<usize>) =
        chosen.iter().partition(|row| rows[**row][feature] <= threshold);
    BoostingNode::Split {
        feature,
        threshold,
        below: Box::new(fit_tree(rows, residuals, &below, depth - 1)),
        above: Box::new(fit_tree(rows, residuals, &above, depth - 1)),
    }
}

/// The split that reduces the squared error most; `None` if none reduces it.
fn best_split(rows: &[Vec<f64>], rest: &[f64], chosen: &[usize]) -> Option<(usize, f64)> {
    let total: f64 = chosen.iter().map(|row| rest[*row]).sum();
    let count = chosen.len() as f64;
    let squares: f64 = chosen.iter().map(|row| rest[*row] * rest[*row]).sum();
    let unsplit = total * total / count;
    if squares - unsplit <= f64::EPSILON * squares {
        return None;
    }
    let mut best: Option<(f64, usize, f64)> = None;
    for feature in 0..rows[chosen[0]].len() {
        let mut sorted = chosen.to_vec();
        sorted.sort_by(|left, right| rows[*left][feature].total_cmp(&rows[*right][feature]));
        let mut below = 0.0;
        for place in 1..sorted.len() {
            below += rest[sorted[place - 1]];
            let (low, high) = (rows[sorted[place - 1]][feature], rows[sorted[place]][feature]);
            if high <= low {
                continue;
            }
            let above = total - below;
            let score = below * below / place as f64 + above * above / (count - place as f64);
            if best.is_none_or(|(most, _, _)| score > most) {
                let middle = f64::midpoint(low, high);
                // By rounding, the middle may equal the upper value, which has to stay above the
                // threshold.
                best = Some((score, feature, if middle < high { middle } else { low }));
            }
        }
    }
    best.map(|(_, feature, threshold)| (feature, threshold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_learnt() {
        let rows: Vec<Vec<f64>> = (0..20_u8).map(|x| vec![f64::from(x), 1.0]).collect();
        let targets: Vec<f64> = (0..20).map(|x| if x < 8 { -1.0 } else { 2.0 }).collect();
        let model = BoostedTrees::fit(&rows, &targets, BoostingParams::default());
        assert!((model.predict(&[3.0, 1.0]) + 1.0).abs() < 1e-3);
        assert!((model.predict(&[30.0, 1.0]) - 2.0).abs() < 1e-3);
        assert!(model.predict(&[]).is_finite());
    }

    #[test]
    fn targets_without_variation_need_no_question() {
        let model =
            BoostedTrees::fit(&[vec![1.0], vec![2.0]], &[4.0, 4.0], BoostingParams::default());
        assert_eq!(model.predict(&[9.0]), 4.0);
        assert_eq!(BoostedTrees::fit(&[], &[], BoostingParams::default()).predict(&[1.0]), 0.0);
    }
}
