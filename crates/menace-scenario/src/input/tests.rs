//! Inputs of whole sections.

use menace_model::{
    ClassIndex, InputIntent, NamedTypeIndex, ParamKind, Section, SectionHints, Seed, Value,
};

use super::drift::SchemaDrift;
use super::history::InputHistory;
use super::infer::annotation;
use super::make::construct_by_name;
use super::records::InputTemplates;
use super::{
    CallInput, InputGenerator, InputSettings, InputStrategy, RepositoryFacts, ThreatIntensity,
    records,
};

/// A parameter as in a signature: `text: str`, `*rest`, `**options: int`.
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
        "resolved": written.and_then(annotation::parse_annotation), "default": null
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

/// A class whose constructor has these parameters.
fn classes(name: &str, kind: &str, params: &[&str]) -> ClassIndex {
    let params: Vec<_> = params.iter().map(|source| param(source)).collect();
    let step = serde_json::json!({
        "class": format!("m.{name}"), "constructor": null, "signature_known": true,
        "params": params, "members": []
    });
    serde_json::from_value(serde_json::json!({ format!("m.{name}"): {
        "module": "m", "qualname": name, "kind": kind, "bases": [], "fields": [], "members": [],
        "methods": [], "abstract_methods": [],
        "construction": {"steps": [step], "blocker": null}
    }}))
    .expect("classes")
}

struct InputsFixture {
    classes: ClassIndex,
    hints: SectionHints,
    settings: InputSettings,
}

impl Default for InputsFixture {
    fn default() -> Self {
        let classes = ClassIndex::default();
        Self { classes, hints: SectionHints::default(), settings: InputSettings::default() }
    }
}

