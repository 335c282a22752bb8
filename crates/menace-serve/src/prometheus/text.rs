//! The text format of Prometheus, version 0.0.4.
//!
//! Invariant: the samples of a name stand together, below one help and one type; no sample comes
//! twice.

use std::collections::BTreeMap;
use std::fmt::Write;

use menace_model::escape_for_terminal;

use super::declarations::{
    METRIC_DECLARATIONS, PrometheusKind, declaration_index, is_synergy_metric,
};

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Samples on their way out.
#[derive(Debug, Default)]
pub struct MetricsExposition {
    /// By index in the table, then by label values.
    samples: BTreeMap<usize, BTreeMap<Vec<String>, f64>>,
}

impl MetricsExposition {
    /// Ignores a name that is not declared, and the wrong number of labels.
    pub fn set(&mut self, name: &str, labels: &[&str], value: f64) {
        let Some(place) = declaration_index(name) else {
            tracing::debug!(name, "a gauge that is not declared is left out");
            return;
        };
        if METRIC_DECLARATIONS[place].labels.len() != labels.len() {
            tracing::debug!(name, "a gauge with other labels is left out");
            return;
        }
        // Escaped here, so that no two samples become the same one.
        let labels = labels.iter().map(|&label| escape_unprintable(label)).collect();
        self.samples.entry(place).or_default().insert(labels, value);
    }

    /// Sets a value of the synergy history; names that are no synergy metric are ignored.
    pub fn set_synergy(&mut self, name: &str, value: f64) {
        if is_synergy_metric(name) {
            self.set(name, &[], value);
        }
    }

    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (place, samples) in &self.samples {
            let known = &METRIC_DECLARATIONS[*place];
            write_head(&mut out, known.name, known.help, known.kind);
            for (labels, value) in samples {
                out.push_str(known.name);
                if !labels.is_empty() {
                    let pairs: Vec<String> = known
                        .labels
                        .iter()
                        .zip(labels)
                        .map(|(name, value)| format!("{name}=\"{}\"", escape_label(value)))
                        .collect();
                    // Writing to a string does not fail.
                    let _ = write!(out, "{{{}}}", pairs.join(","));
                }
                let _ = writeln!(out, " {}", format_number(*value));
            }
        }
        out
    }
}

fn write_head(out: &mut String, name: &str, help: &str, kind: PrometheusKind) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = writeln!(out, "# HELP {name} {help}");
    let _ = writeln!(out, "# TYPE {name} {}", kind.as_str());
}

/// Line breaks are left to the escapes of the format, which has none for other characters.
fn escape_unprintable(label: &str) -> String {
    label.split('\n').map(escape_for_terminal).collect::<Vec<_>>().join("\n")
}

fn escape_label(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn format_number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_name_stand_together() {
        let mut out = MetricsExposition::default();
        out.set("menace_open_failures", &["race"], 1.0);
        out.set("menace_run_roi", &[], 0.5);
        out.set("menace_open_failures", &["leak"], 2.0);
        out.set("menace_open_failures", &["leak"], 3.0);
        out.set("menace_invented", &[], 1.0);
        out.set("menace_run_roi", &["too many"], 1.0);
        out.set_synergy("synergy_roi", -0.25);
        out.set_synergy("synergy_bad name", 1.0);
        out.set_synergy("synergy_of_my_own", 1.0);
        out.set_synergy("synergy_trainer_last_id", 1.0);
        assert_eq!(
            out.to_text(),
            "# HELP menace_open_failures Open failures, by kind.\n\
             # TYPE menace_open_failures gauge\n\
             menace_open_failures{kind=\"leak\"} 3\n\
             menace_open_failures{kind=\"race\"} 1\n\
             # HELP menace_run_roi ROI of the last finished run.\n\
             # TYPE menace_run_roi gauge\n\
             menace_run_roi 0.5\n\
             # HELP synergy_roi Synergy, a combined run minus the mean of the individual runs: \
             roi.\n\
             # TYPE synergy_roi gauge\n\
             synergy_roi -0.25\n"
        );
    }

    #[test]
    fn labels_cannot_break_out() {
        let mut out = MetricsExposition::default();
        out.set("menace_module_roi", &["a\"} 1\nevil 2\\"], 1.0);
        let text = out.to_text();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.ends_with("{module=\"a\\\"} 1\\nevil 2\\\\\"} 1\n"), "{text}");
    }

    #[test]
    fn labels_show_no_character_that_draws_over_others() {
        let mut out = MetricsExposition::default();
        out.set("menace_module_roi", &["a\u{1b}[2J\u{9b}\u{202e}b\r"], 1.0);
        out.set("menace_module_roi", &["a\\x1b[2J\\x9b\\u202eb\\r"], 2.0);
        let text = out.to_text();
        assert_eq!(text.lines().count(), 3, "no sample comes twice: {text}");
        assert!(text.ends_with("{module=\"a\\\\x1b[2J\\\\x9b\\\\u202eb\\\\r\"} 2\n"), "{text}");
    }
}
