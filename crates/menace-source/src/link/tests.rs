//! Small repositories, written in the test, analysed without a disk.

use menace_model::{Blocked, Construction, Import, ModuleReport, Section, SectionKind};

use super::{Linked, Names, link};
use crate::analyze::facts_of;

fn linked(files: &[(&str, &str)]) -> Linked {
    let facts = files.iter().map(|(path, text)| facts_of(path, text.as_bytes())).collect();
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let linked = link(&Names::new(paths, &[], "repo"), facts);
    for module in &linked.modules {
        assert_eq!(module.error, None, "{}", module.path);
    }
    linked
}

fn module<'l>(linked: &'l Linked, path: &str) -> &'l ModuleReport {
    linked.modules.iter().find(|module| module.path == path).unwrap()
}

fn section<'l>(linked: &'l Linked, id: &str) -> &'l Section {
    let sections = linked.modules.iter().flat_map(|module| &module.sections);
    let ids: Vec<&str> = sections.clone().map(|section| section.id.as_str()).collect();
    sections
        .clone()
        .find(|section| section.id.as_str() == id)
        .unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

/// Sections of one module as `qualname kind`.
fn sections(source: &str) -> Vec<String> {
    let linked = linked(&[("m.py", source)]);
    let show = |section: &Section| format!("{} {:?}", section.id.qualname(), section.kind);
    linked.modules[0].sections.iter().map(show).collect()
}

fn types(files: &[(&str, &str)], id: &str) -> Vec<String> {
    let linked = linked(files);
    let params = &section(&linked, id).params;
    params
        .iter()
        .map(|param| param.resolved.as_ref().map_or(String::new(), ToString::to_string))
        .collect()
}

fn construction(files: &[(&str, &str)], id: &str) -> Construction {
    let linked = linked(files);
    let construction = section(&linked, id).construction.as_deref();
    construction.expect("a construction").clone()
}

fn classes(construction: &Construction) -> Vec<&str> {
    construction.steps.iter().map(|step| step.class.as_str()).collect()
}

fn imported(linked: &Linked, path: &str) -> Vec<String> {
    let show = |import: &Import| {
        let mut text = import.module.clone();
        for (flag, name) in [
            (import.path.is_some(), "own"),
            (import.conditional, "conditional"),
            (import.type_checking, "types"),
            (import.deferred, "deferred"),
            (import.through.is_some(), "through"),
        ] {
            if flag {
                text.push(' ');
                text.push_str(name);
            }
        }
        text
    };
    module(linked, path).imports.iter().map(show).collect()
}

#[test]
fn every_kind_of_section_is_found() {
    let source = "
def f(): yield 1
async def g(): pass
class C:
    def m(self): pass
    @classmethod
    def c(cls): pass
    @staticmethod
    def s(): pass
    @property
    def p(self): pass
    @p.setter
    def p(self, value): pass
    def __new__(cls): pass
    class D:
        def n(self):
            def inner(): pass
def h():
    class E:
        def e(self): pass
";
    assert_eq!(
        sections(source),
        [
            "<module> Module",
            "f Function",
            "g Function",
            "C.m Method",
            "C.c ClassMethod",
            "C.s StaticMethod",
            "C.p Property",
            "C.p.setter Property",
            "C.__new__ ClassMethod",
            "C.D.n Method",
            "C.D.n.<locals>.inner Nested",
            "h Function",
            "h.<locals>.E.e Method",
        ]
    );
}

#[test]
fn a_name_defined_twice_keeps_two_ids_and_an_overload_has_none() {
    let source = "
from typing import overload
@overload
def f(x: int): ...
@overload
def f(x: str): ...
def f(x): pass
if x:
    def g(): pass
else:
    def g(): pass
";
    assert_eq!(sections(source), ["<module> Module", "f Function", "g Function", "g#2 Function"]);
}

#[test]
fn generators_are_told_by_their_own_yield() {
    let source = "
def a(): yield
def b():
    def inner(): yield
def c(): return lambda: (yield)
async def d():
    x = yield 1
def e(): return [i for i in (yield)]
";
    let linked = linked(&[("m.py", source)]);
    let generators: Vec<&str> = linked.modules[0]
        .sections
        .iter()
        .filter(|section| section.is_generator)
        .map(|section| section.id.qualname())
        .collect();
    assert_eq!(generators, ["a", "b.<locals>.inner", "d", "e"]);
}