impl InputsFixture {
    fn with_generator<T>(&self, params: &[&str], with: impl Fn(&InputGenerator<'_>) -> T) -> T {
        let types = NamedTypeIndex::default();
        let section = section("f", params);
        // `m.Box` is found from anywhere.
        let mut facts = RepositoryFacts::new(&self.classes, &types);
        facts.add_section("m", &section, &self.hints);
        with(&InputGenerator::new(&section, &self.hints, &facts, &self.settings))
    }

    fn boundary_inputs(&self, params: &[&str]) -> Vec<CallInput> {
        self.with_generator(params, |inputs| inputs.boundary_inputs(1000, Seed(1)))
    }
}

/// The boundary values of the only argument.
fn boundary_values_of(kind: &str) -> Vec<Value> {
    let edges = InputsFixture::default().boundary_inputs(&[&format!("value: {kind}")]);
    edges.into_iter().map(|input| input.args.into_iter().next().expect("an argument")).collect()
}

fn huge_value() -> Value {
    Value::parse_integer(&format!("1{}", "0".repeat(400))).expect("a number")
}

#[test]
fn every_boundary_value_of_a_path_is_a_path() {
    let edges = boundary_values_of("pathlib.Path");
    for edge in &edges {
        let is_path = matches!(edge, Value::New { class, .. } if class.qualname() == "Path");
        assert!(is_path, "{edge:?}");
    }
    assert!(edges.len() > 8);
}

#[test]
fn each_constructor_argument_has_boundary_values() {
    for kind in ["data_class", "named_tuple", "plain"] {
        let params = ["count: int", "label: str", "*rest: int", "inner: m.Other"];
        let fixture =
            InputsFixture { classes: classes("Box", kind, &params), ..InputsFixture::default() };
        let edges = fixture.boundary_inputs(&["value: m.Box"]);
        let constructor_args: Vec<&Vec<Value>> = edges
            .iter()
            .filter_map(|input| match &input.args[..] {
                [Value::New { class, args, .. }] if class.qualname() == "Box" => Some(args),
                _ => None,
            })
            .collect();
        assert_eq!(constructor_args.len(), edges.len());
        assert!(
            constructor_args.iter().any(|args| args[0] == huge_value()),
            "{constructor_args:?}"
        );
        assert!(
            constructor_args.iter().any(|args| args[1] == Value::from("")),
            "{constructor_args:?}"
        );
        // Never both at once.
        assert!(
            !constructor_args
                .iter()
                .any(|args| args[0] == huge_value() && args[1] == Value::from(""))
        );
        assert!((8..=24).contains(&edges.len()), "{}", edges.len());
    }
}

#[test]
fn containers_are_huge_and_contain_boundary_values() {
    let range = || construct_by_name("builtins:range", vec![Value::Int(1000)]);
    for (kind, class, around) in [
        ("set[int]", "builtins:set", Value::Set as fn(Vec<Value>) -> Value),
        ("frozenset[int]", "builtins:frozenset", Value::FrozenSet),
    ] {
        let edges = boundary_values_of(kind);
        assert!(edges.contains(&construct_by_name(class, vec![range()])), "{edges:?}");
        assert!(edges.contains(&around(vec![huge_value()])), "{edges:?}");
    }
    let is_inside = |edge: &Value, wanted: &Value| match edge {
        Value::Dict(pairs) => pairs.iter().any(|(_, value)| value == wanted),
        Value::Tuple(items) | Value::List(items) => items.contains(wanted),
        _ => false,
    };
    for kind in ["dict[str, int]", "tuple[str, int]", "list[int]", "tuple[int, ...]"] {
        let edges = boundary_values_of(kind);
        assert!(edges.iter().any(|edge| is_inside(edge, &huge_value())), "{kind}: {edges:?}");
    }
    assert!(boundary_values_of("dict[str, int]").iter().any(|edge| match edge {
        Value::New { class, .. } => class.qualname() == "dict.fromkeys",
        _ => false,
    }));
    for kind in ["bytearray", "memoryview", "collections.deque"] {
        assert!(boundary_values_of(kind).len() >= 3, "{kind}");
    }
}

#[test]
fn fields_of_a_typed_dict_have_boundary_values() {
    let fields: serde_json::Value = serde_json::json!([
        {"name": "size", "annotation": annotation::parse_annotation("int"), "required": true},
        {"name": "label", "annotation": annotation::parse_annotation("str"), "required": true}
    ]);
    let mut classes = serde_json::to_value(classes("Row", "typed_dict", &[])).expect("JSON");
    classes["m.Row"]["fields"] = fields;
    let classes = serde_json::from_value(classes).expect("classes");
    let edges =
        InputsFixture { classes, ..InputsFixture::default() }.boundary_inputs(&["value: m.Row"]);
    let is_huge = |input: &CallInput| match &input.args[..] {
        [Value::Dict(pairs)] => pairs.contains(&(Value::from("size"), huge_value())),
        _ => false,
    };
    assert!(edges.iter().any(is_huge), "{edges:?}");
}

#[test]
fn hostile_inputs_come_at_any_intensity_above_zero() {
    let bad = |intensity: f64, params: &[&str], count: usize| {
        let mut fixture = InputsFixture::default();
        fixture.settings.strategies = vec![InputStrategy::Hostile];
        fixture.settings.threat = ThreatIntensity::new(intensity, 1 << 30);
        fixture.with_generator(params, |inputs| {
            let inputs = inputs.take(count, Seed(1));
            assert_eq!(inputs[0].intent, InputIntent::Valid);
            inputs.iter().filter(|input| input.intent == InputIntent::Hostile).count()
        })
    };
    assert!(bad(0.01, &["flag: str"], 5) >= 1);
    // Also after all valid inputs, and among many.
    assert!(bad(0.01, &["flag: bool", "query: str"], 40) >= 1);
    assert_eq!(bad(0.0, &["query: str"], 40), 0);
}

/// Is the value a SQL injection?
fn is_sql(value: &impl serde::Serialize) -> bool {
    let text = serde_json::to_string(value).expect("JSON");
    ["OR 1=1", "OR '1'='1", "UNION SELECT", "DROP TABLE"].iter().any(|sign| text.contains(sign))
}

#[test]
fn hostile_texts_are_inserted_into_objects_and_sets() {
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
        let mut fixture =
            InputsFixture { classes: classes("Box", kind, made_of), ..InputsFixture::default() };
        fixture.settings.strategies = vec![InputStrategy::Hostile];
        fixture.settings.threat = ThreatIntensity::new(0.7, 1 << 30);
        let made = fixture.with_generator(&[param], |inputs| inputs.take(80, Seed(1)));
        let bad: Vec<&CallInput> =
            made.iter().filter(|it| it.intent == InputIntent::Hostile).collect();
        assert!(bad.iter().any(|input| is_sql(&input.args)), "{kind} {param}: {bad:?}");
        // The object is constructed with all arguments.
        let is_whole = |value: &Value| match value {
            Value::New { class, args, .. } if class.qualname() == "Box" => args.len() >= 2,
            _ => true,
        };
        assert!(bad.iter().all(|input| input.args.iter().all(is_whole)), "{kind} {param}");
    }
}

