use menace_model::{
    BurstReport, Call, CallConditions, CallResult, CallStage, CallStep, CallStepReport, CallTarget,
    FaultMode, FaultSpec, FaultStats, FaultTrigger, FileChangeKind, InputIntent, ModuleRef,
    Outcome, PyString, RaisedException, ReturnedValue, StackFrame, TargetKind, TouchedFile,
    TouchedFiles, UpstreamReport, UpstreamRequest, Value, Verdict,
};

use super::oracle_context::CallShape;
use super::*;
use crate::input::INJECTION_MARKER;

fn call(args: Vec<Value>) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
    Call::of_step(CallStep { args, intent: InputIntent::Boundary, ..CallStep::new(target) })
}

fn raised(kind: &str, bases: &[&str]) -> Outcome {
    let frame = StackFrame {
        file: "shop.py".to_owned(),
        line: 3,
        function: "f".to_owned(),
        in_repository: true,
    };
    let exception = RaisedException {
        kind: kind.to_owned(),
        message: "what went wrong".to_owned(),
        bases: bases.iter().map(|base| (*base).to_owned()).collect(),
        explicit: false,
        frames: vec![frame],
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    };
    Outcome::of_result(CallResult {
        exception: Some(exception),
        ..CallResult::new(Verdict::Raised, CallStage::Call)
    })
}

fn returned(repr: &str) -> Outcome {
    let value = ReturnedValue {
        kind: "str".to_owned(),
        repr: repr.to_owned(),
        truncated: false,
        length: None,
        hash: Some(repr.to_owned()),
        value: Some(Value::from(repr)),
        items: None,
        more: false,
    };
    Outcome::of_result(CallResult {
        value: Some(value),
        ..CallResult::new(Verdict::Returned, CallStage::Call)
    })
}

fn judge_call(call: &Call, outcome: &Outcome) -> Option<WeaknessKind> {
    judge_with_baseline(call, outcome, None)
}

fn judge_with_baseline(
    call: &Call,
    outcome: &Outcome,
    baseline: Option<&Outcome>,
) -> Option<WeaknessKind> {
    let baseline = baseline.map(BaselineOutcome::from);
    let judge_input = JudgeInput {
        section: "f",
        params: &[],
        call,
        outcome,
        baseline: baseline.as_ref(),
        is_shape_accepted: false,
        is_fully_annotated: true,
        has_ended_before: false,
    };
    find_weakness(&judge_input).map(|weakness| weakness.kind)
}

fn with_injected_fault(mode: FaultMode, outcome: Outcome) -> Outcome {
    let stats = FaultStats {
        mode,
        opportunities: 3,
        injected: 1,
        first_injected: None,
        last_injected_ms: None,
    };
    Outcome { fault_stats: vec![stats], ..outcome }
}

#[test]
fn an_unhandled_exception_is_a_weakness_and_a_raise_statement_is_not() {
    let empty = call(vec![Value::List(vec![])]);
    let outcome = raised("IndexError", &["LookupError", "Exception"]);
    assert_eq!(judge_call(&empty, &outcome), Some(WeaknessKind::Unhandled));
    let mut meant = outcome.clone();
    meant.exception.as_mut().unwrap().explicit = true;
    assert_eq!(judge_call(&empty, &meant), None);
    let mut misuse = empty.clone();
    misuse.intent = InputIntent::Misuse;
    assert_eq!(judge_call(&misuse, &outcome), None);
}

#[test]
fn the_place_is_the_last_line_of_the_repository() {
    let outcome = raised("ZeroDivisionError", &["ArithmeticError"]);
    let call = call(vec![Value::Int(0)]);
    let judge_input = JudgeInput {
        section: "f",
        params: &[],
        call: &call,
        outcome: &outcome,
        baseline: None,
        is_shape_accepted: false,
        is_fully_annotated: true,
        has_ended_before: false,
    };
    assert_eq!(find_weakness(&judge_input).unwrap().place, Some(("shop.py".to_owned(), 3)));
}

#[test]
fn text_that_cannot_be_read_may_be_refused_with_a_value_error() {
    let outcome = raised("ValueError", &["Exception"]);
    assert_eq!(judge_call(&call(vec![Value::from("abc")]), &outcome), None);
    let numbers = call(vec![Value::List(vec![])]);
    assert_eq!(judge_call(&numbers, &outcome), Some(WeaknessKind::Unhandled));
}