#[test]
fn parameters_have_kinds_defaults_and_no_receiver() {
    let source = "class C:\n    def m(self, a, /, b: int = 1, *c, d, e='x', **f): pass\n";
    let linked = linked(&[("m.py", source)]);
    let section = section(&linked, "m.py::C.m");
    let shown: Vec<String> = section
        .params
        .iter()
        .map(|param| format!("{:?} {} {:?}", param.kind, param.name, param.default.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            "PositionalOnly a None",
            "PositionalOrKeyword b Some(\"1\")",
            "VarPositional c None",
            "KeywordOnly d None",
            "KeywordOnly e Some(\"'x'\")",
            "VarKeyword f None",
        ]
    );
    assert_eq!((section.line, section.start_line, section.end_line), (2, 2, 2));
}

#[test]
fn decorators_are_resolved_and_the_range_starts_with_them() {
    let source = "import functools as ft\n\n@ft.cache\n@app.get('/x')\ndef f():\n    '''Doc.'''\n    return 1\n";
    let linked = linked(&[("m.py", source)]);
    let section = section(&linked, "m.py::f");
    assert_eq!(section.decorators, ["functools.cache", "app.get"]);
    assert_eq!((section.start_line, section.line, section.end_line), (3, 5, 7));
    assert_eq!(section.docstring.as_deref(), Some("Doc."));
}

