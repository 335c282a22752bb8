//! The table of classes.

use menace_model::{ClassInfo, ClassKind, ConstructionBlocker, TypeExpr};

use super::{build_tables, find_class_info};

const CLASS_IMPORTS: &str = "import abc, collections, enum\nfrom dataclasses import dataclass, \
    field\n\
    from typing import NamedTuple, NotRequired, Protocol, TypedDict, TypeVar, NewType\n";

fn find_class(source: &str, name: &str) -> ClassInfo {
    find_class_info(&format!("{CLASS_IMPORTS}{source}"), name)
}

/// Fields as `name: type`, with a `?` after those that may be missing.
fn format_fields(class: &ClassInfo) -> Vec<String> {
    let show = |field: &menace_model::ClassField| {
        let kind = field.annotation.as_ref().map_or(String::new(), |kind| format!(": {kind}"));
        format!("{}{}{kind}", field.name, if field.required { "" } else { "?" })
    };
    class.fields.iter().map(show).collect()
}

fn method_names(class: &ClassInfo) -> Vec<&str> {
    class.methods.iter().map(|method| method.name.as_str()).collect()
}

#[test]
fn each_kind_of_class_is_recognised() {
    for (source, kind) in [
        ("class A: pass", ClassKind::Plain),
        ("@dataclass\nclass A: pass", ClassKind::DataClass),
        ("@dataclass\nclass B:\n    x: int\nclass A(B): pass", ClassKind::DataClass),
        ("import pydantic\nclass A(pydantic.BaseModel): pass", ClassKind::DataClass),
        ("class A(NamedTuple):\n    x: int", ClassKind::NamedTuple),
        ("class A(collections.namedtuple('A', 'x y')): pass", ClassKind::NamedTuple),
        ("A = collections.namedtuple('A', 'x y')", ClassKind::NamedTuple),
        ("class A(TypedDict):\n    x: int", ClassKind::TypedDict),
        ("A = TypedDict('A', {'x': int})", ClassKind::TypedDict),
        ("class B(enum.IntEnum): pass\nclass A(B):\n    X = 1", ClassKind::Enum),
        ("A = enum.Enum('A', 'X Y')", ClassKind::Enum),
        ("class A(Protocol): pass", ClassKind::Protocol),
        ("class A(abc.ABC):\n    @abc.abstractmethod\n    def go(self): pass", ClassKind::Abstract),
        ("class B(LookupError): pass\nclass A(B): pass", ClassKind::Exception),
        ("import lib\nclass A(lib.OddException): pass", ClassKind::Exception),
    ] {
        assert_eq!(find_class(source, "A").kind, kind, "{source}");
    }
}

#[test]
fn fields_tell_their_types_and_whether_they_must_be_there() {
    let found = find_class(
        "@dataclass\nclass B:\n    x: int\n@dataclass\nclass A(B):\n    y: 'list[B]' = \
         field(default_factory=list)\n",
        "A",
    );
    assert_eq!(format_fields(&found), ["x: int", "y?: list[m.B]"]);
    let found = find_class(
        "class B(TypedDict):\n    x: int\nclass A(B, total=False):\n    y: str\n    z: \
         NotRequired[int]\n",
        "A",
    );
    assert_eq!(format_fields(&found), ["x: int", "y?: str", "z?: int"]);
    let found =
        find_class("A = TypedDict('A', {'x': int, 'y': 'B'}, total=False)\nclass B: pass\n", "A");
    assert_eq!(format_fields(&found), ["x?: int", "y?: m.B"]);
    let found = find_class("A = collections.namedtuple('A', ['x', 'y'], defaults=[1])", "A");
    assert_eq!(format_fields(&found), ["x", "y?"]);
    let found = find_class("class A(Protocol):\n    name: str\n    def go(self): ...\n", "A");
    assert_eq!(format_fields(&found), ["name: str"]);
}

#[test]
fn members_of_enumerations_are_listed() {
    let found = find_class(
        "class A(enum.Enum):\n    X = 1\n    Y = 2\n    _z = 3\n    def go(self): pass\n",
        "A",
    );
    assert_eq!(found.members, ["X", "Y"]);
    for call in ["'X Y'", "['X', 'Y']", "[('X', 1), ('Y', 2)]", "{'X': 1, 'Y': 2}"] {
        let found = find_class(&format!("A = enum.Enum('A', {call})"), "A");
        assert_eq!(found.members, ["X", "Y"], "{call}");
        assert_eq!(found.construction.steps[0].members, ["X", "Y"]);
    }
}

