//! The maintainability index: size, complexity and comments in one number from 0 to 100.
//!
//! radon's variant: derived from the SEI's and Visual Studio's, fed with *logical* lines, and
//! counting strings that stand alone over several lines as comments.

use menace_model::{HalsteadCounts, LineCounts};

/// The index as `radon mi` prints it.
pub(super) fn maintainability_index(
    lines: LineCounts,
    halstead: HalsteadCounts,
    complexity: u32,
) -> f64 {
    let volume = halstead.volume();
    if volume <= 0.0 || lines.lloc == 0 {
        return 100.0;
    }
    let comments = match lines.sloc {
        0 => 0.0,
        sloc => f64::from(lines.comments + lines.multi) / f64::from(sloc) * 100.0,
    };
    // The percentage is used as degrees, as in the origin of the formula.
    let comment_weight = (2.46 * comments.to_radians()).sqrt().sin();
    let raw = 171.0
        - 5.2 * volume.ln()
        - 0.23 * f64::from(complexity)
        - 16.2 * f64::from(lines.lloc).ln()
        + 50.0 * comment_weight;
    (raw * 100.0 / 171.0).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::{HalsteadCounts, LineCounts, maintainability_index};

    fn lines(lloc: u32, sloc: u32, comments: u32, multi: u32) -> LineCounts {
        LineCounts { lloc, sloc, comments, multi, ..LineCounts::default() }
    }

    fn volume(operators: u32, operands: u32) -> HalsteadCounts {
        HalsteadCounts { distinct_operators: 3, distinct_operands: 5, operators, operands }
    }

    #[test]
    fn code_without_operators_or_statements_is_perfect() {
        assert!(maintainability_index(lines(9, 9, 0, 0), HalsteadCounts::default(), 3).eq(&100.0));
        assert!(maintainability_index(lines(0, 0, 9, 0), volume(4, 4), 3).eq(&100.0));
    }

    #[test]
    fn the_index_is_radons() {
        // The result of radon's `mi_compute(150, 7, 20, 50.0)`; the volume is 50 × log₂ 8.
        let found = maintainability_index(lines(20, 40, 15, 5), volume(20, 30), 7);
        assert!((found - 84.517_676_691_036_71).abs() < 1e-9, "{found}");
    }

    #[test]
    fn the_index_stays_above_zero() {
        assert!(
            maintainability_index(lines(1_000_000, 1_000_000, 0, 0), volume(9, 9), 900).eq(&0.0)
        );
    }
}
