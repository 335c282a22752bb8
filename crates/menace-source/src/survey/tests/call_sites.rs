//! Calls with literals, in the repository and in its tests.

use menace_model::{CallSite, SectionHints};

use super::find_hints;

const LIBRARY_SOURCE: &str = "import enum\nclass Mode(enum.Enum):\n    FAST = 1\n\
    class Parser:\n    \
    def __init__(self, text, strict=False): pass\n    def parse(self, what, *more, deep=0): \
    pass\n    \
    @classmethod\n    def make(cls, a): pass\nclass Child(Parser): pass\n\
    def load(path, mode='r'): pass\n";

fn find_library_hints(test: &str, section: &str) -> SectionHints {
    find_hints(
        &[("lib.py", LIBRARY_SOURCE), ("tests/test_lib.py", test)],
        &format!("lib.py::{section}"),
    )
}

/// Calls as `receiver|arguments`.
fn format_call_sites(sites: &[CallSite]) -> Vec<String> {
    let show = |site: &CallSite| {
        let named = site.kwargs.iter().map(|(name, value)| format!("{name}={value}"));
        let all: Vec<String> = site.args.iter().cloned().chain(named).collect();
        match &site.receiver {
            Some(receiver) => format!("{receiver}|{}", all.join(", ")),
            None => all.join(", "),
        }
    };
    sites.iter().map(show).collect()
}

fn find_call_sites(test: &str, section: &str) -> Vec<String> {
    format_call_sites(
        &find_library_hints(&format!("import decimal\nfrom lib import *\n{test}"), section)
            .call_sites,
    )
}

#[test]
fn literal_arguments_are_kept_by_position_and_by_name() {
    assert_eq!(find_call_sites("load('a', mode=\"w\")", "load"), ["'a', mode='w'"]);
    assert_eq!(
        find_call_sites("import lib\nlib.load(['x', (1,), {'k': None}])", "load"),
        ["['x', (1,), {'k': None}]",]
    );
    assert_eq!(find_call_sites("load()", "load"), [""]);
}

#[test]
fn literals_are_written_in_one_way() {
    assert_eq!(find_call_sites("load('it' \"'s\\n\")", "load"), [r"'it\'s\n'"]);
    assert_eq!(find_call_sites("load(r'\\d', 0x10)", "load"), [r"'\\d', 16"]);
    assert_eq!(find_call_sites("load(1e3, -1_0)", "load"), ["1000.0, -10"]);
    assert_eq!(find_call_sites("load(1e999, 10 ** 400)", "load"), ["float('inf'), (10 ** 400)"]);
    assert_eq!(find_call_sites(r"load('\ud800', b'\x00')", "load"), [r"'\ud800', b'\x00'"]);
}

#[test]
fn the_most_frequent_call_comes_first() {
    assert_eq!(
        find_call_sites("load('a')\nload('b')\nload('b')\nload('c')", "load"),
        ["'b'", "'a'", "'c'"]
    );
}

#[test]
fn only_whole_calls_are_sites_but_every_literal_is_known_to_be_passed() {
    let test = "import lib\ndef g(p, *a):\n    lib.load(p, 'w')\n    lib.load(p, mode='x')\n    \
        lib.load('y', *a)\n";
    let found = find_library_hints(test, "load");
    assert_eq!(found.call_sites, []);
    assert_eq!(found.params[0].passed_literals, ["'y'"]);
    assert_eq!(found.params[1].passed_literals, ["'w'", "'x'"]);
}

#[test]
fn names_of_literals_and_constants_are_replaced() {
    let test = "NAME = 'top'\ndef g():\n    path = 'a'\n    load(path)\n    load([NAME, \
        path])\n    path = unknown()\n    load(path)\n";
    assert_eq!(find_call_sites(test, "load"), ["'a'", "['top', 'a']"]);
}

#[test]
fn names_that_mean_the_same_everywhere_are_absolute() {
    let test = "from decimal import Decimal as D\nimport math\nload(D('1.5'), Mode.FAST)\n\
        load(Parser('x'), len)\nload(math.pi, load)\n";
    assert_eq!(
        find_call_sites(test, "load"),
        ["decimal.Decimal('1.5'), lib.Mode.FAST", "lib.Parser('x'), len", "math.pi, lib.load",]
    );
    assert_eq!(find_call_sites("variable = g()\nload(variable)\nload(unknown)", "load"), [""; 0]);
}

