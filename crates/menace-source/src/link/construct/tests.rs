//! Small repositories, written in the test, and how their classes are built.

use std::fmt::Write;

use menace_model::{ConstructionBlocker, ConstructionPlan, ConstructorCall};

use crate::analyze::extract_file_facts;
use crate::link::{ModuleNames, link};

/// How to build the instance that a method of `m.py` needs.
fn plan_construction(source: &str, method: &str) -> ConstructionPlan {
    let names = ModuleNames::new(vec!["m.py".to_owned()], &[], "repo");
    let linked = link(&names, vec![extract_file_facts("m.py", source.as_bytes())]);
    assert_eq!(linked.modules[0].error, None);
    let id = format!("m.py::{method}");
    let section = linked.modules[0].sections.iter().find(|section| section.id.as_str() == id);
    let construction = &section.unwrap_or_else(|| panic!("no {id}")).construction;
    construction.as_deref().expect("a construction").clone()
}

fn last_constructor_call(source: &str, method: &str) -> ConstructorCall {
    let plan = plan_construction(source, method);
    assert_eq!(plan.blocker, None);
    plan.steps.last().expect("a step").clone()
}

/// Parameters as `name`, `name=default`, and `*name` for one that must be named.
fn constructor_params(source: &str, method: &str) -> String {
    let step = last_constructor_call(source, method);
    assert!(step.signature_known, "{step:?}");
    format_params(&step)
}

fn format_params(step: &ConstructorCall) -> String {
    let params = step.params.iter().map(|param| {
        let star = if param.kind == menace_model::ParamKind::KeywordOnly { "*" } else { "" };
        let default = param.default.as_deref().map_or(String::new(), |value| format!("={value}"));
        format!("{star}{}{default}", param.name)
    });
    params.collect::<Vec<_>>().join(" ")
}

fn class_names(plan: &ConstructionPlan) -> Vec<&str> {
    plan.steps.iter().map(|step| step.class.as_str()).collect()
}

const ABSTRACT_SOURCE: &str = "
from abc import ABC, abstractmethod
class Abs(ABC):
    @abstractmethod
    def f(self): ...
class Real(Abs):
    def f(self): pass
";

#[test]
fn two_parameters_of_an_abstract_type_need_one_instance() {
    let source = format!(
        "{ABSTRACT_SOURCE}
class User:
    def __init__(self, one: Abs, two: Abs, three: Real): pass
    def m(self): pass
"
    );
    assert_eq!(class_names(&plan_construction(&source, "User.m")), ["m.Real", "m.User"]);
}

#[test]
fn many_ways_to_one_class_are_gone_once() {
    let mut source = "from abc import ABC, abstractmethod\n".to_owned();
    for level in 0..24 {
        write!(
            source,
            "
class A{level}(ABC):
    @abstractmethod
    def f(self): ...
class R{level}(A{level}):
    def __init__(self, {}): pass
    def f(self): pass
",
            (0..6)
                .map(|at| match level {
                    0 => format!("p{at}"),
                    _ => format!("p{at}: A{}", level - 1),
                })
                .collect::<Vec<_>>()
                .join(", ")
        )
        .unwrap();
    }
    let plan = plan_construction(&source, "R23.f");
    assert_eq!(plan.blocker, None);
    assert_eq!(plan.steps.len(), 24);
}

#[test]
fn a_chain_of_constructors_is_no_recursion() {
    let mut source = "class C0: pass\n".to_owned();
    for at in 1..40 {
        write!(
            source,
            "class C{at}:\n    def __init__(self, c: C{}): pass\n    def m(self): pass\n",
            at - 1
        )
        .unwrap();
    }
    let longest = plan_construction(&source, "C31.m");
    assert_eq!(longest.blocker, None);
    assert_eq!(longest.steps.len(), 32);
    assert_eq!(plan_construction(&source, "C32.m").blocker, Some(ConstructionBlocker::TooDeep));
}

#[test]
fn a_plan_has_a_bounded_number_of_steps() {
    let mut source = String::new();
    let mut needs = String::new();
    for at in 0..300 {
        writeln!(source, "class C{at}: pass").unwrap();
        write!(needs, ", c{at}: C{at}").unwrap();
    }
    write!(source, "class Big:\n    def __init__(self{needs}): pass\n    def m(self): pass\n")
        .unwrap();
    assert_eq!(plan_construction(&source, "Big.m").blocker, Some(ConstructionBlocker::TooDeep));
}