fn collect_field_values(value: &Value, at: usize, field: &str, all: &mut Vec<Value>) {
    match value {
        Value::New { class, args, kwargs } if class.qualname() == "Box" => {
            all.extend(args.get(at).cloned());
            let named = kwargs.iter().filter(|(name, _)| name == field);
            all.extend(named.map(|(_, value)| value.clone()));
        }
        Value::New { args, .. } | Value::List(args) => {
            for inner in args {
                collect_field_values(inner, at, field, all);
            }
        }
        Value::Dict(pairs) => {
            let named = pairs.iter().filter(|(key, _)| *key == Value::from(field));
            all.extend(named.map(|(_, value)| value.clone()));
            for (_, inner) in pairs {
                collect_field_values(inner, at, field, all);
            }
        }
        _ => {}
    }
}

/// The values of the field `field` in attack inputs.
fn attacked_field_values(
    fixture: &InputsFixture,
    param: &str,
    at: usize,
    field: &str,
) -> Vec<Value> {
    let attacks = fixture.with_generator(&[param], |inputs| inputs.attack_inputs(Seed(1)));
    assert!(attacks.iter().all(|input| input.intent == InputIntent::Hostile));
    let mut all = Vec::new();
    for value in attacks.iter().flat_map(|input| &input.args) {
        collect_field_values(value, at, field, &mut all);
    }
    all
}

#[test]
fn each_field_of_an_object_is_attacked_by_its_role() {
    let is_traversal = |value: &Value| format!("{value:?}").contains("../etc/passwd");
    let params = ["size: int", "query: str", "path: str"];
    for kind in ["data_class", "named_tuple", "plain"] {
        let fixture =
            InputsFixture { classes: classes("Box", kind, &params), ..InputsFixture::default() };
        for param in ["value: m.Box", "values: list[m.Box]", "table: dict[str, m.Box]"] {
            let queries = attacked_field_values(&fixture, param, 1, "query");
            assert!(queries.iter().any(is_sql), "{kind} {param}: {queries:?}");
            assert!(!queries.iter().any(is_traversal), "{kind} {param}: {queries:?}");
            let paths = attacked_field_values(&fixture, param, 2, "path");
            assert!(paths.iter().any(is_traversal), "{kind} {param}: {paths:?}");
            assert!(!paths.iter().any(is_sql), "{kind} {param}: {paths:?}");
            // One field at a time: most are typical.
            assert!(queries.iter().any(|query| !is_sql(query)), "{queries:?}");
        }
    }
    // Without a text, and without a threat, there are no attacks.
    let mut fixture = InputsFixture {
        classes: classes("Box", "plain", &params[..1]),
        ..InputsFixture::default()
    };
    assert_eq!(attacked_field_values(&fixture, "value: m.Box", 0, "size"), []);
    fixture.classes = classes("Box", "plain", &params);
    fixture.settings.threat = ThreatIntensity::new(0.0, 1 << 30);
    assert_eq!(attacked_field_values(&fixture, "value: m.Box", 1, "query"), []);
}

