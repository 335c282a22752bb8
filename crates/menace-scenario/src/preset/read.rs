//! Reads presets from JSON: a list of objects, one object, or a mapping of scenarios to severities.

use menace_model::{ScenarioSeverity, suggest_names_or};
use serde_json::Value as Json;

use menace_settings::ParseRefusal;

use crate::config::{
    ConfigError, ConfigProblem, OrderedPairs, parse_json, quote_shortened, to_setting_text,
};

use super::{PRESET_KEYS, Preset, PresetOrigin, PresetValues, find_key};

const EXPECTED_PRESETS_MESSAGE: &str = "expected presets: a JSON list of objects such as \
    `[{\"CPU_LIMIT\": \"1\"}]`, one object, or `{\"scenario\": {\"low\": {…}, \"high\": {…}}}`";

type ScenarioMapping = OrderedPairs<OrderedPairs<OrderedPairs<Json>>>;

/// A preset and its place: `presets.json[2]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LocatedPreset {
    pub at: String,
    pub preset: Preset,
}

/// Reads all presets of a text, or returns all problems of it; `from` is its file.
pub fn read_presets(
    text: &str,
    from: &str,
    origin: PresetOrigin,
) -> Result<Vec<Preset>, ConfigError> {
    Ok(read_located_presets(text, from, origin)?.into_iter().map(|placed| placed.preset).collect())
}

/// Reads presets, each with its position in the file.
pub fn read_located_presets(
    text: &str,
    from: &str,
    origin: PresetOrigin,
) -> Result<Vec<LocatedPreset>, ConfigError> {
    let shape: Json = parse_json(text, from)?;
    let mut found = match &shape {
        Json::Array(items) if items.is_empty() => {
            return Err(ConfigProblem::new(from, "there is no preset in it").into());
        }
        Json::Array(items) => read_preset_list(text, items, from, origin),
        Json::Object(_) if is_mapping(&shape) => read_scenario_mapping(text, from, origin),
        Json::Object(_) => {
            Ok(vec![read_located_preset(&parse_json(text, from)?, from.to_owned(), origin)?])
        }
        _ => Err(ConfigProblem::new(from, EXPECTED_PRESETS_MESSAGE).into()),
    }?;
    for (index, placed) in found.iter_mut().enumerate() {
        // Results are stored by name, so every preset needs one.
        let name = &mut placed.preset.values.scenario_name;
        name.get_or_insert_with(|| format!("preset_{}", index + 1));
    }
    Ok(found)
}

/// Reads a text with one preset: an object, or a list of one.
pub fn read_single_preset(text: &str, from: &str) -> Result<Preset, ConfigError> {
    match parse_json::<Json>(text, from)? {
        Json::Object(_) => Ok(read_located_preset(
            &parse_json(text, from)?,
            from.to_owned(),
            PresetOrigin::UserProvided,
        )?
        .preset),
        Json::Array(items) if items.len() == 1 => {
            let mut all = read_preset_list(text, &items, from, PresetOrigin::UserProvided)?;
            let only =
                all.pop().ok_or_else(|| ConfigProblem::new(from, EXPECTED_PRESETS_MESSAGE))?;
            Ok(only.preset)
        }
        _ => {
            let reason = "expected one preset, a JSON object such as `{\"CPU_LIMIT\": \"1\"}`";
            Err(ConfigProblem::new(from, reason).into())
        }
    }
}

fn read_preset_list(
    text: &str,
    items: &[Json],
    from: &str,
    origin: PresetOrigin,
) -> Result<Vec<LocatedPreset>, ConfigError> {
    let mut problems = ConfigError::default();
    for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_object()) {
        let found = quote_shortened(&item.to_string());
        let reason =
            format!("expected an object such as `{{\"CPU_LIMIT\": \"1\"}}`, found {found}");
        problems.add(ConfigProblem::new(&format!("{from}[{index}]"), reason));
    }
    problems.into_result(())?;
    let mut problems = ConfigError::default();
    let mut presets = Vec::new();
    for (index, pairs) in parse_json::<Vec<OrderedPairs<Json>>>(text, from)?.iter().enumerate() {
        presets.extend(problems.collect_ok(read_located_preset(
            pairs,
            format!("{from}[{index}]"),
            origin,
        )));
    }
    problems.into_result(presets)
}

/// Is it a mapping of scenarios to presets by severity? One valid severity is enough; other
/// problems are reported when it is read.
fn is_mapping(json: &Json) -> bool {
    let Some(map) = json.as_object() else { return false };
    let levels =
        |value: &Json| value.as_object().is_some_and(|levels| levels.values().all(Json::is_object));
    let is_level = |name: &String| ScenarioSeverity::from_name(name).is_some();
    let has_level = |value: &Json| value.as_object().is_some_and(|it| it.keys().any(is_level));
    map.iter().all(|(name, value)| find_key(name).is_none() && levels(value))
        && map.values().any(has_level)
}

