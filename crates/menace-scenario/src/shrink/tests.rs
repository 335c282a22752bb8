//! Shrinking ends, gets smaller with each step, and its result cannot be simplified further.

use menace_model::{
    Call, CallStep, CallTarget, ConcurrencyBurst, FaultMode, FaultSpec, FaultTrigger, ModuleRef,
    ParamKind, SignatureParam, TargetKind, TypeExpr, Value,
};
use proptest::prelude::*;

use super::{CallComplexity, CallShrinker, largest_size, with_size};

fn call(args: Vec<Value>) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
    Call { seed: 7, ..Call::of_step(CallStep { args, ..CallStep::new(target) }) }
}

fn param(name: &str, resolved: Option<TypeExpr>, default: Option<&str>) -> SignatureParam {
    SignatureParam {
        name: name.to_owned(),
        kind: ParamKind::PositionalOrKeyword,
        annotation: None,
        resolved,
        default: default.map(str::to_owned),
    }
}

fn named(name: &str) -> TypeExpr {
    TypeExpr::Name(name.to_owned())
}

fn list_of(item: TypeExpr) -> TypeExpr {
    TypeExpr::Generic { base: Box::new(named("list")), args: vec![item] }
}

/// Shrinks while `fails` holds.
fn shrink_call(call: Call, params: &[SignatureParam], fails: impl Fn(&Call) -> bool) -> Call {
    let mut shrinker = CallShrinker::new(call, params, usize::MAX);
    loop {
        let candidates = shrinker.next_batch();
        if candidates.is_empty() {
            assert!(shrinker.is_minimal());
            return shrinker.best().clone();
        }
        let size = CallComplexity::from_call(shrinker.best());
        assert!(candidates.iter().all(|candidate| CallComplexity::from_call(candidate) < size));
        shrinker.record_results(&candidates.iter().map(&fails).collect::<Vec<_>>());
    }
}

fn items(call: &Call) -> &[Value] {
    let Some(Value::List(items)) = call.args.first() else { panic!("no list: {:?}", call.args) };
    items
}

#[test]
fn a_list_keeps_only_the_failing_item_in_its_simplest_form() {
    let many = (0..100).map(|number| Value::Int(number * 37)).collect();
    let params = [param("items", Some(list_of(named("int"))), None)];
    let is_large = |item: &Value| matches!(item, Value::Int(number) if *number > 1000);
    let least = shrink_call(call(vec![Value::List(many)]), &params, |call| {
        items(call).iter().any(is_large)
    });
    assert_eq!(items(&least), [Value::Int(1001)]);
}

#[test]
fn a_text_keeps_only_the_failing_character() {
    let text = Value::from("Dear Łukasz,\nthank you 😀 for 'all' of it");
    let has = |call: &Call, sign: char| match &call.args[0] {
        Value::Str(text) => text.as_str().is_some_and(|text| text.contains(sign)),
        _ => false,
    };
    let least = shrink_call(call(vec![text.clone()]), &[], |call| has(call, '\''));
    assert_eq!(least.args, [Value::from("'")]);
    let beyond_latin = |call: &Call| match &call.args[0] {
        Value::Str(text) => text.code_points().any(|point| point > 255),
        _ => false,
    };
    assert_eq!(shrink_call(call(vec![text]), &[], beyond_latin).args, [Value::from("ā")]);
}

#[test]
fn optional_arguments_are_removed_and_the_others_stay() {
    let params = [param("a", None, None), param("b", None, Some("1")), param("c", None, Some("2"))];
    let mut full = call(vec![Value::Int(5), Value::Int(6)]);
    full.kwargs = vec![("c".to_owned(), Value::from("x"))];
    let least = shrink_call(full, &params, |_| true);
    assert_eq!((least.step.args, least.step.kwargs, least.seed), (vec![Value::Int(0)], vec![], 7));
}

#[test]
fn the_context_is_removed_unless_the_failure_needs_it() {
    let mut faulty_call = call(vec![]);
    let fault = |mode, when| FaultSpec { mode, trigger: when };
    faulty_call.conditions.faults = vec![
        fault(FaultMode::Memory, FaultTrigger::Nth(3)),
        fault(FaultMode::Disk, FaultTrigger::Rate(0.3)),
    ];
    faulty_call.conditions.burst = Some(ConcurrencyBurst { threads: 64, tasks: 64 });
    faulty_call.conditions.network.loss = 0.2;
    faulty_call.limits.memory_bytes = Some(1 << 20);
    let baseline_call = shrink_call(faulty_call.clone(), &[], |_| true);
    assert!(baseline_call.conditions.is_fault_free());
    assert_eq!(baseline_call.limits.memory_bytes, call(vec![]).limits.memory_bytes);
    let needs_disk =
        |call: &Call| call.conditions.faults.iter().any(|fault| fault.mode == FaultMode::Disk);
    let least = shrink_call(faulty_call.clone(), &[], needs_disk);
    assert_eq!(least.conditions.faults, [fault(FaultMode::Disk, FaultTrigger::Nth(1))]);
    let needs_burst = |call: &Call| call.conditions.burst.is_some_and(|burst| burst.threads > 1);
    let least = shrink_call(faulty_call, &[], needs_burst);
    assert_eq!(least.conditions.burst, Some(ConcurrencyBurst { threads: 2, tasks: 0 }));
}