#[test]
fn typed_dictionaries_and_nested_objects_are_attacked() {
    let mut all = serde_json::to_value(classes("Outer", "plain", &["inner: m.Box"])).expect("JSON");
    let inner = classes("Box", "data_class", &["size: int", "query: str"]);
    let text = serde_json::json!({"Name": "builtins.str"});
    let typed = serde_json::json!({
        "module": "m", "qualname": "Row", "kind": "typed_dict", "bases": [], "members": [],
        "fields": [{"name": "query", "annotation": text, "required": true, "has_default": false}],
        "methods": [], "abstract_methods": [], "construction": {"steps": [], "blocker": null}
    });
    all["m.Box"] = serde_json::to_value(inner).expect("JSON")["m.Box"].clone();
    all["m.Row"] = typed;
    let classes = serde_json::from_value(all).expect("classes");
    let fixture = InputsFixture { classes, ..InputsFixture::default() };
    for param in ["value: m.Outer", "value: m.Row", "values: list[m.Row]"] {
        let queries = attacked_field_values(&fixture, param, 1, "query");
        assert!(queries.iter().any(is_sql), "{param}: {queries:?}");
    }
}

#[test]
fn a_literal_parameter_gets_other_texts_as_well() {
    let mut fixture = InputsFixture::default();
    fixture.settings.strategies = vec![InputStrategy::Hostile];
    fixture.settings.threat = ThreatIntensity::new(0.7, 1 << 30);
    let param = r#"query: typing.Literal["asc", "desc"]"#;
    let made = fixture.with_generator(&[param], |inputs| inputs.take(80, Seed(1)));
    let bad: Vec<&CallInput> = made.iter().filter(|it| it.intent == InputIntent::Hostile).collect();
    assert!(bad.iter().any(|input| is_sql(&input.args)), "{made:?}");
}

#[test]
fn the_receiver_of_a_method_is_attacked() {
    let mut section = serde_json::to_value(section("Box.find", &["count: int"])).expect("JSON");
    section["kind"] = "method".into();
    let section: Section = serde_json::from_value(section).expect("a section");
    let classes = classes("Box", "plain", &["sql_query: str"]);
    let (types, hints) = (NamedTypeIndex::default(), SectionHints::default());
    let mut facts = RepositoryFacts::new(&classes, &types);
    facts.add_section("m", &section, &hints);
    let settings = InputSettings {
        strategies: vec![InputStrategy::Hostile],
        threat: ThreatIntensity::new(0.7, 1 << 30),
        ..InputSettings::default()
    };
    let made = InputGenerator::new(&section, &hints, &facts, &settings).take(80, Seed(1));
    let bad = || made.iter().filter(|input| input.intent == InputIntent::Hostile);
    assert!(bad().any(|input| is_sql(&input.receiver)), "{made:?}");
    // Its parameter is attacked as well.
    let usual = made[0].receiver.as_ref();
    assert!(bad().any(|input| input.receiver.as_ref() == usual), "{made:?}");
    assert!(bad().all(|input| input.receiver.is_some()));
    // Also in the attack inputs, with typical arguments.
    let attacks = InputGenerator::new(&section, &hints, &facts, &settings).attack_inputs(Seed(1));
    assert!(attacks.iter().any(|input| is_sql(&input.receiver)), "{attacks:?}");
}

