//! Every kind of damage to every kind of database: kept, reported, and started anew.

use std::fs;
use std::path::{Path, PathBuf};

use menace_store::{
    MetricMeasurement, MetricsDatabase, RunId, RunStatus, StoreNotice, SynergyEntry, SynergyHistory,
};
use tempfile::tempdir;

use crate::sample::{call_record, check_integrity, end, open, query_number, run};

/// A kind of database with something in it, how to open it, and where it counts what is in it.
struct DatabaseCase {
    file: &'static str,
    fill: fn(&Path),
    open: fn(&Path) -> Vec<StoreNotice>,
    count: &'static str,
}

const DATABASE_CASES: [DatabaseCase; 3] = [
    DatabaseCase {
        file: "menace.db",
        fill: |directory| {
            let (store, _) = open(directory);
            let writer = store.start_run(&run("r-1", 1)).unwrap();
            for number in 0..2000 {
                writer.record_call(call_record("total", number)).unwrap();
            }
            writer.finish(end(RunStatus::Finished, 2)).unwrap();
        },
        open: |directory| open(directory).1,
        count: "SELECT count(*) FROM calls",
    },
    DatabaseCase {
        file: "metrics.db",
        fill: |directory| {
            let (mut metrics, _) = MetricsDatabase::open(&directory.join("metrics.db")).unwrap();
            let value = |at_ms| MetricMeasurement {
                at_ms,
                run: RunId("r-1".into()),
                cycle: 0,
                scenario: "normal".into(),
                module: String::new(),
                name: "reliability".into(),
                value: Some(1.0),
            };
            metrics.record(&(0..2000).map(value).collect::<Vec<_>>()).unwrap();
        },
        open: |directory| MetricsDatabase::open(&directory.join("metrics.db")).unwrap().1,
        count: "SELECT count(*) FROM metrics",
    },
    DatabaseCase {
        file: "synergy_history.db",
        fill: |directory| {
            let path = directory.join("synergy_history.db");
            let (mut history, _) = SynergyHistory::open(&path).unwrap();
            history.append(&vec![SynergyEntry::from([("synergy_roi".into(), 0.5)]); 2000]).unwrap();
        },
        open: |directory| SynergyHistory::open(&directory.join("synergy_history.db")).unwrap().1,
        count: "SELECT count(*) FROM synergy_history",
    },
];

fn truncate(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len() / 2].to_vec()
}

fn truncate_in_header(bytes: &[u8]) -> Vec<u8> {
    bytes[..50].to_vec()
}

fn replace_with_garbage(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(index, _)| (index * 31 + 7) as u8).collect()
}

fn corrupt_middle(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    // From the second page on; the first one holds the schema, and stays good.
    for byte in &mut bytes[4096..] {
        *byte = 0xa5;
    }
    bytes
}

#[test]
fn a_damaged_database_is_kept_aside() {
    for kind in &DATABASE_CASES {
        for (name, damage) in [
            ("truncated", truncate as fn(&[u8]) -> Vec<u8>),
            ("cut in the header", truncate_in_header),
            ("garbage", replace_with_garbage),
            ("garbage in the middle", corrupt_middle),
        ] {
            let directory = tempdir().unwrap();
            let path = directory.path().join(kind.file);
            (kind.fill)(directory.path());
            assert_eq!(query_number(&path, kind.count), 2000);
            let damaged = damage(&fs::read(&path).unwrap());
            for round in 1..=2 {
                fs::write(&path, &damaged).unwrap();
                let notices = (kind.open)(directory.path());
                let aside = PathBuf::from(format!("{}.corrupt-{round}", path.display()));
                let [StoreNotice::MovedAside { path: from, to, .. }] = &*notices else {
                    panic!("{}, {name}: {notices:?}", kind.file);
                };
                assert_eq!((from, to), (&path, &aside), "{}, {name}", kind.file);
                assert_eq!(fs::read(&aside).unwrap(), damaged, "{}, {name}", kind.file);
                assert_eq!(query_number(&path, kind.count), 0, "{}, {name}", kind.file);
                assert_eq!(check_integrity(&path), "ok");
            }
            assert_eq!((kind.open)(directory.path()), [], "{}, {name}", kind.file);
        }
    }
}

#[test]
fn an_emptied_database_is_reported() {
    for kind in &DATABASE_CASES {
        let directory = tempdir().unwrap();
        let path = directory.path().join(kind.file);
        (kind.fill)(directory.path());
        fs::write(&path, "").unwrap();
        assert_eq!(
            (kind.open)(directory.path()),
            [StoreNotice::EmptyDatabase { path: path.clone() }]
        );
        assert_eq!(query_number(&path, kind.count), 0);
        assert_eq!((kind.open)(directory.path()), []);
    }
}

#[test]
fn the_log_of_an_emptied_database_is_kept() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("menace.db");
    let (store, _) = open(directory.path());
    let writer = store.start_run(&run("r-1", 1)).unwrap();
    writer.record_call(call_record("total", 0)).unwrap();
    writer.flush().unwrap();
    let log = fs::read(directory.path().join("menace.db-wal")).unwrap();
    assert!(!log.is_empty());
    drop((writer, store));

    fs::write(&path, "").unwrap();
    fs::write(directory.path().join("menace.db-wal"), &log).unwrap();
    let (_, notices) = open(directory.path());
    assert!(matches!(&*notices, [StoreNotice::MovedAside { .. }]), "{notices:?}");
    assert_eq!(fs::read(directory.path().join("menace.db.corrupt-1-wal")).unwrap(), log);
    let message = notices[0].to_string().replace(&*directory.path().to_string_lossy(), "DATA");
    insta::assert_snapshot!(message, @"`DATA/menace.db` is damaged (it is empty, but its log is \
        not): it is kept as `DATA/menace.db.corrupt-1`, and a new one is started");
}

#[test]
fn a_log_without_its_end_costs_only_what_was_in_it() {
    let directory = tempdir().unwrap();
    let (store, _) = open(directory.path());
    let writer = store.start_run(&run("r-1", 1)).unwrap();
    for number in 0..100 {
        writer.record_call(call_record("total", number)).unwrap();
        writer.flush().unwrap();
    }
    // As a copy made at this instant, with the end of the log missing.
    let copy = tempdir().unwrap();
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    let log = read("menace.db-wal");
    fs::write(copy.path().join("menace.db"), read("menace.db")).unwrap();
    fs::write(copy.path().join("menace.db-wal"), &log[..log.len() - 5000]).unwrap();
    let (store, notices) = open(copy.path());
    assert!(matches!(&*notices, [StoreNotice::InterruptedRuns { .. }]), "{notices:?}");
    let calls = query_number(store.path(), "SELECT count(*) FROM calls");
    assert!((90..100).contains(&calls), "{calls}");
    assert_eq!(check_integrity(store.path()), "ok");
    drop(writer);
}
