//! How values are decided, seen from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use menace_model::{FailureMode, FaultMode, InputStrategy};
use menace_settings::{
    ByteSize, DotEnvFile, FileTrust, LogLevel, MinimumDuration, PositiveAmount, SettingOrigin,
    Settings, SettingsSources, SettingsWarning, YamlFile,
};

use proptest::prelude::*;

#[derive(Default)]
struct TestSources<'a> {
    flags: &'a [(&'a str, &'a str)],
    environment: &'a [(&'a str, &'a str)],
    dotenv: &'a str,
    yaml: &'a str,
}

impl TestSources<'_> {
    fn sources(&self) -> SettingsSources {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let environment = map(self.environment);
        SettingsSources {
            flags: map(self.flags),
            dotenv: Some(
                DotEnvFile::parse(".env", self.dotenv, &environment, FileTrust::Trusted).unwrap(),
            ),
            environment,
            non_unicode_variables: BTreeSet::new(),
            yaml: Some(
                YamlFile::parse("sandbox_settings.yaml", self.yaml, FileTrust::Trusted).unwrap(),
            ),
        }
    }

    fn settings(&self) -> Settings {
        Settings::resolve(&self.sources()).unwrap()
    }

    fn errors(&self) -> String {
        Settings::resolve(&self.sources()).unwrap_err().to_string()
    }
}

#[test]
fn the_first_place_that_has_a_value_wins() {
    let flags: &[_] = &[("--entropy-threshold", "0.1")];
    let environment: &[_] = &[("ENTROPY_THRESHOLD", "0.2")];
    let (dotenv, yaml) = ("ENTROPY_THRESHOLD=0.3", "entropy_threshold: 0.4");
    for (given, value, origin) in [
        (TestSources { flags, environment, dotenv, yaml }, 0.1, "flag --entropy-threshold"),
        (
            TestSources { environment, dotenv, yaml, ..TestSources::default() },
            0.2,
            "environment ENTROPY_THRESHOLD",
        ),
        (TestSources { dotenv, yaml, ..TestSources::default() }, 0.3, ".env line 1"),
        (TestSources { yaml, ..TestSources::default() }, 0.4, "sandbox_settings.yaml line 1"),
    ] {
        let threshold = given.settings().convergence.entropy_threshold;
        assert_eq!((*threshold, threshold.origin.to_string().as_str()), (Some(value), origin));
    }
    assert_eq!(*TestSources::default().settings().convergence.entropy_threshold, None);
}

#[test]
fn typed_values_arrive() {
    let settings = TestSources {
        dotenv: "MEMORY_LIMIT=512Mi\nTIMEOUT=30\nSANDBOX_OVERLAY_MAX_AGE=2d\nMAX_BANDWIDTH=5Mbps\n\
                 GPT_MEMORY_RETENTION=\"insight=40,error_fix=20\"\nPACKET_LOSS=2.5\n",
        yaml: "failure_modes: [disk, cpu_spike]\nvm_settings: {memory: 2G, timeout: 600}\n",
        ..TestSources::default()
    }
    .settings();
    assert_eq!(*settings.limits.memory_limit, PositiveAmount::new(ByteSize::from_bytes(512 << 20)));
    assert_eq!(
        *settings.limits.timeout,
        Some(MinimumDuration::clamped_from_below(Duration::from_secs(30)))
    );
    assert_eq!(*settings.pool.overlay_max_age, Duration::from_hours(48));
    assert_eq!(settings.network.max_bandwidth.unwrap().get().bits_per_second(), 5_000_000);
    assert_eq!(settings.models.memory_retention.as_ref().unwrap().get("insight"), Some(40));
    let modes = settings.limits.failure_modes.value.unwrap();
    assert_eq!(
        modes,
        [FailureMode::Fault(FaultMode::Disk), FailureMode::Fault(FaultMode::CpuSpike)]
    );
    assert_eq!(settings.limits.vm_settings.value.unwrap().json()["memory"], "2G");
}

#[test]
fn the_ways_to_make_inputs_are_a_list_and_one_word_will_do() {
    for (text, expected) in [
        ("hostile", &[InputStrategy::Hostile][..]),
        ("hostile,misuse", &[InputStrategy::Hostile, InputStrategy::Misuse]),
    ] {
        let given = TestSources {
            environment: &[("SANDBOX_STUB_STRATEGY", text)],
            ..TestSources::default()
        };
        assert_eq!(given.settings().stubs.strategy.as_deref(), Some(expected));
    }
}

