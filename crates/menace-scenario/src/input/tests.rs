//! What the inputs of whole sections have to have in them.

use menace_model::{Classes, Hints, Intent, ParamKind, Section, Seed, TypeNames, Value};

use super::drift::Drift;
use super::history::History;
use super::infer::annotation;
use super::make::new;
use super::templates::Templates;
use super::{Facts, Input, InputSettings, Inputs, Strategy, Threat, records};

/// A parameter as it stands in a signature: `text: str`, `*rest`, `**options: int`.
fn param(source: &str) -> serde_json::Value {
    let (name, kind) = match source.strip_prefix("**") {
        Some(name) => (name, ParamKind::VarKeyword),
        None => match source.strip_prefix('*') {
            Some(name) => (name, ParamKind::VarPositional),
            None => (source, ParamKind::PositionalOrKeyword),
        },
    };
    let (name, written) = match name.split_once(": ") {
        Some((name, written)) => (name, Some(written)),
        None => (name, None),
    };
    serde_json::json!({
        "name": name, "kind": kind, "annotation": written,
        "resolved": written.and_then(annotation::written), "default": null
    })
}

fn section(name: &str, params: &[&str]) -> Section {
    let params: Vec<_> = params.iter().map(|source| param(source)).collect();
    serde_json::from_value(serde_json::json!({
        "id": format!("m.py::{name}"), "kind": "function", "is_async": false,
        "is_generator": false, "line": 1, "start_line": 1, "end_line": 2, "decorators": [],
        "docstring": null, "params": params, "returns": null, "complexity": 1, "calls": [],
        "construction": null
    }))
    .expect("a section")
}

/// A class whose constructor takes these.
fn classes(name: &str, kind: &str, params: &[&str]) -> Classes {
    let params: Vec<_> = params.iter().map(|source| param(source)).collect();
    let step = serde_json::json!({
        "class": format!("m.{name}"), "constructor": null, "known": true, "params": params,
        "members": []
    });
    serde_json::from_value(serde_json::json!({ format!("m.{name}"): {
        "module": "m", "qualname": name, "kind": kind, "bases": [], "fields": [], "members": [],
        "methods": [], "abstract_methods": [],
        "construction": {"steps": [step], "blocked": null}
    }}))
    .expect("classes")
}

struct World {
    classes: Classes,
    hints: Hints,
    settings: InputSettings,
}

impl Default for World {
    fn default() -> Self {
        let classes = Classes::default();
        Self { classes, hints: Hints::default(), settings: InputSettings::default() }
    }
}