#[test]
fn a_guessed_type_is_no_weakness_until_it_was_accepted_once() {
    let (call, outcome) = (call(vec![Value::from("x")]), raised("AttributeError", &["Exception"]));
    let mut judge_input = JudgeInput {
        section: "f",
        params: &[],
        call: &call,
        outcome: &outcome,
        baseline: None,
        is_shape_accepted: false,
        is_fully_annotated: false,
        has_ended_before: false,
    };
    assert_eq!(find_weakness(&judge_input), None);
    judge_input.is_shape_accepted = true;
    assert_eq!(find_weakness(&judge_input).map(|found| found.kind), Some(WeaknessKind::Unhandled));
}

#[test]
fn failures_on_extreme_numbers_and_surrogates_are_no_weakness() {
    let overflow = raised("OverflowError", &["ArithmeticError"]);
    let huge = Value::parse_integer(&format!("1{}", "0".repeat(400))).unwrap();
    assert_eq!(judge_call(&call(vec![huge]), &overflow), None);
    assert_eq!(judge_call(&call(vec![Value::Float(f64::NAN)]), &overflow), None);
    assert_eq!(judge_call(&call(vec![Value::Int(7)]), &overflow), Some(WeaknessKind::Unhandled));
    let unicode = raised("UnicodeEncodeError", &["UnicodeError", "ValueError"]);
    let half = Value::Str(PyString::from_code_points([0xd800]).unwrap());
    assert_eq!(judge_call(&call(vec![half.clone()]), &unicode), None);
    assert_eq!(judge_call(&call(vec![Value::from("ä")]), &unicode), Some(WeaknessKind::Encoding));
    // The receiver of a method is a part of the input.
    let on = |text: Value| Call {
        step: CallStep { receiver: Some(Value::List(vec![text])), ..call(vec![]).step },
        ..call(vec![])
    };
    assert_eq!(judge_call(&on(half), &unicode), None);
    assert_eq!(judge_call(&on(Value::from("ä")), &unicode), Some(WeaknessKind::Encoding));
}

#[test]
fn recursion_is_a_weakness_of_recursive_functions_only() {
    let mut outcome = raised("RecursionError", &["RuntimeError"]);
    let nested = call(vec![Value::List(vec![Value::List(vec![])])]);
    assert_eq!(judge_call(&nested, &outcome), None);
    let frames = &mut outcome.exception.as_mut().unwrap().frames;
    let frame = frames[0].clone();
    frames.extend([frame.clone(), frame]);
    assert_eq!(judge_call(&nested, &outcome), Some(WeaknessKind::Recursion));
}

#[test]
fn a_small_input_must_not_hang() {
    let outcome = Outcome::new(Verdict::TimedOut, CallStage::Call);
    assert_eq!(judge_call(&call(vec![Value::Int(50)]), &outcome), Some(WeaknessKind::Hang));
    assert_eq!(judge_call(&call(vec![Value::Int(1 << 40)]), &outcome), None);
    let long = Value::Repeat { value: Box::new(Value::from("abc")), times: 1 << 20 };
    assert_eq!(judge_call(&call(vec![long]), &outcome), None);
    // Reading these devices never ends.
    let device = |name: &str| judge_call(&call(vec![Value::from(name)]), &outcome);
    assert_eq!(device("/dev/random"), None);
    assert_eq!(device("../../dev/zero"), None);
    assert_eq!(device("/dev/null"), Some(WeaknessKind::Hang));
    let reader = Value::New {
        class: "shop:Reader".parse().unwrap(),
        args: vec![Value::from("/dev/zero")],
        kwargs: Vec::new(),
    };
    assert_eq!(
        judge_call(
            &Call {
                step: CallStep { receiver: Some(reader), ..call(vec![]).step },
                ..call(vec![])
            },
            &outcome
        ),
        None
    );
    let mut killed = call(vec![]);
    killed.conditions = CallConditions {
        faults: vec![FaultSpec { mode: FaultMode::Timeout, trigger: FaultTrigger::Nth(1) }],
        ..CallConditions::default()
    };
    assert_eq!(judge_call(&killed, &outcome), None);
}