fn read_scenario_mapping(
    text: &str,
    from: &str,
    origin: PresetOrigin,
) -> Result<Vec<LocatedPreset>, ConfigError> {
    let scenarios: ScenarioMapping = parse_json(text, from)?;
    let mut problems = repeated_key_problems(&scenarios, from);
    let mut presets = Vec::new();
    for (scenario, levels) in &scenarios.0 {
        let at = format!("{from}[{scenario}]");
        problems.0.extend(repeated_key_problems(levels, &at).0);
        if levels.0.is_empty() {
            problems.add(ConfigProblem::new(&at, "there is no preset in it: add `low` or `high`"));
        }
        for (severity, pairs) in &levels.0 {
            let Some(known) = ScenarioSeverity::from_name(severity) else {
                let reason = "unknown severity; a scenario has `low` and `high`";
                problems.add(ConfigProblem::for_key(&at, severity, reason));
                continue;
            };
            let found = read_located_preset(pairs, format!("{at}[{severity}]"), origin);
            let Some(mut placed) = problems.collect_ok(found) else { continue };
            let values = &mut placed.preset.values;
            values.scenario_name.get_or_insert_with(|| scenario.clone());
            values.scenario_severity = values.scenario_severity.or(Some(known));
            presets.push(placed);
        }
    }
    problems.into_result(presets)
}

fn read_located_preset(
    pairs: &OrderedPairs<Json>,
    at: String,
    origin: PresetOrigin,
) -> Result<LocatedPreset, ConfigError> {
    let preset = Preset::new(read_values(pairs, &at)?, origin, &at)?;
    Ok(LocatedPreset { at, preset })
}

/// Reads the keys of a preset or of a part of one.
pub(super) fn read_values(
    pairs: &OrderedPairs<Json>,
    at: &str,
) -> Result<PresetValues, ConfigError> {
    let mut problems = repeated_key_problems(pairs, at);
    let mut values = PresetValues::default();
    for (name, json) in &pairs.0 {
        let Some(key) = find_key(name) else {
            problems.add(unknown_key_problem(at, name));
            continue;
        };
        // An empty value is the same as no key, as in the environment.
        let Some(text) = to_setting_text(json) else { continue };
        if let Err(refusal) = (key.read)(&mut values, &text) {
            problems.add(ConfigProblem::for_key(
                at,
                name,
                malformed_value_message(name, &text, refusal),
            ));
        }
    }
    problems.into_result(values)
}

pub(super) fn repeated_key_problems<V>(pairs: &OrderedPairs<V>, at: &str) -> ConfigError {
    let twice =
        |name: &str| ConfigProblem::for_key(at, name, "it stands there twice: remove one of them");
    ConfigError(pairs.find_repeated_keys().into_iter().map(twice).collect())
}

fn unknown_key_problem(at: &str, name: &str) -> ConfigProblem {
    let known = PRESET_KEYS.iter().map(|key| key.name);
    let hint = suggest_names_or(name, known, "docs/scenarios.md lists the known ones");
    ConfigProblem::for_key(at, name, format!("unknown key{hint}"))
}

