//! Files of the import are below each call, whatever they are; what a call does to them is
//! reported; and guests cannot reach the layers themselves.

use menace_model::{FileChangeKind, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, ContractSession, build_call, guest, items, text};

crate::on_every_tier![
    a_call_does_nothing_to_what_the_import_left,
    changes_of_files_of_the_import_are_reported,
    a_directory_that_is_made_anew_has_lost_what_was_in_it,
    a_removed_home_is_reported,
    what_is_in_a_small_file_has_a_hash,
    much_that_the_import_left_keeps_no_call_from_its_deadline,
    a_small_disk_has_room_for_many_files_that_the_import_left,
    an_import_may_leave_a_file_with_holes,
    an_import_may_leave_directories_deeper_than_a_path,
    an_import_may_leave_unreadable_files,
    the_layer_itself_is_out_of_reach,
    the_strictest_level_has_no_way_around_the_repository,
    nothing_is_left_beside_the_layer,
    links_in_place_of_directories_are_not_followed,
    what_the_interpreter_has_open_is_no_letter_box,
];

const GUEST: &str = guest!("layers.py");

type TouchedFileRows = Vec<(String, FileChangeKind, u64)>;

fn touched(session: &mut ContractSession<'_>, name: &str) -> TouchedFileRows {
    let outcome = session.run(build_call(name));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let files = outcome.files;
    assert_eq!(files.total, files.touched.len() as u64, "{files:?}");
    files.touched.into_iter().map(|file| (file.path, file.change, file.bytes)).collect()
}

fn expected_rows<const N: usize>(expected: [(&str, FileChangeKind, u64); N]) -> TouchedFileRows {
    expected.map(|(path, what, bytes)| (path.to_owned(), what, bytes)).into()
}

fn a_call_does_nothing_to_what_the_import_left(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let before = session.value(build_call("look"));
    for name in [
        "overwrite",
        "swap",
        "remake",
        "change_what_was_imported",
        "remove_home",
        "replace_by_links",
    ] {
        session.value(build_call(name));
        assert_eq!(session.value(build_call("look")), before, "after {name}");
    }
}

fn changes_of_files_of_the_import_are_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    // The second time is no different.
    for _ in 0..2 {
        assert_eq!(touched(&mut session, "fine"), expected_rows([]));
        let expected = [("/tmp/one.txt", FileChangeKind::Changed, 8)];
        assert_eq!(touched(&mut session, "overwrite"), expected_rows(expected));
        let expected = [
            ("/tmp/four.txt", FileChangeKind::Created, 8),
            ("/tmp/one.txt", FileChangeKind::Deleted, 8),
        ];
        assert_eq!(touched(&mut session, "swap"), expected_rows(expected));
        let expected = [
            ("old.txt", FileChangeKind::Created, 10),
            ("written.txt", FileChangeKind::Changed, 9),
            ("~/cache/deep/kept.txt", FileChangeKind::Deleted, 8),
        ];
        assert_eq!(touched(&mut session, "change_what_was_imported"), expected_rows(expected));
    }
}

fn a_directory_that_is_made_anew_has_lost_what_was_in_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let expected = [
        ("package/__init__.py", FileChangeKind::Deleted, 0),
        ("package/inner.py", FileChangeKind::Deleted, 33),
        ("package/new.py", FileChangeKind::Created, 0),
        ("~/cache/deep", FileChangeKind::Deleted, 0),
        ("~/cache/deep/kept.txt", FileChangeKind::Deleted, 8),
    ];
    for _ in 0..2 {
        assert_eq!(touched(&mut session, "remake"), expected_rows(expected));
    }
}

fn a_removed_home_is_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let expected = [
        ("~", FileChangeKind::Deleted, 0),
        ("~/cache", FileChangeKind::Deleted, 0),
        ("~/cache/deep", FileChangeKind::Deleted, 0),
        ("~/cache/deep/kept.txt", FileChangeKind::Deleted, 8),
    ];
    assert_eq!(touched(&mut bench.session(), "remove_home"), expected_rows(expected));
    let bench = ContractBench::new(tier, guest!("imports/leave_nothing.py"));
    let mut session = bench.session();
    let away = ("/sandbox/box/home-away", FileChangeKind::Created, 0);
    for _ in 0..2 {
        assert_eq!(touched(&mut session, "fine"), expected_rows([]));
        let expected = [away, ("~", FileChangeKind::Deleted, 0)];
        assert_eq!(touched(&mut session, "move_home"), expected_rows(expected));
        let expected = [("~", FileChangeKind::Changed, 0)];
        assert_eq!(touched(&mut session, "home_to_file"), expected_rows(expected));
    }
}

