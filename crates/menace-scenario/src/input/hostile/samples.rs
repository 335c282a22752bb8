//! Hostile texts by text role: a table of sample files and of oversized texts.
//!
//! Each line of a sample file in `data/hostile` is a severity and a JSON value. Severity 1 is
//! malformed, 2 an injection, 3 a combined or disguised injection, 4 exhausts memory or time.

use std::collections::HashMap;
use std::sync::OnceLock;

use menace_model::{SeededRng, Value};

use super::ThreatIntensity;
use crate::input::boundary::repeat_value;
use crate::input::make::pattern;
use crate::input::name_topics::TextRole;

/// In the name of every file and tag that a successful injection creates: an oracle finds it there.
pub const INJECTION_MARKER: &str = "menace_was_here";
/// Severity of oversized texts and of the samples that exhaust memory or time.
pub(super) const MAX_SEVERITY: u8 = 4;
/// Share of oversized texts among hostile texts at the highest severity.
const OVERSIZED_SHARE: f64 = 0.3;
/// Parsers recurse into these texts: longer ones would only hit the recursion limit again.
const MAX_NESTED_BYTES: u64 = 4096;

/// Samples and oversized texts of one role.
struct RoleTexts {
    role: TextRole,
    samples: &'static str,
    oversized: &'static [OversizedText],
}

/// A text that repeats `unit` up to the size that the threat intensity allows.
struct OversizedText {
    before: &'static str,
    unit: &'static str,
    after: &'static str,
    max_bytes: u64,
}

const fn repeated(unit: &'static str) -> OversizedText {
    enclosed("", unit, "")
}

const fn enclosed(before: &'static str, unit: &'static str, after: &'static str) -> OversizedText {
    OversizedText { before, unit, after, max_bytes: u64::MAX }
}

impl OversizedText {
    const fn nested(self) -> Self {
        Self { max_bytes: MAX_NESTED_BYTES, ..self }
    }

    fn to_value(&self, size: u64) -> Value {
        let times = size.min(self.max_bytes) / self.unit.len() as u64;
        surround_text(self.before, repeat_text(self.unit, times), self.after)
    }
}

macro_rules! role_texts {
    ($role:ident, $file:literal, [$($oversized:expr),+ $(,)?]) => {
        RoleTexts {
            role: TextRole::$role,
            samples: include_str!(concat!("../data/hostile/", $file, ".txt")),
            oversized: &[$($oversized),+],
        }
    };
}

static ROLE_TEXTS: [RoleTexts; 16] = [
    role_texts!(Plain, "plain", [repeated("A"), repeated("\u{1f4a9}"), repeated("\n")]),
    role_texts!(Sql, "sql", [enclosed("1", " OR 1=1", "--")]),
    role_texts!(Html, "html", [repeated("<div>"), enclosed("<a ", "b=c ", ">")]),
    role_texts!(Path, "path", [repeated("../"), enclosed("/", "a/", "b")]),
    role_texts!(
        Url,
        "url",
        [enclosed("http://example.com/?", "a=b&", ""), enclosed("http://", "a.", "example")]
    ),
    role_texts!(Command, "command", [enclosed("echo ", "'a' ", ""), repeated("\\")]),
    role_texts!(Code, "code", [repeated("("), enclosed("1", "+1", "")]),
    role_texts!(Regex, "regex", [enclosed("", "(a?)", "a").nested(), repeated("a|").nested()]),
    role_texts!(
        Json,
        "json",
        [
            repeated("["),
            enclosed("[", "0,", "0]"),
            enclosed("\"", "a", "\""),
            enclosed("{\"a\":1", ",\"a\":1", "}"),
        ]
    ),
    role_texts!(Xml, "xml", [repeated("<a>"), enclosed("<a>", "<b/>", "</a>")]),
    role_texts!(Yaml, "yaml", [repeated("[").nested(), repeated("- a\n")]),
    role_texts!(Csv, "csv", [repeated("a,b\n"), repeated(","), enclosed("\"", "a", "\"")]),
    role_texts!(Format, "format", [repeated("{}"), repeated("%s")]),
    role_texts!(
        Email,
        "email",
        [enclosed("", "a", "@example.com"), enclosed("a@", "b.", "example")]
    ),
    role_texts!(Number, "number", [repeated("9"), enclosed("0.", "0", "1")]),
    role_texts!(Date, "date", [enclosed("2024-01-", "0", "1")]),
];

/// The samples of a role, each with its severity.
fn samples_for_role(role: TextRole) -> &'static [(u8, Value)] {
    static SAMPLES: OnceLock<HashMap<TextRole, Vec<(u8, Value)>>> = OnceLock::new();
    let samples = SAMPLES.get_or_init(|| {
        ROLE_TEXTS.iter().map(|texts| (texts.role, parse_samples(texts.samples))).collect()
    });
    samples.get(&role).map_or(&[], Vec::as_slice)
}

fn parse_samples(text: &str) -> Vec<(u8, Value)> {
    let parse_line = |line: &str| {
        let (severity, value) = line.split_once(' ')?;
        Some((severity.parse().ok()?, Value::from_json(value).ok()?))
    };
    text.lines().filter_map(parse_line).collect()
}

fn oversized_texts(role: TextRole, size: u64) -> Vec<Value> {
    let rows = ROLE_TEXTS.iter().filter(|texts| texts.role == role);
    rows.flat_map(|texts| texts.oversized).map(|text| text.to_value(size)).collect()
}

/// Samples of the role whose success an oracle can detect in the outcome.
pub(crate) fn detectable_texts(role: TextRole) -> impl Iterator<Item = &'static str> {
    samples_for_role(role).iter().filter_map(move |(_, value)| match value {
        Value::Str(text) => text.as_str().filter(|text| is_detectable(role, text)),
        _ => None,
    })
}

