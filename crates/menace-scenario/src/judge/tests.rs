use menace_model::{
    Asked, BurstReport, Call, Conditions, Fault, FaultMode, Felt, FileChange, Files, Frame, How,
    Intent, ModuleRef, Outcome, PyStr, Raised, Returned, Stage, StepReport, Target, Touched,
    UpstreamReport, Value, Verdict, When,
};

use super::*;

fn call(args: Vec<Value>) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = Target { module, qualname: "f".to_owned(), how: How::Function };
    Call { args, intent: Intent::Boundary, ..Call::new(target) }
}

fn raised(kind: &str, bases: &[&str]) -> Outcome {
    let frame = Frame { file: "shop.py".to_owned(), line: 3, function: "f".to_owned(), own: true };
    let exception = Raised {
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
    Outcome { exception: Some(exception), ..Outcome::of(Verdict::Raised, Stage::Call) }
}

fn returned(repr: &str) -> Outcome {
    let value = Returned {
        kind: "str".to_owned(),
        repr: repr.to_owned(),
        truncated: false,
        length: None,
        hash: Some(repr.to_owned()),
        value: Some(Value::from(repr)),
        items: None,
        more: false,
    };
    Outcome { value: Some(value), ..Outcome::of(Verdict::Returned, Stage::Call) }
}

fn judged(call: &Call, outcome: &Outcome) -> Option<WeaknessKind> {
    judged_with(call, outcome, None)
}

fn judged_with(call: &Call, outcome: &Outcome, alone: Option<&Outcome>) -> Option<WeaknessKind> {
    let alone = alone.map(Alone::from);
    let witness = Witness {
        section: "f",
        params: &[],
        call,
        outcome,
        alone: alone.as_ref(),
        accepted: false,
        annotated: true,
        ends: false,
    };
    weakness(&witness).map(|weakness| weakness.kind)
}

fn struck(mode: FaultMode, outcome: Outcome) -> Outcome {
    let felt = Felt { mode, offered: 3, struck: 1, first: None, last_ms: None };
    Outcome { felt: vec![felt], ..outcome }
}

#[test]
fn an_exception_that_nobody_meant_is_a_weakness_and_one_that_was_raised_is_an_answer() {
    let empty = call(vec![Value::List(vec![])]);
    let outcome = raised("IndexError", &["LookupError", "Exception"]);
    assert_eq!(judged(&empty, &outcome), Some(WeaknessKind::Unhandled));
    let mut meant = outcome.clone();
    meant.exception.as_mut().unwrap().explicit = true;
    assert_eq!(judged(&empty, &meant), None);
    let mut misuse = empty.clone();
    misuse.intent = Intent::Misuse;
    assert_eq!(judged(&misuse, &outcome), None);
}

#[test]
fn the_place_is_the_last_line_of_the_repository() {
    let outcome = raised("ZeroDivisionError", &["ArithmeticError"]);
    let call = call(vec![Value::Int(0)]);
    let witness = Witness {
        section: "f",
        params: &[],
        call: &call,
        outcome: &outcome,
        alone: None,
        accepted: false,
        annotated: true,
        ends: false,
    };
    assert_eq!(weakness(&witness).unwrap().place, Some(("shop.py".to_owned(), 3)));
}

#[test]
fn text_that_cannot_be_read_may_be_refused_with_a_value_error() {
    let outcome = raised("ValueError", &["Exception"]);
    assert_eq!(judged(&call(vec![Value::from("abc")]), &outcome), None);
    let numbers = call(vec![Value::List(vec![])]);
    assert_eq!(judged(&numbers, &outcome), Some(WeaknessKind::Unhandled));
}

#[test]
fn a_guessed_type_blames_nobody_until_it_has_worked_once() {
    let (call, outcome) = (call(vec![Value::from("x")]), raised("AttributeError", &["Exception"]));
    let mut witness = Witness {
        section: "f",
        params: &[],
        call: &call,
        outcome: &outcome,
        alone: None,
        accepted: false,
        annotated: false,
        ends: false,
    };
    assert_eq!(weakness(&witness), None);
    witness.accepted = true;
    assert_eq!(weakness(&witness).map(|found| found.kind), Some(WeaknessKind::Unhandled));
}

#[test]
fn nearly_everything_fails_on_extreme_numbers_and_half_characters() {
    let overflow = raised("OverflowError", &["ArithmeticError"]);
    let huge = Value::integer(&format!("1{}", "0".repeat(400))).unwrap();
    assert_eq!(judged(&call(vec![huge]), &overflow), None);
    assert_eq!(judged(&call(vec![Value::Float(f64::NAN)]), &overflow), None);
    assert_eq!(judged(&call(vec![Value::Int(7)]), &overflow), Some(WeaknessKind::Unhandled));
    let unicode = raised("UnicodeEncodeError", &["UnicodeError", "ValueError"]);
    let half = Value::Str(PyStr::from_code_points([0xd800]).unwrap());
    assert_eq!(judged(&call(vec![half.clone()]), &unicode), None);
    assert_eq!(judged(&call(vec![Value::from("ä")]), &unicode), Some(WeaknessKind::Encoding));
    // The instance that a method is called on is as much of an input.
    let on = |text: Value| Call { receiver: Some(Value::List(vec![text])), ..call(vec![]) };
    assert_eq!(judged(&on(half), &unicode), None);
    assert_eq!(judged(&on(Value::from("ä")), &unicode), Some(WeaknessKind::Encoding));
}

#[test]
fn recursion_is_blamed_on_whoever_calls_itself() {
    let mut outcome = raised("RecursionError", &["RuntimeError"]);
    let nested = call(vec![Value::List(vec![Value::List(vec![])])]);
    assert_eq!(judged(&nested, &outcome), None);
    let frames = &mut outcome.exception.as_mut().unwrap().frames;
    let frame = frames[0].clone();
    frames.extend([frame.clone(), frame]);
    assert_eq!(judged(&nested, &outcome), Some(WeaknessKind::Recursion));
}

#[test]
fn a_small_input_must_not_take_for_ever() {
    let outcome = Outcome::of(Verdict::TimedOut, Stage::Call);
    assert_eq!(judged(&call(vec![Value::Int(50)]), &outcome), Some(WeaknessKind::Hang));
    assert_eq!(judged(&call(vec![Value::Int(1 << 40)]), &outcome), None);
    let long = Value::Repeat { value: Box::new(Value::from("abc")), times: 1 << 20 };
    assert_eq!(judged(&call(vec![long]), &outcome), None);
    // Nobody comes to the end of these.
    let device = |name: &str| judged(&call(vec![Value::from(name)]), &outcome);
    assert_eq!(device("/dev/random"), None);
    assert_eq!(device("../../dev/zero"), None);
    assert_eq!(device("/dev/null"), Some(WeaknessKind::Hang));
    let reader = Value::New {
        class: "shop:Reader".parse().unwrap(),
        args: vec![Value::from("/dev/zero")],
        kwargs: Vec::new(),
    };
    assert_eq!(judged(&Call { receiver: Some(reader), ..call(vec![]) }, &outcome), None);
    let mut killed = call(vec![]);
    killed.conditions = Conditions {
        faults: vec![Fault { mode: FaultMode::Timeout, when: When::Nth(1) }],
        ..Conditions::default()
    };
    assert_eq!(judged(&killed, &outcome), None);
}

#[test]
fn what_stays_open_is_a_leak_unless_it_was_handed_out() {
    let mut outcome = returned("ok");
    outcome.left.descriptors = vec!["5 /sandbox/repo/data.txt".to_owned()];
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
    outcome.value.as_mut().unwrap().value = None;
    assert_eq!(judged(&call(vec![]), &outcome), None);
}

#[test]
fn a_connection_that_is_kept_for_the_next_question_is_no_leak() {
    let mut outcome = returned("ok");
    outcome.left.descriptors = vec!["3 socket".to_owned()];
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
    outcome.upstream = Some(UpstreamReport { requests: Vec::new(), without_timeout: 0 });
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::Leak), "nobody was asked");
    let asked = Asked { what: "GET http://weather.example/".into(), answer: "200".into() };
    outcome.upstream = Some(UpstreamReport { requests: vec![asked], without_timeout: 0 });
    assert_eq!(judged(&call(vec![]), &outcome), None);
    outcome.left.descriptors = vec!["3 /sandbox/repo/data.txt".to_owned()];
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
}

