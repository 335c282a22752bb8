//! Finds a minimum of a smooth function of a few numbers.
//!
//! Quasi-Newton steps (Broyden, Fletcher, Goldfarb, Shanno) with numerical gradients and Armijo's
//! rule (Nocedal and Wright, *Numerical Optimization*, 2006, chapter 6). Invariant: the result is
//! never worse than the start.

/// The required precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchPrecision {
    /// Good enough to compare starting points: few steps, one-sided differences.
    Coarse,
    /// The minimum itself.
    Fine,
}

impl SearchPrecision {
    /// The most steps.
    fn max_steps(self) -> usize {
        match self {
            Self::Coarse => 30,
            Self::Fine => 300,
        }
    }

    /// The gradient below which a point counts as a minimum.
    fn gradient_tolerance(self) -> f64 {
        match self {
            Self::Coarse => 1e-4,
            Self::Fine => 1e-7,
        }
    }
}

/// The relative gain below which two steps in a row end the search.
const MIN_RELATIVE_GAIN: f64 = 1e-14;
/// The gradient above which a search without progress resets its Hessian and tries once more.
const RESTART_GRADIENT: f64 = 1e-6;

/// The state of a search: the present point and the estimated curvature.
#[derive(Debug, Clone)]
pub(super) struct BfgsSearch {
    pub(super) point: Vec<f64>,
    pub(super) lowest_value: f64,
    /// The estimate of the inverse Hessian.
    inverse_hessian: Vec<Vec<f64>>,
    /// Whether the estimate is still the identity.
    is_reset: bool,
}

impl BfgsSearch {
    pub(super) fn start_at(start: &[f64], value: &mut dyn FnMut(&[f64]) -> f64) -> Self {
        Self {
            point: start.to_vec(),
            lowest_value: value(start),
            inverse_hessian: identity(start.len()),
            is_reset: true,
        }
    }

    /// Descends from the present point; a coarse search can be continued with fine precision.
    pub(super) fn descend(
        &mut self,
        value: &mut dyn FnMut(&[f64]) -> f64,
        precision: SearchPrecision,
    ) {
        if self.point.is_empty() || !self.lowest_value.is_finite() {
            return;
        }
        let mut slope = gradient(&self.point, self.lowest_value, value, precision);
        let (mut idle, mut is_second) = (0, false);
        for _ in 0..precision.max_steps() {
            if slope.iter().all(|part| part.abs() <= precision.gradient_tolerance()) {
                break;
            }
            let mut direction: Vec<f64> =
                self.inverse_hessian.iter().map(|row| -dot(row, &slope)).collect();
            let mut descent = dot(&direction, &slope);
            if descent.is_nan() || descent >= 0.0 {
                self.reset_hessian();
                direction = slope.iter().map(|part| -part).collect();
                descent = dot(&direction, &slope);
            }
            let longest = direction.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
            let first =
                if self.is_reset { 1.0 / longest.max(1.0) } else { (5.0 / longest).min(1.0) };
            let step =
                line_search(&self.point, self.lowest_value, &direction, descent, first, value);
            let Some((next, reached)) = step else {
                if self.is_reset {
                    break;
                }
                self.reset_hessian();
                continue;
            };
            let gained = self.lowest_value - reached;
            let next_slope = gradient(&next, reached, value, precision);
            let way: Vec<f64> = next.iter().zip(&self.point).map(|(new, old)| new - old).collect();
            let bend: Vec<f64> =
                next_slope.iter().zip(&slope).map(|(new, old)| new - old).collect();
            update_inverse_hessian(&mut self.inverse_hessian, &way, &bend, self.is_reset);
            self.is_reset = false;
            (self.point, self.lowest_value, slope) = (next, reached, next_slope);
            idle = if gained <= MIN_RELATIVE_GAIN * (1.0 + self.lowest_value.abs()) {
                idle + 1
            } else {
                0
            };
            if idle >= 2 {
                // On a slope, a Hessian that was estimated far away, or coarsely, may be what
                // prevents progress.
                let is_steep = slope.iter().any(|part| part.abs() > RESTART_GRADIENT);
                if precision == SearchPrecision::Coarse || is_second || !is_steep {
                    break;
                }
                (is_second, idle) = (true, 0);
                self.reset_hessian();
            }
        }
    }

    fn reset_hessian(&mut self) {
        self.inverse_hessian = identity(self.point.len());
        self.is_reset = true;
    }
}

