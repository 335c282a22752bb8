//! Presets out of JSON: a list of objects, one object, or a mapping of scenarios to severities.

use serde_json::Value as Json;

use menace_settings::{Refusal, ScenarioSeverity};

use crate::notation::{Pairs, parse, text_of};
use crate::problem::{did_you_mean, quoted};
use crate::{Problem, Problems};

use super::{KEYS, Preset, PresetOrigin, Values, key};

const SHAPES: &str = "expected presets: a JSON list of objects such as `[{\"CPU_LIMIT\": \"1\"}]`, \
                      one object, or `{\"scenario\": {\"low\": {…}, \"high\": {…}}}`";

type Mapping = Pairs<Pairs<Pairs<Json>>>;

/// A preset and where it stands: `presets.json[2]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub at: String,
    pub preset: Preset,
}

/// Reads every preset of a text, or tells everything that is wrong with it; `from` is its file.
pub fn read(text: &str, from: &str, origin: PresetOrigin) -> Result<Vec<Preset>, Problems> {
    Ok(read_placed(text, from, origin)?.into_iter().map(|placed| placed.preset).collect())
}

/// The same, with the place of each.
pub fn read_placed(text: &str, from: &str, origin: PresetOrigin) -> Result<Vec<Placed>, Problems> {
    let shape: Json = parse(text, from)?;
    let mut found = match &shape {
        Json::Array(items) if items.is_empty() => {
            return Err(Problem::new(from, "there is no preset in it").into());
        }
        Json::Array(items) => list(text, items, from, origin),
        Json::Object(_) if is_mapping(&shape) => mapping(text, from, origin),
        Json::Object(_) => Ok(vec![one(&parse(text, from)?, from.to_owned(), origin)?]),
        _ => Err(Problem::new(from, SHAPES).into()),
    }?;
    for (index, placed) in found.iter_mut().enumerate() {
        // Results are filed by name, so there has to be one.
        let name = &mut placed.preset.values.scenario_name;
        name.get_or_insert_with(|| format!("preset_{}", index + 1));
    }
    Ok(found)
}

/// Reads the one preset of a text: an object, or a list of one.
pub fn read_one(text: &str, from: &str) -> Result<Preset, Problems> {
    match parse::<Json>(text, from)? {
        Json::Object(_) => {
            Ok(one(&parse(text, from)?, from.to_owned(), PresetOrigin::Given)?.preset)
        }
        Json::Array(items) if items.len() == 1 => {
            let mut all = list(text, &items, from, PresetOrigin::Given)?;
            let only = all.pop().ok_or_else(|| Problem::new(from, SHAPES))?;
            Ok(only.preset)
        }
        _ => {
            let reason = "expected one preset, a JSON object such as `{\"CPU_LIMIT\": \"1\"}`";
            Err(Problem::new(from, reason).into())
        }
    }
}

fn list(
    text: &str,
    items: &[Json],
    from: &str,
    origin: PresetOrigin,
) -> Result<Vec<Placed>, Problems> {
    let mut problems = Problems::default();
    for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_object()) {
        let found = quoted(&item.to_string());
        let reason =
            format!("expected an object such as `{{\"CPU_LIMIT\": \"1\"}}`, found {found}");
        problems.add(Problem::new(&format!("{from}[{index}]"), reason));
    }
    problems.or(())?;
    let mut problems = Problems::default();
    let mut presets = Vec::new();
    for (index, pairs) in parse::<Vec<Pairs<Json>>>(text, from)?.iter().enumerate() {
        presets.extend(problems.keep(one(pairs, format!("{from}[{index}]"), origin)));
    }
    problems.or(presets)
}

/// Scenarios by name, each with presets by severity. One right severity is enough to tell: what else
/// is wrong is told later.
fn is_mapping(json: &Json) -> bool {
    let Some(map) = json.as_object() else { return false };
    let levels =
        |value: &Json| value.as_object().is_some_and(|levels| levels.values().all(Json::is_object));
    let is_level = |name: &String| name.parse::<ScenarioSeverity>().is_ok();
    let has_level = |value: &Json| value.as_object().is_some_and(|it| it.keys().any(is_level));
    map.iter().all(|(name, value)| key(name).is_none() && levels(value))
        && map.values().any(has_level)
}

fn mapping(text: &str, from: &str, origin: PresetOrigin) -> Result<Vec<Placed>, Problems> {
    let scenarios: Mapping = parse(text, from)?;
    let mut problems = repeated(&scenarios, from);
    let mut presets = Vec::new();
    for (scenario, levels) in &scenarios.0 {
        let at = format!("{from}[{scenario}]");
        problems.0.extend(repeated(levels, &at).0);
        if levels.0.is_empty() {
            problems.add(Problem::new(&at, "there is no preset in it: add `low` or `high`"));
        }
        for (severity, pairs) in &levels.0 {
            if severity.parse::<ScenarioSeverity>().is_err() {
                let reason = "unknown severity; a scenario has `low` and `high`";
                problems.add(Problem::of(&at, severity, reason));
                continue;
            }
            let found = one(pairs, format!("{at}[{severity}]"), origin);
            let Some(mut placed) = problems.keep(found) else { continue };
            let values = &mut placed.preset.values;
            values.scenario_name.get_or_insert_with(|| scenario.clone());
            values.scenario_severity = values.scenario_severity.or(severity.parse().ok());
            presets.push(placed);
        }
    }
    problems.or(presets)
}

