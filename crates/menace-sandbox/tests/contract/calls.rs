//! Every kind of section can be called, and what goes in is what Python sees.

use menace_model::{
    CallStage, MethodCall, ModuleRef, PyReference, PyString, TargetKind, Value, Verdict,
};
use menace_sandbox::{SyscallInterposition, Tier};

use crate::bench::{ContractBench, build_call, build_module_call, guest, text};

crate::on_every_tier![
    a_function_is_called,
    a_method_is_called_on_an_instance_that_was_built_for_it,
    a_class_method_a_static_method_and_a_property_are_called,
    a_coroutine_is_awaited,
    a_generator_is_used_up_to_a_cap,
    a_context_manager_is_entered_and_left,
    the_top_level_of_a_module_is_a_call,
    a_module_is_found_by_its_path,
    plain_values_come_back_as_they_went_in,
    what_holds_itself_can_be_given,
    a_long_argument_reaches_a_guest_that_asks_first,
    a_value_can_be_made_by_the_guest,
    what_does_not_exist_is_unreachable,
    an_instance_that_cannot_be_built_says_so,
];

const GUEST: &str = guest!("calls.py");

fn reference(qualname: &str) -> PyReference {
    PyReference::new("guest", qualname).expect("a name")
}

fn account(balance: i64) -> Value {
    Value::New {
        class: reference("Account"),
        args: vec![Value::Int(balance)],
        kwargs: vec![("owner".to_owned(), Value::from("me"))],
    }
}

fn a_function_is_called(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("add").with([Value::Int(1)]).named("c", Value::Int(4)));
    assert_eq!(
        (outcome.verdict, outcome.stage),
        (Verdict::Returned, CallStage::Call),
        "{outcome:#?}"
    );
    let returned = outcome.result.value.expect("it returned");
    assert_eq!((returned.kind.as_str(), returned.repr.as_str()), ("int", "6"));
    assert_eq!(returned.value, Some(Value::Int(6)));
    assert_eq!(returned.hash.map(|hash| hash.len()), Some(32));
    // What the import printed is not the call's.
    assert_eq!(outcome.stdout.text, "");
    assert_eq!(outcome.exit.code, Some(0));
    assert_eq!(session.value(build_call("outer")), Value::from("inner"));
}

fn a_method_is_called_on_an_instance_that_was_built_for_it(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let withdraw = build_call("Account.withdraw")
        .kind(TargetKind::Method)
        .on(account(10))
        .with([Value::Int(3)]);
    let expected = Value::Tuple(vec![Value::from("me"), Value::Int(7)]);
    assert_eq!(session.value(withdraw.clone()), expected);
    // Not the same instance: the first call's is gone.
    assert_eq!(session.value(withdraw), expected);
}

fn a_class_method_a_static_method_and_a_property_are_called(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let described =
        build_call("Account.described").kind(TargetKind::ClassMethod).with([Value::from("s")]);
    assert_eq!(session.value(described), Value::from("accounts"));
    let twice = build_call("Account.twice").kind(TargetKind::StaticMethod).with([Value::Int(4)]);
    assert_eq!(session.value(twice), Value::Int(8));
    let doubled = build_call("Account.doubled").kind(TargetKind::Property).on(account(21));
    assert_eq!(session.value(doubled), Value::Int(42));
    let nested = Value::New { class: reference("Account.Entry"), args: vec![], kwargs: vec![] };
    let size = build_call("Account.Entry.size").kind(TargetKind::Method).on(nested);
    assert_eq!(session.value(size), Value::Int(1));
}

fn a_coroutine_is_awaited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("later").with([Value::Int(21)]));
    assert_eq!(outcome.stage, CallStage::Consume);
    assert_eq!(outcome.result.value.and_then(|value| value.value), Some(Value::Int(42)));
}

fn a_generator_is_used_up_to_a_cap(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["count", "count_later"] {
        let few = session
            .run(build_call(name).with([Value::Int(3)]))
            .result
            .value
            .expect("it gave items");
        assert_eq!((few.items, few.more), (Some(3), false), "{few:#?}");
        assert_eq!(few.value, Some(Value::List((0..3).map(Value::Int).collect())));
        let many = session
            .run(build_call(name).with([Value::Int(1_000_000)]))
            .result
            .value
            .expect("items");
        assert_eq!((many.items, many.more), (Some(1000), true), "{name}");
    }
}