#[test]
fn an_open_file_is_a_leak_unless_it_may_be_returned() {
    let mut outcome = returned("ok");
    outcome.leaked.descriptors = vec!["5 /sandbox/repo/data.txt".to_owned()];
    assert_eq!(judge_call(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
    outcome.value.as_mut().unwrap().value = None;
    assert_eq!(judge_call(&call(vec![]), &outcome), None);
}

#[test]
fn a_connection_kept_for_the_next_request_is_no_leak() {
    let mut outcome = returned("ok");
    outcome.leaked.descriptors = vec!["3 socket".to_owned()];
    assert_eq!(judge_call(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
    outcome.upstream = Some(UpstreamReport { requests: Vec::new(), without_timeout: 0 });
    assert_eq!(
        judge_call(&call(vec![]), &outcome),
        Some(WeaknessKind::Leak),
        "no request was sent"
    );
    let asked =
        UpstreamRequest { request: "GET http://weather.example/".into(), answer: "200".into() };
    outcome.upstream = Some(UpstreamReport { requests: vec![asked], without_timeout: 0 });
    assert_eq!(judge_call(&call(vec![]), &outcome), None);
    outcome.leaked.descriptors = vec!["3 /sandbox/repo/data.txt".to_owned()];
    assert_eq!(judge_call(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
}

#[test]
fn a_journal_of_an_open_database_is_no_leak() {
    let mut outcome = returned("1");
    outcome.leaked.descriptors = vec!["6 /sandbox/repo/shop.db-journal".to_owned()];
    assert_eq!(judge_call(&call(vec![]), &outcome), None);
    outcome.leaked.descriptors.push("5 /sandbox/repo/shop.db".to_owned());
    assert_eq!(judge_call(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
    outcome.leaked.descriptors = vec!["6 /sandbox/repo/audit-journal".to_owned()];
    assert_eq!(judge_call(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
}

/// Equal calls, of which call `n` began with `held(n)` bytes.
fn outcome_with_memory(count: u64, held: impl Fn(u64) -> u64) -> Outcome {
    let step = |number| CallStepReport {
        held_bytes: Some(held(number)),
        ..CallStepReport::new(Verdict::Returned, CallStage::Call)
    };
    Outcome {
        result: CallResult { value: None, ..returned("ok").result },
        steps: (0..count).map(step).collect(),
        ..returned("ok")
    }
}

#[test]
fn a_file_left_by_every_call_is_a_leak_unless_it_is_returned() {
    let call = Call { repeats: 9, ..call(vec![]) };
    let leaving = |count: u64, result: &dyn Fn(u64) -> String| {
        let mut outcome = outcome_with_memory(10, |_| 5000);
        for (number, step) in outcome.steps.iter_mut().enumerate() {
            let own_outcome = returned(&result(number as u64));
            step.value = own_outcome.result.value;
        }
        let touched = |number| TouchedFile {
            path: format!("/tmp/tmp{number}.gz"),
            change: FileChangeKind::Created,
            bytes: 3,
            hash: None,
        };
        outcome.files.touched = (0..count).map(touched).collect();
        outcome.files.total = count;
        outcome
    };
    let nothing = |_| "3".to_owned();
    assert_eq!(judge_call(&call, &leaving(10, &nothing)), Some(WeaknessKind::Leak));
    // A file that a process creates once is removed when it ends.
    assert_eq!(judge_call(&call, &leaving(1, &nothing)), None);
    let temporary_path = |number| format!("/tmp/tmp{number}.gz");
    assert_eq!(judge_call(&call, &leaving(10, &temporary_path)), None);
    let once = Call { repeats: 0, ..call.clone() };
    assert_eq!(judge_call(&once, &leaving(10, &nothing)), None);
}

#[test]
fn memory_kept_by_every_call_is_a_leak_unless_it_is_bounded() {
    let call = Call { repeats: 99, ..call(vec![]) };
    let leaking = outcome_with_memory(100, |number| 5000 + 1000 * number);
    assert_eq!(judge_call(&call, &leaking), Some(WeaknessKind::Leak));
    let bounded = outcome_with_memory(100, |number| 5000 + 1000 * number.min(40));
    assert_eq!(judge_call(&call, &bounded), None);
    let little = outcome_with_memory(100, |number| 5000 + 100 * number);
    assert_eq!(judge_call(&call, &little), None);
    let once = outcome_with_memory(100, |number| if number > 80 { 900_000 } else { 5000 });
    assert_eq!(judge_call(&call, &once), None);
    let mut failing = leaking;
    failing.steps[7].verdict = Verdict::Raised;
    assert_eq!(judge_call(&call, &failing), None);
}

#[test]
fn a_changed_default_is_shared_state() {
    let mut outcome = returned("ok");
    outcome.state_changes.defaults = vec!["items".to_owned()];
    assert_eq!(judge_call(&call(vec![]), &outcome), Some(WeaknessKind::SharedState));
}

#[test]
fn concurrency_must_not_change_a_result() {
    let burst = |change: fn(&mut BurstReport)| {
        let mut report = BurstReport { threads_spawned: 8, finished: 8, ..BurstReport::default() };
        change(&mut report);
        Outcome { burst: Some(report), ..returned("ok") }
    };
    let call = call(vec![]);
    assert_eq!(judge_call(&call, &burst(|_| {})), None);
    assert_eq!(judge_call(&call, &burst(|burst| burst.differs = true)), Some(WeaknessKind::Race));
    assert_eq!(
        judge_call(&call, &burst(|burst| burst.deadlocked = true)),
        Some(WeaknessKind::Deadlock)
    );
}

#[test]
fn a_file_must_have_its_old_or_its_new_content() {
    let file = |hash: &str| TouchedFile {
        path: "state.json".to_owned(),
        change: FileChangeKind::Changed,
        bytes: 10,
        hash: Some(hash.to_owned()),
    };
    let files = |touched: Vec<TouchedFile>| TouchedFiles { total: touched.len() as u64, touched };
    let baseline = Outcome { files: files(vec![file("new")]), ..returned("ok") };
    let call = call(vec![]);
    let half = Outcome { files: files(vec![file("half")]), ..raised("OSError", &["Exception"]) };
    let half = with_injected_fault(FaultMode::Disk, half);
    assert_eq!(
        judge_with_baseline(&call, &half, Some(&baseline)),
        Some(WeaknessKind::PartialWrite)
    );
    let untouched = with_injected_fault(FaultMode::Disk, raised("OSError", &["Exception"]));
    assert_eq!(judge_with_baseline(&call, &untouched, Some(&baseline)), None);
    let silent = with_injected_fault(FaultMode::Disk, returned("ok"));
    assert_eq!(
        judge_with_baseline(&call, &silent, Some(&baseline)),
        Some(WeaknessKind::SilentFailure)
    );
    let corrupt = Outcome { files: files(vec![file("bits")]), ..returned("ok") };
    let corrupt = with_injected_fault(FaultMode::DiskCorruption, corrupt);
    assert_eq!(judge_with_baseline(&call, &corrupt, Some(&baseline)), None);
}

#[test]
fn upstream_responses_must_be_checked() {
    let with_request = |without_timeout, outcome: Outcome| Outcome {
        upstream: Some(UpstreamReport {
            requests: vec![UpstreamRequest {
                request: "GET http://api/".to_owned(),
                answer: "silence".to_owned(),
            }],
            without_timeout,
        }),
        ..with_injected_fault(FaultMode::FlakyUpstream, outcome)
    };
    let call = call(vec![]);
    assert_eq!(judge_call(&call, &with_request(1, returned("x"))), Some(WeaknessKind::NoTimeout));
    assert_eq!(judge_call(&call, &with_request(0, returned("x"))), None);
    let passed_on = format!("<html>{CORRUPTED_ANSWER_MARKER}</html>");
    assert_eq!(
        judge_call(&call, &with_request(0, returned(&passed_on))),
        Some(WeaknessKind::UncheckedResponse)
    );
    let key = raised("KeyError", &["LookupError"]);
    assert_eq!(judge_call(&call, &with_request(0, key)), Some(WeaknessKind::UncheckedResponse));
    let honest = raised("ConnectionResetError", &["ConnectionError", "OSError"]);
    assert_eq!(judge_call(&call, &with_request(0, honest)), None);
}

#[test]
fn hostile_input_must_not_be_executed() {
    let hostile = |text: &str| {
        let mut call = call(vec![Value::from(text)]);
        call.intent = InputIntent::Hostile;
        call
    };
    let mut made = returned("ok");
    made.files.touched = vec![TouchedFile {
        path: format!("{INJECTION_MARKER}.txt"),
        change: FileChangeKind::Created,
        bytes: 0,
        hash: None,
    }];
    assert_eq!(judge_call(&hostile("; touch"), &made), Some(WeaknessKind::Injection));
    let sqlite_error = |message: &str| {
        let mut outcome = raised("sqlite3.OperationalError", &["sqlite3.DatabaseError"]);
        let exception = outcome.exception.as_mut().expect("an exception");
        exception.message = message.to_owned();
        outcome
    };
    let misread = sqlite_error("near \"OR\": syntax error");
    assert_eq!(judge_call(&hostile("' OR 1=1"), &misread), Some(WeaknessKind::Injection));
    let locked = sqlite_error("database is locked");
    assert_ne!(judge_call(&hostile("' OR 1=1"), &locked), Some(WeaknessKind::Injection));
    let page = returned(&format!("<p><script>{INJECTION_MARKER}</script></p>"));
    assert_eq!(judge_call(&hostile("<script>"), &page), Some(WeaknessKind::Injection));
    let echo = returned(&format!("<script>{INJECTION_MARKER}</script>"));
    assert_eq!(judge_call(&hostile("<script>"), &echo), None);
    let secret = returned("root…sandbox:x:1000:1000");
    assert_eq!(judge_call(&hostile("../../etc/passwd"), &secret), Some(WeaknessKind::Traversal));
    assert_eq!(judge_call(&hostile("notes.txt"), &secret), None);
}

#[test]
fn shapes_are_types_without_values() {
    let shape = |value: Value| CallShape::from_call(&call(vec![value]));
    assert_eq!(shape(Value::from("a")), shape(Value::from("b")));
    assert_ne!(shape(Value::from("a")), shape(Value::Int(1)));
    let list = |items: &[i64]| Value::List(items.iter().copied().map(Value::Int).collect());
    assert_eq!(shape(list(&[1])), shape(list(&[2, 3])));
    let dict = |key: &str| Value::Dict(vec![(Value::from(key), Value::Int(1))]);
    assert_ne!(shape(dict("a")), shape(dict("b")));
}

#[test]
fn a_list_without_items_has_the_type_of_one_with_items() {
    let numbers = Value::List(vec![Value::Int(1)]);
    let customer = construct(("shop", "Customer"), Vec::new());
    let answered = call(vec![numbers.clone(), customer.clone(), numbers.clone()]);
    let less: Vec<CallShape> = CallShape::with_empty_containers(&answered).collect();
    let empty = || Value::List(Vec::new());
    let one = call(vec![empty(), customer.clone(), numbers.clone()]);
    let other = call(vec![numbers.clone(), customer, empty()]);
    assert_eq!(less, [CallShape::from_call(&one), CallShape::from_call(&other)]);
    // An empty dict lacks keys that another dict has.
    let dict = Value::Dict(vec![(Value::from("a"), Value::Int(1))]);
    assert_eq!(CallShape::with_empty_containers(&call(vec![dict])).count(), 0);
}

fn construct(class: (&str, &str), args: Vec<Value>) -> Value {
    let class = menace_model::PyReference::new(class.0, class.1).unwrap();
    Value::New { class, args, kwargs: Vec::new() }
}

#[test]
fn a_query_that_cannot_be_read_is_an_injection_and_a_file_that_cannot_be_opened_is_none() {
    let hostile = Call {
        step: CallStep { intent: InputIntent::Hostile, ..call(vec![Value::from("' --")]).step },
        ..call(vec![Value::from("' --")])
    };
    let said = |message: &str| {
        let mut outcome = raised("sqlite3.OperationalError", &["sqlite3.DatabaseError"]);
        if let Some(exception) = &mut outcome.exception {
            exception.message = message.to_owned();
        }
        judge_call(&hostile, &outcome)
    };
    assert_eq!(said("near \"--\": syntax error"), Some(WeaknessKind::Injection));
    assert_eq!(said("unable to open database file"), None);
    assert_eq!(said("disk I/O error"), None);
}

#[test]
fn failures_on_non_finite_decimals_are_no_weakness() {
    let decimal =
        |text: &str| call(vec![construct(("decimal", "Decimal"), vec![Value::from(text)])]);
    let outcome = raised("TypeError", &[]);
    let accepted = |call: &Call| {
        let judge_input = JudgeInput {
            section: "f",
            params: &[],
            call,
            outcome: &outcome,
            baseline: None,
            is_shape_accepted: true,
            is_fully_annotated: true,
            has_ended_before: false,
        };
        find_weakness(&judge_input).is_some()
    };
    assert!(accepted(&decimal("1.5")));
    assert!(!accepted(&decimal("sNaN")));
    assert!(!accepted(&decimal("-Infinity")));
}

#[test]
fn a_database_with_a_journal_is_not_partially_written() {
    let touched = |path: &str, hash: &str| TouchedFile {
        path: path.to_owned(),
        change: FileChangeKind::Created,
        bytes: 1,
        hash: Some(hash.to_owned()),
    };
    let files = |touched: Vec<TouchedFile>| {
        let total = touched.len() as u64;
        TouchedFiles { touched, total }
    };
    let baseline = Outcome { files: files(vec![touched("a.db", "whole")]), ..returned("1") };
    let stats = vec![FaultStats {
        mode: FaultMode::Disk,
        opportunities: 2,
        injected: 1,
        first_injected: None,
        last_injected_ms: None,
    }];
    let half = |more: Vec<TouchedFile>| Outcome {
        files: files([vec![touched("a.db", "half")], more].concat()),
        fault_stats: stats.clone(),
        ..raised("OSError", &[])
    };
    let input = call(Vec::new());
    let judged = |outcome: &Outcome| judge_with_baseline(&input, outcome, Some(&baseline));
    assert_eq!(judged(&half(Vec::new())), Some(WeaknessKind::PartialWrite));
    assert_eq!(judged(&half(vec![touched("a.db-journal", "x")])), None);
}