#[test]
fn annotations_are_followed_to_the_definition() {
    let files = [
        ("app/__init__.py", "from .shapes import Box as Crate\n"),
        ("app/shapes.py", "class Box:\n    class Lid: pass\n"),
        (
            "main.py",
            "from __future__ import annotations
from typing import TYPE_CHECKING, Optional
import app, app.shapes as sh
from app import Crate
if TYPE_CHECKING:
    from app.shapes import Box as Hidden
def f(a: Crate, b: 'app.Crate', c: Optional[sh.Box.Lid], d: Hidden, e: list[\"Later\"], g: int, h: undefined): pass
class Later: pass
",
        ),
    ];
    assert_eq!(
        types(&files, "main.py::f"),
        [
            "app.shapes.Box",
            "app.shapes.Box",
            "app.shapes.Box.Lid | None",
            "app.shapes.Box",
            "list[main.Later]",
            "int",
            "undefined",
        ]
    );
}

#[test]
fn star_imports_are_looked_through() {
    let files = [
        ("a.py", "class A: pass\n"),
        ("b.py", "from a import *\n"),
        ("c.py", "from b import *\ndef f(x: A, y: int, z: Missing): pass\n"),
    ];
    assert_eq!(types(&files, "c.py::f"), ["a.A", "int", "Missing"]);
}

#[test]
fn modules_that_pass_names_around_in_circles_end() {
    let files = [
        ("a.py", "from b import x\nfrom b import *\n"),
        ("b.py", "from a import x\nfrom a import *\ndef f(p: x, q: y): pass\n"),
    ];
    assert_eq!(types(&files, "b.py::f").len(), 2);
}

#[test]
fn a_name_of_a_class_body_is_seen_by_its_methods_signatures() {
    let source = "class C:\n    class D: pass\n    def m(self, d: D): pass\n";
    assert_eq!(types(&[("m.py", source)], "m.py::C.m"), ["m.C.D"]);
}

#[test]
fn imports_are_resolved_and_marked() {
    let files = [
        ("pkg/__init__.py", "from .impl import Thing\n"),
        ("pkg/impl.py", "class Thing: pass\n"),
        ("pkg/other.py", "from . import impl\nfrom .. import nothing\n"),
        ("ns/part/deep.py", ""),
        (
            "user.py",
            "import os.path
import pkg.impl
from pkg import Thing, other
import ns.part.deep
import importlib
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import pkg.other
else:
    import json
try:
    import fast
except ImportError:
    fast = None
def f():
    import pkg
    importlib.import_module('pkg.other')
    __import__('pkg.impl')
    importlib.import_module('.impl', 'pkg')
    importlib.import_module(name)
",
        ),
    ];
    let linked = linked(&files);
    assert_eq!(
        imported(&linked, "user.py"),
        [
            "os.path",
            "pkg.impl own",
            "pkg own",
            "pkg.impl own through",
            "pkg.other own",
            "ns.part.deep own",
            "importlib",
            "typing",
            "pkg.other own conditional types",
            "json conditional",
            "fast conditional",
            "pkg own deferred",
            "pkg.other own deferred",
            "pkg.impl own deferred",
            "pkg.impl own deferred",
        ]
    );
    assert_eq!(imported(&linked, "pkg/other.py"), ["pkg.impl own", "..",]);
    assert_eq!(
        module(&linked, "pkg/impl.py").imported_by,
        ["pkg/__init__.py", "pkg/other.py", "user.py"]
    );
}

#[test]
fn cycles_count_only_what_happens_at_import() {
    let files = [
        ("a.py", "import b\n"),
        ("b.py", "import c\n"),
        ("c.py", "import a\n"),
        ("d.py", "import e\n"),
        ("e.py", "def f():\n    import d\n"),
        ("g.py", "import g\n"),
    ];
    assert_eq!(linked(&files).cycles, [["a.py", "b.py", "c.py"]]);
}

#[test]
fn calls_lead_to_the_module_that_defines_the_callee() {
    let files = [
        ("lib/__init__.py", "from .core import work\n"),
        ("lib/core.py", "def work(): pass\n"),
        (
            "m.py",
            "import json
from lib import work
import lib.core as core
work()
def f(json2, core2):
    work(); work()
    core.work()
    json.dumps({})
    json2.x()
    own()
def g(json):
    json.dumps(1)
    return [work() for work in x]
def own(): pass
",
        ),
    ];
    let linked = linked(&files);
    let calls = |id: &str| -> Vec<String> {
        let show = |call: &menace_model::CallEdge| {
            format!("{} {} {}", call.target, call.path.as_deref().unwrap_or("-"), call.line)
        };
        section(&linked, id).calls.iter().map(show).collect()
    };
    assert_eq!(calls("m.py::<module>"), ["lib.core.work lib/core.py 4"]);
    assert_eq!(
        calls("m.py::f"),
        ["lib.core.work lib/core.py 6", "lib.core.work lib/core.py 7", "json.dumps - 8",]
    );
    assert!(calls("m.py::g").is_empty());
}

#[test]
fn a_constructor_chain_is_innermost_first() {
    let files = [
        (
            "db.py",
            "class Config:\n    pass\nclass Db:\n    def __init__(self, config: Config, size: int = 3): pass\n",
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
    let plan = construction(&files, "app.py::App.run");
    assert_eq!(plan.blocked, None);
    assert_eq!(classes(&plan), ["db.Config", "db.Db", "app.App"]);
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
        let plan = construction(&files, id);
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
    assert_eq!(classes(&construction(&files, "m.py::Shape.show")), ["m.Square"]);
    let blocked = |id: &str| construction(&files, id).blocked.unwrap();
    assert_eq!(blocked("m.py::Lonely.m"), Blocked::Abstract { methods: vec!["one".into()] });
    assert_eq!(blocked("m.py::Duck.quack"), Blocked::Protocol);
    assert_eq!(blocked("m.py::Self.m"), Blocked::Recursive);
    assert!(matches!(blocked("m.py::f.<locals>.Local.m"), Blocked::Local { .. }));
    assert!(matches!(blocked("m.py::f.<locals>.Local.c"), Blocked::Local { .. }));
}

#[test]
fn class_and_static_methods_need_no_instance() {
    let source = "class C:\n    def __init__(self): pass\n    @classmethod\n    def c(cls): pass\n    @staticmethod\n    def s(): pass\n";
    let linked = linked(&[("m.py", source)]);
    for section in &linked.modules[0].sections {
        assert_ne!(section.kind, SectionKind::Nested);
        assert_eq!(section.construction, None, "{}", section.id);
    }
}

#[test]
fn stars_that_shine_on_each_other_end_at_once() {
    let files: Vec<(String, String)> = (0..12)
        .map(|own| {
            let others = (0..12).filter(|other| *other != own);
            let stars: Vec<_> =
                others.map(|other| format!("from m{other:02} import *\n")).collect();
            let stars = stars.concat();
            (format!("m{own:02}.py"), format!("{stars}def f{own}(x: int, y: Only7): pass\n"))
        })
        .collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let seventh = format!("{}class Only7: pass\n", files[7].1);
    files[7].1 = &seventh;
    assert_eq!(types(&files, "m03.py::f3"), ["int", "m07.Only7"]);
}

#[test]
fn what_all_lists_is_what_a_star_brings() {
    let files = [
        (
            "a.py",
            "__all__ = ['_Shown', 'B']\nclass _Shown: pass\nclass Kept: pass\nfrom b import B\n",
        ),
        ("b.py", "class B: pass\n"),
        ("c.py", "from a import *\ndef f(x: _Shown, y: Kept, z: B): pass\n"),
    ];
    assert_eq!(types(&files, "c.py::f"), ["a._Shown", "Kept", "b.B"]);
}

#[test]
fn a_long_way_of_re_exports_is_followed_to_its_end() {
    let mut files: Vec<(String, String)> = (0..60)
        .map(|n| (format!("m{n:02}.py"), format!("from m{:02} import X\n", n + 1)))
        .collect();
    files.push(("m60.py".into(), "class X: pass\n".into()));
    files.push(("user.py".into(), "from m00 import X\ndef f(x: X): pass\n".into()));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(types(&files, "user.py::f"), ["m60.X"]);
}

#[test]
fn type_parameters_hide_what_the_module_defines() {
    let source = "class T: pass\ndef f[T](x: T, y: list[T]): pass\nclass Box[T]:\n    def get(self, x: T): pass\ndef g(x: T): pass\n";
    assert_eq!(types(&[("m.py", source)], "m.py::f"), ["T", "list[T]"]);
    assert_eq!(types(&[("m.py", source)], "m.py::Box.get"), ["T"]);
    assert_eq!(types(&[("m.py", source)], "m.py::g"), ["m.T"]);
}

#[test]
fn aliases_of_types_are_followed() {
    let files = [
        (
            "a.py",
            "from typing import Optional, TypeAlias\nclass A: pass\nOther = A\nMaybe = Optional[Other]\nNamed: TypeAlias = 'A'\nLoop = Loop\n",
        ),
        (
            "b.py",
            "from a import *\nimport a\ndef f(x: a.Other, y: a.Maybe, z: a.Named, l: a.Loop): pass\n",
        ),
    ];
    assert_eq!(types(&files, "b.py::f"), ["a.A", "a.A | None", "a.A", "a.Loop"]);
}

#[test]
fn a_class_may_take_the_name_of_its_base() {
    let files = [
        ("base.py", "class A:\n    def __init__(self, size: int): pass\n"),
        ("m.py", "from base import A\nclass A(A):\n    def m(self): pass\ndef f(a: A): pass\n"),
    ];
    assert_eq!(types(&files, "m.py::f"), ["m.A"]);
    let plan = construction(&files, "m.py::A.m");
    assert_eq!(plan.steps[0].constructor.as_ref().unwrap().as_str(), "base.py::A.__init__");
}

#[test]
fn calls_through_a_star_import_are_edges_and_builtins_are_not() {
    let files = [
        ("a.py", "def work(): pass\n"),
        ("b.py", "from a import *\ndef f():\n    work()\n    len([])\n"),
    ];
    let linked = linked(&files);
    let calls = &section(&linked, "b.py::f").calls;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].path.as_deref(), Some("a.py"));
}

#[test]
fn importing_a_module_imports_the_packages_around_it() {
    let files = [
        ("p/__init__.py", ""),
        ("p/q/__init__.py", ""),
        ("p/q/a.py", "import p.q.b\n"),
        ("p/q/b.py", ""),
        ("user.py", "import p.q.a\n"),
    ];
    let linked = linked(&files);
    assert_eq!(module(&linked, "p/__init__.py").imported_by, ["user.py"]);
    assert_eq!(module(&linked, "p/q/__init__.py").imported_by, ["user.py"]);
    assert_eq!(module(&linked, "p/q/b.py").imported_by, ["p/q/a.py"]);
}

#[test]
fn every_way_to_write_for_type_checkers_only_is_seen() {
    let source = "
from typing import TYPE_CHECKING as TC
import importlib
if TC:
    import a1
if TYPE_CHECKING and x:
    import a2
if False:
    import a3
if not TYPE_CHECKING:
    import r1
elif x:
    import a4
else:
    import a5
if x:
    import r2
elif TYPE_CHECKING:
    import a6
else:
    import r3
late = lambda: importlib.import_module('r4')
";
    let linked = linked(&[("m.py", source)]);
    let imports = &module(&linked, "m.py").imports;
    let of = |prefix: char, wanted: fn(&Import) -> bool| {
        imports
            .iter()
            .filter(|import| import.module.len() == 2 && import.module.starts_with(prefix))
            .all(wanted)
    };
    assert!(of('a', |import| import.type_checking), "{imports:#?}");
    assert!(of('r', |import| !import.type_checking), "{imports:#?}");
    assert!(imports.last().unwrap().deferred);
}

#[test]
fn two_projects_with_a_module_of_the_same_name_keep_apart() {
    let files = [
        ("a/models.py", "class User:\n    def __init__(self, a: int): pass\n"),
        (
            "a/service.py",
            "from models import User\nclass Svc:\n    def __init__(self, user: User): pass\n    def m(self): pass\n",
        ),
        ("b/models.py", "class User:\n    def __init__(self, b: int): pass\n"),
        (
            "b/service.py",
            "from models import User\nclass Svc:\n    def __init__(self, user: User): pass\n    def m(self): pass\n",
        ),
    ];
    let facts = files.iter().map(|(path, text)| facts_of(path, text.as_bytes())).collect();
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let linked = link(&Names::new(paths, &["a".into(), "b".into()], "repo"), facts);
    let first_param = |id: &str| {
        let plan = section(&linked, id).construction.as_deref().unwrap();
        plan.steps[0].params[0].name.clone()
    };
    assert_eq!(first_param("a/service.py::Svc.m"), "a");
    assert_eq!(first_param("b/service.py::Svc.m"), "b");
}
