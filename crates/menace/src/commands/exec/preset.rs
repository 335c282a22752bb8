//! The conditions of a call: the preset, overridden by the settings.
//!
//! The keys of a preset are those settings that speak about a single call, and `CPU_SHARE` and
//! `SAFE_MODE`. What a call cannot be given yet is checked, then named in [`Conditions::ignored`].

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Context as _, Error, anyhow, bail, ensure};
use serde_json::{Map, Value};

use menace_model::Limits;
use menace_sandbox::WarmSpec;
use menace_settings::declared::{Limits as LimitSettings, Network};
use menace_settings::{Declaration, Percent, Refusal, Setting, Settings, Size, Surroundings};

use crate::suggest::{did_you_mean, nearest};

/// Keys that are settings too, but stand in other groups.
const ELSEWHERE: [&str; 2] = ["SANDBOX_STUB_STRATEGY", "SCENARIO_NAME"];
/// Keys that are no settings.
const CPU_SHARE: &str = "CPU_SHARE";
const SAFE_MODE: &str = "SAFE_MODE";
/// What changes the call; the name of a scenario changes nothing and needs no warning.
const APPLIED: [&str; 9] = [
    "CPU_LIMIT",
    "MEMORY_LIMIT",
    "DISK_LIMIT",
    "TIMEOUT",
    "PROCESS_LIMIT",
    "OPEN_FILES_LIMIT",
    "OUTPUT_LIMIT",
    "SECURITY_LEVEL",
    "SCENARIO_NAME",
];

const STRICTEST: u64 = 5;
/// More than any machine that Linux runs on has.
const MOST_PROCESSORS: f64 = 8192.0;
/// As many as Linux can number.
const PROCESSES: RangeInclusive<u64> = 0..=1 << 22;
/// What Python itself needs to make a call, up to what Linux gives a process by default.
const OPEN_FILES: RangeInclusive<u64> = 16..=1 << 20;
/// Both streams are held in memory and are part of the outcome.
const MOST_OUTPUT: u64 = 16 << 20;

/// What a call is held to.
#[derive(Debug)]
pub(super) struct Conditions {
    pub limits: Limits,
    pub security_level: u8,
    pub safe_mode: bool,
    /// Keys that were given and change nothing yet.
    pub ignored: Vec<&'static str>,
}

impl Conditions {
    pub(super) fn new(preset: &str, settings: &Settings) -> Result<Self, Error> {
        let preset = Preset::read(preset)?;
        let set = &settings.limits;
        let defaults = Limits::default();
        // A setting overrides the preset's own value.
        let timeout = set.timeout.value.or(preset.timeout);
        let cpu = set.cpu_limit.value.or(preset.cpu_limit);
        let memory = set.memory_limit.value.or(preset.memory_limit);
        let disk = set.disk_limit.value.or(preset.disk_limit);
        let processes = set.process_limit.value.or(preset.process_limit);
        let open_files = set.open_files_limit.value.or(preset.open_files_limit);
        let output = set.output_limit.value.or(preset.output_limit);
        let level = set.security_level.value.or(preset.security_level);
        let limits = Limits {
            timeout_ms: match timeout {
                Some(timeout) => millis("TIMEOUT", timeout)?,
                None => defaults.timeout_ms,
            },
            cpu_ms: cpu.map(|cpu| millis("CPU_LIMIT", cpu)).transpose()?,
            cpu_share: preset.cpu_share,
            memory_bytes: match memory {
                Some(memory) => Some(bytes("MEMORY_LIMIT", memory)?),
                None => defaults.memory_bytes,
            },
            disk_bytes: match disk {
                Some(disk) => Some(bytes("DISK_LIMIT", disk)?),
                None => defaults.disk_bytes,
            },
            processes: processes.map_or(Ok(defaults.processes), |processes| {
                within("PROCESS_LIMIT", processes, PROCESSES)
            })?,
            open_files: open_files.map_or(Ok(defaults.open_files), |files| {
                within("OPEN_FILES_LIMIT", files, OPEN_FILES)
            })?,
            output_bytes: output.map_or(Ok(defaults.output_bytes), output_bytes)?,
        };
        let mut ignored = preset.ignored;
        let known = keys().map(|key| key.name);
        let set_by_user = settings.entries().filter(|entry| entry.origin.is_explicit());
        let known: Vec<&str> = known.filter(|name| !APPLIED.contains(name)).collect();
        ignored.extend(set_by_user.map(|entry| entry.name).filter(|name| known.contains(name)));
        ignored.sort_unstable();
        ignored.dedup();
        Ok(Self {
            limits,
            security_level: level.map_or(Ok(WarmSpec::DEFAULT_LEVEL), level_of)?,
            safe_mode: preset.safe_mode,
            ignored,
        })
    }