fn one(pairs: &Pairs<Json>, at: String, origin: PresetOrigin) -> Result<Placed, Problems> {
    let preset = Preset::new(values(pairs, &at)?, origin, &at)?;
    Ok(Placed { at, preset })
}

/// Reads the keys of one preset or of a part of one.
pub(super) fn values(pairs: &Pairs<Json>, at: &str) -> Result<Values, Problems> {
    let mut problems = repeated(pairs, at);
    let mut values = Values::default();
    for (name, json) in &pairs.0 {
        let Some(key) = key(name) else {
            problems.add(unknown(at, name));
            continue;
        };
        // An empty value or none is the same as no key, as in the environment.
        let Some(text) = text_of(json) else { continue };
        if let Err(refusal) = (key.read)(&mut values, &text) {
            problems.add(Problem::of(at, name, malformed(name, &text, refusal)));
        }
    }
    problems.or(values)
}

pub(super) fn repeated<V>(pairs: &Pairs<V>, at: &str) -> Problems {
    let twice = |name: &str| Problem::of(at, name, "it stands there twice: remove one of them");
    Problems(pairs.repeated().into_iter().map(twice).collect())
}

fn unknown(at: &str, name: &str) -> Problem {
    let known = KEYS.iter().map(|key| key.name);
    let hint = did_you_mean(name, known, "docs/scenarios.md lists the known ones");
    Problem::of(at, name, format!("unknown key{hint}"))
}