#[test]
fn what_an_open_database_holds_is_no_leak_of_who_asks_it() {
    let mut outcome = returned("1");
    outcome.left.descriptors = vec!["6 /sandbox/repo/shop.db-journal".to_owned()];
    assert_eq!(judged(&call(vec![]), &outcome), None);
    outcome.left.descriptors.push("5 /sandbox/repo/shop.db".to_owned());
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
    outcome.left.descriptors = vec!["6 /sandbox/repo/audit-journal".to_owned()];
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::Leak));
}

/// Many equal calls, of which number `n` began with `held(n)` bytes.
fn weighed(count: u64, held: impl Fn(u64) -> u64) -> Outcome {
    let step = |number| StepReport {
        held_bytes: Some(held(number)),
        ..StepReport::of(Verdict::Returned, Stage::Call)
    };
    Outcome { steps: (0..count).map(step).collect(), value: None, ..returned("ok") }
}

#[test]
fn a_file_that_every_call_leaves_is_a_leak_unless_somebody_knows_of_it() {
    let call = Call { again: 9, ..call(vec![]) };
    let leaving = |count: u64, result: &dyn Fn(u64) -> String| {
        let mut outcome = weighed(10, |_| 5000);
        for (number, step) in outcome.steps.iter_mut().enumerate() {
            let told = returned(&result(number as u64));
            step.value = told.value;
        }
        let touched = |number| Touched {
            path: format!("/tmp/tmp{number}.gz"),
            what: FileChange::Created,
            bytes: 3,
            hash: None,
        };
        outcome.files.touched = (0..count).map(touched).collect();
        outcome.files.total = count;
        outcome
    };
    let nothing = |_| "3".to_owned();
    assert_eq!(judged(&call, &leaving(10, &nothing)), Some(WeaknessKind::Leak));
    // What a process has once is removed when it ends.
    assert_eq!(judged(&call, &leaving(1, &nothing)), None);
    let told = |number| format!("/tmp/tmp{number}.gz");
    assert_eq!(judged(&call, &leaving(10, &told)), None);
    let once = Call { again: 0, ..call.clone() };
    assert_eq!(judged(&once, &leaving(10, &nothing)), None);
}