fn a_context_manager_is_entered_and_left(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let of_class = |class: &str, method: &str| {
        let instance = Value::New { class: reference(class), args: Vec::new(), kwargs: Vec::new() };
        build_call(&format!("{class}.{method}")).kind(TargetKind::Method).on(instance)
    };
    for asked in [
        build_call("borrowed"),
        build_call("borrowed_later"),
        of_class("Lock", "__enter__"),
        of_class("LockLater", "__aenter__"),
    ] {
        let outcome = session.run(asked);
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        assert_eq!(outcome.stdout.text, "entered\nleft\n");
        assert_eq!(outcome.result.value.and_then(|value| value.value), Some(Value::from("thing")));
    }
}

fn the_top_level_of_a_module_is_a_call(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    // Twice: the second time is as good as the first.
    for _ in 0..2 {
        let outcome = session.run(build_module_call());
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        assert_eq!(
            (outcome.stage, outcome.stdout.text.as_str()),
            (CallStage::Import, "imported\n")
        );
    }
    let mut missing = build_module_call();
    "no_such_module".clone_into(&mut missing.0.target.module.name);
    let outcome = session.run(missing);
    assert_ne!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.stage, CallStage::Import);
}

fn a_module_is_found_by_its_path(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    let module =
        ModuleRef { name: "elsewhere.inner".to_owned(), path: Some("package/inner.py".to_owned()) };
    spec.module = Some(module.clone());
    let mut inner = build_call("where");
    inner.0.target.module = module;
    assert_eq!(bench.session_of(&spec).value(inner), Value::from("elsewhere.inner"));
}

fn plain_values_come_back_as_they_went_in(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let deep = (0..20).fold(Value::None, |inner, _| Value::List(vec![inner]));
    let values = [
        Value::None,
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::parse_integer("123456789012345678901234567890").expect("a number"),
        Value::parse_integer("-340282366920938463463374607431768211456").expect("a number"),
        Value::Float(-0.0),
        Value::Float(f64::NAN),
        Value::Float(f64::NEG_INFINITY),
        Value::Complex { re: 1.5, im: -2.0 },
        Value::from("zwölf 🦆 \0 \r\n"),
        Value::Str(PyString::from_code_points([0x61, 0xdc80, 0xd83d]).expect("code points")),
        Value::Bytes((0..=255).collect()),
        Value::ByteArray(b"ab".to_vec()),
        Value::Tuple(vec![]),
        Value::Tuple(vec![Value::Int(1), Value::List(vec![Value::from("x")])]),
        Value::Set(vec![Value::Int(1)]),
        Value::FrozenSet(vec![Value::from("x")]),
        Value::Dict(vec![
            (Value::Int(1), Value::from("one")),
            (Value::Tuple(vec![Value::None]), Value::Dict(vec![])),
        ]),
        Value::Ellipsis,
        deep,
    ];
    for value in values {
        assert_eq!(session.value(build_call("echo").with([value.clone()])), value);
    }
    let surrogate = PyString::from_code_points([0xdc80]).expect("a code point");
    let seen = session.value(build_call("described").with([Value::Str(surrogate)]));
    assert_eq!(seen, Value::Tuple(vec![Value::from("str"), Value::from("'\\udc80'")]));
}

fn what_holds_itself_can_be_given(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let cycle = Value::Shared { label: 0, value: Box::new(Value::List(vec![Value::SharedRef(0)])) };
    assert_eq!(
        session.value(build_call("contains_itself").with([cycle.clone()])),
        Value::Bool(true)
    );
    let outcome = session.run(build_call("echo").with([cycle]));
    assert_eq!(outcome.result.value.map(|value| value.repr), Some("[[...]]".to_owned()));
    let twice = Value::List(vec![
        Value::Shared { label: 7, value: Box::new(Value::List(vec![])) },
        Value::SharedRef(7),
    ]);
    assert_eq!(session.value(build_call("is_same").with([twice])), Value::Bool(true));
}