impl World {
    fn with<T>(&self, params: &[&str], asked: impl Fn(&Inputs<'_>) -> T) -> T {
        let (types, section) = (TypeNames::default(), section("f", params));
        // `m.Box` is found from anywhere.
        let mut facts = Facts::new(&self.classes, &types);
        facts.add("m", &section, &self.hints);
        asked(&Inputs::new(&section, &self.hints, &facts, &self.settings))
    }

    fn edges(&self, params: &[&str]) -> Vec<Input> {
        self.with(params, |inputs| inputs.at_edges(1000, Seed(1)))
    }
}

/// The only argument at each of its edges.
fn edges_of(kind: &str) -> Vec<Value> {
    let edges = World::default().edges(&[&format!("value: {kind}")]);
    edges.into_iter().map(|input| input.args.into_iter().next().expect("an argument")).collect()
}

fn huge() -> Value {
    Value::integer(&format!("1{}", "0".repeat(400))).expect("a number")
}

#[test]
fn every_edge_of_a_path_is_a_path() {
    let edges = edges_of("pathlib.Path");
    for edge in &edges {
        let is_path = matches!(edge, Value::New { class, .. } if class.qualname() == "Path");
        assert!(is_path, "{edge:?}");
    }
    assert!(edges.len() > 8);
}

#[test]
fn classes_have_each_parameter_of_their_constructor_at_its_edge() {
    for kind in ["data_class", "named_tuple", "plain"] {
        let params = ["count: int", "label: str", "*rest: int", "inner: m.Other"];
        let world = World { classes: classes("Box", kind, &params), ..World::default() };
        let edges = world.edges(&["value: m.Box"]);
        let given: Vec<&Vec<Value>> = edges
            .iter()
            .filter_map(|input| match &input.args[..] {
                [Value::New { class, args, .. }] if class.qualname() == "Box" => Some(args),
                _ => None,
            })
            .collect();
        assert_eq!(given.len(), edges.len());
        assert!(given.iter().any(|args| args[0] == huge()), "{given:?}");
        assert!(given.iter().any(|args| args[1] == Value::from("")), "{given:?}");
        // Not both at once.
        assert!(!given.iter().any(|args| args[0] == huge() && args[1] == Value::from("")));
        assert!((8..=24).contains(&edges.len()), "{}", edges.len());
    }
}

#[test]
fn containers_are_huge_and_have_edges_inside() {
    let range = || new("builtins:range", vec![Value::Int(1000)]);
    for (kind, class, around) in [
        ("set[int]", "builtins:set", Value::Set as fn(Vec<Value>) -> Value),
        ("frozenset[int]", "builtins:frozenset", Value::FrozenSet),
    ] {
        let edges = edges_of(kind);
        assert!(edges.contains(&new(class, vec![range()])), "{edges:?}");
        assert!(edges.contains(&around(vec![huge()])), "{edges:?}");
    }
    let is_inside = |edge: &Value, wanted: &Value| match edge {
        Value::Dict(pairs) => pairs.iter().any(|(_, value)| value == wanted),
        Value::Tuple(items) | Value::List(items) => items.contains(wanted),
        _ => false,
    };
    for kind in ["dict[str, int]", "tuple[str, int]", "list[int]", "tuple[int, ...]"] {
        let edges = edges_of(kind);
        assert!(edges.iter().any(|edge| is_inside(edge, &huge())), "{kind}: {edges:?}");
    }
    assert!(edges_of("dict[str, int]").iter().any(|edge| match edge {
        Value::New { class, .. } => class.qualname() == "dict.fromkeys",
        _ => false,
    }));
    for kind in ["bytearray", "memoryview", "collections.deque"] {
        assert!(edges_of(kind).len() >= 3, "{kind}");
    }
}

#[test]
fn the_fields_of_a_typed_dict_reach_their_largest() {
    let fields: serde_json::Value = serde_json::json!([
        {"name": "size", "annotation": annotation::written("int"), "required": true},
        {"name": "label", "annotation": annotation::written("str"), "required": true}
    ]);
    let mut classes = serde_json::to_value(classes("Row", "typed_dict", &[])).expect("JSON");
    classes["m.Row"]["fields"] = fields;
    let classes = serde_json::from_value(classes).expect("classes");
    let edges = World { classes, ..World::default() }.edges(&["value: m.Row"]);
    let is_huge = |input: &Input| match &input.args[..] {
        [Value::Dict(pairs)] => pairs.contains(&(Value::from("size"), huge())),
        _ => false,
    };
    assert!(edges.iter().any(is_huge), "{edges:?}");
}

#[test]
fn an_attack_comes_however_low_the_intensity_is() {
    let bad = |intensity: f64, params: &[&str], count: usize| {
        let mut world = World::default();
        world.settings.strategies = vec![Strategy::Hostile];
        world.settings.threat = Threat::new(intensity, 1 << 30);
        world.with(params, |inputs| {
            let inputs = inputs.take(count, Seed(1));
            assert_eq!(inputs[0].intent, Intent::Valid);
            inputs.iter().filter(|input| input.intent == Intent::Hostile).count()
        })
    };
    assert!(bad(0.01, &["flag: str"], 5) >= 1);
    // Even after all good ones, and among many.
    assert!(bad(0.01, &["flag: bool", "query: str"], 40) >= 1);
    assert_eq!(bad(0.0, &["query: str"], 40), 0);
}

/// Attacks of a database, told from everything else by what they are written with.
fn is_sql(value: &impl serde::Serialize) -> bool {
    let text = serde_json::to_string(value).expect("JSON");
    ["OR 1=1", "OR '1'='1", "UNION SELECT", "DROP TABLE"].iter().any(|sign| text.contains(sign))
}

#[test]
fn what_does_harm_gets_into_objects_and_sets() {
    let params = ["size: int", "sql_query: str", "inner: m.Box"];
    let generic = ["size: int", "sql_query: T"];
    let table: [(&str, &[&str], &str); 7] = [
        ("data_class", &params, "value: m.Box"),
        ("named_tuple", &params, "value: m.Box"),
        ("plain", &params, "value: m.Box"),
        ("plain", &params, "value: list[m.Box]"),
        ("plain", &generic, "value: m.Box[str]"),
        ("plain", &params, "sql_query: set[str]"),
        ("plain", &params, "sql_query: frozenset[str]"),
    ];
    for (kind, made_of, param) in table {
        let mut world = World { classes: classes("Box", kind, made_of), ..World::default() };
        world.settings.strategies = vec![Strategy::Hostile];
        world.settings.threat = Threat::new(0.7, 1 << 30);
        let made = world.with(&[param], |inputs| inputs.take(80, Seed(1)));
        let bad: Vec<&Input> = made.iter().filter(|it| it.intent == Intent::Hostile).collect();
        assert!(bad.iter().any(|input| is_sql(&input.args)), "{kind} {param}: {bad:?}");
        // It is made as before, of what it takes.
        let is_whole = |value: &Value| match value {
            Value::New { class, args, .. } if class.qualname() == "Box" => args.len() >= 2,
            _ => true,
        };
        assert!(bad.iter().all(|input| input.args.iter().all(is_whole)), "{kind} {param}");
    }
}

fn found(value: &Value, at: usize, field: &str, all: &mut Vec<Value>) {
    match value {
        Value::New { class, args, kwargs } if class.qualname() == "Box" => {
            all.extend(args.get(at).cloned());
            let named = kwargs.iter().filter(|(name, _)| name == field);
            all.extend(named.map(|(_, value)| value.clone()));
        }
        Value::New { args, .. } | Value::List(args) => {
            for inner in args {
                found(inner, at, field, all);
            }
        }
        Value::Dict(pairs) => {
            let named = pairs.iter().filter(|(key, _)| *key == Value::from(field));
            all.extend(named.map(|(_, value)| value.clone()));
            for (_, inner) in pairs {
                found(inner, at, field, all);
            }
        }
        _ => {}
    }
}

/// What is given under this name to whatever has it, in the inputs that attack.
fn given(world: &World, param: &str, at: usize, field: &str) -> Vec<Value> {
    let attacks = world.with(&[param], |inputs| inputs.attacks(Seed(1)));
    assert!(attacks.iter().all(|input| input.intent == Intent::Hostile));
    let mut all = Vec::new();
    for value in attacks.iter().flat_map(|input| &input.args) {
        found(value, at, field, &mut all);
    }
    all
}

#[test]
fn attacks_hit_each_field_of_an_object_with_what_its_name_is_for() {
    let is_traversal = |value: &Value| format!("{value:?}").contains("../etc/passwd");
    let params = ["size: int", "query: str", "path: str"];
    for kind in ["data_class", "named_tuple", "plain"] {
        let world = World { classes: classes("Box", kind, &params), ..World::default() };
        for param in ["value: m.Box", "values: list[m.Box]", "table: dict[str, m.Box]"] {
            let queries = given(&world, param, 1, "query");
            assert!(queries.iter().any(is_sql), "{kind} {param}: {queries:?}");
            assert!(!queries.iter().any(is_traversal), "{kind} {param}: {queries:?}");
            let paths = given(&world, param, 2, "path");
            assert!(paths.iter().any(is_traversal), "{kind} {param}: {paths:?}");
            assert!(!paths.iter().any(is_sql), "{kind} {param}: {paths:?}");
            // One at a time: most are as usual.
            assert!(queries.iter().any(|query| !is_sql(query)), "{queries:?}");
        }
    }
    // Without anything to harm, and without a threat, there is nothing.
    let mut world = World { classes: classes("Box", "plain", &params[..1]), ..World::default() };
    assert_eq!(given(&world, "value: m.Box", 0, "size"), []);
    world.classes = classes("Box", "plain", &params);
    world.settings.threat = Threat::new(0.0, 1 << 30);
    assert_eq!(given(&world, "value: m.Box", 1, "query"), []);
}

#[test]
fn typed_dictionaries_and_what_objects_are_made_of_are_attacked_too() {
    let mut all = serde_json::to_value(classes("Outer", "plain", &["inner: m.Box"])).expect("JSON");
    let inner = classes("Box", "data_class", &["size: int", "query: str"]);
    let text = serde_json::json!({"Name": "builtins.str"});
    let typed = serde_json::json!({
        "module": "m", "qualname": "Row", "kind": "typed_dict", "bases": [], "members": [],
        "fields": [{"name": "query", "annotation": text, "required": true, "has_default": false}],
        "methods": [], "abstract_methods": [], "construction": {"steps": [], "blocked": null}
    });
    all["m.Box"] = serde_json::to_value(inner).expect("JSON")["m.Box"].clone();
    all["m.Row"] = typed;
    let classes = serde_json::from_value(all).expect("classes");
    let world = World { classes, ..World::default() };
    for param in ["value: m.Outer", "value: m.Row", "values: list[m.Row]"] {
        let queries = given(&world, param, 1, "query");
        assert!(queries.iter().any(is_sql), "{param}: {queries:?}");
    }
}

#[test]
fn who_takes_one_of_some_texts_gets_others_as_well() {
    let mut world = World::default();
    world.settings.strategies = vec![Strategy::Hostile];
    world.settings.threat = Threat::new(0.7, 1 << 30);
    let param = r#"query: typing.Literal["asc", "desc"]"#;
    let made = world.with(&[param], |inputs| inputs.take(80, Seed(1)));
    let bad: Vec<&Input> = made.iter().filter(|it| it.intent == Intent::Hostile).collect();
    assert!(bad.iter().any(|input| is_sql(&input.args)), "{made:?}");
}

#[test]
fn the_instance_of_a_method_carries_what_does_harm() {
    let mut section = serde_json::to_value(section("Box.find", &["count: int"])).expect("JSON");
    section["kind"] = "method".into();
    let section: Section = serde_json::from_value(section).expect("a section");
    let classes = classes("Box", "plain", &["sql_query: str"]);
    let (types, hints) = (TypeNames::default(), Hints::default());
    let mut facts = Facts::new(&classes, &types);
    facts.add("m", &section, &hints);
    let settings = InputSettings {
        strategies: vec![Strategy::Hostile],
        threat: Threat::new(0.7, 1 << 30),
        ..InputSettings::default()
    };
    let made = Inputs::new(&section, &hints, &facts, &settings).take(80, Seed(1));
    let bad = || made.iter().filter(|input| input.intent == Intent::Hostile);
    assert!(bad().any(|input| is_sql(&input.receiver)), "{made:?}");
    // Its parameter has its turns as before.
    let usual = made[0].receiver.as_ref();
    assert!(bad().any(|input| input.receiver.as_ref() == usual), "{made:?}");
    assert!(bad().all(|input| input.receiver.is_some()));
    // In depth, too, with ordinary arguments.
    let attacks = Inputs::new(&section, &hints, &facts, &settings).attacks(Seed(1));
    assert!(attacks.iter().any(|input| is_sql(&input.receiver)), "{attacks:?}");
}

#[test]
fn the_data_of_objects_drifts() {
    for (kind, drifts) in [("data_class", true), ("named_tuple", true), ("plain", false)] {
        let classes = classes("Row", kind, &["size: int", "label: str"]);
        let world = World { classes, ..World::default() };
        for param in ["row: m.Row", "rows: list[m.Row]"] {
            let drifted = world.with(&[param], |inputs| {
                let input = &inputs.take(1, Seed(1))[0];
                let new = inputs.drifted(input, Drift::One, Seed(1));
                new.map(|new| (new.args != input.args, new.intent))
            });
            let expected = drifts.then_some((true, Intent::Drifted));
            assert_eq!(drifted, expected, "{kind} {param}");
        }
    }
}

fn keywords(inputs: &[Input], name: &str) -> Vec<Value> {
    let kwargs = inputs.iter().flat_map(|input| &input.kwargs);
    kwargs.filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
}

fn used(name: &str, uses: &serde_json::Value) -> Hints {
    let mut hints = serde_json::to_value(Hints::default()).expect("JSON");
    hints["params"] = serde_json::json!([
        {"name": name, "uses": uses, "documented": null, "passed": []}
    ]);
    serde_json::from_value(hints).expect("hints")
}

#[test]
fn keywords_have_the_names_that_are_asked_for() {
    let hints = used("options", &serde_json::json!([{"key": "size"}, {"key": "text"}]));
    let mut world = World { hints, ..World::default() };
    let edges = world.edges(&["text", "**options: int"]);
    assert!(keywords(&edges, "size").contains(&huge()), "{edges:?}");
    // It is a parameter of its own.
    assert!(keywords(&edges, "text").is_empty());
    for strategy in [Strategy::Signature, Strategy::Smart, Strategy::Random, Strategy::Hostile] {
        world.settings.strategies = vec![strategy];
        let made = world.with(&["text", "**options: int"], |inputs| inputs.take(30, Seed(1)));
        let made: Vec<Input> = made.into_iter().filter(|it| it.strategy == strategy).collect();
        assert!(!keywords(&made, "size").is_empty(), "{strategy:?}");
    }
}

#[test]
fn keywords_have_the_names_that_callers_give_or_an_invented_one() {
    let mut world = World::default();
    world.hints.sites.push(menace_model::CallSite {
        args: Vec::new(),
        kwargs: vec![("colour".to_owned(), "'red'".to_owned())],
        receiver: None,
    });
    assert!(keywords(&world.edges(&["**options"]), "colour").contains(&Value::from("")));
    world.hints = Hints::default();
    let edges = world.edges(&["**options: int"]);
    assert!(edges.iter().any(|input| input.kwargs.iter().any(|(_, it)| *it == huge())));
    // To be looked at as a whole is not to be passed on by name.
    world.hints = used(
        "options",
        &serde_json::json!([
            {"passed_to": {"function": "builtins.dict", "argument": "0"}}
        ]),
    );
    assert!(!world.edges(&["**options: int"]).is_empty());
    // Nobody knows what the other function takes.
    let passed = serde_json::json!([{"passed_to": {"function": "m.g", "argument": "**"}}]);
    world.hints = used("options", &passed);
    assert!(world.edges(&["**options: int"]).is_empty());
}

#[test]
fn a_generator_can_be_sent_to() {
    let made = World::default()
        .with(&["steps: typing.Generator[int, str, None]"], |inputs| inputs.take(1, Seed(1)));
    let is_generator = |value: &Value| match value {
        Value::Method { on, name, .. } => name == "__call__" && matches!(**on, Value::Yields(_)),
        _ => false,
    };
    assert!(is_generator(&made[0].args[0]), "{made:?}");
    assert!(edges_of("typing.Generator[int, str, None]").iter().all(is_generator));
}

#[test]
fn the_patterns_of_the_source_are_searched_in_what_nearly_matches() {
    let is_searched = |input: &Input| {
        let source = serde_json::to_string(&input.args[0]).expect("JSON");
        source.contains(r#"{"$repeat":"a","times":40}"#) && source.contains('!')
    };
    let mut world = World::default();
    world.hints.literals.patterns.push("^k=(a+)+$".to_owned());
    let attacks = world.with(&["line: str"], |inputs| inputs.attacks(Seed(1)));
    assert!(attacks.iter().any(is_searched), "{attacks:?}");
    let hostile = |world: &mut World, intensity| {
        world.settings.strategies = vec![Strategy::Hostile];
        world.settings.threat = Threat::new(intensity, 1 << 30);
        world.with(&["line: str"], |inputs| inputs.take(40, Seed(1)))
    };
    assert!(hostile(&mut world, 1.0).iter().any(is_searched));
    assert!(!hostile(&mut world, 0.7).iter().any(is_searched));
    // What a parameter alone is matched with.
    world.hints = used("line", &serde_json::json!([{"matched": "(a|b)*c"}]));
    assert!(hostile(&mut world, 1.0).iter().any(is_searched));
}

#[test]
fn a_generic_class_is_made_of_what_it_is_a_class_of() {
    let params = ["label: K", "items: list[V]", "size: V"];
    let mut classes = serde_json::to_value(classes("Box", "plain", &params)).expect("JSON");
    // As the `K` of `class Box[K, V]` is.
    let resolved = serde_json::to_value(menace_model::TypeExpr::Other("K".to_owned()));
    classes["m.Box"]["construction"]["steps"][0]["params"][0]["resolved"] = resolved.expect("JSON");
    let classes = serde_json::from_value(classes).expect("classes");
    let world = World { classes, ..World::default() };
    let made = world.with(&["box: m.Box[str, int]"], |inputs| inputs.take(1, Seed(1)));
    let [Value::New { args, .. }] = &made[0].args[..] else { panic!("{made:?}") };
    let [Value::Str(_), Value::List(items), Value::Int(_)] = &args[..] else { panic!("{args:?}") };
    assert!(items.iter().all(|item| matches!(item, Value::Int(_))), "{items:?}");
    let edges = world.edges(&["box: m.Box[str, int]"]);
    let is_huge = |input: &Input| match &input.args[..] {
        [Value::New { args, .. }] => args[2] == huge(),
        _ => false,
    };
    assert!(edges.iter().any(is_huge), "{edges:?}");
}

fn has_code_point(edge: &Value, is_it: impl Fn(u32) -> bool) -> bool {
    matches!(edge, Value::Str(text) if text.code_points().any(is_it))
}

fn has_class(edge: &Value, name: &str) -> bool {
    matches!(edge, Value::New { class, .. } if class.to_string() == name)
}

/// A moment of that year, that knows its zone or does not.
fn is_moment(edge: &Value, year: i64, is_aware: bool) -> bool {
    let Value::New { class, args, kwargs } = edge else { return false };
    let zone = args.iter().chain(kwargs.iter().map(|(_, value)| value));
    let has_zone = zone.into_iter().any(|value| format!("{value:?}").contains("timezone"));
    class.qualname() == "datetime" && args[0] == Value::Int(year) && has_zone == is_aware
}

#[test]
fn every_type_is_tried_at_its_edges() {
    type Is = fn(&Value) -> bool;
    let table: [(&str, &str, Is); 15] = [
        ("float", "no number", |it| matches!(it, Value::Float(number) if number.is_nan())),
        ("float", "infinity", |it| *it == Value::Float(f64::INFINITY)),
        ("float", "the other infinity", |it| *it == Value::Float(f64::NEG_INFINITY)),
        ("int", "10**400", |it| *it == huge()),
        ("int", "zero", |it| *it == Value::Int(0)),
        ("int", "negative", |it| matches!(it, Value::Int(number) if *number < 0)),
        ("str", "empty", |it| *it == Value::from("")),
        ("str", "a surrogate", |it| has_code_point(it, |one| (0xd800..0xe000).contains(&one))),
        ("str", "combining", |it| has_code_point(it, |one| (0x300..0x370).contains(&one))),
        ("str", "right to left", |it| has_code_point(it, |one| (0x590..0x600).contains(&one))),
        ("str", "NUL", |it| has_code_point(it, |one| one == 0)),
        ("list", "deep", |it| has_class(it, "pickle:loads")),
        ("list", "cyclic", |it| matches!(it, Value::Shared { .. })),
        ("dict", "deep", |it| has_class(it, "pickle:loads")),
        ("dict", "cyclic", |it| matches!(it, Value::Shared { .. })),
    ];
    for (kind, what, is) in table {
        let edges = edges_of(kind);
        assert!(edges.iter().any(is), "no {kind} that is {what}: {edges:?}");
    }
    let moments = edges_of("datetime.datetime");
    for year in [1, 9999] {
        for is_aware in [false, true] {
            let found = moments.iter().any(|it| is_moment(it, year, is_aware));
            assert!(found, "year {year}, aware: {is_aware}: {moments:?}");
        }
    }
}

#[test]
fn the_first_of_each_strategy_come_in_the_documented_order() {
    let line = r#"{"section": "m.py::f", "input": {"args": ["Ada"], "kwargs": {}}, "verdict": "returned"}"#;
    let templates = r#"{"name": ["Grace"]}"#;
    let mut world = World::default();
    let first = |world: &World| -> Vec<Strategy> {
        let made = world.with(&["name: str"], |inputs| inputs.take(40, Seed(1)));
        let mut first: Vec<Strategy> = made.iter().map(|input| input.strategy).collect();
        first.truncate(first.iter().position(|it| *it == Strategy::Random).expect("all") + 1);
        first.dedup();
        first
    };
    // Without any that somebody wrote down: the others, in their order.
    let [_, _, signature, smart, _, hostile, misuse, random] = Strategy::ORDER;
    assert_eq!(first(&world), [signature, smart, hostile, misuse, random]);
    world.settings.history = History::read(line, "history").0;
    world.settings.templates = Templates::read(templates, "templates").expect("templates");
    let written =
        records::read(&serde_json::json!([{"name": "Emmy"}]), "a model").expect("records");
    let id = section("f", &[]).id;
    world.settings.synthetic = [(id, written)].into();
    assert_eq!(first(&world), Strategy::ORDER);
    // However many are bad.
    for share in [0.1, 0.9] {
        world.settings.threat = Threat::new(share, 1 << 20);
        assert_eq!(first(&world), Strategy::ORDER, "{share}");
    }
    // Of those that are wanted, too; and where stubs fit, they are all there is.
    world.settings.strategies = vec![Strategy::Smart, Strategy::Random, Strategy::Misuse];
    assert_eq!(first(&world), [smart, misuse, random]);
    let stubs = records::read(&serde_json::json!([{"name": "given"}]), "SANDBOX_INPUT_STUBS");
    world.settings.stubs = stubs.expect("records");
    let made = world.with(&["name: str"], |inputs| inputs.take(60, Seed(1)));
    assert!(made.len() == 1 && made[0].strategy == Strategy::Stubs, "{made:?}");
}

#[test]
fn the_share_of_what_is_bad_is_as_asked_for() {
    let mut world = World::default();
    for share in [0.2, 0.5, 0.8, 1.0] {
        world.settings.threat = Threat::new(share, 1 << 20);
        let made = world.with(&["name: str", "query: str"], |inputs| inputs.take(40, Seed(1)));
        let bad = made.iter().filter(|input| input.strategy.is_bad()).count();
        // What was there before is left out, and that is good more often.
        assert!((bad as f64 - 40.0 * share).abs() <= 5.0, "{bad} of 40 for {share}");
    }
}

#[test]
fn without_any_intensity_nothing_is_hostile_and_some_is_misuse() {
    let mut world = World::default();
    world.settings.threat = Threat::new(0.0, 1 << 20);
    for strategies in [vec![], vec![Strategy::Misuse]] {
        world.settings.strategies = strategies;
        let made = world.with(&["name: str"], |inputs| inputs.take(30, Seed(1)));
        let count = |strategy| made.iter().filter(|input| input.strategy == strategy).count();
        assert_eq!((count(Strategy::Hostile), count(Strategy::Misuse)), (0, 1));
    }
}