    /// Of the import that precedes a call: the preset is about the call, so that a tight limit does
    /// not fail the import, yet a generous one is meant for both.
    pub(super) fn of_import(&self) -> Limits {
        let defaults = Limits::default();
        Limits {
            timeout_ms: self.limits.timeout_ms.max(defaults.timeout_ms),
            cpu_ms: None,
            memory_bytes: self.limits.memory_bytes.max(defaults.memory_bytes),
            disk_bytes: self.limits.disk_bytes.max(defaults.disk_bytes),
            processes: self.limits.processes.max(defaults.processes),
            open_files: self.limits.open_files.max(defaults.open_files),
            ..self.limits.clone()
        }
    }
}

fn millis(key: &str, duration: Duration) -> Result<u64, Error> {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    ensure!(millis > 0, "{key}: expected a time above zero");
    Ok(millis as u64)
}

fn bytes(key: &str, size: Size) -> Result<u64, Error> {
    ensure!(size.bytes() > 0, "{key}: expected a size above zero");
    Ok(size.bytes())
}

fn within(key: &str, count: u64, range: RangeInclusive<u64>) -> Result<u64, Error> {
    let (least, most) = (range.start(), range.end());
    ensure!(range.contains(&count), "{key}: expected {least} to {most}, found {count}");
    Ok(count)
}

fn output_bytes(size: Size) -> Result<u64, Error> {
    let most = Size::from_bytes(MOST_OUTPUT);
    ensure!(size.bytes() <= MOST_OUTPUT, "OUTPUT_LIMIT: expected at most {most}, found {size}");
    Ok(size.bytes())
}

fn level_of(level: u64) -> Result<u8, Error> {
    ensure!(
        (1..=STRICTEST).contains(&level),
        "SECURITY_LEVEL: expected 1 (least strict) to {STRICTEST} (strictest), found {level}"
    );
    Ok(level as u8)
}

/// What a preset says, each value read as the setting of that name would be.
#[derive(Debug, Default)]
struct Preset {
    cpu_limit: Option<Duration>,
    cpu_share: Option<f64>,
    memory_limit: Option<Size>,
    disk_limit: Option<Size>,
    timeout: Option<Duration>,
    process_limit: Option<u64>,
    open_files_limit: Option<u64>,
    output_limit: Option<Size>,
    security_level: Option<u64>,
    safe_mode: bool,
    ignored: Vec<&'static str>,
}

/// Settings that a preset may give.
fn keys() -> impl Iterator<Item = &'static Declaration> {
    let groups = LimitSettings::DECLARATIONS.iter().chain(Network::DECLARATIONS);
    let elsewhere =
        menace_settings::declarations().filter(|declared| ELSEWHERE.contains(&declared.name));
    groups.chain(elsewhere)
}

