//! Sections, their kinds, ids and parameters.

use super::*;

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
        section_kinds(source),
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
    assert_eq!(
        section_kinds(source),
        ["<module> Module", "f Function", "g Function", "g#2 Function"]
    );
}

#[test]
fn a_generator_has_a_yield_of_its_own() {
    let source = "
def a(): yield
def b():
    def inner(): yield
def c(): return lambda: (yield)
async def d():
    x = yield 1
def e(): return [i for i in (yield)]
";
    let linked = link_files(&[("m.py", source)]);
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
    let linked = link_files(&[("m.py", source)]);
    let section = find_section(&linked, "m.py::C.m");
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
    let source = "import functools as ft\n\n@ft.cache\n@app.get('/x')\n\
        def f():\n    '''Doc.'''\n    return 1\n";
    let linked = link_files(&[("m.py", source)]);
    let section = find_section(&linked, "m.py::f");
    assert_eq!(section.decorators, ["functools.cache", "app.get"]);
    assert_eq!((section.start_line, section.line, section.end_line), (3, 5, 7));
    assert_eq!(section.docstring.as_deref(), Some("Doc."));
}