#[test]
fn what_every_call_keeps_is_a_leak_unless_it_comes_to_an_end() {
    let call = Call { again: 99, ..call(vec![]) };
    let leaking = weighed(100, |number| 5000 + 1000 * number);
    assert_eq!(judged(&call, &leaking), Some(WeaknessKind::Leak));
    let bounded = weighed(100, |number| 5000 + 1000 * number.min(40));
    assert_eq!(judged(&call, &bounded), None);
    let little = weighed(100, |number| 5000 + 100 * number);
    assert_eq!(judged(&call, &little), None);
    let once = weighed(100, |number| if number > 80 { 900_000 } else { 5000 });
    assert_eq!(judged(&call, &once), None);
    let mut failing = leaking;
    failing.steps[7].verdict = Verdict::Raised;
    assert_eq!(judged(&call, &failing), None);
}

#[test]
fn a_changed_default_is_seen_by_the_next_caller() {
    let mut outcome = returned("ok");
    outcome.changed.defaults = vec!["items".to_owned()];
    assert_eq!(judged(&call(vec![]), &outcome), Some(WeaknessKind::SharedState));
}

#[test]
fn company_must_not_change_a_result() {
    let burst = |change: fn(&mut BurstReport)| {
        let mut report = BurstReport { threads_spawned: 8, finished: 8, ..BurstReport::default() };
        change(&mut report);
        Outcome { burst: Some(report), ..returned("ok") }
    };
    let call = call(vec![]);
    assert_eq!(judged(&call, &burst(|_| {})), None);
    assert_eq!(judged(&call, &burst(|burst| burst.differs = true)), Some(WeaknessKind::Race));
    assert_eq!(
        judged(&call, &burst(|burst| burst.deadlocked = true)),
        Some(WeaknessKind::Deadlock)
    );
}