/// A step along the direction that gains enough; `None` if there is none.
fn line_search(
    point: &[f64],
    lowest: f64,
    direction: &[f64],
    descent: f64,
    first: f64,
    value: &mut dyn FnMut(&[f64]) -> f64,
) -> Option<(Vec<f64>, f64)> {
    let mut length = first;
    for _ in 0..40 {
        let next: Vec<f64> =
            point.iter().zip(direction).map(|(at, way)| at + length * way).collect();
        let reached = value(&next);
        if reached.is_finite() && reached <= lowest + 1e-4 * length * descent {
            return Some((next, reached));
        }
        // The minimum of the parabola through both values and the slope.
        let parabola = -descent * length * length / (2.0 * (reached - lowest - descent * length));
        length = if parabola.is_finite() {
            parabola.clamp(0.1 * length, 0.5 * length)
        } else {
            0.1 * length
        };
    }
    None
}

/// One-sided differences for coarse precision, else central ones.
fn gradient(
    point: &[f64],
    here: f64,
    value: &mut dyn FnMut(&[f64]) -> f64,
    precision: SearchPrecision,
) -> Vec<f64> {
    let mut moved = point.to_vec();
    (0..point.len())
        .map(|place| {
            let size = point[place].abs().max(1.0);
            let slope = match precision {
                SearchPrecision::Coarse => {
                    let width = 1e-7 * size;
                    moved[place] = point[place] + width;
                    (value(&moved) - here) / width
                }
                SearchPrecision::Fine => {
                    let width = 1e-5 * size;
                    moved[place] = point[place] + width;
                    let above = value(&moved);
                    moved[place] = point[place] - width;
                    (above - value(&moved)) / (2.0 * width)
                }
            };
            moved[place] = point[place];
            if slope.is_finite() { slope } else { 0.0 }
        })
        .collect()
}

/// Updates the inverse Hessian; skipped where it would not stay positive definite.
fn update_inverse_hessian(inverse: &mut [Vec<f64>], step: &[f64], change: &[f64], fresh: bool) {
    let along = dot(step, change);
    if along <= 1e-12 * dot(step, step).sqrt() * dot(change, change).sqrt() {
        return;
    }
    if fresh {
        let scale = along / dot(change, change);
        for (place, row) in inverse.iter_mut().enumerate() {
            row.fill(0.0);
            row[place] = scale;
        }
    }
    let turned: Vec<f64> = inverse.iter().map(|row| dot(row, change)).collect();
    let factor = (1.0 + dot(change, &turned) / along) / along;
    for row in 0..step.len() {
        for column in 0..step.len() {
            inverse[row][column] += factor * step[row] * step[column]
                - (turned[row] * step[column] + step[row] * turned[column]) / along;
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn identity(size: usize) -> Vec<Vec<f64>> {
    (0..size)
        .map(|row| (0..size).map(|column| f64::from(u8::from(row == column))).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise_from(start: &[f64], value: &mut dyn FnMut(&[f64]) -> f64) -> (Vec<f64>, f64) {
        let mut search = BfgsSearch::start_at(start, value);
        search.descend(value, SearchPrecision::Coarse);
        search.descend(value, SearchPrecision::Fine);
        (search.point, search.lowest_value)
    }

    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        let mut valley =
            |at: &[f64]| (1.0 - at[0]).powi(2) + 100.0 * (at[1] - at[0] * at[0]).powi(2);
        let (point, lowest) = minimise_from(&[-1.2, 1.0], &mut valley);
        assert!(lowest < 1e-12, "{lowest}");
        assert!((point[0] - 1.0).abs() < 1e-5 && (point[1] - 1.0).abs() < 1e-5);
    }

    #[test]
    fn what_a_rough_search_learnt_spares_the_fine_one_steps() {
        let count = |is_rough_first: bool| {
            let mut fine = 0;
            let mut bowl =
                |at: &[f64]| (at[0] - 1.0).powi(2) + 50.0 * (at[1] + at[0]).powi(4) + at[1] * at[1];
            let mut search = BfgsSearch::start_at(&[3.0, -2.0], &mut bowl);
            search.descend(&mut bowl, SearchPrecision::Coarse);
            if !is_rough_first {
                search.reset_hessian();
            }
            search.descend(
                &mut |at| {
                    fine += 1;
                    bowl(at)
                },
                SearchPrecision::Fine,
            );
            fine
        };
        assert!(count(true) < count(false), "{} {}", count(true), count(false));
    }

    #[test]
    fn a_function_without_values_ends_at_its_start() {
        assert_eq!(minimise_from(&[2.0], &mut |_| f64::INFINITY), (vec![2.0], f64::INFINITY));
        assert_eq!(minimise_from(&[], &mut |_| 3.0), (vec![], 3.0));
    }
}
