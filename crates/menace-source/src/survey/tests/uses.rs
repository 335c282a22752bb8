//! All kinds of uses of a parameter.

use menace_model::{ParamPart, ParamUse};

use super::{
    attribute_use, equality_use, find_line_uses, find_uses, instance_check_use, key_use,
    method_use, method_use_with, ordering_use, part_use, passed_to_use,
};

#[test]
fn attributes_are_read_and_set() {
    assert_eq!(find_line_uses("return x.name"), [attribute_use("name")]);
    assert_eq!(find_line_uses("x.name = 1"), [ParamUse::SetAttribute("name".into())]);
    assert_eq!(find_line_uses("del x.name"), [ParamUse::SetAttribute("name".into())]);
    assert_eq!(find_line_uses("getattr(x, 'name', None)"), [attribute_use("name")]);
    assert_eq!(find_line_uses("hasattr(x, 'name')"), [attribute_use("name")]);
    assert_eq!(find_line_uses("setattr(x, 'name', y)"), [ParamUse::SetAttribute("name".into())]);
}

#[test]
fn methods_are_called_with_so_many_arguments() {
    assert_eq!(find_line_uses("x.close()"), [method_use("close", 0)]);
    assert_eq!(find_line_uses("x.send(y, flags=y)"), [method_use("send", 2)]);
    assert_eq!(
        find_line_uses("x.startswith('http')"),
        [method_use("startswith", 1), method_use_with("startswith", "'http'")]
    );
    assert_eq!(
        find_line_uses("for a in ('+', '-'): x.strip(a)"),
        [method_use("strip", 1), method_use_with("strip", "'+'"), method_use_with("strip", "'-'")]
    );
}

#[test]
fn keys_indices_and_slices_are_distinguished() {
    assert_eq!(find_line_uses("x['a']"), [key_use("a")]);
    assert_eq!(find_line_uses("x.get('a')"), [method_use("get", 1), key_use("a")]);
    assert_eq!(find_line_uses("'a' in x"), [key_use("a")]);
    assert_eq!(find_line_uses("x[0]"), [ParamUse::Index(0)]);
    assert_eq!(find_line_uses("x[-1]"), [ParamUse::Index(-1)]);
    assert_eq!(find_line_uses("x[1:y]"), [ParamUse::Slice]);
    assert_eq!(find_line_uses("x[y]"), [ParamUse::Subscript]);
    assert_eq!(find_line_uses("y in x"), [ParamUse::Contains]);
    assert_eq!(find_line_uses("b'a' in x"), [ParamUse::Bytes]);
    assert_eq!(find_line_uses("x['a'] = 1"), [ParamUse::SetItem(Some("'a'".into()))]);
    assert_eq!(find_line_uses("del x[y]"), [ParamUse::SetItem(None)]);
}

#[test]
fn everything_that_goes_through_the_items_iterates() {
    for statement in [
        "for a in x: pass",
        "[a for a in x]",
        "print(*[1]); (*x,)",
        "list(x)",
        "any(x)",
        "a, *b = x",
        "yield from x",
        "for i, a in enumerate(x): pass",
        "for a in reversed(sorted(x, key=y)): pass",
    ] {
        assert_eq!(find_line_uses(statement), [ParamUse::Iterated], "{statement}");
    }
    assert_eq!(find_line_uses("print(*x)"), [ParamUse::Iterated, passed_to_use("print", "*")]);
    assert_eq!(find_line_uses("for a, b in x: pass"), [ParamUse::IteratedTuples(2)]);
    assert_eq!(find_line_uses("a, b = x"), [ParamUse::Unpacked(2)]);
    let source = "async def f(x):\n    async for a in x: pass\n";
    assert_eq!(find_uses(source), [ParamUse::IteratedAsync]);
}