#[test]
fn a_file_is_the_old_one_or_the_new_one() {
    let file = |hash: &str| Touched {
        path: "state.json".to_owned(),
        what: FileChange::Changed,
        bytes: 10,
        hash: Some(hash.to_owned()),
    };
    let files = |touched: Vec<Touched>| Files { total: touched.len() as u64, touched };
    let alone = Outcome { files: files(vec![file("new")]), ..returned("ok") };
    let call = call(vec![]);
    let half = Outcome { files: files(vec![file("half")]), ..raised("OSError", &["Exception"]) };
    let half = struck(FaultMode::Disk, half);
    assert_eq!(judged_with(&call, &half, Some(&alone)), Some(WeaknessKind::PartialWrite));
    let untouched = struck(FaultMode::Disk, raised("OSError", &["Exception"]));
    assert_eq!(judged_with(&call, &untouched, Some(&alone)), None);
    let silent = struck(FaultMode::Disk, returned("ok"));
    assert_eq!(judged_with(&call, &silent, Some(&alone)), Some(WeaknessKind::SilentFailure));
    let corrupt = Outcome { files: files(vec![file("bits")]), ..returned("ok") };
    let corrupt = struck(FaultMode::DiskCorruption, corrupt);
    assert_eq!(judged_with(&call, &corrupt, Some(&alone)), None);
}

#[test]
fn answers_of_others_have_to_be_looked_at() {
    let asked = |without_timeout, outcome: Outcome| Outcome {
        upstream: Some(UpstreamReport {
            requests: vec![Asked {
                what: "GET http://api/".to_owned(),
                answer: "silence".to_owned(),
            }],
            without_timeout,
        }),
        ..struck(FaultMode::FlakyUpstream, outcome)
    };
    let call = call(vec![]);
    assert_eq!(judged(&call, &asked(1, returned("x"))), Some(WeaknessKind::NoTimeout));
    assert_eq!(judged(&call, &asked(0, returned("x"))), None);
    let passed_on = format!("<html>{SPOILT}</html>");
    assert_eq!(
        judged(&call, &asked(0, returned(&passed_on))),
        Some(WeaknessKind::UncheckedResponse)
    );
    let key = raised("KeyError", &["LookupError"]);
    assert_eq!(judged(&call, &asked(0, key)), Some(WeaknessKind::UncheckedResponse));
    let honest = raised("ConnectionResetError", &["ConnectionError", "OSError"]);
    assert_eq!(judged(&call, &asked(0, honest)), None);
}

#[test]
fn hostile_input_must_stay_input() {
    let hostile = |text: &str| {
        let mut call = call(vec![Value::from(text)]);
        call.intent = Intent::Hostile;
        call
    };
    let mut made = returned("ok");
    made.files.touched = vec![Touched {
        path: format!("{MARKER}.txt"),
        what: FileChange::Created,
        bytes: 0,
        hash: None,
    }];
    assert_eq!(judged(&hostile("; touch"), &made), Some(WeaknessKind::Injection));
    let complains = |message: &str| {
        let mut outcome = raised("sqlite3.OperationalError", &["sqlite3.DatabaseError"]);
        let exception = outcome.exception.as_mut().expect("an exception");
        exception.message = message.to_owned();
        outcome
    };
    let misread = complains("near \"OR\": syntax error");
    assert_eq!(judged(&hostile("' OR 1=1"), &misread), Some(WeaknessKind::Injection));
    let locked = complains("database is locked");
    assert_ne!(judged(&hostile("' OR 1=1"), &locked), Some(WeaknessKind::Injection));
    let page = returned(&format!("<p><script>{MARKER}</script></p>"));
    assert_eq!(judged(&hostile("<script>"), &page), Some(WeaknessKind::Injection));
    let echo = returned(&format!("<script>{MARKER}</script>"));
    assert_eq!(judged(&hostile("<script>"), &echo), None);
    let secret = returned("root…sandbox:x:1000:1000");
    assert_eq!(judged(&hostile("../../etc/passwd"), &secret), Some(WeaknessKind::Traversal));
    assert_eq!(judged(&hostile("notes.txt"), &secret), None);
}

