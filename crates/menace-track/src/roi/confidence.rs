//! How far a return can be trusted.

/// `1 / (1 + mae + variance)`, in (0, 1]; 0 for what cannot be reckoned with.
pub fn confidence(mae: f64, variance: f64) -> f64 {
    let doubt = mae.abs() + variance.abs();
    if doubt.is_finite() { 1.0 / (1.0 + doubt) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::confidence;
    use crate::series::assert_close;

    #[test]
    fn doubt_lowers_confidence() {
        assert_eq!((confidence(0.0, 0.0), confidence(0.5, 0.5)), (1.0, 0.5));
        assert_close(confidence(f64::NAN, 0.0), 0.0);
    }
}