#[test]
fn limits_have_their_ranges() {
    let given = TestSources {
        environment: &[("SECURITY_LEVEL", "6"), ("TIMEOUT", "0"), ("OPEN_FILES_LIMIT", "3")],
        ..TestSources::default()
    };
    insta::assert_snapshot!(given.errors(), @"
    TIMEOUT: cannot read `0` (from environment TIMEOUT): \
    expected a duration such as `30` (seconds), `500ms`, `5m` or `7d`: it must be at least 1ms
    OPEN_FILES_LIMIT: cannot read `3` (from environment OPEN_FILES_LIMIT): \
    expected a whole number from 16 to 1048576
    SECURITY_LEVEL: cannot read `6` (from environment SECURITY_LEVEL): \
    expected a whole number from 1 to 5
    ");
}

#[test]
fn an_empty_value_hides_the_places_below() {
    let given = TestSources {
        environment: &[("OPENAI_API_KEY", ""), ("RUN_CYCLES", " ")],
        dotenv: "OPENAI_API_KEY=sk-1\nRUN_CYCLES=9",
        ..TestSources::default()
    };
    let settings = given.settings();
    assert_eq!(*settings.models.openai_api_key, None);
    assert_eq!(
        (*settings.general.run_cycles, &settings.general.run_cycles.origin),
        (0, &SettingOrigin::Default)
    );
}

#[test]
fn a_malformed_value_is_reported_with_name_value_place_and_expectation() {
    let given = TestSources { dotenv: "\nMEMORY_LIMIT=many", ..TestSources::default() };
    assert_eq!(
        given.errors(),
        "MEMORY_LIMIT: cannot read `many` (from .env line 2): \
         expected a size such as `512Mi` or `1Gi`"
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let given = TestSources {
        environment: &[("METRICS_PORT", "0"), ("PACKET_LOSS", "150"), ("MICROPILOT_MODE", "atuo")],
        yaml: "roi_cycels: 3\ntimeout: soon\n",
        ..TestSources::default()
    };
    insta::assert_snapshot!(given.errors(), @"
    sandbox_settings.yaml: line 1: unknown key `roi_cycels`; did you mean `roi_cycles`?
    TIMEOUT: cannot read `soon` (from sandbox_settings.yaml line 2): \
    expected a duration such as `30` (seconds), `500ms`, `5m` or `7d`
    PACKET_LOSS: cannot read `150` (from environment PACKET_LOSS): \
    expected a percentage between `0` and `100`
    MICROPILOT_MODE: cannot read `atuo` (from environment MICROPILOT_MODE): \
    expected one of `auto`, `queue`, `off`: did you mean `auto`?
    METRICS_PORT: cannot read `0` (from environment METRICS_PORT): \
    expected a port between `1` and `65535`
    ");
}

#[test]
fn a_malformed_value_is_reported_once_although_others_follow_it() {
    let given = TestSources {
        environment: &[("SANDBOX_TEST_REDUNDANT", "maybe")],
        ..TestSources::default()
    };
    assert_eq!(given.errors().lines().count(), 1, "{}", given.errors());
}

#[test]
fn an_unknown_yaml_key_gets_a_suggestion() {
    let given = TestSources { yaml: "# mine\n\nroi_cycels: 3\n", ..TestSources::default() };
    assert_eq!(
        given.errors(),
        "sandbox_settings.yaml: line 3: unknown key `roi_cycels`; did you mean `roi_cycles`?"
    );
}

#[test]
fn two_yaml_keys_for_one_setting_are_an_error() {
    let given = TestSources { yaml: "cycles: 3\nSANDBOX_CYCLES: 4\n", ..TestSources::default() };
    assert_eq!(
        given.errors(),
        "sandbox_settings.yaml: line 2: `SANDBOX_CYCLES` sets SANDBOX_CYCLES, \
         which line 1 sets already: remove one of them"
    );
}

#[test]
fn yaml_keys_need_neither_case_nor_prefix() {
    let yaml = "Roi-Cycles: 4\nauto_include_isolated: no\nrecursive_orphan_scan: false\n";
    let settings = TestSources { yaml, ..TestSources::default() }.settings();
    assert_eq!(settings.convergence.roi_cycles.unwrap().get(), 4);
    assert!(!*settings.orphans.auto_include_isolated);
    assert!(!*settings.orphans.recursive_orphans);
}

#[test]
fn keyword_profiles_are_laid_over_the_built_in_ones() {
    let yaml = "keyword_profiles:\n  ledger: [user_misuse]\n";
    let profiles =
        TestSources { yaml, ..TestSources::default() }.settings().presets.profiles_by_keyword();
    assert_eq!(profiles.get("ledger"), Some(&["user_misuse".to_owned()][..]));
    assert!(profiles.get("parser").is_some());
    assert_eq!(TestSources::default().settings().presets.profiles_by_keyword().get("ledger"), None);
}

#[test]
fn what_the_sandbox_does_with_orphans_the_self_tests_do_too() {
    let given = TestSources { flags: &[("--no-recursive-include", "1")], ..TestSources::default() };
    let settings = given.settings();
    assert!(!*settings.orphans.recursive_orphans);
    let mirrored = &settings.self_test.recursive_orphans;
    assert_eq!(
        (mirrored.value, &mirrored.origin),
        (false, &SettingOrigin::Implied { by: "SANDBOX_RECURSIVE_ORPHANS" })
    );
    let both = &[("SANDBOX_RECURSIVE_ORPHANS", "0"), ("SELF_TEST_RECURSIVE_ORPHANS", "1")];
    let settings = TestSources { environment: both, ..TestSources::default() }.settings();
    assert!(*settings.self_test.recursive_orphans);
}

#[test]
fn a_mirrored_setting_in_a_stronger_place_wins() {
    let dotenv = "SELF_TEST_RECURSIVE_ORPHANS=1";
    let settings =
        TestSources { flags: &[("--no-recursive-include", "1")], dotenv, ..TestSources::default() }
            .settings();
    assert!(!*settings.self_test.recursive_orphans);
    let settings =
        TestSources { yaml: "recursive_orphans: 0", dotenv, ..TestSources::default() }.settings();
    assert!(*settings.self_test.recursive_orphans);
}

#[test]
fn including_isolated_modules_implies_finding_and_following_them() {
    let given = TestSources {
        environment: &[("SANDBOX_AUTO_INCLUDE_ISOLATED", "1"), ("SANDBOX_RECURSIVE_ISOLATED", "0")],
        ..TestSources::default()
    };
    let settings = given.settings();
    let implied = SettingOrigin::Implied { by: "SANDBOX_AUTO_INCLUDE_ISOLATED" };
    assert_eq!(
        (*settings.orphans.discover_isolated, &settings.orphans.discover_isolated.origin),
        (true, &implied)
    );
    assert!(!*settings.orphans.recursive_isolated);
    assert!(!*settings.self_test.recursive_isolated);
    let off = TestSources {
        environment: &[("SANDBOX_AUTO_INCLUDE_ISOLATED", "0")],
        ..TestSources::default()
    };
    assert_eq!(off.settings().orphans.discover_isolated.origin, SettingOrigin::Default);
}

#[test]
fn files_in_the_data_directory_move_with_it() {
    let given = TestSources {
        environment: &[("SANDBOX_DATA_DIR", "~/menace_data"), ("HOME", "/home/ada")],
        ..TestSources::default()
    };
    let settings = given.settings();
    let state = &settings.self_test.state;
    assert_eq!(state.value, PathBuf::from("/home/ada/menace_data/self_test_state.json"));
    assert_eq!(state.origin, SettingOrigin::Implied { by: "SANDBOX_DATA_DIR" });
    assert_eq!(*settings.store.bot_db_path, PathBuf::from("bots.db"));
}

#[test]
fn an_old_name_works_with_a_warning() {
    let given = TestSources {
        environment: &[("SANDBOX_AUTODISCOVER_MODULES", "1")],
        ..TestSources::default()
    };
    let settings = given.settings();
    assert!(*settings.orphans.auto_map);
    assert_eq!(
        settings.warnings[0].to_string(),
        "SANDBOX_AUTODISCOVER_MODULES (environment SANDBOX_AUTODISCOVER_MODULES) \
         is an old name: use SANDBOX_AUTO_MAP"
    );
}

#[test]
fn an_unknown_variable_that_looks_like_ours_is_a_warning() {
    let given = TestSources {
        environment: &[("SANDBOX_CYCELS", "3"), ("EDITOR", "vi"), ("MEMORY_LIMTI", "1")],
        dotenv: "MEMORY_LIMTI=1Gi\nFLASK_APP=x\n",
        ..TestSources::default()
    };
    let found: Vec<_> = given
        .settings()
        .warnings
        .into_iter()
        .map(|warning| match warning {
            SettingsWarning::UnknownName { name, suggestion, .. } => (name, suggestion),
            other => panic!("{other}"),
        })
        .collect();
    let expected = [
        ("SANDBOX_CYCELS".to_owned(), Some("SANDBOX_CYCLES")),
        ("MEMORY_LIMTI".to_owned(), Some("MEMORY_LIMIT")),
    ];
    assert_eq!(found, expected);
}

#[test]
fn flags_that_contradict_each_other_are_an_error() {
    let given = TestSources {
        flags: &[("--recursive-include", "1"), ("--no-recursive-orphans", "1")],
        ..TestSources::default()
    };
    assert_eq!(
        given.errors(),
        "--recursive-include and --no-recursive-orphans contradict each other: \
         give only one of them"
    );
}

#[test]
fn a_certificate_without_a_key_is_an_error() {
    let given = TestSources { dotenv: "VISUAL_AGENT_SSL_CERT=cert.pem", ..TestSources::default() };
    assert_eq!(
        given.errors(),
        "VISUAL_AGENT_SSL_CERT is set but VISUAL_AGENT_SSL_KEY is not: set both or neither"
    );
}

#[test]
fn the_log_level_is_decided_by_three_settings() {
    let level = |flags, environment| {
        TestSources { flags, environment, ..TestSources::default() }.settings().log_level()
    };
    assert_eq!(level(&[], &[]), LogLevel::Info);
    assert_eq!(level(&[], &[("LOG_LEVEL", "ERROR")]), LogLevel::Error);
    assert_eq!(
        level(&[], &[("LOG_LEVEL", "ERROR"), ("SANDBOX_LOG_LEVEL", "warning")]),
        LogLevel::Warn
    );
    assert_eq!(level(&[], &[("SANDBOX_VERBOSE", "1")]), LogLevel::Debug);
    assert_eq!(level(&[], &[("SANDBOX_DEBUG", "1"), ("LOG_LEVEL", "error")]), LogLevel::Error);
    assert_eq!(level(&[("--verbose", "1")], &[("LOG_LEVEL", "error")]), LogLevel::Debug);
    assert_eq!(level(&[("--verbose", "1")], &[("LOG_LEVEL", "trace")]), LogLevel::Trace);
}

#[test]
fn the_listing_has_every_setting_and_no_secret() {
    let given = TestSources {
        environment: &[
            ("OPENAI_API_KEY", "sk-hidden"),
            ("DATABASE_URL", "postgres://ada:hidden@db/x"),
        ],
        dotenv: "VISUAL_AGENT_TOKEN=hidden",
        ..TestSources::default()
    };
    let settings = given.settings();
    let entries: Vec<_> = settings.entries().collect();
    assert_eq!(entries.len(), menace_settings::declarations().count());
    let listing = serde_json::to_string(&entries).unwrap();
    assert!(!listing.contains("hidden"), "{listing}");
    assert!(!format!("{settings:?}{:?}", given.sources()).contains("hidden"));
    let key = entries.iter().find(|entry| entry.name == "OPENAI_API_KEY").unwrap();
    assert_eq!((key.value.as_deref(), key.secret), (Some("********"), true));
}

#[test]
fn an_entry_says_all_that_the_listing_needs() {
    let settings = TestSources { dotenv: "SANDBOX_CYCLES=7", ..TestSources::default() }.settings();
    let entry = settings.entries().find(|entry| entry.name == "SANDBOX_CYCLES").unwrap();
    insta::assert_json_snapshot!(entry, @r#"
    {
      "name": "SANDBOX_CYCLES",
      "group": "Runs and data",
      "kind": "count above zero",
      "value": "7",
      "origin": {
        "from": "dotenv",
        "path": ".env",
        "line": 1,
        "name": "SANDBOX_CYCLES"
      },
      "default": "1",
      "flags": [],
      "secret": false,
      "implemented": true,
      "help": "How many cycles a run goes through at most, when `--runs` is not given."
    }
    "#);
}

#[test]
fn setting_planned_settings_gives_one_warning_that_names_them_all() {
    let given = TestSources {
        flags: &[("--recursive-orphans", "1")],
        environment: &[("KAFKA_HOSTS", "broker:9092"), ("AUTO_SANDBOX", " ")],
        dotenv: "TIMEOUT=5\nRUN_CYCLES=3\n",
        yaml: "gpu_limit: 1\n",
    };
    let settings = given.settings();
    let warnings: Vec<String> = settings.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [concat!(
            "not implemented yet, so without effect: RUN_CYCLES (.env line 2), ",
            "GPU_LIMIT (sandbox_settings.yaml line 1), ",
            "SANDBOX_RECURSIVE_ORPHANS (flag --recursive-orphans), ",
            "KAFKA_HOSTS (environment KAFKA_HOSTS)"
        )]
    );
    let origin = |name| settings.entries().find(|it| it.name == name).unwrap().origin_text();
    assert_eq!(origin("RUN_CYCLES"), ".env line 2, not implemented yet");
    assert_eq!(origin("AUTO_SANDBOX"), "not implemented yet");
    assert_eq!(origin("TIMEOUT"), ".env line 1");
}

proptest! {
    #[test]
    fn no_value_of_any_setting_panics(
        text in any::<String>(), index in any::<prop::sample::Index>()
    ) {
        let all: Vec<_> = menace_settings::declarations().filter(|it| !it.yaml_only).collect();
        let name = all[index.index(all.len())].name;
        let given = TestSources { environment: &[(name, &text)], ..TestSources::default() };
        match Settings::resolve(&given.sources()) {
            Ok(settings) => prop_assert_eq!(settings.entries().count(), all.len() + 1),
            Err(errors) => prop_assert!(errors.to_string().contains(name), "{}", errors),
        }
    }
}

#[test]
fn a_variable_that_is_not_unicode_is_an_error_only_if_it_is_ours() {
    let mut sources = TestSources::default().sources();
    sources.non_unicode_variables = BTreeSet::from(["LS_COLORS".into()]);
    assert!(Settings::resolve(&sources).is_ok());
    sources.non_unicode_variables.insert("SANDBOX_DATA_DIR".into());
    assert!(Settings::resolve(&sources).unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn a_value_tells_whether_an_untrusted_file_decided_it() {
    let untrusted = |text: &str| {
        DotEnvFile::parse(".env", text, &BTreeMap::new(), FileTrust::Untrusted).map(Some).unwrap()
    };
    let text = "CPU_LIMIT=1\nSANDBOX_DATA_DIR=data\nSANDBOX_AUTO_INCLUDE_ISOLATED=1\n";
    let mut sources = TestSources { yaml: "timeout: 5s", ..TestSources::default() }.sources();
    sources.dotenv = untrusted(text);
    let settings = Settings::resolve(&sources).unwrap();
    assert!(settings.limits.cpu_limit.is_from_checkout);
    assert!(settings.stubs.history.is_from_checkout, "its directory is the checkout's");
    assert!(settings.self_test.auto_include_isolated.is_from_checkout, "it is implied");
    assert!(!settings.limits.timeout.is_from_checkout, "that file is trusted");
    assert!(!settings.limits.memory_limit.is_from_checkout, "nothing set it");
    sources.environment.insert("CPU_LIMIT".to_owned(), "9".to_owned());
    assert!(!Settings::resolve(&sources).unwrap().limits.cpu_limit.is_from_checkout);
}

#[test]
fn a_setting_of_a_checkout_does_not_hide_what_one_of_the_user_implies() {
    let yaml = "sandbox_recursive_orphans: 0";
    let mut sources = TestSources { yaml, ..TestSources::default() }.sources();
    let text = "SELF_TEST_RECURSIVE_ORPHANS=1\n";
    for (trust, expected) in [(FileTrust::Untrusted, false), (FileTrust::Trusted, true)] {
        sources.dotenv =
            DotEnvFile::parse(".env", text, &BTreeMap::new(), trust).map(Some).unwrap();
        let settings = Settings::resolve(&sources).unwrap();
        assert_eq!(settings.self_test.recursive_orphans.value, expected, "{trust:?}");
    }
}
