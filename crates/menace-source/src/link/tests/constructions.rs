//! How an instance is built.

use super::*;

#[test]
fn a_constructor_chain_is_innermost_first() {
    let files = [
        (
            "db.py",
            "class Config:\n    pass\nclass Db:\n    def __init__(self, config: Config, size: int \
             = 3): pass\n",
        ),
        (
            "app.py",
            "from db import Db
class Base:
    def __init__(self, db: 'Db', name: str, other: 'Other | None'): pass
class App(Base):
    def run(self): pass
class Other: pass
",
        ),
    ];
    let plan = find_construction(&files, "app.py::App.run");
    assert_eq!(plan.blocker, None);
    assert_eq!(class_names(&plan), ["db.Config", "db.Db", "app.App"]);
    let last = plan.steps.last().unwrap();
    assert_eq!(last.constructor.as_ref().unwrap().as_str(), "app.py::Base.__init__");
    assert_eq!(last.params[0].resolved.as_ref().unwrap().to_string(), "db.Db");
}

#[test]
fn generated_constructors_take_the_fields() {
    let source = "
from dataclasses import dataclass, field, KW_ONLY
from typing import ClassVar, NamedTuple
import enum
@dataclass
class A:
    x: int
    y: list = field(default_factory=list)
    z: ClassVar[int] = 1
    w: int = field(init=False)
@dataclass
class B(A):
    _: KW_ONLY
    k: str = 'k'
    def m(self): pass
class N(NamedTuple):
    a: int
    def m(self): pass
class Color(enum.Enum):
    RED = 1
    GREEN = 2
    def m(self): pass
";
    let files = [("m.py", source)];
    let shown = |id: &str| -> Vec<String> {
        let plan = find_construction(&files, id);
        let step = plan.steps.last().unwrap();
        let params = step
            .params
            .iter()
            .map(|param| format!("{:?} {} {:?}", param.kind, param.name, param.default.as_deref()));
        params.chain(step.members.iter().cloned()).collect()
    };
    assert_eq!(
        shown("m.py::B.m"),
        [
            "PositionalOrKeyword x None",
            "PositionalOrKeyword y Some(\"list()\")",
            "KeywordOnly k Some(\"'k'\")"
        ]
    );
    assert_eq!(shown("m.py::N.m"), ["PositionalOrKeyword a None"]);
    assert_eq!(shown("m.py::Color.m"), ["RED", "GREEN"]);
}

#[test]
fn an_abstract_class_is_built_through_a_subclass_or_not_at_all() {
    let source = "
from abc import ABC, abstractmethod
from typing import Protocol
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def show(self): pass
class Square(Shape):
    def area(self): return 1
class Lonely(ABC):
    @abstractmethod
    def one(self): ...
    def m(self): pass
class Duck(Protocol):
    def quack(self): ...
class Self:
    def __init__(self, me: 'Self'): pass
    def m(self): pass
def f():
    class Local:
        def m(self): pass
        @classmethod
        def c(cls): pass
";
    let files = [("m.py", source)];
    assert_eq!(class_names(&find_construction(&files, "m.py::Shape.show")), ["m.Square"]);
    let blocked = |id: &str| find_construction(&files, id).blocker.unwrap();
    assert_eq!(
        blocked("m.py::Lonely.m"),
        ConstructionBlocker::Abstract { methods: vec!["one".into()] }
    );
    assert_eq!(blocked("m.py::Duck.quack"), ConstructionBlocker::Protocol);
    assert_eq!(blocked("m.py::Self.m"), ConstructionBlocker::Recursive);
    assert!(matches!(blocked("m.py::f.<locals>.Local.m"), ConstructionBlocker::Local { .. }));
    assert!(matches!(blocked("m.py::f.<locals>.Local.c"), ConstructionBlocker::Local { .. }));
}

#[test]
fn class_and_static_methods_need_no_instance() {
    let source = "class C:\n    def __init__(self): pass\n    @classmethod\n    def c(cls): \
        pass\n    @staticmethod\n    def s(): pass\n";
    let linked = link_files(&[("m.py", source)]);
    for section in &linked.modules[0].sections {
        assert_ne!(section.kind, SectionKind::Nested);
        assert_eq!(section.construction, None, "{}", section.id);
    }
}

#[test]
fn a_class_may_take_the_name_of_its_base() {
    let files = [
        ("base.py", "class A:\n    def __init__(self, size: int): pass\n"),
        ("m.py", "from base import A\nclass A(A):\n    def m(self): pass\ndef f(a: A): pass\n"),
    ];
    assert_eq!(param_types(&files, "m.py::f"), ["m.A"]);
    let plan = find_construction(&files, "m.py::A.m");
    assert_eq!(plan.steps[0].constructor.as_ref().unwrap().as_str(), "base.py::A.__init__");
}

#[test]
fn two_projects_with_a_module_of_the_same_name_keep_apart() {
    let files = [
        ("a/models.py", "class User:\n    def __init__(self, a: int): pass\n"),
        (
            "a/service.py",
            "from models import User\nclass Svc:\n    def __init__(self, user: User): pass\n    \
             def m(self): pass\n",
        ),
        ("b/models.py", "class User:\n    def __init__(self, b: int): pass\n"),
        (
            "b/service.py",
            "from models import User\nclass Svc:\n    def __init__(self, user: User): pass\n    \
             def m(self): pass\n",
        ),
    ];
    let facts =
        files.iter().map(|(path, text)| extract_file_facts(path, text.as_bytes())).collect();
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let linked = link(&ModuleNames::new(paths, &["a".into(), "b".into()], "repo"), facts);
    let first_param = |id: &str| {
        let plan = find_section(&linked, id).construction.as_deref().unwrap();
        plan.steps[0].params[0].name.clone()
    };
    assert_eq!(first_param("a/service.py::Svc.m"), "a");
    assert_eq!(first_param("b/service.py::Svc.m"), "b");
}
