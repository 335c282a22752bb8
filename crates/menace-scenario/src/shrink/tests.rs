//! Whatever fails, shrinking ends, gets smaller with each step, and gives what cannot be simpler.

use menace_model::{
    Burst, Call, Fault, FaultMode, How, ModuleRef, Param, ParamKind, Target, TypeExpr, Value, When,
};
use proptest::prelude::*;

use super::{Shrinker, Size, at_size, largest_size};

fn call(args: Vec<Value>) -> Call {
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = Target { module, qualname: "f".to_owned(), how: How::Function };
    Call { args, seed: 7, ..Call::new(target) }
}

fn param(name: &str, resolved: Option<TypeExpr>, default: Option<&str>) -> Param {
    Param {
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

/// Shrinks as far as `fails` allows.
fn shrunk(call: Call, params: &[Param], fails: impl Fn(&Call) -> bool) -> Call {
    let mut shrinker = Shrinker::new(call, params, usize::MAX);
    loop {
        let candidates = shrinker.next();
        if candidates.is_empty() {
            assert!(shrinker.is_minimal());
            return shrinker.best().clone();
        }
        let size = Size::of(shrinker.best());
        assert!(candidates.iter().all(|candidate| Size::of(candidate) < size));
        shrinker.learn(&candidates.iter().map(&fails).collect::<Vec<_>>());
    }
}

fn items(call: &Call) -> &[Value] {
    let Some(Value::List(items)) = call.args.first() else { panic!("no list: {:?}", call.args) };
    items
}

#[test]
fn a_list_keeps_only_the_item_that_matters_in_its_plainest_form() {
    let many = (0..100).map(|number| Value::Int(number * 37)).collect();
    let params = [param("items", Some(list_of(named("int"))), None)];
    let is_large = |item: &Value| matches!(item, Value::Int(number) if *number > 1000);
    let least =
        shrunk(call(vec![Value::List(many)]), &params, |call| items(call).iter().any(is_large));
    assert_eq!(items(&least), [Value::Int(1001)]);
}

#[test]
fn a_text_keeps_only_the_sign_that_matters() {
    let text = Value::from("Dear Łukasz,\nthank you 😀 for 'all' of it");
    let has = |call: &Call, sign: char| matches!(&call.args[0], Value::Str(text) if text.as_str().is_some_and(|text| text.contains(sign)));
    let least = shrunk(call(vec![text.clone()]), &[], |call| has(call, '\''));
    assert_eq!(least.args, [Value::from("'")]);
    let beyond_latin = |call: &Call| match &call.args[0] {
        Value::Str(text) => text.code_points().any(|point| point > 255),
        _ => false,
    };
    assert_eq!(shrunk(call(vec![text]), &[], beyond_latin).args, [Value::from("ā")]);
}

#[test]
fn arguments_with_a_default_go_and_the_others_stay() {
    let params = [param("a", None, None), param("b", None, Some("1")), param("c", None, Some("2"))];
    let mut full = call(vec![Value::Int(5), Value::Int(6)]);
    full.kwargs = vec![("c".to_owned(), Value::from("x"))];
    let least = shrunk(full, &params, |_| true);
    assert_eq!((least.args, least.kwargs, least.seed), (vec![Value::Int(0)], vec![], 7));
}

#[test]
fn what_surrounds_a_call_goes_unless_it_matters() {
    let mut troubled = call(vec![]);
    let fault = |mode, when| Fault { mode, when };
    troubled.conditions.faults =
        vec![fault(FaultMode::Memory, When::Nth(3)), fault(FaultMode::Disk, When::Rate(0.3))];
    troubled.conditions.burst = Some(Burst { threads: 64, tasks: 64 });
    troubled.conditions.network.loss = 0.2;
    troubled.limits.memory_bytes = Some(1 << 20);
    let peaceful = shrunk(troubled.clone(), &[], |_| true);
    assert!(peaceful.conditions.is_untroubled());
    assert_eq!(peaceful.limits.memory_bytes, call(vec![]).limits.memory_bytes);
    let needs_disk =
        |call: &Call| call.conditions.faults.iter().any(|fault| fault.mode == FaultMode::Disk);
    let least = shrunk(troubled.clone(), &[], needs_disk);
    assert_eq!(least.conditions.faults, [fault(FaultMode::Disk, When::Nth(1))]);
    let needs_company = |call: &Call| call.conditions.burst.is_some_and(|burst| burst.threads > 1);
    let least = shrunk(troubled, &[], needs_company);
    assert_eq!(least.conditions.burst, Some(Burst { threads: 2, tasks: 0 }));
}

#[test]
fn constructor_arguments_of_the_receiver_shrink_too() {
    let class = "shop:Till".parse().expect("a reference");
    let money = ("money".to_owned(), Value::Int(900));
    let mut method = call(vec![]);
    method.receiver =
        Some(Value::New { class, args: vec![Value::from("main")], kwargs: vec![money] });
    let least = shrunk(
        method,
        &[],
        |call| matches!(&call.receiver, Some(Value::New { args, .. }) if !args.is_empty()),
    );
    let Some(Value::New { args, kwargs, .. }) = least.receiver else { panic!("no receiver") };
    assert_eq!((args, kwargs.len()), (vec![Value::from("")], 0));
}

#[test]
fn a_label_is_never_left_without_its_value() {
    let shared = Value::Shared { label: 1, value: Box::new(Value::List(vec![Value::Again(1)])) };
    let cyclic = call(vec![shared, Value::Again(1)]);
    let params = [param("a", None, None), param("b", None, None)];
    let labelled = |call: &Call| Value::check_labels(&call.args).is_ok() && call.args.len() == 2;
    let least = shrunk(cyclic, &params, labelled);
    assert!(labelled(&least));
}

#[test]
fn a_budget_is_kept() {
    let text = "x".repeat(1000);
    let mut shrinker = Shrinker::new(call(vec![Value::from(text)]), &[], 20);
    let mut asked = 0;
    loop {
        let candidates = shrinker.next();
        if candidates.is_empty() {
            break;
        }
        asked += candidates.len();
        shrinker.learn(&vec![false; candidates.len()]);
    }
    assert_eq!((asked, shrinker.is_minimal()), (20, false));
}

#[test]
fn a_size_can_be_found_and_changed() {
    let grown = Value::Repeat { value: Box::new(Value::from("ab ")), times: 4096 };
    let grown = call(vec![Value::Int(3), grown]);
    assert_eq!(largest_size(&grown), Some(4096));
    let smaller = at_size(&grown, 1024).expect("a size");
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
        Just(Value::integer("0x1234567890abcdef1234567890").expect("digits")),
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

/// An arbitrary but fixed opinion on every call.
fn opinion(call: &Call, salt: u64) -> bool {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (&call.args, salt).hash(&mut hasher);
    hasher.finish().is_multiple_of(3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn shrinking_ends_whatever_fails_and_nothing_simpler_fails_then(
        args in prop::collection::vec(plain_value(), 1..3), salt in any::<u64>()
    ) {
        let params = [param("a", None, None), param("b", None, None)];
        let least = shrunk(call(args.clone()), &params, |call| opinion(call, salt));
        // From the result, no single step leads further.
        let mut again = Shrinker::new(least.clone(), &params, usize::MAX);
        loop {
            let candidates = again.next();
            if candidates.is_empty() { break }
            prop_assert!(candidates.iter().all(|call| !opinion(call, salt)));
            again.learn(&vec![false; candidates.len()]);
        }
        // And the same calls lead to the same result.
        let second = shrunk(call(args), &params, |call| opinion(call, salt));
        prop_assert_eq!(least.args, second.args);
    }

    #[test]
    fn declared_types_are_kept(numbers in prop::collection::vec(any::<i64>(), 0..6), text in ".{0,8}") {
        let pair = TypeExpr::Generic {
            base: Box::new(named("tuple")),
            args: vec![list_of(named("int")), named("str")],
        };
        let params = [param("pair", Some(pair), None)];
        let list = Value::List(numbers.into_iter().map(Value::Int).collect());
        let given = call(vec![Value::Tuple(vec![list, Value::from(text)])]);
        let mut shrinker = Shrinker::new(given, &params, 200);
        loop {
            let candidates = shrinker.next();
            if candidates.is_empty() { break }
            for candidate in &candidates {
                let Value::Tuple(items) = &candidate.args[0] else { panic!("{candidate:?}") };
                let [Value::List(numbers), Value::Str(_)] = &items[..] else { panic!("{items:?}") };
                prop_assert!(numbers.iter().all(|number| matches!(number, Value::Int(_))));
            }
            shrinker.learn(&vec![true; candidates.len()]);
        }
    }
}