/// Takes minutes if every class searches all of its ancestors.
#[test]
fn twenty_thousand_generations_are_linked() {
    let mut source = "class C0:\n    def __init__(self, a): pass\n".to_owned();
    for at in 1..20_000 {
        write!(source, "class C{at}(C{}):\n    def m(self): pass\n", at - 1).unwrap();
    }
    // The constructor is too far away to be found, so the signature is unknown, not empty.
    assert!(!last_constructor_call(&source, "C19999.m").signature_known);
}

/// Takes minutes if every class searches for a concrete one by itself.
#[test]
fn two_thousand_abstract_generations_share_the_one_concrete_class() {
    let mut source = "from abc import ABC, abstractmethod\nclass A0(ABC): pass\n".to_owned();
    for at in 1..2_000 {
        write!(
            source,
            "class A{at}(A{}, ABC):\n    @abstractmethod\n    def f{}(self): ...\n    def m(self): \
             pass\n",
            at - 1,
            at % 2
        )
        .unwrap();
    }
    source.push_str("class Real(A1999):\n    def f0(self): pass\n    def f1(self): pass\n");
    assert_eq!(class_names(&plan_construction(&source, "A1.m")), ["m.Real"]);
}

#[test]
fn a_ladder_of_diamonds_is_climbed_once() {
    let mut source = "class A0:\n    def __init__(self, a): pass\n".to_owned();
    for at in 1..20 {
        let below = at - 1;
        write!(
            source,
            "class L{at}(A{below}): pass\nclass R{at}(A{below}):\n    def __init__(self, r{at}): \
             pass\nclass A{at}(L{at}, R{at}):\n    def m(self): pass\n"
        )
        .unwrap();
    }
    assert_eq!(constructor_params(&source, "A19.m"), "r19");
}

#[test]
fn bases_that_inherit_from_each_other_end() {
    let source = "
class A(B):
    def m(self): pass
class B(A): pass
class C(C):
    def m(self): pass
";
    assert_eq!(constructor_params(source, "A.m"), "");
    assert!(!last_constructor_call(source, "C.m").signature_known);
}

#[test]
fn of_two_constructors_the_last_counts() {
    let twice = "
class C:
    def __init__(self, a): pass
    def __init__(self, b): pass
    def m(self): pass
";
    assert_eq!(constructor_params(twice, "C.m"), "b");
    assert_eq!(
        last_constructor_call(twice, "C.m").constructor.unwrap().as_str(),
        "m.py::C.__init__#2"
    );
    let branches = "
import sys
if sys.platform == 'win32':
    class C:
        def __init__(self, a): pass
else:
    class C:
        def __init__(self, b): pass
        def m(self): pass
";
    assert_eq!(constructor_params(branches, "C.m"), "b");
}

#[test]
fn a_constructor_below_a_block_is_seen() {
    for block in ["if x:", "try:", "with x:", "if y: pass\n    else:"] {
        let after = if block == "try:" { "\n    except E: pass" } else { "" };
        let source = format!(
            "class C:\n    {block}\n        def __init__(self, a): pass{after}\n    def m(self): \
             pass\n"
        );
        assert_eq!(constructor_params(&source, "C.m"), "a", "{block}");
    }
    let handler = "
class C:
    try:
        import fast
    except ImportError:
        def __init__(self, a): pass
    def m(self): pass
";
    assert_eq!(constructor_params(handler, "C.m"), "a");
}

#[test]
fn what_only_type_checkers_see_is_no_constructor() {
    let source = "
from typing import TYPE_CHECKING
class C:
    if TYPE_CHECKING:
        def __init__(self, a): pass
    def m(self): pass
";
    assert_eq!(constructor_params(source, "C.m"), "");
}

#[test]
fn classic_attrs_takes_what_calls_attr_ib() {
    let source = "
import attr
@attr.s
class C:
    a = attr.ib()
    b = attr.ib(default=3)
    c = attr.ib(factory=list)
    d = attr.ib(init=False)
    _e = attr.ib(4, kw_only=True)
    f = attr.ib(default=attr.NOTHING, type=int, kw_only=True)
    g = attr.ib(kw_only=True)
    no: int = 5
    neither = 6
    @g.default
    def _g(self): return 1
    def m(self): pass
";
    assert_eq!(constructor_params(source, "C.m"), "a b=3 c=list() *e=4 *f *g=self._g()");
    let kind = last_constructor_call(source, "C.m").params[4].resolved.clone();
    assert_eq!(kind.unwrap().to_string(), "int");
}