#[test]
fn a_method_comes_with_the_call_that_made_its_instance() {
    let receiver = "lib.Parser('t', strict=True)|1, deep=2";
    for test in [
        "Parser('t', strict=True).parse(1, deep=2)",
        "def g():\n    p = Parser('t', strict=True)\n    p.parse(1, deep=2)",
        "with Parser('t', strict=True) as p:\n    p.parse(1, deep=2)",
        "class T:\n    def setUp(self):\n        self.p = Parser('t', strict=True)\n    def \
         test(self):\n        self.p.parse(1, deep=2)",
    ] {
        assert_eq!(find_call_sites(test, "Parser.parse"), [receiver], "{test}");
    }
    assert_eq!(find_call_sites("def g(p: Parser, x):\n    p.parse(1)", "Parser.parse"), ["1"]);
    assert_eq!(
        find_call_sites("def g(p: 'Parser | None', x):\n    p.parse(1)", "Parser.parse"),
        ["1"]
    );
    let made = "def made(a) -> Parser: pass\ndef g():\n    p = made(3)\n    p.parse(1)";
    assert_eq!(find_call_sites(made, "Parser.parse"), ["tests.test_lib.made(3)|1"]);
    let inherited = "class B:\n    def setUp(self):\n        self.p = Parser('t')\n\
        class T(B):\n    def test(self):\n        self.p.parse(2)";
    assert_eq!(find_call_sites(inherited, "Parser.parse"), ["lib.Parser('t')|2"]);
    assert_eq!(find_call_sites("Child('t').parse(1)", "Parser.parse"), ["lib.Child('t')|1"]);
    assert_eq!(find_call_sites("Parser.parse(object(), 1)", "Parser.parse"), [""; 0]);
}

#[test]
fn constructors_and_class_methods_are_called_too() {
    assert_eq!(
        find_call_sites("Parser('a')\nChild('b', strict=True)", "Parser.__init__"),
        ["'a'", "'b', strict=True",]
    );
    assert_eq!(find_call_sites("Parser.make(1)\nChild.make(2)", "Parser.make"), ["1", "2"]);
    let subclass = "class Own(Parser):\n    def __init__(self):\n        super().__init__('own')\n";
    assert_eq!(find_call_sites(subclass, "Parser.__init__"), ["'own'"]);
}

#[test]
fn cases_of_a_test_are_calls_of_their_own() {
    let test = "import pytest\n@pytest.mark.parametrize('a, b', [('x', 1), ('y', 2)])\n\
        def test(a, b):\n    load(a, mode=b)\n";
    assert_eq!(find_call_sites(test, "load"), ["'x', mode=1", "'y', mode=2"]);
    let test =
        "import pytest\n@pytest.mark.parametrize(['a'], ['x', 'y'])\ndef test(a):\n    load([a])\n";
    assert_eq!(find_call_sites(test, "load"), ["['x']", "['y']"]);
    assert_eq!(find_call_sites("for a in ('x', 'y'):\n    load(a)\n", "load"), ["'x'", "'y'"]);
    assert_eq!(
        find_call_sites("for a, b in [('x', 1), ('y', 2)]:\n    load(a, b)\n", "load"),
        ["'x', 1", "'y', 2"]
    );
    let test = "CASES = ['x', 'y']\ndef test():\n    for a in CASES:\n        load(a)\n";
    assert_eq!(find_call_sites(test, "load"), ["'x'", "'y'"]);
}

#[test]
fn calls_that_are_expected_to_fail_are_kept_apart() {
    let test = "import pytest, lib\ndef test(self):\n    with pytest.raises(ValueError):\n        \
        lib.load('bad')\n    \
                with self.assertRaises(OSError) as caught:\n        lib.load('worse')\n    \
                lib.load('good')\n";
    let found = find_library_hints(test, "load");
    assert_eq!(format_call_sites(&found.call_sites), ["'good'"]);
    assert_eq!(format_call_sites(&found.failing_call_sites), ["'bad'", "'worse'"]);
    assert_eq!(found.params[0].passed_literals, ["'good'"]);
}

#[test]
fn functions_that_an_assertion_calls_are_called() {
    let test = "import lib\ndef test(self):\n    self.assertRaises(OSError, lib.load, 'bad', \
        mode=1)\n    \
                p = lib.Parser('t')\n    self.assertRaisesRegex(OSError, 'no', p.parse, 2)\n";
    assert_eq!(
        format_call_sites(&find_library_hints(test, "load").failing_call_sites),
        ["'bad', mode=1"]
    );
    assert_eq!(
        format_call_sites(&find_library_hints(test, "Parser.parse").failing_call_sites),
        ["lib.Parser('t')|2"]
    );
}

#[test]
fn examples_in_docstrings_are_calls() {
    let source = "SIZE = 3\ndef double(x, y=1):\n    \"\"\"Doubles.\n\
        \n    >>> double(2)\n    4\n    >>> from decimal import Decimal\n    \
                  >>> a = Decimal('1')\n    >>> double(a, y=SIZE)\n    2\n    >>> \
                  double(None)\n    Traceback (most recent call last):\n    \
                  TypeError: no\n    \"\"\"\nclass Box:\n    '>>> Box(1)'\n    def __init__(self, \
                  size): pass\n";
    let found = find_hints(&[("m.py", source)], "m.py::double");
    assert_eq!(format_call_sites(&found.call_sites), ["2", "decimal.Decimal('1'), y=3"]);
    assert_eq!(format_call_sites(&found.failing_call_sites), ["None"]);
    assert_eq!(
        format_call_sites(&find_hints(&[("m.py", source)], "m.py::Box.__init__").call_sites),
        ["1"]
    );
}

#[test]
fn tables_of_data_are_no_examples() {
    let long = "a".repeat(5_000);
    assert_eq!(find_call_sites(&format!("load('{long}')\nload('short')"), "load"), ["'short'"]);
    let deep = format!("load({}1{})", "[".repeat(40), "]".repeat(40));
    assert_eq!(find_call_sites(&deep, "load"), [""; 0]);
}