/// A successful attack creates a marked file or tag, returns a known file, or breaks a SQL query.
fn is_detectable(role: TextRole, text: &str) -> bool {
    match role {
        TextRole::Path => text.contains("../etc/passwd"),
        TextRole::Sql => text.contains('\'') && !text.contains('\0'),
        _ => text.contains(INJECTION_MARKER),
    }
}

/// A hostile text of the role: a sample up to the severity of the threat, or an oversized text.
pub(super) fn hostile_text(
    role: TextRole,
    threat: ThreatIntensity,
    random: &mut SeededRng,
) -> Value {
    let max_severity = threat.max_severity();
    if max_severity == MAX_SEVERITY && random.chance(OVERSIZED_SHARE) {
        let oversized = oversized_texts(role, threat.oversized_bytes());
        if let Some(value) = random.pick(&oversized) {
            return value.clone();
        }
    }
    let allowed: Vec<&Value> = samples_for_role(role)
        .iter()
        .filter(|(severity, _)| *severity <= max_severity)
        .map(|(_, value)| value)
        .collect();
    random.pick(&allowed).map_or(Value::from(""), |value| (*value).clone())
}

/// Texts that a regular expression nearly matches. A nested repetition is repeated often enough for
/// catastrophic backtracking; a plain one as often as `size` allows.
pub(crate) fn regex_attack_texts(pattern: &str, size: u64) -> Vec<Value> {
    // A quadratic search of a text this long takes seconds.
    const MAX_SEARCHED_TEXT_CHARS: u64 = 50_000;
    const NESTED_PUMP_REPEATS: u64 = 40;
    let pumps = pattern::find_pumps(pattern);
    let texts = pumps.iter().flat_map(|pump| {
        let unit_bytes = pump.unit.len().max(1) as u64;
        let times = if pump.is_nested {
            NESTED_PUMP_REPEATS
        } else {
            size.min(MAX_SEARCHED_TEXT_CHARS) / unit_bytes
        };
        // The line break is for patterns whose last repetition also takes `!`.
        let ends = ["!", "\n!"].into_iter().filter(move |_| times > 0);
        ends.map(move |end| surround_text(&pump.before, repeat_text(&pump.unit, times), end))
    });
    texts.collect()
}

fn repeat_text(text: &str, times: u64) -> Value {
    repeat_value(Value::from(text), times.max(1))
}

fn surround_text(before: &str, middle: Value, after: &str) -> Value {
    let concatenate = |left: Value, right: Value| Value::Method {
        on: Box::new(left),
        name: "__add__".to_owned(),
        args: vec![right],
        kwargs: Vec::new(),
    };
    let value = if before.is_empty() { middle } else { concatenate(Value::from(before), middle) };
    if after.is_empty() { value } else { concatenate(value, Value::from(after)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    #[test]
    fn every_role_has_samples_of_every_severity() {
        for role in TextRole::ALL {
            let rows: Vec<_> = ROLE_TEXTS.iter().filter(|texts| texts.role == role).collect();
            let [texts] = rows[..] else { panic!("{role:?} has {} rows", rows.len()) };
            let samples = samples_for_role(role);
            assert_eq!(samples.len(), texts.samples.lines().count(), "{role:?}");
            for severity in 1..MAX_SEVERITY {
                let has_severity = samples.iter().any(|(own, _)| *own == severity);
                assert!(has_severity, "{role:?} {severity}");
            }
            assert!(!oversized_texts(role, 1000).is_empty());
        }
    }

    #[test]
    fn the_most_severe_samples_of_a_role_exhaust_its_parser() {
        for (role, known_for) in [
            (TextRole::Sql, "RECURSIVE"),
            (TextRole::Xml, "&c;&c;&c;"),
            (TextRole::Yaml, "*"),
            (TextRole::Regex, "+)+"),
        ] {
            let worst = samples_for_role(role).iter().filter(|(severity, _)| *severity == 4);
            let mut texts = worst.map(|(_, value)| format!("{value:?}"));
            assert!(texts.any(|text| text.contains(known_for)), "{role:?}: {known_for}");
        }
        let threat = ThreatIntensity::new(1.0, 1 << 30);
        for role in TextRole::ALL {
            let worst = samples_for_role(role).iter().filter(|(severity, _)| *severity == 4);
            let mut worst: Vec<Value> = worst.map(|(_, value)| value.clone()).collect();
            worst.extend(oversized_texts(role, threat.oversized_bytes()));
            let mut random = Seed(1).rng();
            let is_used =
                (0..500).any(|_| worst.contains(&hostile_text(role, threat, &mut random)));
            assert!(is_used, "{role:?}");
        }
    }

    #[test]
    fn mild_threats_use_no_severe_samples() {
        let mut random = Seed(1).rng();
        let severe: Vec<&Value> = samples_for_role(TextRole::Sql)
            .iter()
            .filter(|(own, _)| *own > 1)
            .map(|(_, value)| value)
            .collect();
        for _ in 0..200 {
            let mild = hostile_text(TextRole::Sql, ThreatIntensity::new(0.1, 1 << 30), &mut random);
            assert!(!severe.contains(&&mild), "{mild:?}");
        }
    }

    #[test]
    fn oversized_texts_reach_the_size_of_the_threat() {
        let mut random = Seed(1).rng();
        let threat = ThreatIntensity::new(1.0, 1 << 30);
        let mut texts = (0..200).map(|_| hostile_text(TextRole::Json, threat, &mut random));
        let is_oversized =
            |value: Value| matches!(value, Value::Repeat { times, .. } if times == 1 << 20);
        assert!(texts.any(is_oversized));
    }
}
