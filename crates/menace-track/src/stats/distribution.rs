//! Student's t, the normal, F and chi-squared distributions.
//!
//! `statrs` computes densities and distribution functions; quantiles are searched here, in a
//! bounded number of steps. Invariant: probabilities are in [0, 1], and no result is NaN.

use statrs::distribution::{
    ChiSquared, Continuous, ContinuousCDF, FisherSnedecor, Normal, StudentsT,
};

/// Supported degrees of freedom; above them Student's t is the normal distribution.
const DEGREES_OF_FREEDOM: std::ops::RangeInclusive<f64> = 0.1..=1e8;

/// The share of the normal distribution below `value`.
pub fn normal_cdf(value: f64) -> f64 {
    Normal::standard().cdf(value)
}

/// The value below which the share `probability` of the normal distribution lies.
pub fn normal_quantile(probability: f64) -> f64 {
    quantile(&Normal::standard(), probability)
}

/// The share of Student's t with `freedom` degrees below `value`; 0.5 below the supported range.
pub fn t_cdf(value: f64, freedom: f64) -> f64 {
    if freedom > *DEGREES_OF_FREEDOM.end() {
        return normal_cdf(value);
    }
    students_t(freedom).map_or(0.5, |student| student.cdf(value))
}

/// The value below which the share `probability` of Student's t lies; zero below the supported
/// range.
pub fn t_quantile(probability: f64, freedom: f64) -> f64 {
    if freedom > *DEGREES_OF_FREEDOM.end() {
        return normal_quantile(probability);
    }
    students_t(freedom).map_or(0.0, |student| quantile(&student, probability))
}

fn students_t(freedom: f64) -> Option<StudentsT> {
    DEGREES_OF_FREEDOM.contains(&freedom).then(|| StudentsT::new(0.0, 1.0, freedom).ok()).flatten()
}

/// The probability of a t at least as far from zero as `value`.
pub fn t_two_sided(value: f64, freedom: f64) -> f64 {
    (2.0 * t_cdf(-value.abs(), freedom)).clamp(0.0, 1.0)
}

/// The probability of an F above `value`; 1 outside of the supported range.
pub fn f_above(value: f64, numerator: f64, denominator: f64) -> f64 {
    if !DEGREES_OF_FREEDOM.contains(&numerator) || !DEGREES_OF_FREEDOM.contains(&denominator) {
        return 1.0;
    }
    let value = value.clamp(0.0, 1e200);
    FisherSnedecor::new(numerator, denominator)
        .map_or(1.0, |fisher| fisher.sf(value).clamp(0.0, 1.0))
}

/// The probability of a chi-squared above `value`; 1 outside of the supported range.
pub fn chi_squared_above(value: f64, freedom: f64) -> f64 {
    if !DEGREES_OF_FREEDOM.contains(&freedom) {
        return 1.0;
    }
    let value = value.clamp(0.0, 1e200);
    ChiSquared::new(freedom).map_or(1.0, |chi| chi.sf(value).clamp(0.0, 1.0))
}

/// The quantile of a distribution that is symmetric around zero.
fn quantile<D>(distribution: &D, probability: f64) -> f64
where
    D: ContinuousCDF<f64, f64> + Continuous<f64, f64>,
{
    if probability.is_nan() {
        return 0.0;
    }
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    if probability == 0.5 {
        return 0.0;
    }
    // Searched in the lower tail: near 1, differences of probabilities lose precision.
    if probability > 0.5 {
        return -quantile(distribution, 1.0 - probability);
    }
    let (mut low, mut high) = (-1.0, 0.0);
    while distribution.cdf(low) > probability && low > -1e150 {
        high = low;
        low *= 2.0;
    }
    let mut value = f64::midpoint(low, high);
    for _ in 0..200 {
        let excess = distribution.cdf(value) - probability;
        if excess > 0.0 {
            high = value;
        } else {
            low = value;
        }
        let newton = value - excess / distribution.pdf(value);
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        let step = next - value;
        value = next;
        if step.abs() <= 1e-15 * value.abs() {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_distribution_functions() {
        for freedom in [1.0, 2.0, 3.5, 10.0, 200.0] {
            for probability in [1e-6, 0.01, 0.3, 0.5, 0.9, 0.999] {
                let back = t_cdf(t_quantile(probability, freedom), freedom);
                assert!((back - probability).abs() < 1e-12, "{freedom} {probability} {back}");
            }
        }
        assert!((normal_cdf(normal_quantile(0.975)) - 0.975).abs() < 1e-14);
    }

    #[test]
    fn certainty_lies_at_infinity_and_nonsense_has_an_answer() {
        assert_eq!(t_quantile(1.0, 5.0), f64::INFINITY);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(t_quantile(0.9, -1.0), 0.0);
        assert_eq!(f_above(1.0, 0.0, 3.0), 1.0);
        assert_eq!(t_cdf(1.0, f64::NAN), 0.5);
    }
}
