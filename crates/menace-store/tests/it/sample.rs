//! Rows to store, and a directory to store them in.

use std::path::Path;

use menace_model::{
    Call, Failure, FailureId, How, Intent, ModuleRef, Outcome, Place, SectionId, Stage, Target,
    Value, Verdict, WeaknessKind,
};
use menace_store::{CallRecord, CellKey, NewRun, Notice, RunEnd, RunId, RunStatus, Store};
use rusqlite::Connection;
use serde_json::json;

pub(crate) const URL: &str = "sqlite:///menace.db";

pub(crate) fn open(directory: &Path) -> (Store, Vec<Notice>) {
    Store::open(directory, URL).expect("the store opens")
}

/// A store that nothing has happened to.
pub(crate) fn fresh(directory: &Path) -> Store {
    let (store, notices) = open(directory);
    assert_eq!(notices, []);
    store
}

pub(crate) fn run(id: &str, started_ms: i64) -> NewRun {
    NewRun {
        id: RunId(id.into()),
        seed: u64::MAX - 1,
        repository: "/repo".into(),
        started_ms,
        settings: json!({"jobs": 2}),
    }
}

pub(crate) fn end(status: RunStatus, finished_ms: i64) -> RunEnd {
    RunEnd { status, finished_ms, cycles: 1, summary: json!({"calls": 3}) }
}

pub(crate) fn section(name: &str) -> SectionId {
    SectionId::new("shop/cart.py", name)
}

pub(crate) fn cell(name: &str) -> CellKey {
    CellKey { cycle: 0, section: section(name), scenario: "normal".into() }
}

pub(crate) fn call() -> Call {
    let module = ModuleRef { name: "shop.cart".into(), path: Some("shop/cart.py".into()) };
    let target = Target { module, qualname: "total".into(), how: How::Function };
    Call { args: vec![Value::None], seed: 7, ..Call::new(target) }
}

pub(crate) fn call_record(name: &str, number: u32) -> CallRecord {
    CallRecord {
        wall_ms: 0.125,
        cpu_ms: 0.1,
        memory_bytes: 4096,
        ..CallRecord::of(
            cell(name),
            number,
            Intent::Valid,
            &Outcome::of(Verdict::Returned, Stage::Call),
        )
    }
}

pub(crate) fn failure(id: &str) -> Failure {
    Failure {
        id: FailureId(id.into()),
        section: section("total"),
        kind: WeaknessKind::Unhandled,
        scenario: "normal".into(),
        verdict: Verdict::Raised,
        exception: Some("builtins.ZeroDivisionError".into()),
        message: "division by zero".into(),
        location: Place { file: "shop/cart.py".into(), line: 12 },
        call: call(),
        outcome: Outcome::of(Verdict::Raised, Stage::Call),
    }
}

/// What another program would see in the database.
pub(crate) fn number(path: &Path, sql: &str) -> i64 {
    let connection = Connection::open(path).expect("a database");
    connection.query_row(sql, [], |row| row.get(0)).expect(sql)
}

pub(crate) fn integrity(path: &Path) -> String {
    let connection = Connection::open(path).expect("a database");
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("an answer about the integrity")
}