#[test]
fn items_of_two_at_once_belong_to_their_sources() {
    let found = find_line_uses("for a, b in zip(x, y): a.left, b.right");
    assert_eq!(found, [ParamUse::Iterated, part_use(ParamPart::Item, attribute_use("left"))]);
    let found = find_line_uses("for i, (a, b) in enumerate(x): a.left, b.right, i.no");
    let second = |used| part_use(ParamPart::Item, part_use(ParamPart::Index(1), used));
    assert!(found.contains(&ParamUse::IteratedTuples(2)), "{found:?}");
    assert!(found.contains(&second(attribute_use("right"))), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn mappings_are_spread() {
    assert_eq!(find_line_uses("{**x}"), [ParamUse::Mapping]);
    assert_eq!(find_line_uses("print(**x)"), [ParamUse::Mapping, passed_to_use("print", "**")]);
}

#[test]
fn callables_are_called() {
    assert_eq!(find_line_uses("x(1, a=2)"), [ParamUse::Called { arguments: 2 }]);
    assert_eq!(find_line_uses("map(x, y)"), [ParamUse::Called { arguments: 1 }]);
    assert_eq!(
        find_line_uses("x().name"),
        [ParamUse::Called { arguments: 0 }, part_use(ParamPart::Returned, attribute_use("name")),]
    );
}

#[test]
fn what_is_awaited_and_entered_is_noted() {
    assert_eq!(find_uses("async def f(x):\n    await x\n"), [ParamUse::Awaited]);
    assert_eq!(find_line_uses("with x: pass"), [ParamUse::Entered]);
    assert_eq!(find_uses("async def f(x):\n    async with x: pass\n"), [ParamUse::EnteredAsync]);
    assert_eq!(
        find_line_uses("with x as a: a.go()"),
        [ParamUse::Entered, part_use(ParamPart::Entered, method_use("go", 0)),]
    );
}

#[test]
fn the_other_operand_distinguishes_arithmetic_and_text() {
    for expression in ["x + 1", "2 ** x", "-x", "x // y", "y - x", "abs(x)", "range(x)"] {
        assert_eq!(find_line_uses(expression), [ParamUse::Arithmetic], "{expression}");
    }
    for expression in ["x + 'a'", "'a' + x", "x + f'{y}'", "x in 'abc'", "ord(x)"] {
        assert_eq!(find_line_uses(expression), [ParamUse::Text], "{expression}");
    }
    assert_eq!(find_line_uses("x + b'a'"), [ParamUse::Bytes]);
    assert_eq!(find_line_uses("x / 'a'"), [ParamUse::PathJoined]);
    assert_eq!(find_line_uses("x + [1]"), [ParamUse::Iterated]);
    assert_eq!(find_line_uses("x += 1"), [ParamUse::Arithmetic]);
}

#[test]
fn a_template_tells_what_it_is_filled_with() {
    assert_eq!(find_line_uses("'%d%%' % x"), [ParamUse::Arithmetic]);
    assert_eq!(find_line_uses("'%s' % x"), []);
    assert_eq!(find_line_uses("'%s: %05.2f' % (y, x)"), [ParamUse::Arithmetic]);
    assert_eq!(find_line_uses("'%(a)s %(b)d' % x"), [key_use("a"), key_use("b")]);
    assert_eq!(find_line_uses("f'{x:.2f}'"), [ParamUse::Arithmetic]);
    assert_eq!(find_line_uses("f'{x}'"), []);
    assert_eq!(
        find_line_uses("', '.join(x)"),
        [ParamUse::Iterated, part_use(ParamPart::Item, ParamUse::Text)]
    );
    assert_eq!(find_line_uses("b''.join([y, x])"), [ParamUse::Bytes]);
}

#[test]
fn comparisons_with_literals_keep_the_literal() {
    assert_eq!(find_line_uses("x == 'r'"), [equality_use("'r'")]);
    assert_eq!(find_line_uses("'r' != x"), [equality_use("'r'")]);
    assert_eq!(find_line_uses("x in ('r', \"w\")"), [equality_use("'r'"), equality_use("'w'")]);
    assert_eq!(find_line_uses("x in {'a': 1}"), [equality_use("'a'")]);
    assert_eq!(find_line_uses("x in frozenset(['a'])"), [equality_use("'a'")]);
    assert_eq!(find_line_uses("0 < x <= 1.5"), [ordering_use("0"), ordering_use("1.5")]);
    assert_eq!(find_line_uses("x < y"), [ParamUse::Ordered(None)]);
    assert_eq!(find_line_uses("x == -1"), [equality_use("-1")]);
    assert_eq!(find_line_uses("x is True"), [equality_use("True")]);
    assert_eq!(find_line_uses("x == y"), []);
}

#[test]
fn constants_of_the_file_count_as_the_literals_they_are() {
    let source = "def f(x):\n    if x == MODE or x in MODES or x > LIMIT: pass\n\
                  MODE = 'r'\nMODES = frozenset({'a', 'b'})\nLIMIT = 2 ** 16\n";
    let expected =
        [equality_use("'r'"), equality_use("'a'"), equality_use("'b'"), ordering_use("(2 ** 16)")];
    assert_eq!(find_uses(source), expected);
    let source = "TABLE = {'kb': 1, 'mb': 2}\ndef f(x):\n    return TABLE[x]\n";
    assert_eq!(find_uses(source), [equality_use("'kb'"), equality_use("'mb'")]);
    let source = "TABLE = {'kb': 1}\ndef f(x):\n    return TABLE.get(x)\n";
    assert!(find_uses(source).contains(&equality_use("'kb'")));
}

#[test]
fn types_that_are_asked_for_are_resolved() {
    assert_eq!(find_line_uses("isinstance(x, Path)"), [instance_check_use(&["pathlib.Path"])]);
    assert_eq!(find_line_uses("isinstance(x, (int, str))"), [instance_check_use(&["int", "str"])]);
    assert_eq!(find_line_uses("isinstance(x, int | None)"), [instance_check_use(&["int", "None"])]);
    assert_eq!(
        find_line_uses("type(x) is Path"),
        [passed_to_use("type", "0"), instance_check_use(&["pathlib.Path"])]
    );
    let source = "KINDS = (int, float)\nclass A: pass\ndef f(x):\n    isinstance(x, KINDS + \
        ())\n    isinstance(x, (A, KINDS))\n";
    assert_eq!(find_uses(source), [instance_check_use(&["m.A", "int", "float"])]);
}

#[test]
fn a_tuple_of_classes_that_names_itself_ends() {
    let source = "A = (A, int)\ndef f(x):\n    isinstance(x, A)\n";
    assert!(matches!(&find_uses(source)[..], [ParamUse::IsInstance(_)]));
}

#[test]
fn lengths_are_compared_too() {
    assert_eq!(
        find_line_uses("len(x) > 3"),
        [ParamUse::Length, part_use(ParamPart::Length, ordering_use("3"))]
    );
    assert_eq!(
        find_line_uses("len(x) == 4"),
        [ParamUse::Length, part_use(ParamPart::Length, equality_use("4"))]
    );
}

#[test]
fn what_may_be_none_is_asked() {
    for statement in [
        "x is None",
        "x is not None",
        "if x: pass",
        "not x",
        "x or y",
        "1 if x else 2",
        "while x: pass",
        "assert x",
    ] {
        assert_eq!(find_line_uses(statement), [ParamUse::MaybeNone], "{statement}");
    }
    assert_eq!(find_line_uses("y or x"), []);
}

#[test]
fn arguments_are_passed_on_to_functions_with_a_name() {
    assert_eq!(find_line_uses("json.dumps(x, indent=y)"), [passed_to_use("json.dumps", "0")]);
    assert_eq!(find_line_uses("open(y, mode=x)"), [passed_to_use("open", "mode")]);
    assert_eq!(find_line_uses("'{}'.format(x)"), [passed_to_use("str.format", "0")]);
    assert_eq!(find_line_uses("y.cursor.execute(1, x)"), [passed_to_use("y.cursor.execute", "1")]);
    assert_eq!(find_line_uses("y().run(x)"), [passed_to_use(".run", "0")]);
}

#[test]
fn functions_of_the_repository_are_named_by_where_they_are_defined() {
    let files = [
        ("base.py", "class Base:\n    def feed(self, data): pass\ndef load(path): pass\n"),
        (
            "m.py",
            "from base import Base as B, load\nclass Child(B): pass\n\
             def f(x, c: Child):\n    load(x)\n    Child(x)\n    c.feed(x)\n    d = Child()\n    \
             d.feed(data=x)\n",
        ),
    ];
    let found = super::find_hints(&files, "m.py::f").params[0].uses.clone();
    let expected = [
        passed_to_use("base.load", "0"),
        passed_to_use("m.Child", "0"),
        passed_to_use("base.Base.feed", "0"),
        passed_to_use("base.Base.feed", "data"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn methods_of_the_own_class_and_of_its_base_are_known() {
    let source = "class A:\n    def __init__(self, x): pass\n    def go(self, y): pass\n\
                  class B(A):\n    def __init__(self, x):\n        super().__init__(x)\n        \
                  self.go(x)\n        self.other(x)\n    \
                  @classmethod\n    def make(cls, x):\n        return cls(x)\n";
    let found = super::find_uses_of(source, "B.__init__", "x");
    let expected = [
        passed_to_use("m.A.__init__", "0"),
        passed_to_use("m.A.go", "0"),
        passed_to_use("m.B.other", "0"),
    ];
    assert_eq!(found, expected);
    assert_eq!(super::find_uses_of(source, "B.make", "x")[0], passed_to_use("m.B", "0"));
}

#[test]
fn text_is_held_against_regular_expressions() {
    let matched = ParamUse::Matched(r"\d+".into());
    assert_eq!(
        find_line_uses(r"re.match(r'\d+', x)"),
        [passed_to_use("re.match", "1"), matched.clone()]
    );
    assert_eq!(
        find_line_uses(r"re.sub(r'\d+', '', string=x)"),
        [passed_to_use("re.sub", "string"), matched.clone()]
    );
    let source = "import re\nP = re.compile(r'\\d+')\nclass A:\n    Q = re.compile('q')\n    \
                  def f(self, x):\n        P.search(x)\n        self.Q.sub('', x)\n";
    let found = super::find_uses_of(source, "A.f", "x");
    assert!(found.contains(&matched), "{found:?}");
    assert!(found.contains(&ParamUse::Matched("q".into())), "{found:?}");
}

#[test]
fn patterns_of_match_statements_tell_what_the_subject_could_be() {
    let source = "def f(x):\n    match x:\n        case 'a' | -1: pass\n        case None: \
        pass\n        \
                  case [a, b]: a.go()\n        case {'k': v}: v + 1\n        case int(): \
                  pass\n        \
                  case Point(left=0) as p: p.right\n";
    let expected = [
        equality_use("'a'"),
        equality_use("-1"),
        ParamUse::MaybeNone,
        ParamUse::Unpacked(2),
        part_use(ParamPart::Index(0), method_use("go", 0)),
        ParamUse::Mapping,
        key_use("k"),
        part_use(ParamPart::Key("k".into()), ParamUse::Arithmetic),
        instance_check_use(&["int"]),
        instance_check_use(&["Point"]),
        attribute_use("left"),
        part_use(ParamPart::Attribute("left".into()), equality_use("0")),
        attribute_use("right"),
    ];
    assert_eq!(find_uses(source), expected);
}

#[test]
fn parts_are_followed_three_levels_down() {
    let name = |used| part_use(ParamPart::Attribute("a".into()), used);
    let found = find_line_uses("x.a['b'](1).c.d");
    let b = |used| name(part_use(ParamPart::Key("b".into()), used));
    let returned = |used| b(part_use(ParamPart::Returned, used));
    let called = ParamUse::Called { arguments: 1 };
    assert_eq!(
        found,
        [attribute_use("a"), name(key_use("b")), b(called), returned(attribute_use("c"))]
    );
}

#[test]
fn items_tell_what_they_are_used_for() {
    assert_eq!(
        find_line_uses("sum(x)"),
        [ParamUse::Iterated, part_use(ParamPart::Item, ParamUse::Arithmetic)]
    );
    assert_eq!(
        find_line_uses("max(x)"),
        [ParamUse::Iterated, part_use(ParamPart::Item, ParamUse::Ordered(None))]
    );
    assert_eq!(find_line_uses("max(x, key=y)"), [ParamUse::Iterated]);
    let item = part_use(ParamPart::Item, method_use("strip", 0));
    assert_eq!(find_line_uses("[a.strip() for a in x]"), [ParamUse::Iterated, item]);
    let value = part_use(ParamPart::Method("items".into()), ParamUse::IteratedTuples(2));
    assert_eq!(find_line_uses("for k, v in x.items(): pass"), [method_use("items", 0), value]);
}