fn malformed(name: &str, text: &str, refusal: Refusal) -> String {
    if name == "CPU_LIMIT" && text.ends_with('%') {
        return format!("it is a time; for a share of a processor write CPU_SHARE: \"{text}\"");
    }
    let expected =
        key(name).and_then(super::Key::setting).map(menace_settings::Declaration::expected);
    let why = refusal.why.map_or(String::new(), |why| format!(": {why}"));
    format!("expected {}, found {}{why}", expected.unwrap_or_default(), quoted(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<Vec<Preset>, String> {
        read(text, "p.json", PresetOrigin::StaticFile).map_err(|problems| problems.to_string())
    }

    fn written(text: &str) -> String {
        serde_json::to_string(&all(text).unwrap()).unwrap()
    }

    #[test]
    fn a_list_one_object_and_a_mapping_are_presets() {
        assert_eq!(
            written(r#"[{"CPU_LIMIT": 1}, {"SCENARIO_NAME": "x", "CPU_LIMIT": "500ms"}]"#),
            r#"[{"SCENARIO_NAME":"preset_1","CPU_LIMIT":"1"},{"SCENARIO_NAME":"x","CPU_LIMIT":"0.5"}]"#
        );
        assert_eq!(
            written(r#"{"VM_SETTINGS": {"memory": "2G"}, "SCENARIO_NAME": "x"}"#),
            r#"[{"SCENARIO_NAME":"x","VM_SETTINGS":{"memory":"2G"}}]"#
        );
        assert_eq!(
            written(r#"{"spike": {"low": {"THREAD_BURST": 2}, "high": {"THREAD_BURST": 9}}}"#),
            "[{\"SCENARIO_NAME\":\"spike\",\"SCENARIO_SEVERITY\":\"low\",\"THREAD_BURST\":\"2\"},\
             {\"SCENARIO_NAME\":\"spike\",\"SCENARIO_SEVERITY\":\"high\",\"THREAD_BURST\":\"9\"}]"
        );
    }

    #[test]
    fn every_kind_of_value_can_be_written_in_the_ways_people_do() {
        let preset = r#"{"SCENARIO_NAME": "x", "CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi",
            "PACKET_LOSS": "2.5%", "SAFE_MODE": true, "BANDWIDTH_LIMIT": "5mbit",
            "FAILURE_MODES": ["disk", "network"], "SANDBOX_STUB_STRATEGY": "hostile, misuse",
            "NETWORK_PARTITION": "db:5432, :80", "TIMEOUT": null, "DISK_LIMIT": "",
            "NETWORK_MOCKS": {"url": "*"}, "CPU_SHARE": "50%", "OS_TYPE": "Linux"}"#;
        insta::assert_snapshot!(written(preset), @r#"[{"SCENARIO_NAME":"x","CPU_LIMIT":"1","MEMORY_LIMIT":"512Mi","CPU_SHARE":"0.5","PACKET_LOSS":"2.5","BANDWIDTH_LIMIT":"5Mbps","NETWORK_PARTITION":["db:5432",":80"],"NETWORK_MOCKS":{"url":"*"},"SAFE_MODE":"1","SANDBOX_STUB_STRATEGY":["hostile","misuse"],"FAILURE_MODES":["disk","network"],"OS_TYPE":"linux"}]"#);
        assert_eq!(written(&written(preset)), written(preset));
    }

    #[test]
    fn every_mistake_is_told_with_file_place_key_and_reason() {
        let text = r#"[
            {"CPU_LIMTI": 1, "MEMORY_LIMIT": "many", "TIMEOUT": 0},
            {"SECURITY_LEVEL": 9, "FAILURE_MODES": "dsik", "CPU_LIMIT": "50%", "COLOUR": 1},
            {"MIN_BANDWIDTH": "2Mbps", "MAX_BANDWIDTH": "1Mbps", "THREAD_BURST": true},
            {"MIN_BANDWIDTH": "2Mbps", "MAX_BANDWIDTH": "1Mbps"},
            {"CPU_LIMIT": 1, "CPU_LIMIT": 2, "NETWORK_MOCKS": [{"status": 200}]}
        ]"#;
        insta::assert_snapshot!(all(text).unwrap_err(), @r#"
        p.json[0]: CPU_LIMTI: unknown key; did you mean `CPU_LIMIT`?
        p.json[0]: MEMORY_LIMIT: expected a size such as `512Mi` or `1Gi`, found `many`
        p.json[0]: TIMEOUT: expected a duration such as `30` (seconds), `500ms`, `5m` or `7d`, found `0`: it must be at least 1ms
        p.json[1]: SECURITY_LEVEL: expected a whole number from 1 to 5, found `9`
        p.json[1]: FAILURE_MODES: expected a list, separated by commas or a JSON array, each item one of `disk`, `disk_corruption`, `network`, `network_partition`, `cpu`, `cpu_spike`, `concurrency_spike`, `memory`, `timeout`, `hostile_input`, `user_misuse`, `schema_drift`, `flaky_upstream`, found `dsik`: `dsik` is not: did you mean `disk`?
        p.json[1]: CPU_LIMIT: it is a time; for a share of a processor write CPU_SHARE: "50%"
        p.json[1]: COLOUR: unknown key; docs/scenarios.md lists the known ones
        p.json[2]: THREAD_BURST: expected a whole number from 0 to 1024, found `true`
        p.json[3]: MIN_BANDWIDTH: it is above MAX_BANDWIDTH: lower it or raise that
        p.json[4]: CPU_LIMIT: it stands there twice: remove one of them
        "#);
    }

    #[test]
    fn values_beyond_what_makes_sense_are_refused() {
        for (key, value) in [
            ("VM_SETTINGS", r#"{"memroy": "2G"}"#),
            ("VM_SETTINGS", r#"{"memory": "much"}"#),
            ("GPU_LIMIT", "18446744073709551615"),
            ("GPU_LIMIT", "129"),
            ("NETWORK_LATENCY_MS", "1e12"),
            ("NETWORK_LATENCY_MS", "1000000000000"),
            ("NETWORK_JITTER_MS", "600001"),
            ("CPU_SHARE", "0.009"),
            ("TIMEOUT", r#""1ns""#),
        ] {
            let found = all(&format!(r#"{{"{key}": {value}}}"#)).unwrap_err();
            assert!(found.starts_with(&format!("p.json: {key}: expected ")), "{value}: {found}");
        }
    }

    #[test]
    fn what_is_no_preset_is_refused() {
        for (text, says) in [
            ("", "p.json: this is no such JSON: EOF"),
            ("7", "p.json: expected presets: a JSON list"),
            ("[]", "p.json: there is no preset in it"),
            ("[{}, 7]", "p.json[1]: expected an object such as"),
            (r#"{"a": {"low": {"CPU_LIMIT": "x"}}}"#, "p.json[a][low]: CPU_LIMIT: expected"),
            (
                r#"{"hostile_input": {"low": {}, "mid": {}}}"#,
                "p.json[hostile_input]: mid: unknown severity; a scenario has `low` and `high`",
            ),
            (r#"{"a": {"low": {}}, "b": {}}"#, "p.json[b]: there is no preset in it"),
            (r#"{"a": {"low": {}}, "a": {"low": {}}}"#, "p.json: a: it stands there twice"),
        ] {
            let found = all(text).unwrap_err();
            assert!(found.starts_with(says), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = all(&text);
        }

        #[test]
        fn no_value_panics_and_what_is_read_is_read_again(
            index in 0..KEYS.len(), text in "[-0-9a-z.,:%* ]{0,12}"
        ) {
            let preset = serde_json::json!([{ KEYS[index].name: text }]).to_string();
            if let Ok(presets) = all(&preset) {
                let written = serde_json::to_string(&presets).unwrap();
                prop_assert_eq!(all(&written).unwrap(), presets);
            }
        }
    }

    #[test]
    fn one_preset_is_one() {
        assert_eq!(read_one(r#"[{"CPU_LIMIT": 1}]"#, "--preset").unwrap().name(), "unnamed");
        let many = read_one("[{}, {}]", "--preset").unwrap_err().to_string();
        assert!(many.starts_with("--preset: expected one preset"), "{many}");
    }
}