/// It does not fit between the two, so that both would wait: for room, and for an answer.
fn a_long_argument_reaches_a_guest_that_asks_first(tier: Tier) {
    let text = "x".repeat(1 << 20);
    let long = || build_call("length").with([Value::from(text.as_str())]);
    let length = Value::Int(1 << 20);
    let busy = (guest!("imports/busy_fork.py"), SyscallInterposition::default());
    // Here it asks for the memory to hold it.
    let watched = (GUEST, SyscallInterposition { files: true, memory: true, sockets: true });
    for (guest, interpose) in [busy, watched] {
        let bench = ContractBench::new(tier, guest);
        let mut spec = bench.spec();
        spec.interposition = interpose;
        let mut session = bench.session_of(&spec);
        // The next call gets its own arguments.
        for _ in 0..2 {
            assert_eq!(session.value(long()), length, "{interpose:?}");
        }
        session.assert_still_works();
    }
}

fn a_value_can_be_made_by_the_guest(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let repeated = Value::Repeat { value: Box::new(Value::from("ab")), times: 3 };
    assert_eq!(session.value(build_call("upper").with([repeated])), Value::from("ABABAB"));
    let large = Value::Repeat { value: Box::new(Value::List(vec![Value::Int(0)])), times: 100_000 };
    let outcome = session.run(build_call("echo").with([large]));
    assert_eq!(outcome.result.value.and_then(|value| value.length), Some(100_000));
    let function = Value::Returns(Box::new(Value::Int(5)));
    assert_eq!(session.value(build_call("called").with([function])), Value::Int(5));
    let stub = Value::Stub {
        bases: vec![reference("Account")],
        members: vec![("__call__".to_owned(), Value::Argument(1))],
        args: vec![Value::Int(5)],
        kwargs: vec![],
    };
    let poorer = Value::After {
        value: Box::new(stub),
        calls: vec![MethodCall {
            name: "withdraw".to_owned(),
            args: vec![Value::Int(2)],
            kwargs: vec![],
        }],
    };
    let doubled = build_call("Account.doubled").kind(TargetKind::Property).on(poorer);
    assert_eq!(session.value(doubled), Value::Int(6));
    let named = Value::Name(reference("Account.twice"));
    let outcome = session.run(build_call("described").with([named]));
    assert!(text(&outcome_items(&outcome)[0]).contains("function"), "{outcome:#?}");
    let method = Value::Method {
        on: Box::new(Value::from("x")),
        name: "join".to_owned(),
        args: vec![Value::List(vec![Value::from("a"), Value::from("b")])],
        kwargs: vec![],
    };
    assert_eq!(session.value(build_call("echo").with([method])), Value::from("axb"));
}

fn outcome_items(outcome: &menace_model::Outcome) -> Vec<Value> {
    let value = outcome.value.as_ref().and_then(|returned| returned.value.as_ref());
    crate::bench::items(value.expect("a value")).to_vec()
}

fn what_does_not_exist_is_unreachable(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["no_such_function", "Account.no_such_method", "outer.<locals>.inner"] {
        let outcome = session.run(build_call(name));
        assert_eq!(outcome.verdict, Verdict::Unreachable, "{name}: {outcome:#?}");
        assert!(outcome.reason.is_some(), "{name}: it says why");
    }
}

fn an_instance_that_cannot_be_built_says_so(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let fussy = Value::New { class: reference("Fussy"), args: vec![], kwargs: vec![] };
    let outcome = session.run(build_call("Fussy.method").kind(TargetKind::Method).on(fussy));
    assert_eq!(outcome.stage, CallStage::Construct, "{outcome:#?}");
    assert_ne!(outcome.verdict, Verdict::Returned);
    let unhashable = Value::Set(vec![Value::List(vec![])]);
    let outcome = session.run(build_call("echo").with([unhashable]));
    assert_eq!(outcome.stage, CallStage::Arguments, "{outcome:#?}");
    assert_ne!(outcome.verdict, Verdict::Returned);
}
