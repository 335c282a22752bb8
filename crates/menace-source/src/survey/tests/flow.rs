//! How values are followed through names, branches, closures and attributes.

use menace_model::{ParamPart, ParamUse};

use super::{
    attribute_use, equality_use, find_line_uses, find_uses, find_uses_of, method_use, part_use,
    passed_to_use,
};

#[test]
fn a_name_that_stands_for_the_parameter_counts() {
    assert_eq!(find_line_uses("a = x; b = a; b.name"), [attribute_use("name")]);
    assert_eq!(find_line_uses("a, b = y, x; b.name"), [attribute_use("name")]);
    assert_eq!(find_line_uses("a = x or {}; a.name"), [ParamUse::MaybeNone, attribute_use("name")]);
    assert_eq!(find_line_uses("a = x if y else 1; a.name"), [attribute_use("name")]);
    assert_eq!(
        find_line_uses("(a := x).name; a.other"),
        [attribute_use("name"), attribute_use("other")]
    );
    let kept = "a = x.strip().lower()\n    if a == 'yes': pass";
    assert_eq!(
        find_line_uses(kept),
        [method_use("strip", 0), method_use("lower", 0), equality_use("'yes'")]
    );
}

#[test]
fn a_method_under_another_name_stays_a_method() {
    assert_eq!(
        find_line_uses("read = x.read; read(1)"),
        [attribute_use("read"), method_use("read", 1)]
    );
    let item = part_use(ParamPart::Item, method_use("go", 0));
    assert!(find_line_uses("for a in x:\n        go = a.go\n        go()").contains(&item));
}

#[test]
fn a_new_value_ends_it() {
    assert_eq!(find_line_uses("x = y; x.name"), []);
    assert_eq!(find_line_uses("x = str(x); x.name"), [passed_to_use("str", "0")]);
    assert_eq!(find_line_uses("a = x; a = 1; a.name"), []);
    assert_eq!(find_line_uses("for x in y: x.name"), []);
    assert_eq!(find_line_uses("[x.name for x in y]"), []);
    assert_eq!(
        find_line_uses("[x.name for x in x]"),
        [ParamUse::Iterated, part_use(ParamPart::Item, attribute_use("name"))]
    );
    assert_eq!(find_line_uses("lambda x: x.name"), []);
}

#[test]
fn a_value_for_one_branch_only_counts_in_there() {
    let source = "def f(x):\n    if x is None:\n        x = []\n        x.inner\n    x.after\n";
    assert_eq!(find_uses(source), [ParamUse::MaybeNone, attribute_use("after")]);
    let source = "def f(x, y):\n    if y:\n        a = x\n    elif y > 1:\n        a = 1\n    \
        else:\n        a = 2\n    a.name\n";
    assert_eq!(find_uses(source), [attribute_use("name")]);
    let source = "def f(x, y):\n    if y:\n        x = 1\n    else:\n        x = 2\n    x.name\n";
    assert_eq!(find_uses(source), []);
    let source = "def f(x, y):\n    a = x\n    if y:\n        a = 1\n        return\n    a.name\n";
    assert_eq!(find_uses(source), [attribute_use("name")]);
}

#[test]
fn loops_and_handlers_may_not_run() {
    let source = "def f(x, y):\n    while y:\n        x = 1\n    x.name\n";
    assert_eq!(find_uses(source), [attribute_use("name")]);
    let source = "def f(x):\n    try:\n        x = int(x)\n    except ValueError:\n        \
        x.failed\n        raise\n    x.after\n";
    assert_eq!(find_uses(source), [passed_to_use("int", "0"), attribute_use("failed")]);
}

#[test]
fn nested_functions_use_what_is_around_them() {
    let source = "def f(x):\n    def inner(y):\n        x(y)\n        y.name\n    return inner\n";
    assert_eq!(find_uses(source), [ParamUse::Called { arguments: 1 }]);
    assert_eq!(find_uses_of(source, "f.<locals>.inner", "y"), [attribute_use("name"),]);
    let source = "def f(x):\n    def inner(x):\n        x.name\n    return lambda: x.other\n";
    assert_eq!(find_uses(source), [attribute_use("other")]);
}

#[test]
fn attributes_of_the_instance_carry_parameters_into_other_methods() {
    let source = "class A:\n    def __init__(self, x, call):\n        self.x = x\n        \
        self._call = call\n    \
                  def go(self):\n        self.x.read(10)\n        self._call(1)\n";
    let expected = [method_use("read", 1), super::method_use_with("read", "10")];
    assert_eq!(find_uses_of(source, "A.__init__", "x"), expected);
    assert_eq!(find_uses_of(source, "A.__init__", "call"), [ParamUse::Called { arguments: 1 }]);
    let source = "class A:\n    def __init__(self, x):\n        self.x = x\nclass B(A):\n    \
                  def go(self):\n        return self.x.name\n";
    assert_eq!(find_uses_of(source, "A.__init__", "x"), [attribute_use("name")]);
}

#[test]
fn functions_of_the_same_module_tell_what_they_do_with_what_they_are_passed() {
    let source = "def f(x, y):\n    first(y, b=x)\ndef first(a, b):\n    Second(b)\n    a.no\n\
        class Second:\n    \
                  def __init__(self, c):\n        c.read()\n        f(c, 1)\n";
    let expected = [
        passed_to_use("m.first", "b"),
        passed_to_use("m.Second", "0"),
        method_use("read", 0),
        passed_to_use("m.f", "0"),
    ];
    assert_eq!(find_uses(source), expected);
}

#[test]
fn variadic_parameters_are_parameters() {
    let source = "def f(*x, **kw):\n    g(*x, **kw)\n    kw.pop('a')\n";
    assert_eq!(find_uses(source), [ParamUse::Iterated, passed_to_use("g", "*")]);
    let found = find_uses_of(source, "f", "kw");
    assert!(
        found.contains(&passed_to_use("g", "**")) && found.contains(&super::key_use("a")),
        "{found:?}"
    );
}

#[test]
fn each_use_is_listed_once_and_no_more_than_a_reader_wants() {
    assert_eq!(find_line_uses("x.a; x.a; x.a"), [attribute_use("a")]);
    let many: Vec<String> = (0..1_000).map(|number| format!("    x.a{number}\n")).collect();
    assert_eq!(find_uses(&format!("def f(x):\n{}", many.concat())).len(), 200);
}

#[test]
fn long_chains_of_branches_take_no_time_to_speak_of() {
    let chain: Vec<String> =
        (0..5_000).map(|n| format!("    elif y == {n}:\n        a{n} = x\n")).collect();
    let source = format!("def f(x, y):\n    if y:\n        pass\n{}    a7.name\n", chain.concat());
    assert_eq!(find_uses(&source), [attribute_use("name")]);
    let nested = format!("def f(x):\n    return {}x{}\n", "'%d' % (".repeat(500), ")".repeat(500));
    assert_eq!(find_uses(&nested), [ParamUse::Arithmetic]);
}