fn what_is_in_a_small_file_has_a_hash(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut hashes = |text: &str| {
        let files = session.run(build_call("write_twice").with([Value::from(text)])).files.touched;
        let hash = |path: &str| {
            let file = files.iter().find(|file| file.path == path);
            file.unwrap_or_else(|| panic!("no `{path}` in {files:?}")).hash.clone()
        };
        for path in ["link.txt", "data.txt"] {
            assert_eq!(hash(path), None, "{path}");
        }
        [hash("new.txt"), hash("/tmp/one.txt")]
    };
    let [new, changed] = hashes("some text");
    assert_eq!(new.as_ref().map(String::len), Some(32));
    assert_eq!(new, changed);
    assert_eq!(hashes("some text"), [new.clone(), changed]);
    let [other, changed] = hashes("some more");
    assert!(other.is_some() && other != new && other == changed);
    // What the import had written there is no news.
    let [new, unchanged] = hashes("imported");
    assert!(new.is_some() && unchanged.is_none());
    let largest = "x".repeat(64 << 10);
    assert!(hashes(&largest).iter().all(Option::is_some));
    assert_eq!(hashes(&format!("{largest}x")), [None, None]);
}

fn much_that_the_import_left_keeps_no_call_from_its_deadline(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/leave_many.py"));
    let mut spec = bench.spec();
    // How long a busy disk takes for the import's files is none of the calls'.
    spec.import_limits.timeout_ms = 600_000;
    let mut session = bench.session_of(&spec);
    for _ in 0..2 {
        assert_eq!(session.value(build_call("fine")), Value::Int(20_000));
        let outcome = session.run(build_call("loop").timeout(100));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        let total = outcome.runtime_metrics.total_ms;
        assert!(total < 350.0, "dead after {total} ms");
    }
}

fn a_small_disk_has_room_for_many_files_that_the_import_left(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/leave_few.py"));
    let mut session = bench.session();
    for disk in [64 << 10, 4096, 1] {
        let left = build_call("left").limited(|limits| limits.disk_bytes = Some(disk));
        assert_eq!(session.value(left), Value::Int(200), "{disk} bytes");
    }
}

/// Whatever an import leaves, it is there for each call, as it was.
fn is_left(tier: Tier, guest: &str) {
    let bench = ContractBench::new(tier, guest);
    let mut session = bench.session();
    for _ in 0..2 {
        assert_eq!(session.value(build_call("left")), Value::Bool(true));
        let outcome = session.run(build_call("tamper"));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    }
}

fn an_import_may_leave_a_file_with_holes(tier: Tier) {
    is_left(tier, guest!("imports/leave_holes.py"));
}

fn an_import_may_leave_directories_deeper_than_a_path(tier: Tier) {
    is_left(tier, guest!("imports/leave_deep.py"));
}

fn an_import_may_leave_unreadable_files(tier: Tier) {
    is_left(tier, guest!("imports/leave_closed.py"));
}

fn the_layer_itself_is_out_of_reach(tier: Tier) {
    for guest in [GUEST, guest!("layers_empty.py")] {
        let bench = ContractBench::new(tier, guest);
        let mut spec = bench.spec();
        for level in [1, 3] {
            spec.confinement.security_level = level.try_into().unwrap();
            let around = bench.session_of(&spec).value(build_call("look_around"));
            let names: Vec<&str> = items(&around).iter().map(text).collect();
            assert_eq!(names, ["data", "home", "shm", "tmp"], "at level {level}");
        }
    }
}

fn the_strictest_level_has_no_way_around_the_repository(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("layers_empty.py"));
    let mut spec = bench.spec();
    spec.confinement.security_level = 5u8.try_into().unwrap();
    let mut session = bench.session_of(&spec);
    let seen = session.value(build_call("write_beside"));
    assert!(!items(&seen).contains(&Value::from("smuggled.txt")), "{seen:?}");
}

fn nothing_is_left_beside_the_layer(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("layers_empty.py"));
    let mut session = bench.session();
    for _ in 0..3 {
        assert_eq!(session.value(build_call("leave_beside")), Value::Bool(false));
    }
}

fn links_in_place_of_directories_are_not_followed(tier: Tier) {
    for guest in [GUEST, guest!("layers_empty.py")] {
        let bench = ContractBench::new(tier, guest);
        let outcome = bench.run(build_call("replace_by_links"));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        assert!((2..30).contains(&outcome.files.total), "{:?}", outcome.files);
    }
}

fn what_the_interpreter_has_open_is_no_letter_box(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/directory_kept.py"));
    let mut spec = bench.spec();
    spec.confinement.security_level = 1u8.try_into().unwrap();
    let mut session = bench.session_of(&spec);
    for _ in 0..3 {
        // It is reported for trying the root directory, where the interpreter is.
        let outcome = session.run(build_call("letters"));
        let found = outcome.value.as_ref().and_then(|value| value.value.as_ref());
        assert_eq!(found, Some(&Value::List(Vec::new())), "{outcome:#?}");
    }
}
