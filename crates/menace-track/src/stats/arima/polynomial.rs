//! Lag polynomials whose roots stay outside the unit circle.
//!
//! Monahan's (1984) transformation between partial autocorrelations in (−1, 1) and coefficients. A
//! hyperbolic tangent maps any real number to that range, so that a maximum near its edge is only a
//! few steps away. Invariant: the resulting coefficients are stationary.

/// Coefficients φ of a stationary 1 − φ₁L − … from any real numbers.
pub(super) fn to_stationary(free: &[f64]) -> Vec<f64> {
    let mut coefficients: Vec<f64> = Vec::with_capacity(free.len());
    for value in free {
        // Statsmodels' sign convention: a positive number gives a negative coefficient.
        let partial = -value.tanh();
        let before = coefficients.clone();
        for (place, coefficient) in coefficients.iter_mut().enumerate() {
            *coefficient -= partial * before[before.len() - 1 - place];
        }
        coefficients.push(partial);
    }
    coefficients
}

/// The inverse of [`to_stationary`]; `None` for coefficients that are not stationary.
pub(super) fn to_unconstrained(coefficients: &[f64]) -> Option<Vec<f64>> {
    let mut left = coefficients.to_vec();
    let mut numbers = Vec::with_capacity(left.len());
    while let Some(partial) = left.pop() {
        let rest = 1.0 - partial * partial;
        if !partial.is_finite() || rest < 1e-10 {
            return None;
        }
        numbers.push(-partial.atanh());
        let before = left.clone();
        for (place, coefficient) in left.iter_mut().enumerate() {
            *coefficient = (before[place] + partial * before[before.len() - 1 - place]) / rest;
        }
    }
    numbers.reverse();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_come_back() {
        for coefficients in [vec![0.5], vec![0.5, 0.3], vec![-1.2, -0.5], vec![0.4, -0.2, 0.1]] {
            let back = to_stationary(&to_unconstrained(&coefficients).unwrap());
            for (left, right) in back.iter().zip(&coefficients) {
                assert!((left - right).abs() < 1e-12, "{coefficients:?} {back:?}");
            }
        }
    }

    #[test]
    fn explosive_coefficients_are_refused() {
        assert_eq!(to_unconstrained(&[1.0]), None);
        assert_eq!(to_unconstrained(&[0.5, 0.6]), None);
        assert_eq!(to_unconstrained(&[f64::NAN]), None);
    }
}