fn malformed_value_message(name: &str, text: &str, refusal: ParseRefusal) -> String {
    if name == "CPU_LIMIT" && text.ends_with('%') {
        return format!("it is a time; for a share of a processor write CPU_SHARE: \"{text}\"");
    }
    let expected = find_key(name)
        .and_then(super::PresetKey::setting)
        .map(menace_settings::SettingDeclaration::expected);
    let why = refusal.reason.map_or(String::new(), |why| format!(": {why}"));
    format!("expected {}, found {}{why}", expected.unwrap_or_default(), quote_shortened(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<Vec<Preset>, String> {
        read_presets(text, "p.json", PresetOrigin::StaticFile)
            .map_err(|problems| problems.to_string())
    }

    fn written(text: &str) -> String {
        serde_json::to_string(&all(text).unwrap()).unwrap()
    }

    #[test]
    fn a_list_one_object_and_a_mapping_are_presets() {
        assert_eq!(
            written(r#"[{"CPU_LIMIT": 1}, {"SCENARIO_NAME": "x", "CPU_LIMIT": "500ms"}]"#),
            concat!(
                r#"[{"SCENARIO_NAME":"preset_1","CPU_LIMIT":"1"},"#,
                r#"{"SCENARIO_NAME":"x","CPU_LIMIT":"0.5"}]"#
            )
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
    fn every_kind_of_value_has_several_notations() {
        let preset = r#"{"SCENARIO_NAME": "x", "CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi",
            "PACKET_LOSS": "2.5%", "SAFE_MODE": true, "BANDWIDTH_LIMIT": "5mbit",
            "FAILURE_MODES": ["disk", "network"], "SANDBOX_STUB_STRATEGY": "hostile, misuse",
            "NETWORK_PARTITION": "db:5432, :80", "TIMEOUT": null, "DISK_LIMIT": "",
            "NETWORK_MOCKS": {"url": "*"}, "CPU_SHARE": "50%", "OS_TYPE": "Linux"}"#;
        assert_eq!(
            written(preset),
            concat!(
                r#"[{"SCENARIO_NAME":"x","CPU_LIMIT":"1","MEMORY_LIMIT":"512Mi","#,
                r#""CPU_SHARE":"0.5","PACKET_LOSS":"2.5","BANDWIDTH_LIMIT":"5Mbps","#,
                r#""NETWORK_PARTITION":["db:5432",":80"],"NETWORK_MOCKS":{"url":"*"},"#,
                r#""SAFE_MODE":"1","SANDBOX_STUB_STRATEGY":["hostile","misuse"],"#,
                r#""FAILURE_MODES":["disk","network"],"OS_TYPE":"linux"}]"#
            )
        );
        assert_eq!(written(&written(preset)), written(preset));
    }

    #[test]
    fn every_error_is_reported_with_file_place_key_and_reason() {
        let text = r#"[
            {"CPU_LIMTI": 1, "MEMORY_LIMIT": "many", "TIMEOUT": 0},
            {"SECURITY_LEVEL": 9, "FAILURE_MODES": "dsik", "CPU_LIMIT": "50%", "COLOUR": 1},
            {"MIN_BANDWIDTH": "2Mbps", "MAX_BANDWIDTH": "1Mbps", "THREAD_BURST": true},
            {"MIN_BANDWIDTH": "2Mbps", "MAX_BANDWIDTH": "1Mbps"},
            {"CPU_LIMIT": 1, "CPU_LIMIT": 2, "NETWORK_MOCKS": [{"status": 200}]}
        ]"#;
        insta::assert_snapshot!(all(text).unwrap_err(), @"
        p.json[0]: CPU_LIMTI: unknown key; did you mean `CPU_LIMIT`?
        p.json[0]: MEMORY_LIMIT: expected a size such as `512Mi` or `1Gi`, found `many`
        p.json[0]: TIMEOUT: expected a duration such as `30` (seconds), `500ms`, `5m` or `7d`, \
            found `0`: it must be at least 1ms
        p.json[1]: SECURITY_LEVEL: expected a whole number from 1 to 5, found `9`
        p.json[1]: FAILURE_MODES: expected a list, separated by commas or a JSON array, \
            each item one of `disk`, `disk_corruption`, `network`, `network_partition`, `cpu`, \
            `cpu_spike`, `concurrency_spike`, `memory`, `timeout`, `hostile_input`, \
            `user_misuse`, `schema_drift`, `flaky_upstream`, found `dsik`: `dsik` is not: \
            did you mean `disk`?
        p.json[1]: CPU_LIMIT: it is a time; for a share of a processor write CPU_SHARE: \"50%\"
        p.json[1]: COLOUR: unknown key; docs/scenarios.md lists the known ones
        p.json[2]: THREAD_BURST: expected a whole number from 0 to 1024, found `true`
        p.json[3]: MIN_BANDWIDTH: it is above MAX_BANDWIDTH: lower it or raise that
        p.json[4]: CPU_LIMIT: it stands there twice: remove one of them
        ");
    }

    #[test]
    fn values_out_of_range_are_refused() {
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
    fn texts_without_a_preset_are_refused() {
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
            index in 0..PRESET_KEYS.len(), text in "[-0-9a-z.,:%* ]{0,12}"
        ) {
            let preset = serde_json::json!([{ PRESET_KEYS[index].name: text }]).to_string();
            if let Ok(presets) = all(&preset) {
                let written = serde_json::to_string(&presets).unwrap();
                prop_assert_eq!(all(&written).unwrap(), presets);
            }
        }
    }

    #[test]
    fn a_single_preset_is_read_from_a_list_of_one() {
        assert_eq!(
            read_single_preset(r#"[{"CPU_LIMIT": 1}]"#, "--preset").unwrap().name(),
            "unnamed"
        );
        let many = read_single_preset("[{}, {}]", "--preset").unwrap_err().to_string();
        assert!(many.starts_with("--preset: expected one preset"), "{many}");
    }
}
