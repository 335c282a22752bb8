//! Rows to store, and a directory to store them in.

use std::path::Path;

use menace_model::{
    Call, CallStage, CallStep, CallTarget, Failure, FailureId, InputIntent, ModuleRef, Outcome,
    SectionId, SourceLocation, TargetKind, Value, Verdict, WeaknessKind,
};
use menace_store::{
    CallRecord, CellKey, RunEndRecord, RunId, RunStartRecord, RunStatus, Store, StoreNotice,
};
use rusqlite::Connection;
use serde_json::json;

pub(crate) const DATABASE_URL: &str = "sqlite:///menace.db";

pub(crate) fn open(directory: &Path) -> (Store, Vec<StoreNotice>) {
    Store::open(directory, DATABASE_URL).expect("the store opens")
}

/// A store that nothing has happened to.
pub(crate) fn open_empty(directory: &Path) -> Store {
    let (store, notices) = open(directory);
    assert_eq!(notices, []);
    store
}

pub(crate) fn run(id: &str, started_ms: i64) -> RunStartRecord {
    RunStartRecord {
        id: RunId(id.into()),
        seed: u64::MAX - 1,
        repository: "/repo".into(),
        started_ms,
        settings: json!({"jobs": 2}),
    }
}

pub(crate) fn end(status: RunStatus, finished_ms: i64) -> RunEndRecord {
    RunEndRecord { status, finished_ms, cycles: 1, report: json!({"calls": 3}) }
}

pub(crate) fn section(name: &str) -> SectionId {
    SectionId::new("shop/cart.py", name)
}

pub(crate) fn cell(name: &str) -> CellKey {
    CellKey { cycle: 0, section: section(name), scenario: "normal".into() }
}

pub(crate) fn call() -> Call {
    let module = ModuleRef { name: "shop.cart".into(), path: Some("shop/cart.py".into()) };
    let target = CallTarget { module, qualname: "total".into(), kind: TargetKind::Function };
    Call { seed: 7, ..Call::of_step(CallStep { args: vec![Value::None], ..CallStep::new(target) }) }
}

pub(crate) fn call_record(name: &str, number: u32) -> CallRecord {
    CallRecord {
        wall_ms: 0.125,
        cpu_ms: 0.1,
        memory_bytes: 4096,
        ..CallRecord::from_outcome(
            cell(name),
            number,
            InputIntent::Valid,
            &Outcome::new(Verdict::Returned, CallStage::Call),
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
        location: SourceLocation { file: "shop/cart.py".into(), line: 12 },
        call: call(),
        outcome: Outcome::new(Verdict::Raised, CallStage::Call),
    }
}

/// What another program would see in the database.
pub(crate) fn query_number(path: &Path, sql: &str) -> i64 {
    let connection = Connection::open(path).expect("a database");
    connection.query_row(sql, [], |row| row.get(0)).expect(sql)
}

pub(crate) fn check_integrity(path: &Path) -> String {
    let connection = Connection::open(path).expect("a database");
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("an answer about the integrity")
}