impl Preset {
    fn read(text: &str) -> Result<Self, Error> {
        let map: Map<String, Value> = serde_json::from_str(text)
            .context("--preset: expected a JSON object such as {\"CPU_LIMIT\": \"1\"}")?;
        let mut preset = Self::default();
        for (key, value) in &map {
            // An empty value or none is the same as no key, as in the environment.
            let text = text_of(value);
            let Some(text) = text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
                continue;
            };
            preset.set(key, text)?;
        }
        Ok(preset)
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), Error> {
        match key {
            "CPU_LIMIT" if text.ends_with('%') => {
                bail!("--preset: CPU_LIMIT is a time; write {{\"{CPU_SHARE}\": \"{text}\"}}")
            }
            "CPU_LIMIT" => self.cpu_limit = Some(parse(key, text)?),
            CPU_SHARE => self.cpu_share = Some(share(text)?),
            "MEMORY_LIMIT" => self.memory_limit = Some(parse(key, text)?),
            "DISK_LIMIT" => self.disk_limit = Some(parse(key, text)?),
            "TIMEOUT" => self.timeout = Some(parse(key, text)?),
            "PROCESS_LIMIT" => self.process_limit = Some(parse(key, text)?),
            "OPEN_FILES_LIMIT" => self.open_files_limit = Some(parse(key, text)?),
            "OUTPUT_LIMIT" => self.output_limit = Some(parse(key, text)?),
            "SECURITY_LEVEL" => self.security_level = Some(parse(key, text)?),
            SAFE_MODE => self.safe_mode = parse(key, text)?,
            _ => self.check(key, text)?,
        }
        Ok(())
    }

    /// A key that the sandbox does not act on yet must be right all the same.
    fn check(&mut self, key: &str, text: &str) -> Result<(), Error> {
        let Some(declared) = keys().find(|declared| declared.name == key) else {
            let known = keys().map(|key| key.name).chain([CPU_SHARE, SAFE_MODE]);
            let suggestion = match nearest(key, known, 1).as_slice() {
                [] => "; docs/exec.md lists the known ones".to_owned(),
                near => did_you_mean(near),
            };
            bail!("--preset: unknown key `{key}`{suggestion}");
        };
        declared
            .check(text, &Surroundings::default())
            .map_err(|refusal| refused(key, text, &declared.expected(), refusal))?;
        let is_met = key == "OS_TYPE" && text.eq_ignore_ascii_case("linux");
        if !APPLIED.contains(&declared.name) && !is_met {
            self.ignored.push(declared.name);
        }
        Ok(())
    }
}

fn parse<T: Setting>(key: &str, text: &str) -> Result<T, Error> {
    T::parse(text, &Surroundings::default())
        .map_err(|refusal| refused(key, text, &T::expected(), refusal))
}

fn refused(key: &str, text: &str, expected: &str, refusal: Refusal) -> Error {
    let why = refusal.why.map_or(String::new(), |why| format!(": {why}"));
    anyhow!("--preset: {key}: expected {expected}, found {text:?}{why}")
}

/// Processors at once: `0.5` and `50%` are half of one, `2` is two.
fn share(text: &str) -> Result<f64, Error> {
    let expected = "a number of processors such as `0.5`, or a percentage of one such as `50%`";
    let wrong = |refusal| refused(CPU_SHARE, text, expected, refusal);
    let around = Surroundings::default();
    let share = if text.ends_with('%') {
        Percent::parse(text, &around).map(Percent::fraction)
    } else {
        f64::parse(text, &around)
    };
    share.map_err(wrong).and_then(|share| {
        if share <= 0.0 {
            Err(wrong(Refusal::because("it must be above zero")))
        } else if share > MOST_PROCESSORS {
            Err(wrong(Refusal::because("no machine has more than 8192 processors")))
        } else {
            Ok(share)
        }
    })
}

