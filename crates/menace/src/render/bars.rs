//! A bar for each number, from zero to the left or to the right.

use std::fmt::Write;

const MAX_BAR_CHARS: usize = 20;
const MAX_NAME_CHARS: usize = 32;

/// The longest bar is the largest number; none is longer than half of the line.
pub(crate) fn draw_bars(values: &[(&str, f64)]) -> String {
    let largest = values.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
    let mut out = String::new();
    for (name, value) in values {
        let share = if largest > 0.0 { value.abs() / largest } else { 0.0 };
        let length = (1..=MAX_BAR_CHARS)
            .take_while(|mark| *mark as f64 <= (share * MAX_BAR_CHARS as f64).round())
            .count();
        let bar = "█".repeat(length);
        let (left, right) = if *value < 0.0 { (bar, String::new()) } else { (String::new(), bar) };
        let _ = writeln!(
            out,
            "{name:<MAX_NAME_CHARS$} {left:>MAX_BAR_CHARS$}│{right:<MAX_BAR_CHARS$} {value:+.4}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_go_both_ways_from_zero() {
        let drawn = draw_bars(&[("up", 2.0), ("down", -1.0), ("level", 0.0)]);
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].contains(&format!("│{}", "█".repeat(20))), "{drawn}");
        assert!(lines[1].contains(&format!("{}│", "█".repeat(10))), "{drawn}");
        assert!(!lines[2].contains('█'), "{drawn}");
    }

    #[test]
    fn empty_data_and_zeros_are_drawn() {
        assert_eq!(draw_bars(&[]), "");
        assert!(draw_bars(&[("a", 0.0)]).contains("+0.0000"));
    }
}