#[test]
fn constructor_arguments_of_the_receiver_shrink_too() {
    let class = "shop:Till".parse().expect("a reference");
    let money = ("money".to_owned(), Value::Int(900));
    let mut method = call(vec![]);
    method.receiver =
        Some(Value::New { class, args: vec![Value::from("main")], kwargs: vec![money] });
    let least = shrink_call(
        method,
        &[],
        |call| matches!(&call.receiver, Some(Value::New { args, .. }) if !args.is_empty()),
    );
    let Some(Value::New { args, kwargs, .. }) = least.step.receiver else { panic!("no receiver") };
    assert_eq!((args, kwargs.len()), (vec![Value::from("")], 0));
}

#[test]
fn a_label_reference_keeps_its_value() {
    let shared =
        Value::Shared { label: 1, value: Box::new(Value::List(vec![Value::SharedRef(1)])) };
    let cyclic = call(vec![shared, Value::SharedRef(1)]);
    let params = [param("a", None, None), param("b", None, None)];
    let labelled = |call: &Call| Value::check_labels(&call.args).is_ok() && call.args.len() == 2;
    let least = shrink_call(cyclic, &params, labelled);
    assert!(labelled(&least));
}

#[test]
fn the_budget_is_respected() {
    let text = "x".repeat(1000);
    let mut shrinker = CallShrinker::new(call(vec![Value::from(text)]), &[], 20);
    let mut asked = 0;
    loop {
        let candidates = shrinker.next_batch();
        if candidates.is_empty() {
            break;
        }
        asked += candidates.len();
        shrinker.record_results(&vec![false; candidates.len()]);
    }
    assert_eq!((asked, shrinker.is_minimal()), (20, false));
}

#[test]
fn the_largest_size_can_be_changed() {
    let grown = Value::Repeat { value: Box::new(Value::from("ab ")), times: 4096 };
    let grown = call(vec![Value::Int(3), grown]);
    assert_eq!(largest_size(&grown), Some(4096));
    let smaller = with_size(&grown, 1024).expect("a size");
    assert_eq!((largest_size(&smaller), &smaller.args[0]), (Some(1024), &Value::Int(3)));
    assert_eq!(largest_size(&call(vec![Value::Int(4096)])), None);
}

fn plain_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        ".{0,6}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(Value::Bytes),
        Just(Value::parse_integer("0x1234567890abcdef1234567890").expect("digits")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            many.clone().prop_map(Value::List),
            many.clone().prop_map(Value::Tuple),
            many.prop_map(Value::Yields),
            prop::collection::vec((".{0,3}".prop_map(Value::from), inner.clone()), 0..3)
                .prop_map(Value::Dict),
            (inner, 0_u64..9)
                .prop_map(|(value, times)| Value::Repeat { value: Box::new(value), times }),
        ]
    })
}

/// An arbitrary but deterministic decision for every call.
fn pseudo_random_failure(call: &Call, salt: u64) -> bool {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (&call.args, salt).hash(&mut hasher);
    hasher.finish().is_multiple_of(3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn shrinking_ends_at_a_minimal_failing_call(
        args in prop::collection::vec(plain_value(), 1..3), salt in any::<u64>()
    ) {
        let params = [param("a", None, None), param("b", None, None)];
        let fails = |call: &Call| pseudo_random_failure(call, salt);
        let least = shrink_call(call(args.clone()), &params, fails);
        // No single step leads from the result to a simpler failing call.
        let mut again = CallShrinker::new(least.clone(), &params, usize::MAX);
        loop {
            let candidates = again.next_batch();
            if candidates.is_empty() { break }
            prop_assert!(candidates.iter().all(|call| !fails(call)));
            again.record_results(&vec![false; candidates.len()]);
        }
        // Shrinking is deterministic.
        let second = shrink_call(call(args), &params, fails);
        prop_assert_eq!(&least.args, &second.args);
    }

    #[test]
    fn declared_types_are_kept(
        numbers in prop::collection::vec(any::<i64>(), 0..6), text in ".{0,8}"
    ) {
        let pair = TypeExpr::Generic {
            base: Box::new(named("tuple")),
            args: vec![list_of(named("int")), named("str")],
        };
        let params = [param("pair", Some(pair), None)];
        let list = Value::List(numbers.into_iter().map(Value::Int).collect());
        let original = call(vec![Value::Tuple(vec![list, Value::from(text)])]);
        let mut shrinker = CallShrinker::new(original, &params, 200);
        loop {
            let candidates = shrinker.next_batch();
            if candidates.is_empty() { break }
            for candidate in &candidates {
                let Value::Tuple(items) = &candidate.args[0] else { panic!("{candidate:?}") };
                let [Value::List(numbers), Value::Str(_)] = &items[..] else { panic!("{items:?}") };
                prop_assert!(numbers.iter().all(|number| matches!(number, Value::Int(_))));
            }
            shrinker.record_results(&vec![true; candidates.len()]);
        }
    }
}