#[test]
fn the_data_of_objects_drifts() {
    for (kind, drifts) in [("data_class", true), ("named_tuple", true), ("plain", false)] {
        let classes = classes("Row", kind, &["size: int", "label: str"]);
        let fixture = InputsFixture { classes, ..InputsFixture::default() };
        for param in ["row: m.Row", "rows: list[m.Row]"] {
            let drifted = fixture.with_generator(&[param], |inputs| {
                let input = &inputs.take(1, Seed(1))[0];
                let new = inputs.drift_input(input, SchemaDrift::OneKey, Seed(1));
                new.map(|new| (new.args != input.args, new.intent))
            });
            let expected = drifts.then_some((true, InputIntent::Drifted));
            assert_eq!(drifted, expected, "{kind} {param}");
        }
    }
}

fn keywords(inputs: &[CallInput], name: &str) -> Vec<Value> {
    let kwargs = inputs.iter().flat_map(|input| &input.kwargs);
    kwargs.filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
}

fn hints_with_uses(name: &str, uses: &serde_json::Value) -> SectionHints {
    let mut hints = serde_json::to_value(SectionHints::default()).expect("JSON");
    hints["params"] = serde_json::json!([
        {"name": name, "uses": uses, "documented_type": null, "passed_literals": []}
    ]);
    serde_json::from_value(hints).expect("hints")
}

#[test]
fn keywords_have_the_names_that_the_body_uses() {
    let hints = hints_with_uses("options", &serde_json::json!([{"key": "size"}, {"key": "text"}]));
    let mut fixture = InputsFixture { hints, ..InputsFixture::default() };
    let edges = fixture.boundary_inputs(&["text", "**options: int"]);
    assert!(keywords(&edges, "size").contains(&huge_value()), "{edges:?}");
    // `text` is a parameter of its own.
    assert!(keywords(&edges, "text").is_empty());
    for strategy in [
        InputStrategy::Signature,
        InputStrategy::Smart,
        InputStrategy::Random,
        InputStrategy::Hostile,
    ] {
        fixture.settings.strategies = vec![strategy];
        let made =
            fixture.with_generator(&["text", "**options: int"], |inputs| inputs.take(30, Seed(1)));
        let made: Vec<CallInput> = made.into_iter().filter(|it| it.strategy == strategy).collect();
        assert!(!keywords(&made, "size").is_empty(), "{strategy:?}");
    }
}

#[test]
fn keywords_have_the_names_of_call_sites_or_an_invented_one() {
    let mut fixture = InputsFixture::default();
    fixture.hints.call_sites.push(menace_model::CallSite {
        args: Vec::new(),
        kwargs: vec![("colour".to_owned(), "'red'".to_owned())],
        receiver: None,
    });
    assert!(
        keywords(&fixture.boundary_inputs(&["**options"]), "colour").contains(&Value::from(""))
    );
    fixture.hints = SectionHints::default();
    let edges = fixture.boundary_inputs(&["**options: int"]);
    assert!(edges.iter().any(|input| input.kwargs.iter().any(|(_, it)| *it == huge_value())));
    // A dict that is passed as a whole is not passed on by name.
    fixture.hints = hints_with_uses(
        "options",
        &serde_json::json!([
            {"passed_to": {"function": "builtins.dict", "argument": "0"}}
        ]),
    );
    assert!(!fixture.boundary_inputs(&["**options: int"]).is_empty());
    // The keywords of the other function are unknown.
    let passed = serde_json::json!([{"passed_to": {"function": "m.g", "argument": "**"}}]);
    fixture.hints = hints_with_uses("options", &passed);
    assert!(fixture.boundary_inputs(&["**options: int"]).is_empty());
}

#[test]
fn a_generator_can_be_sent_to() {
    let made = InputsFixture::default()
        .with_generator(&["steps: typing.Generator[int, str, None]"], |inputs| {
            inputs.take(1, Seed(1))
        });
    let is_generator = |value: &Value| match value {
        Value::Method { on, name, .. } => name == "__call__" && matches!(**on, Value::Yields(_)),
        _ => false,
    };
    assert!(is_generator(&made[0].args[0]), "{made:?}");
    assert!(boundary_values_of("typing.Generator[int, str, None]").iter().all(is_generator));
}

