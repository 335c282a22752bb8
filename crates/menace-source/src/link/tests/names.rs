//! Names followed to where they are defined.

use super::*;

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
def f(a: Crate, b: 'app.Crate', c: Optional[sh.Box.Lid], d: Hidden, e: list[\"Later\"], g: int, h: \
    undefined): pass
class Later: pass
",
        ),
    ];
    assert_eq!(
        param_types(&files, "main.py::f"),
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
    assert_eq!(param_types(&files, "c.py::f"), ["a.A", "int", "Missing"]);
}

#[test]
fn modules_that_pass_names_around_in_circles_end() {
    let files = [
        ("a.py", "from b import x\nfrom b import *\n"),
        ("b.py", "from a import x\nfrom a import *\ndef f(p: x, q: y): pass\n"),
    ];
    assert_eq!(param_types(&files, "b.py::f").len(), 2);
}

#[test]
fn a_name_of_a_class_body_is_seen_by_its_methods_signatures() {
    let source = "class C:\n    class D: pass\n    def m(self, d: D): pass\n";
    assert_eq!(param_types(&[("m.py", source)], "m.py::C.m"), ["m.C.D"]);
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
    assert_eq!(param_types(&files, "m03.py::f3"), ["int", "m07.Only7"]);
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
    assert_eq!(param_types(&files, "c.py::f"), ["a._Shown", "Kept", "b.B"]);
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
    assert_eq!(param_types(&files, "user.py::f"), ["m60.X"]);
}

#[test]
fn type_parameters_hide_what_the_module_defines() {
    let source = "class T: pass\ndef f[T](x: T, y: list[T]): pass\n\
        class Box[T]:\n    def get(self, x: T): pass\ndef g(x: T): pass\n";
    assert_eq!(param_types(&[("m.py", source)], "m.py::f"), ["T", "list[T]"]);
    assert_eq!(param_types(&[("m.py", source)], "m.py::Box.get"), ["T"]);
    assert_eq!(param_types(&[("m.py", source)], "m.py::g"), ["m.T"]);
}

#[test]
fn aliases_of_types_are_followed() {
    let files = [
        (
            "a.py",
            "from typing import Optional, TypeAlias\nclass A: pass\nOther = A\n\
             Maybe = Optional[Other]\nNamed: TypeAlias = 'A'\nLoop = Loop\n",
        ),
        (
            "b.py",
            "from a import *\nimport a\ndef f(x: a.Other, y: a.Maybe, z: a.Named, l: a.Loop): \
             pass\n",
        ),
    ];
    assert_eq!(param_types(&files, "b.py::f"), ["a.A", "a.A | None", "a.A", "a.Loop"]);
}
