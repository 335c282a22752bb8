//! Files as others find them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::tempdir;

use super::*;
use crate::StoreNotice;

type HistoryMap = BTreeMap<String, Vec<f64>>;

fn history(value: f64) -> HistoryMap {
    HistoryMap::from([("roi".into(), vec![value])])
}

fn list_file_names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_a_killed_writer_left_is_used_up_by_the_next() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    write_atomic(&path, b"old").unwrap();
    fs::write(directory.path().join("roi_history.json.new"), "half of a much longer te").unwrap();
    write_atomic(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(list_file_names(directory.path()), ["roi_history.json"]);
}

#[test]
fn readers_find_the_old_content_or_the_new_one() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    let contents: Vec<Vec<u8>> = (b'a'..b'e').map(|letter| vec![letter; 100_000]).collect();
    write_atomic(&path, &contents[0]).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = contents
            .iter()
            .map(|content| {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write_atomic(path, content).unwrap()))
            })
            .collect();
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(contents.contains(&fs::read(&path).unwrap()));
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(list_file_names(directory.path()), ["roi_history.json"]);
}

#[test]
fn a_lock_names_its_holder() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("synergy_history.db");
    let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
    assert_eq!(held.path(), directory.path().join("synergy_history.db.lock"));
    let error = FileLock::acquire(&path, Duration::from_millis(10)).unwrap_err();
    let message = error
        .to_string()
        .replace(&*directory.path().to_string_lossy(), "DATA")
        .replace(&std::process::id().to_string(), "PID");
    insta::assert_snapshot!(message, @"`DATA/synergy_history.db.lock` is locked by process PID for \
        more than 0.01 s; wait until that one is done, or end it");
    drop(held);
    FileLock::acquire(&path, Duration::ZERO).unwrap();
}

#[test]
fn a_lock_lets_one_after_the_other_in() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("counter");
    fs::write(&path, "0").unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let _lock = FileLock::acquire(&path, Duration::from_mins(1)).unwrap();
                    let count: u32 = fs::read_to_string(&path).unwrap().parse().unwrap();
                    write_atomic(&path, (count + 1).to_string().as_bytes()).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), "100");
}

#[test]
fn missing_damaged_and_intact_files_are_distinguished() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    assert_eq!(load::<HistoryMap>(&path).unwrap(), LoadedFile::Missing);
    assert_eq!(save(&path, &history(0.1)).unwrap(), None);
    assert_eq!(load(&path).unwrap(), LoadedFile::Valid(history(0.1)));
    for (round, damage) in
        [&b""[..], b"{\"roi\": [0.1", b"\xff\xfe\x00garbage", b"[1, 2]"].into_iter().enumerate()
    {
        fs::write(&path, damage).unwrap();
        let LoadedFile::Corrupt(StoreNotice::MovedAside { to, .. }) =
            load::<HistoryMap>(&path).unwrap()
        else {
            panic!("{damage:?} was read");
        };
        assert_eq!(to, append_to_file_name(&path, &format!(".corrupt-{}", round + 1)));
        assert_eq!(fs::read(&to).unwrap(), damage);
        assert_eq!(load::<HistoryMap>(&path).unwrap(), LoadedFile::Missing);
    }
}

#[test]
fn the_last_good_version_can_be_recovered() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    assert_eq!(recover::<HistoryMap>(&path).unwrap(), (None, vec![]));
    save(&path, &history(1.0)).unwrap();
    save(&path, &history(2.0)).unwrap();
    assert_eq!(recover(&path).unwrap(), (Some(history(2.0)), vec![]));
    fs::write(&path, "{").unwrap();
    let (found, notices) = recover::<HistoryMap>(&path).unwrap();
    assert_eq!(found, Some(history(1.0)));
    let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(
        said.join("\n").replace(&*directory.path().to_string_lossy(), "DATA"),
        @"
    `DATA/roi_history.json` is damaged (EOF while parsing an object at line 1 column 1): it is \
    kept as `DATA/roi_history.json.corrupt-1`, and a new one is started
    `DATA/roi_history.json` is the last good copy again, which was kept as \
    `DATA/roi_history.json.corrupt-1.bak`
    "
    );
}

#[test]
fn a_damaged_file_takes_no_good_backup_away() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    save(&path, &history(1.0)).unwrap();
    save(&path, &history(2.0)).unwrap();
    fs::write(&path, "{").unwrap();
    let notice = save(&path, &history(3.0)).unwrap();
    assert!(matches!(notice, Some(StoreNotice::MovedAside { .. })), "{notice:?}");
    assert_eq!(load(&path).unwrap(), LoadedFile::Valid(history(3.0)));
    assert_eq!(
        load(&append_to_file_name(&path, ".corrupt-1.bak")).unwrap(),
        LoadedFile::Valid(history(1.0))
    );
    assert_eq!(fs::read(append_to_file_name(&path, ".corrupt-1")).unwrap(), b"{");
}

#[test]
fn what_was_started_after_damage_gives_way_to_the_last_good_version() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    save(&path, &history(1.0)).unwrap();
    save(&path, &history(2.0)).unwrap();
    fs::write(&path, "{").unwrap();
    assert!(matches!(load::<HistoryMap>(&path).unwrap(), LoadedFile::Corrupt(_)));
    // Nothing was recovered: two cycles start from an empty history.
    save(&path, &history(8.0)).unwrap();
    save(&path, &history(9.0)).unwrap();
    assert!(has_restorable_copy(&path).unwrap());
    let (found, notices) = recover::<HistoryMap>(&path).unwrap();
    assert_eq!(found, Some(history(1.0)));
    assert!(matches!(
        &*notices,
        [StoreNotice::Replaced { .. }, StoreNotice::RestoredFromBackup { .. }]
    ));
    assert_eq!(
        load(&append_to_file_name(&path, ".replaced-1")).unwrap(),
        LoadedFile::Valid(history(9.0))
    );
    // A copy is restored once: later versions continue from it.
    save(&path, &history(3.0)).unwrap();
    assert!(!has_restorable_copy(&path).unwrap());
    assert_eq!(recover(&path).unwrap(), (Some(history(3.0)), vec![]));
}

#[test]
fn a_damaged_copy_gives_way_to_an_older_one() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi_history.json");
    for version in [1.0, 2.0] {
        save(&path, &history(version)).unwrap();
        save(&path, &history(version)).unwrap();
        fs::write(&path, "{").unwrap();
        load::<HistoryMap>(&path).unwrap();
    }
    fs::write(append_to_file_name(&path, ".corrupt-2.bak"), "[").unwrap();
    let (found, notices) = recover::<HistoryMap>(&path).unwrap();
    assert_eq!(found, Some(history(1.0)));
    assert!(matches!(
        &*notices,
        [StoreNotice::MovedAside { .. }, StoreNotice::RestoredFromBackup { .. }]
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_content_is_lost(content in proptest::collection::vec(any::<u8>(), 0..64)) {
        let directory = tempdir().unwrap();
        let path = directory.path().join("roi_history.json");
        fs::write(&path, &content).unwrap();
        match load::<HistoryMap>(&path).unwrap() {
            LoadedFile::Missing => prop_assert!(false, "it is there"),
            LoadedFile::Valid(_) => prop_assert_eq!(fs::read(&path).unwrap(), content),
            LoadedFile::Corrupt(_) => {
                let aside = append_to_file_name(&path, ".corrupt-1");
            prop_assert_eq!(fs::read(aside).unwrap(), content);
            }
        }
    }
}