#[test]
fn attrs_names_its_parameters_without_underscores_or_by_alias() {
    let source = "
from attrs import define, field
@define
class Base:
    x: int
    y: int = 1
@define
class C(Base):
    _p: int = 2
    q: int = field(default=3, alias='other')
    x: int = 4
    def m(self): pass
";
    assert_eq!(constructor_params(source, "C.m"), "y=1 p=2 other=3 x=4");
    let calls = "
from attrs import define, field
@define
class C:
    a = field()
    b: int = 3
    def m(self): pass
";
    assert_eq!(constructor_params(calls, "C.m"), "a");
}

#[test]
fn a_dataclass_keeps_the_underscore_and_the_place_of_a_field() {
    let source = "
from dataclasses import dataclass, field
@dataclass
class A:
    _x: int
    y: int = 1
    gone: int = 5
@dataclass
class B(A):
    no = field()
    z: int = 2
    y: int = 3
    gone: int = field(init=False)
class C(B):
    extra: int
    def m(self): pass
";
    assert_eq!(constructor_params(source, "C.m"), "_x y=3 z=2");
}

#[test]
fn pydantic_takes_fields_by_name_or_alias() {
    let source = "
from pydantic import BaseModel, Field
class Base(BaseModel):
    a: int
    b: int = Field(3)
    c: int = Field(default=4)
    d: list = Field(default_factory=list)
class C(Base):
    e: int = Field(...)
    f: int = Field(default=..., alias='other')
    g: int = ...
    h: int = Field(alias='x', validation_alias='y')
    _private: int = 5
    def m(self): pass
class Own(C):
    def __init__(self, own): pass
class Below(Own):
    z: int
    def m(self): pass
";
    assert_eq!(constructor_params(source, "C.m"), "*a *b=3 *c=4 *d=list() *e *other *g *y");
    assert_eq!(constructor_params(source, "Below.m"), "own");
}

#[test]
fn a_named_tuple_written_as_a_base_gives_its_fields() {
    for (base, expected) in [
        ("collections.namedtuple('P', 'x y')", "x y"),
        ("collections.namedtuple('P', 'x, y', defaults=[2])", "x y=2"),
        ("collections.namedtuple('P', ['x', 'y'])", "x y"),
        ("collections.namedtuple(typename='P', field_names=('x',))", "x"),
        ("typing.NamedTuple('P', [('x', int), ('y', str)])", "x y"),
    ] {
        let source = format!(
            "import collections, typing\nclass P({base}):\n    z: int = 1\n    def m(self): pass\n\
             class Q(P):\n    def m(self): pass\n"
        );
        assert_eq!(constructor_params(&source, "P.m"), expected, "{base}");
        assert_eq!(constructor_params(&source, "Q.m"), expected, "{base}");
    }
    let typed =
        "import typing\nclass P(typing.NamedTuple('P', [('x', 'P')])):\n    def m(self): pass\n";
    assert_eq!(plan_construction(typed, "P.m").blocker, Some(ConstructionBlocker::Recursive));
}

#[test]
fn a_named_tuple_has_the_fields_of_the_class_that_names_it() {
    let source = "
from typing import NamedTuple
class P(NamedTuple):
    x: int
class Q(P):
    y: int
    def m(self): pass
";
    assert_eq!(constructor_params(source, "Q.m"), "x");
}

#[test]
fn members_of_an_enumeration_may_share_an_assignment() {
    let source = "
import enum
class E(enum.IntFlag):
    F = 1
    G, (H, *I) = 2, (3, 4)
    J: int = 5
    _ignore_ = []
    def m(self): pass
";
    assert_eq!(last_constructor_call(source, "E.m").members, ["F", "G", "H", "I", "J"]);
}

#[test]
fn a_constructor_from_elsewhere_is_not_known() {
    let known = |header: &str| {
        let source = format!(
            "import abc, builtins, collections, enum, threading, typing\n\
             from typing import Generic, Protocol\nclass Mixin: pass\n\
             class Init:\n    def __init__(self, a): pass\nclass Own(threading.Thread):\n    def \
             __init__(self, a): pass\ndef make(): pass\nclass C({header}):\n    def m(self): pass\n"
        );
        last_constructor_call(&source, "C.m").signature_known
    };
    for header in [
        "",
        "object",
        "Exception",
        "builtins.KeyError",
        "StopIteration",
        "abc.ABC",
        "Generic[T]",
        "Mixin",
        "Own",
        "dict",
        "typing.Mapping[str, int]",
        "enum.Enum",
        "typing.NamedTuple",
        "Init, threading.Thread",
    ] {
        assert!(known(header), "{header}");
    }
    for header in [
        "threading.Thread",
        "Mixin, threading.Thread",
        "threading.Thread, Init",
        "make()",
        "UnicodeDecodeError",
        "Frame",
    ] {
        assert!(!known(header), "{header}");
    }
}