/// A value as the environment would hold it.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(yes) => Some(if *yes { "1" } else { "0" }.to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            Some(items.iter().filter_map(text_of).collect::<Vec<_>>().join(","))
        }
        Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use menace_settings::Sources;

    use super::*;

    fn conditions(preset: &str, environment: &[(&str, &str)]) -> Result<Conditions, String> {
        let environment: BTreeMap<String, String> =
            environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let sources = Sources { environment, ..Sources::default() };
        let settings = Settings::resolve(&sources).unwrap();
        Conditions::new(preset, &settings).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_documented_keys_set_the_limits() {
        let preset = r#"{"CPU_LIMIT": "1", "MEMORY_LIMIT": "512Mi", "DISK_LIMIT": "1Gi",
            "TIMEOUT": 2.5, "SECURITY_LEVEL": 5, "SAFE_MODE": true, "CPU_SHARE": "50%",
            "PROCESS_LIMIT": 200, "OPEN_FILES_LIMIT": "64", "OUTPUT_LIMIT": "1Mi"}"#;
        let found = conditions(preset, &[]).unwrap();
        assert_eq!(found.limits.cpu_ms, Some(1000));
        assert_eq!(found.limits.memory_bytes, Some(512 << 20));
        assert_eq!(found.limits.disk_bytes, Some(1 << 30));
        assert_eq!((found.limits.timeout_ms, found.limits.cpu_share), (2500, Some(0.5)));
        assert_eq!((found.limits.processes, found.limits.open_files), (200, 64));
        assert_eq!(found.limits.output_bytes, 1 << 20);
        assert_eq!((found.security_level, found.safe_mode), (5, true));
        assert!(found.ignored.is_empty());
    }

    #[test]
    fn a_setting_overrides_the_preset() {
        let preset = r#"{"TIMEOUT": "1", "CPU_LIMIT": "3", "PROCESS_LIMIT": 5}"#;
        let found = conditions(preset, &[("TIMEOUT", "2"), ("PROCESS_LIMIT", "7")]).unwrap();
        let limits = found.limits;
        assert_eq!((limits.timeout_ms, limits.cpu_ms), (2000, Some(3000)));
        assert_eq!((limits.processes, found.ignored.len()), (7, 0));
    }

    #[test]
    fn what_exec_cannot_do_yet_is_named() {
        let preset = r#"{"FAILURE_MODES": ["disk", "network"], "SCENARIO_NAME": "x",
            "OS_TYPE": "linux", "VM_SETTINGS": {"memory": "2G"}}"#;
        let found = conditions(preset, &[("NETWORK_LATENCY_MS", "200")]).unwrap();
        assert_eq!(found.ignored, ["FAILURE_MODES", "NETWORK_LATENCY_MS", "VM_SETTINGS"]);
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        let wrong = |preset| conditions(preset, &[]).unwrap_err();
        for (preset, message) in [
            (r#"{"CPU_LIMTI": 1}"#, "did you mean `CPU_LIMIT`?"),
            (r#"{"MEMORY_LIMIT": "many"}"#, "MEMORY_LIMIT: expected a size such as `512Mi`"),
            (r#"{"FAILURE_MODES": "flood"}"#, "FAILURE_MODES: expected"),
            (r#"{"CPU_LIMIT": "50%"}"#, "write {\"CPU_SHARE\": \"50%\"}"),
            (r#"{"SECURITY_LEVEL": 9}"#, "1 (least strict) to 5 (strictest), found 9"),
            (r#"{"TIMEOUT": 0}"#, "above zero"),
            (r#"{"CPU_SHARE": 1e300}"#, "no machine has more than 8192 processors"),
            (r#"{"CPU_SHARE": 0}"#, "it must be above zero"),
            (r#"{"PROCESS_LIMIT": 18446744073709551615}"#, "PROCESS_LIMIT: expected 0 to 4194304"),
            (r#"{"OPEN_FILES_LIMIT": 3}"#, "OPEN_FILES_LIMIT: expected 16 to 1048576, found 3"),
            (r#"{"OUTPUT_LIMIT": "1Gi"}"#, "OUTPUT_LIMIT: expected at most 16Mi, found 1Gi"),
            ("[]", "expected a JSON object"),
        ] {
            let found = wrong(preset);
            assert!(found.contains(message), "{preset}: {found}");
        }
    }

    #[test]
    fn a_tight_limit_does_not_fail_the_import_and_a_wide_one_helps_it() {
        let preset = r#"{"TIMEOUT": "1", "MEMORY_LIMIT": "4Gi", "PROCESS_LIMIT": 0,
            "OPEN_FILES_LIMIT": 9000}"#;
        let found = conditions(preset, &[]).unwrap();
        let import = found.of_import();
        assert_eq!((import.processes, import.open_files), (Limits::default().processes, 9000));
        assert_eq!(import.timeout_ms, Limits::default().timeout_ms);
        assert_eq!(import.memory_bytes, Some(4 << 30));
    }
}