#[test]
fn patterns_of_the_source_get_near_matches() {
    let is_searched = |input: &CallInput| {
        let source = serde_json::to_string(&input.args[0]).expect("JSON");
        source.contains(r#"{"$repeat":"a","times":40}"#) && source.contains('!')
    };
    let mut fixture = InputsFixture::default();
    fixture.hints.literals.patterns.push("^k=(a+)+$".to_owned());
    let attacks = fixture.with_generator(&["line: str"], |inputs| inputs.attack_inputs(Seed(1)));
    assert!(attacks.iter().any(is_searched), "{attacks:?}");
    let hostile = |fixture: &mut InputsFixture, intensity| {
        fixture.settings.strategies = vec![InputStrategy::Hostile];
        fixture.settings.threat = ThreatIntensity::new(intensity, 1 << 30);
        fixture.with_generator(&["line: str"], |inputs| inputs.take(40, Seed(1)))
    };
    assert!(hostile(&mut fixture, 1.0).iter().any(is_searched));
    assert!(!hostile(&mut fixture, 0.7).iter().any(is_searched));
    // A pattern that only the parameter is matched with.
    fixture.hints = hints_with_uses("line", &serde_json::json!([{"matched": "(a|b)*c"}]));
    assert!(hostile(&mut fixture, 1.0).iter().any(is_searched));
}

fn pattern_use(pattern: &str) -> menace_model::PatternUse {
    menace_model::PatternUse {
        pattern: pattern.to_owned(),
        flags: 0,
        is_bytes: false,
        method: menace_model::PatternMethod::Search,
    }
}

#[test]
fn attack_texts_stand_in_every_place_for_a_text() {
    let mut fixture = InputsFixture {
        classes: classes("Lexer", "plain", &["text: str"]),
        ..InputsFixture::default()
    };
    fixture.hints.literals.pattern_uses = vec![pattern_use("k=,*,*;")];
    fixture.hints.literals.strings = vec!["x-key".to_owned()];
    let grown = |fixture: &InputsFixture, param: &str| -> Vec<Value> {
        let inputs =
            fixture.with_generator(&[param], |generator| generator.growing_inputs(Seed(1)));
        inputs.iter().map(|input| input.at_size(100).args.remove(0)).collect()
    };
    let in_value = |values: &[Value], wanted: &str| {
        values.iter().any(|value| {
            let text = format!("{value:?}");
            text.contains(wanted) && text.contains("times: 100")
        })
    };
    assert!(in_value(&grown(&fixture, "line: str"), "\"k=,\""));
    assert!(in_value(&grown(&fixture, "line: bytes"), "Bytes([107, 61, 44])"));
    assert!(in_value(&grown(&fixture, "headers: dict[str, str]"), "x-key"));
    assert!(in_value(&grown(&fixture, "lexer: m.Lexer"), "New"));
    fixture.hints.literals.pattern_uses = vec![pattern_use("k=,+;")];
    assert_eq!(grown(&fixture, "line: str"), []);
}

#[test]
fn patterns_of_called_sections_are_attacked_through_the_caller() {
    let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
    let mut parse = section("parse", &["text: str"]);
    let read = section("read", &["line: str"]);
    let mut parse_hints = SectionHints::default();
    let mut read_hints = SectionHints::default();
    read_hints.literals.pattern_uses = vec![pattern_use("k=,*,*;")];
    let settings = InputSettings::default();
    let count = |parse: &Section, parse_hints: &SectionHints, module: &str| {
        let mut facts = RepositoryFacts::new(&classes, &types);
        facts.add_section("m", parse, parse_hints);
        facts.add_section(module, &read, &read_hints);
        let generator = InputGenerator::new(parse, parse_hints, &facts, &settings);
        generator.growing_inputs(Seed(1)).len()
    };
    assert!(count(&parse, &parse_hints, "m") > 0, "a pattern of the same module");
    assert!(count(&parse, &parse_hints, "m.rules") > 0, "a pattern of the package");
    assert_eq!(count(&parse, &parse_hints, "other"), 0);
    parse_hints.literals.pattern_uses = vec![pattern_use("a")];
    assert_eq!(count(&parse, &parse_hints, "m.rules"), 0);
    let target = "other.read".to_owned();
    parse.calls.push(menace_model::CallEdge { target, path: None, line: 2 });
    assert!(count(&parse, &parse_hints, "other") > 0);
}

#[test]
fn attack_texts_come_after_the_beginning_of_an_example() {
    let hints = hints_with_uses(
        "line",
        &serde_json::json!([{"method_with": {"name": "startswith", "argument": "'bytes='"}}]),
    );
    let mut fixture = InputsFixture { hints, ..InputsFixture::default() };
    fixture.hints.literals.pattern_uses = vec![pattern_use("^=?,*,*;")];
    let inputs =
        fixture.with_generator(&["line: str"], |generator| generator.growing_inputs(Seed(1)));
    let texts: Vec<String> =
        inputs.iter().map(|input| format!("{:?}", input.at_size(10).args[0])).collect();
    assert!(texts.iter().any(|text| text.contains("bytes=")), "{texts:?}");
    assert!(inputs.len() <= 24);
}

#[test]
fn a_generic_class_is_constructed_with_its_type_arguments() {
    let params = ["label: K", "items: list[V]", "size: V"];
    let mut classes = serde_json::to_value(classes("Box", "plain", &params)).expect("JSON");
    // As the `K` of `class Box[K, V]`.
    let resolved = serde_json::to_value(menace_model::TypeExpr::Other("K".to_owned()));
    classes["m.Box"]["construction"]["steps"][0]["params"][0]["resolved"] = resolved.expect("JSON");
    let classes = serde_json::from_value(classes).expect("classes");
    let fixture = InputsFixture { classes, ..InputsFixture::default() };
    let made = fixture.with_generator(&["box: m.Box[str, int]"], |inputs| inputs.take(1, Seed(1)));
    let [Value::New { args, .. }] = &made[0].args[..] else { panic!("{made:?}") };
    let [Value::Str(_), Value::List(items), Value::Int(_)] = &args[..] else { panic!("{args:?}") };
    assert!(items.iter().all(|item| matches!(item, Value::Int(_))), "{items:?}");
    let edges = fixture.boundary_inputs(&["box: m.Box[str, int]"]);
    let is_huge = |input: &CallInput| match &input.args[..] {
        [Value::New { args, .. }] => args[2] == huge_value(),
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

/// Is it a `datetime` of that year, aware or naive?
fn is_moment(edge: &Value, year: i64, is_aware: bool) -> bool {
    let Value::New { class, args, kwargs } = edge else { return false };
    let zone = args.iter().chain(kwargs.iter().map(|(_, value)| value));
    let has_zone = zone.into_iter().any(|value| format!("{value:?}").contains("timezone"));
    class.qualname() == "datetime" && args[0] == Value::Int(year) && has_zone == is_aware
}

#[test]
fn every_type_has_boundary_values() {
    type EdgePredicate = fn(&Value) -> bool;
    let table: [(&str, &str, EdgePredicate); 15] = [
        ("float", "no number", |it| matches!(it, Value::Float(number) if number.is_nan())),
        ("float", "infinity", |it| *it == Value::Float(f64::INFINITY)),
        ("float", "the other infinity", |it| *it == Value::Float(f64::NEG_INFINITY)),
        ("int", "10**400", |it| *it == huge_value()),
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
        let edges = boundary_values_of(kind);
        assert!(edges.iter().any(is), "no {kind} that is {what}: {edges:?}");
    }
    let moments = boundary_values_of("datetime.datetime");
    for year in [1, 9999] {
        for is_aware in [false, true] {
            let found = moments.iter().any(|it| is_moment(it, year, is_aware));
            assert!(found, "year {year}, aware: {is_aware}: {moments:?}");
        }
    }
}

#[test]
fn the_first_of_each_strategy_come_in_the_documented_order() {
    let line = concat!(
        r#"{"section": "m.py::f", "verdict": "returned", "#,
        r#""input": {"args": ["Ada"], "kwargs": {}}}"#
    );
    let templates = r#"{"name": ["Grace"]}"#;
    let mut fixture = InputsFixture::default();
    let first = |fixture: &InputsFixture| -> Vec<InputStrategy> {
        let made = fixture.with_generator(&["name: str"], |inputs| inputs.take(40, Seed(1)));
        let mut first: Vec<InputStrategy> = made.iter().map(|input| input.strategy).collect();
        first.truncate(first.iter().position(|it| *it == InputStrategy::Random).expect("all") + 1);
        first.dedup();
        first
    };
    // Without stored or documented inputs: the others, in their order.
    let [_, _, signature, smart, _, hostile, misuse, random] = InputStrategy::DEFAULT_ORDER;
    assert_eq!(first(&fixture), [signature, smart, hostile, misuse, random]);
    fixture.settings.history = InputHistory::read(line, "history").0;
    fixture.settings.templates = InputTemplates::read(templates, "templates").expect("templates");
    let written =
        records::read_records(&serde_json::json!([{"name": "Emmy"}]), "a model").expect("records");
    let id = section("f", &[]).id;
    fixture.settings.synthetic = [(id, written)].into();
    assert_eq!(first(&fixture), InputStrategy::DEFAULT_ORDER);
    // With any share of adversarial inputs.
    for share in [0.1, 0.9] {
        fixture.settings.threat = ThreatIntensity::new(share, 1 << 20);
        assert_eq!(first(&fixture), InputStrategy::DEFAULT_ORDER, "{share}");
    }
    // Also for chosen strategies. Where stubs fit, there are no other inputs.
    fixture.settings.strategies =
        vec![InputStrategy::Smart, InputStrategy::Random, InputStrategy::Misuse];
    assert_eq!(first(&fixture), [smart, misuse, random]);
    let stubs =
        records::read_records(&serde_json::json!([{"name": "given"}]), "SANDBOX_INPUT_STUBS");
    fixture.settings.stubs = stubs.expect("records");
    let made = fixture.with_generator(&["name: str"], |inputs| inputs.take(60, Seed(1)));
    assert!(made.len() == 1 && made[0].strategy == InputStrategy::Stubs, "{made:?}");
}

#[test]
fn the_share_of_adversarial_inputs_follows_the_intensity() {
    let mut fixture = InputsFixture::default();
    for share in [0.2, 0.5, 0.8, 1.0] {
        fixture.settings.threat = ThreatIntensity::new(share, 1 << 20);
        let made =
            fixture.with_generator(&["name: str", "query: str"], |inputs| inputs.take(40, Seed(1)));
        let bad = made.iter().filter(|input| input.strategy.is_adversarial()).count();
        // Duplicates are left out, and valid inputs are duplicates more often.
        assert!((bad as f64 - 40.0 * share).abs() <= 5.0, "{bad} of 40 for {share}");
    }
}

#[test]
fn zero_intensity_gives_misuse_and_no_hostile_inputs() {
    let mut fixture = InputsFixture::default();
    fixture.settings.threat = ThreatIntensity::new(0.0, 1 << 20);
    for strategies in [vec![], vec![InputStrategy::Misuse]] {
        fixture.settings.strategies = strategies;
        let made = fixture.with_generator(&["name: str"], |inputs| inputs.take(30, Seed(1)));
        let count = |strategy| made.iter().filter(|input| input.strategy == strategy).count();
        assert_eq!((count(InputStrategy::Hostile), count(InputStrategy::Misuse)), (0, 1));
    }
}