#[test]
fn shapes_are_types_without_values() {
    let shape = |value: Value| Shape::of(&call(vec![value]));
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
    let customer = made(("shop", "Customer"), Vec::new());
    let answered = call(vec![numbers.clone(), customer.clone(), numbers.clone()]);
    let less: Vec<Shape> = Shape::with_less(&answered).collect();
    let empty = || Value::List(Vec::new());
    let one = call(vec![empty(), customer.clone(), numbers.clone()]);
    let other = call(vec![numbers.clone(), customer, empty()]);
    assert_eq!(less, [Shape::of(&one), Shape::of(&other)]);
    // Keys are asked for by name: an empty dictionary lacks what another one has.
    let dict = Value::Dict(vec![(Value::from("a"), Value::Int(1))]);
    assert_eq!(Shape::with_less(&call(vec![dict])).count(), 0);
}

fn made(class: (&str, &str), args: Vec<Value>) -> Value {
    let class = menace_model::Reference::new(class.0, class.1).unwrap();
    Value::New { class, args, kwargs: Vec::new() }
}

#[test]
fn a_query_that_cannot_be_read_is_an_injection_and_a_file_that_cannot_be_opened_is_none() {
    let hostile = Call { intent: Intent::Hostile, ..call(vec![Value::from("' --")]) };
    let said = |message: &str| {
        let mut outcome = raised("sqlite3.OperationalError", &["sqlite3.DatabaseError"]);
        if let Some(exception) = &mut outcome.exception {
            exception.message = message.to_owned();
        }
        judged(&hostile, &outcome)
    };
    assert_eq!(said("near \"--\": syntax error"), Some(WeaknessKind::Injection));
    assert_eq!(said("unable to open database file"), None);
    assert_eq!(said("disk I/O error"), None);
}

#[test]
fn decimals_that_are_no_numbers_blame_nobody() {
    let decimal = |text: &str| call(vec![made(("decimal", "Decimal"), vec![Value::from(text)])]);
    let outcome = raised("TypeError", &[]);
    let accepted = |call: &Call| {
        let witness = Witness {
            section: "f",
            params: &[],
            call,
            outcome: &outcome,
            alone: None,
            accepted: true,
            annotated: true,
            ends: false,
        };
        weakness(&witness).is_some()
    };
    assert!(accepted(&decimal("1.5")));
    assert!(!accepted(&decimal("sNaN")));
    assert!(!accepted(&decimal("-Infinity")));
}

#[test]
fn a_database_with_a_journal_mends_itself() {
    let touched = |path: &str, hash: &str| Touched {
        path: path.to_owned(),
        what: FileChange::Created,
        bytes: 1,
        hash: Some(hash.to_owned()),
    };
    let files = |touched: Vec<Touched>| {
        let total = touched.len() as u64;
        Files { touched, total }
    };
    let alone = Outcome { files: files(vec![touched("a.db", "whole")]), ..returned("1") };
    let felt =
        vec![Felt { mode: FaultMode::Disk, offered: 2, struck: 1, first: None, last_ms: None }];
    let half = |more: Vec<Touched>| Outcome {
        files: files([vec![touched("a.db", "half")], more].concat()),
        felt: felt.clone(),
        ..raised("OSError", &[])
    };
    let input = call(Vec::new());
    let judged = |outcome: &Outcome| judged_with(&input, outcome, Some(&alone));
    assert_eq!(judged(&half(Vec::new())), Some(WeaknessKind::PartialWrite));
    assert_eq!(judged(&half(vec![touched("a.db-journal", "x")])), None);
}
