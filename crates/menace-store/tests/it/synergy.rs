//! `synergy_history.db`, and what came before it.

use std::fs;

use menace_store::{StoreNotice, SynergyEntry, SynergyHistory};
use rusqlite::Connection;
use tempfile::tempdir;

use crate::sample::query_number;

fn entry(roi: f64) -> SynergyEntry {
    SynergyEntry::from([("synergy_roi".into(), roi), ("synergy_efficiency".into(), -0.25)])
}

#[test]
fn entries_are_kept_in_order() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("synergy_history.db");
    let (mut history, notices) = SynergyHistory::open(&path).unwrap();
    assert_eq!(notices, []);
    history.append(&[entry(1.0), entry(2.0)]).unwrap();
    history.append(&[entry(0.1 + 0.2)]).unwrap();
    assert_eq!(history.last_entries(2).unwrap(), (vec![entry(2.0), entry(0.1 + 0.2)], None));
    assert!(directory.path().join("synergy_history.db.lock").exists());
}

#[test]
fn a_history_that_other_tools_made_is_read_and_written() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("synergy_history.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TABLE synergy_history(id INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT \
             NULL);
             INSERT INTO synergy_history(entry) VALUES ('{\"synergy_roi\": 1}'), ('not JSON'), \
                 ('[]');",
        )
        .unwrap();
    let (mut history, notices) = SynergyHistory::open(&path).unwrap();
    assert_eq!(notices, []);
    history.append(&[entry(2.0)]).unwrap();
    let (entries, notice) = history.last_entries(10).unwrap();
    assert_eq!(entries, [SynergyEntry::from([("synergy_roi".into(), 1.0)]), entry(2.0)]);
    assert_eq!(notice, Some(StoreNotice::SkippedEntries { path: path.clone(), entries: 2 }));
    assert_eq!(query_number(&path, "SELECT max(id) FROM synergy_history"), 4);
}

#[test]
fn a_list_in_json_is_taken_over_once() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("synergy_history.db");
    let json = directory.path().join("synergy_history.json");
    let text = r#"[{"synergy_roi": 1.0}, {"synergy_roi": 2}]"#;
    fs::write(&json, text).unwrap();
    let (history, notices) = SynergyHistory::open(&path).unwrap();
    let to = directory.path().join("synergy_history.json.migrated");
    assert_eq!(
        notices,
        [StoreNotice::LegacyImported { path: json.clone(), to: to.clone(), entries: 2 }]
    );
    assert_eq!(fs::read_to_string(&to).unwrap(), text);
    assert!(!json.exists());
    assert_eq!(history.last_entries(10).unwrap().0.len(), 2);
    assert_eq!(SynergyHistory::open(&path).unwrap().1, []);

    // As after a kill between taking it over and renaming it.
    fs::write(&json, text).unwrap();
    let (history, notices) = SynergyHistory::open(&path).unwrap();
    let again = directory.path().join("synergy_history.json.migrated-1");
    assert_eq!(notices, [StoreNotice::LegacyImported { path: json, to: again, entries: 2 }]);
    assert_eq!(history.last_entries(10).unwrap().0.len(), 2);
}

#[test]
fn a_damaged_list_in_json_is_kept_aside() {
    for damage in ["", "[{\"synergy_roi\": 1.0}", "{}", "[1]", "\0\0\0"] {
        let directory = tempdir().unwrap();
        let path = directory.path().join("synergy_history.db");
        fs::write(directory.path().join("synergy_history.json"), damage).unwrap();
        let (history, notices) = SynergyHistory::open(&path).unwrap();
        assert!(matches!(&*notices, [StoreNotice::MovedAside { .. }]), "{damage}: {notices:?}");
        let aside = directory.path().join("synergy_history.json.corrupt-1");
        assert_eq!(fs::read_to_string(aside).unwrap(), damage);
        assert_eq!(history.last_entries(10).unwrap(), (vec![], None));
    }
}

#[test]
fn the_last_good_copy_comes_back_after_damage_that_went_unnoticed() {
    let damages: [&[u8]; 2] = [b"no database at all, though it is long enough to be one", b""];
    for damage in damages {
        let directory = tempdir().unwrap();
        let path = directory.path().join("synergy_history.db");
        let (mut history, _) = SynergyHistory::open(&path).unwrap();
        for roi in [1.0, 2.0, 3.0] {
            history.append(&[entry(roi)]).unwrap();
        }
        drop(history);
        fs::write(&path, damage).unwrap();
        let (mut history, _) = SynergyHistory::open(&path).unwrap();
        history.append(&[entry(9.0)]).unwrap();
        history.append(&[entry(10.0)]).unwrap();
        drop(history);
        let (history, notices) = SynergyHistory::recover(&path).unwrap();
        assert!(
            matches!(
                &*notices,
                [StoreNotice::Replaced { .. }, StoreNotice::RestoredFromBackup { .. }]
            ),
            "{notices:?}"
        );
        assert_eq!(history.last_entries(10).unwrap().0, [entry(1.0), entry(2.0)]);
        drop(history);
        // Nothing is left to go back to.
        assert_eq!(SynergyHistory::recover(&path).unwrap().1, []);
    }
}

#[test]
fn a_damaged_history_is_recovered_at_once() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("synergy_history.db");
    let (mut history, _) = SynergyHistory::open(&path).unwrap();
    history.append(&[entry(1.0)]).unwrap();
    history.append(&[entry(2.0)]).unwrap();
    drop(history);
    fs::write(&path, "no database at all, though it is long enough to be one").unwrap();
    let (history, notices) = SynergyHistory::recover(&path).unwrap();
    assert!(matches!(
        &*notices,
        [StoreNotice::MovedAside { .. }, StoreNotice::RestoredFromBackup { .. }]
    ));
    assert_eq!(history.last_entries(10).unwrap().0, [entry(1.0)]);
}
