//! Imports, the import graph, and calls between modules.

use super::*;

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
    let linked = link_files(&files);
    assert_eq!(
        imported_modules(&linked, "user.py"),
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
    assert_eq!(imported_modules(&linked, "pkg/other.py"), ["pkg.impl own", "..",]);
    assert_eq!(
        find_module(&linked, "pkg/impl.py").imported_by,
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
    assert_eq!(link_files(&files).cycles, [["a.py", "b.py", "c.py"]]);
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
    let linked = link_files(&files);
    let calls = |id: &str| -> Vec<String> {
        let show = |call: &menace_model::CallEdge| {
            format!("{} {} {}", call.target, call.path.as_deref().unwrap_or("-"), call.line)
        };
        find_section(&linked, id).calls.iter().map(show).collect()
    };
    assert_eq!(calls("m.py::<module>"), ["lib.core.work lib/core.py 4"]);
    assert_eq!(
        calls("m.py::f"),
        ["lib.core.work lib/core.py 6", "lib.core.work lib/core.py 7", "json.dumps - 8",]
    );
    assert!(calls("m.py::g").is_empty());
}

#[test]
fn calls_through_a_star_import_are_edges_and_builtins_are_not() {
    let files = [
        ("a.py", "def work(): pass\n"),
        ("b.py", "from a import *\ndef f():\n    work()\n    len([])\n"),
    ];
    let linked = link_files(&files);
    let calls = &find_section(&linked, "b.py::f").calls;
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
    let linked = link_files(&files);
    assert_eq!(find_module(&linked, "p/__init__.py").imported_by, ["user.py"]);
    assert_eq!(find_module(&linked, "p/q/__init__.py").imported_by, ["user.py"]);
    assert_eq!(find_module(&linked, "p/q/b.py").imported_by, ["p/q/a.py"]);
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
    let linked = link_files(&[("m.py", source)]);
    let imports = &find_module(&linked, "m.py").imports;
    let of = |prefix: char, wanted: fn(&ModuleImport) -> bool| {
        imports
            .iter()
            .filter(|import| import.module.len() == 2 && import.module.starts_with(prefix))
            .all(wanted)
    };
    assert!(of('a', |import| import.type_checking), "{imports:#?}");
    assert!(of('r', |import| !import.type_checking), "{imports:#?}");
    assert!(imports.last().unwrap().deferred);
}
