use menace_model::{
    Call, CallStep, CallTarget, ClassIndex, ModuleRef, NamedTypeIndex, PyReference,
    RaisedException, Section, SectionHints, SectionId, TargetKind, Value,
};
use serde_json::json;

use super::*;

fn section(params: &[(&str, Option<&str>)]) -> Section {
    let params: Vec<_> = params
        .iter()
        .map(|(name, annotation)| {
            json!({
                "name": name, "kind": "positional_or_keyword", "annotation": annotation,
                "resolved": annotation.map(|name| json!({"Name": name})), "default": null,
            })
        })
        .collect();
    serde_json::from_value(json!({
        "id": "shop.py::find", "kind": "function", "is_async": false, "is_generator": false,
        "line": 1, "start_line": 1, "end_line": 2, "decorators": [], "docstring": null,
        "params": params, "returns": null, "complexity": 1, "calls": [], "construction": null,
    }))
    .unwrap()
}

fn hints(name: &str, documented: Option<&str>, passed: &[&str]) -> SectionHints {
    let hints = ParamHints {
        name: name.to_owned(),
        documented_type: documented.map(str::to_owned),
        passed_literals: passed.iter().map(|text| (*text).to_owned()).collect(),
        ..ParamHints::default()
    };
    SectionHints { params: vec![hints], ..SectionHints::default() }
}

fn judge(section: &Section, hints: &SectionHints, args: &[Value]) -> InputDomain {
    let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
    let mut facts = RepositoryFacts::new(&classes, &types);
    facts.add_section("shop", section, hints);
    let module = ModuleRef { name: "shop".to_owned(), path: None };
    let target = CallTarget { module, qualname: "find".to_owned(), kind: TargetKind::Function };
    let call = Call::of_step(CallStep { args: args.to_vec(), ..CallStep::new(target) });
    InputDomain::of_call(&facts, &SectionId::new("shop.py", "find"), &call)
}

fn fit(section: &Section, hints: &SectionHints, value: Value) -> DomainFit {
    judge(section, hints, &[value]).worst().unwrap().fit
}

#[test]
fn an_annotation_decides() {
    let (declared, none) = (section(&[("name", Some("str"))]), SectionHints::default());
    assert_eq!(fit(&declared, &none, Value::from("")), DomainFit::Inside);
    assert_eq!(fit(&declared, &none, Value::Int(1)), DomainFit::Outside);
    assert_eq!(fit(&declared, &none, Value::None), DomainFit::Outside);
    // It is stronger than what callers pass.
    assert_eq!(fit(&declared, &hints("name", None, &["1"]), Value::Int(1)), DomainFit::Outside);
}

#[test]
fn without_evidence_nothing_is_said() {
    let plain = section(&[("name", None)]);
    assert_eq!(fit(&plain, &SectionHints::default(), Value::Int(1)), DomainFit::Unknown);
    let documented = hints("name", Some("str, optional"), &[]);
    assert_eq!(fit(&plain, &documented, Value::Int(1)), DomainFit::Outside);
    let passed = hints("name", None, &["'a'", "b'b'"]);
    assert_eq!(fit(&plain, &passed, Value::from("x")), DomainFit::Inside);
    assert_eq!(fit(&plain, &passed, Value::from(1_i64)), DomainFit::Outside);
}

#[test]
fn numbers_beyond_all_counts_are_at_the_edge() {
    let (count, none) = (section(&[("count", Some("int"))]), SectionHints::default());
    assert_eq!(fit(&count, &none, Value::Int(10)), DomainFit::Inside);
    assert_eq!(fit(&count, &none, Value::Int(i64::MAX)), DomainFit::Edge);
}

#[test]
fn an_index_belongs_to_its_sequence() {
    let indexed = section(&[("label", Some("str")), ("pos", Some("int"))]);
    let none = SectionHints::default();
    let fit = |label: &str, pos| {
        judge(&indexed, &none, &[Value::from(label), Value::Int(pos)]).worst().unwrap().fit
    };
    assert_eq!(fit("abc", 2), DomainFit::Inside);
    assert_eq!(fit("abc", 9), DomainFit::Outside);
    assert_eq!(fit("", 0), DomainFit::Outside);
}

#[test]
fn objects_that_were_made_up_are_known() {
    let plain = section(&[("name", None)]);
    let made = Value::Returns(Box::new(Value::Int(1)));
    assert!(judge(&plain, &SectionHints::default(), &[made]).made_up().is_some());
    let connection = Value::New {
        class: PyReference::new("sqlite3", "connect").unwrap(),
        args: vec![Value::from(":memory:")],
        kwargs: Vec::new(),
    };
    assert!(judge(&plain, &SectionHints::default(), &[connection]).made_up().is_some());
    assert!(judge(&plain, &SectionHints::default(), &[Value::Int(1)]).made_up().is_none());
}

fn exception(kind: &str, bases: &[&str]) -> RaisedException {
    serde_json::from_value(json!({
        "type": kind, "message": "", "bases": bases, "explicit": false, "frames": [],
        "errno": null, "cause": null, "group": [], "notes": [],
    }))
    .unwrap()
}

#[test]
fn protocols_and_docstrings_promise_exceptions() {
    let key = exception("KeyError", &["LookupError", "Exception"]);
    let zero = exception("ZeroDivisionError", &["ArithmeticError"]);
    assert!(is_protocol_exception("Cart.__getitem__", &key));
    assert!(is_protocol_exception("Cart.pop", &key));
    assert!(!is_protocol_exception("Cart.__getitem__", &zero));
    assert!(!is_protocol_exception("find", &key));
    for text in [
        "Finds.\n\n:raises KeyError: when it is gone",
        "Finds.\n\nRaises:\n    KeyError: when it is gone\n",
        "Finds.\n\nRaises\n------\nKeyError\n    Gone.\n",
        "Raises a :exc:`KeyError` when it is gone.",
    ] {
        assert!(is_documented_exception(text, &key), "{text}");
        assert!(!is_documented_exception(text, &zero), "{text}");
    }
    assert!(!is_documented_exception("A KeyError is a nuisance.", &key));
    assert!(!is_documented_exception("Raises:\n  ValueError\n\nReturns:\n  no KeyError\n", &key));
}