#[test]
fn public_methods_come_from_bases_too_and_the_nearest_counts() {
    let source = "class B:\n    def go(self, a): pass\n    def _hidden(self): pass\n    def \
        __len__(self): return 0\n\
                  class A(B):\n    def go(self, b: int) -> str: pass\n    @property\n    def \
                  size(self) -> int: pass\n    \
                  @size.setter\n    def size(self, value): pass\n    async def wait(self): \
                  pass\n    @staticmethod\n    def make(c): pass\n";
    let found = find_class(source, "A");
    assert_eq!(method_names(&found), ["go", "size", "wait", "make"]);
    let [go, size, wait, make] = &found.methods[..] else { panic!("{:?}", found.methods) };
    assert_eq!(go.params[0].name, "b");
    assert_eq!(go.returns, Some(TypeExpr::Name("str".into())));
    assert!(size.is_property && !go.is_property);
    assert!(wait.is_async && !go.is_async);
    assert_eq!(make.params.len(), 1);
    assert_eq!(found.bases, ["m.B"]);
}

#[test]
fn abstract_classes_tell_what_is_missing_and_protocols_everything() {
    let source = "class B(abc.ABC):\n    @abc.abstractmethod\n    def go(self): pass\n    \
        @abc.abstractmethod\n    def __len__(self): pass\n\
                  class A(B):\n    def go(self): pass\n    @abc.abstractmethod\n    def \
                  stop(self): pass\n";
    let found = find_class(source, "A");
    assert_eq!(found.abstract_methods, ["__len__", "stop"]);
    assert_eq!(method_names(&found), ["go", "__len__", "stop"]);
    let source = "class B(Protocol):\n    def read(self) -> bytes: ...\n\
        class A(B, Protocol):\n    def __call__(self, x: int) -> str: ...\n";
    let found = find_class(source, "A");
    assert_eq!(found.abstract_methods, ["read", "__call__"]);
    assert_eq!(found.methods[1].params[0].name, "x");
}

#[test]
fn classes_without_methods_have_a_construction_too() {
    let found =
        find_class("@dataclass\nclass B:\n    x: int\n@dataclass\nclass A:\n    b: B\n", "A");
    let steps: Vec<&str> =
        found.construction.steps.iter().map(|step| step.class.as_str()).collect();
    assert_eq!(steps, ["m.B", "m.A"]);
    assert_eq!(found.construction.blocker, None);
    let found = find_class("class A(Protocol): pass", "A");
    assert_eq!(found.construction.blocker, Some(ConstructionBlocker::Protocol));
}

#[test]
fn a_base_that_a_call_makes_is_known() {
    let source =
        "Base = collections.namedtuple('Base', 'x y')\nclass A(Base):\n    def go(self): pass\n";
    let found = find_class(source, "A");
    assert_eq!(
        (found.kind, format_fields(&found)),
        (ClassKind::NamedTuple, vec!["x".into(), "y".into()])
    );
    assert!(found.construction.steps[0].signature_known);
}

#[test]
fn in_the_standard_library_itself_an_enumeration_is_one() {
    let (classes, _) = build_tables(&[
        ("enum.py", "class Enum: pass\nclass IntEnum(int, Enum): pass\n"),
        ("http.py", "from enum import IntEnum\nclass Status(IntEnum):\n    OK = 200\n"),
        ("typing.py", "class Protocol: pass\n"),
        ("p.py", "import typing\nclass P(typing.Protocol):\n    def go(self): ...\n"),
    ]);
    let status = classes.get("http.Status").unwrap();
    assert_eq!((status.kind, &status.members[..]), (ClassKind::Enum, &["OK".to_owned()][..]));
    assert_eq!(classes.get("p.P").unwrap().kind, ClassKind::Protocol);
}

#[test]
fn local_classes_are_listed_and_repeated_ones_once() {
    let (classes, _) = build_tables(&[(
        "m.py",
        "def f():\n    class A: pass\nclass B: pass\nclass B(Exception): pass\n",
    )]);
    let names: Vec<&str> = classes.0.keys().map(String::as_str).collect();
    assert_eq!(names, ["m.B", "m.f.<locals>.A"]);
    assert_eq!(classes.get("m.B").unwrap().kind, ClassKind::Exception);
    let blocked = &classes.get("m.f.<locals>.A").unwrap().construction.blocker;
    assert!(matches!(blocked, Some(ConstructionBlocker::Local { .. })), "{blocked:?}");
}

#[test]
fn a_class_is_found_under_the_name_that_annotations_have() {
    let (classes, _) = build_tables(&[
        ("pkg/__init__.py", "from .shapes import Box\n"),
        ("pkg/shapes.py", "class Box:\n    class Lid: pass\n"),
    ]);
    let lid = classes.get("pkg.shapes.Box.Lid").unwrap();
    assert_eq!((lid.module.as_str(), lid.qualname.as_str()), ("pkg.shapes", "Box.Lid"));
}

#[test]
fn names_of_types_are_looked_up() {
    let source = format!(
        "{CLASS_IMPORTS}class A: pass\nT = TypeVar('T')\nB = TypeVar('B', bound='A')\n\
         C = TypeVar('C', int, str)\nId = NewType('Id', int)\n"
    );
    let (_, types) = build_tables(&[("m.py", &source)]);
    let shown: Vec<String> =
        types.0.iter().map(|(name, kind)| format!("{name} = {kind}")).collect();
    assert_eq!(shown, ["m.B = m.A", "m.C = int | str", "m.Id = int", "m.T = typing.Any"]);
}
