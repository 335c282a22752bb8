//! The two metrics that static checks feed: `security_score` and `code_quality`.
//!
//! Invariant: both are finite, within [0, 1], and never rise when a finding is added.

use menace_model::{FindingConfidence, FindingSeverity, LintWarning, StaticFinding};

/// The weighted findings per 100 lines that halve the score: one of high severity, surely found.
const HALVING_FINDING_DENSITY: f64 = 9.0;
/// How many ordinary lints one lint that is a bug counts for.
const BUG_LINT_WEIGHT: f64 = 5.0;

/// `security_score`: how free the source is of dangerous constructs.
///
/// No unit; from 0 (exclusive) to 1; higher is better. With *d* the sum of severity (1, 3, 9) times
/// confidence (0.3, 0.6, 1.0) per 100 source lines it is 1 / (1 + d / 9). Only findings with a
/// number of Bandit's count. Without findings it is 1, whatever the number of lines.
pub fn security_score(findings: &[StaticFinding], source_lines: u32) -> f64 {
    let weight: f64 = findings.iter().filter(|one| one.is_bandit_rule()).map(finding_weight).sum();
    // Findings in a file without a line of code (a text that only hides its direction) count as
    // if there were one.
    let hundreds = f64::from(source_lines.max(1)) / 100.0;
    1.0 / (1.0 + weight / hundreds / HALVING_FINDING_DENSITY)
}

fn finding_weight(finding: &StaticFinding) -> f64 {
    let severity = match finding.severity {
        FindingSeverity::Low => 1.0,
        FindingSeverity::Medium => 3.0,
        FindingSeverity::High => 9.0,
    };
    let confidence = match finding.confidence {
        FindingConfidence::Low => 0.3,
        FindingConfidence::Medium => 0.6,
        FindingConfidence::High => 1.0,
    };
    severity * confidence
}

/// `code_quality`: how few statements a linter objects to.
///
/// No unit; from 0 to 1; higher is better: 1 − (5 · bugs + others) / statements, no less than 0.
/// Without lints it is 1, and with lints but no statements 0.
pub fn code_quality(lints: &[LintWarning], statements: u32) -> f64 {
    let objections: f64 =
        lints.iter().map(|lint| if is_bug(&lint.code) { BUG_LINT_WEIGHT } else { 1.0 }).sum();
    if objections == 0.0 {
        return 1.0;
    }
    (1.0 - objections / f64::from(statements.max(1))).clamp(0.0, 1.0)
}

/// Whether code with this lint behaves differently from what it seems to do, rather than being
/// unclear: text that does not parse (`E9…`), and the codes of pyflakes for wrong formats (`F50…`,
/// `F52…`), comparisons, asserts and dict keys (`F6…`), misplaced statements (`F7…`), undefined
/// names (`F82…`) and wrong raises (`F9…`). `F811` and `F841`, unused definitions and assignments,
/// are not included.
fn is_bug(code: &str) -> bool {
    const BUG_CODE_PREFIXES: [&str; 7] = ["E9", "F50", "F52", "F6", "F7", "F82", "F9"];
    code == "invalid-syntax" || BUG_CODE_PREFIXES.iter().any(|bug| code.starts_with(bug))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finding(
        rule: &str,
        severity: FindingSeverity,
        confidence: FindingConfidence,
    ) -> StaticFinding {
        StaticFinding { rule: rule.into(), severity, confidence, line: 1, message: String::new() }
    }

    fn lint(code: &str) -> LintWarning {
        LintWarning { code: code.into(), line: 1, message: String::new() }
    }

    #[test]
    fn one_sure_high_finding_in_a_hundred_lines_halves_the_score() {
        let one = [finding("B602", FindingSeverity::High, FindingConfidence::High)];
        assert!((security_score(&one, 100) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn no_findings_are_a_full_score_even_without_lines() {
        assert!((security_score(&[], 0) - 1.0).abs() < f64::EPSILON);
        assert!((code_quality(&[], 0) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn own_rules_leave_the_score_alone() {
        let own = [finding("M903", FindingSeverity::Low, FindingConfidence::High)];
        assert!((security_score(&own, 10) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_bug_counts_five_times() {
        assert!((code_quality(&[lint("F821")], 10) - 0.5).abs() < 1e-12);
        assert!((code_quality(&[lint("F401")], 10) - 0.9).abs() < 1e-12);
        assert!(code_quality(&[lint("E999"), lint("F632")], 4).abs() < f64::EPSILON);
    }

    fn findings() -> impl Strategy<Value = Vec<StaticFinding>> {
        let severity = prop_oneof![
            Just(FindingSeverity::Low),
            Just(FindingSeverity::Medium),
            Just(FindingSeverity::High)
        ];
        let confidence = prop_oneof![
            Just(FindingConfidence::Low),
            Just(FindingConfidence::Medium),
            Just(FindingConfidence::High)
        ];
        let rule = prop_oneof![Just("B101"), Just("M901")];
        let one = (rule, severity, confidence).prop_map(|(rule, s, c)| finding(rule, s, c));
        proptest::collection::vec(one, 0..40)
    }

    proptest! {
        #[test]
        fn another_finding_never_raises_the_security_score(
            mut list in findings(),
            more in findings(),
            lines in any::<u32>(),
        ) {
            let before = security_score(&list, lines);
            list.extend(more);
            let after = security_score(&list, lines);
            prop_assert!(after <= before);
            prop_assert!(after > 0.0 && before <= 1.0);
        }

        #[test]
        fn more_lines_never_lower_the_security_score(
            list in findings(),
            lines in 0..1_000_000_u32,
            more in 0..1_000_000_u32,
        ) {
            prop_assert!(security_score(&list, lines + more) >= security_score(&list, lines));
        }

        #[test]
        fn another_lint_never_raises_the_quality(
            codes in proptest::collection::vec(prop_oneof![Just("F401"), Just("F632")], 0..40),
            keep in 0..40_usize,
            statements in any::<u32>(),
        ) {
            let all: Vec<LintWarning> = codes.iter().map(|code| lint(code)).collect();
            let some = &all[..keep.min(all.len())];
            let (fewer, more) = (code_quality(some, statements), code_quality(&all, statements));
            prop_assert!(more <= fewer);
            prop_assert!((0.0..=1.0).contains(&more) && fewer <= 1.0);
        }
    }
}
