//! Each thing that can be done with a parameter.

use menace_model::{Part, Use};

use super::{
    attribute, equals, inside, is_instance, key, line, method, ordered, passed_to, uses, with,
};

#[test]
fn attributes_are_read_and_set() {
    assert_eq!(line("return x.name"), [attribute("name")]);
    assert_eq!(line("x.name = 1"), [Use::SetAttribute("name".into())]);
    assert_eq!(line("del x.name"), [Use::SetAttribute("name".into())]);
    assert_eq!(line("getattr(x, 'name', None)"), [attribute("name")]);
    assert_eq!(line("hasattr(x, 'name')"), [attribute("name")]);
    assert_eq!(line("setattr(x, 'name', y)"), [Use::SetAttribute("name".into())]);
}

#[test]
fn methods_are_called_with_so_many_arguments() {
    assert_eq!(line("x.close()"), [method("close", 0)]);
    assert_eq!(line("x.send(y, flags=y)"), [method("send", 2)]);
    assert_eq!(
        line("x.startswith('http')"),
        [method("startswith", 1), with("startswith", "'http'")]
    );
    assert_eq!(
        line("for a in ('+', '-'): x.strip(a)"),
        [method("strip", 1), with("strip", "'+'"), with("strip", "'-'")]
    );
}

#[test]
fn keys_indices_and_slices_are_told_apart() {
    assert_eq!(line("x['a']"), [key("a")]);
    assert_eq!(line("x.get('a')"), [method("get", 1), key("a")]);
    assert_eq!(line("'a' in x"), [key("a")]);
    assert_eq!(line("x[0]"), [Use::Index(0)]);
    assert_eq!(line("x[-1]"), [Use::Index(-1)]);
    assert_eq!(line("x[1:y]"), [Use::Slice]);
    assert_eq!(line("x[y]"), [Use::Subscript]);
    assert_eq!(line("y in x"), [Use::Contains]);
    assert_eq!(line("b'a' in x"), [Use::Bytes]);
    assert_eq!(line("x['a'] = 1"), [Use::SetItem(Some("'a'".into()))]);
    assert_eq!(line("del x[y]"), [Use::SetItem(None)]);
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
        assert_eq!(line(statement), [Use::Iterated], "{statement}");
    }
    assert_eq!(line("print(*x)"), [Use::Iterated, passed_to("print", "*")]);
    assert_eq!(line("for a, b in x: pass"), [Use::IteratedTuples(2)]);
    assert_eq!(line("a, b = x"), [Use::Unpacked(2)]);
    let source = "async def f(x):\n    async for a in x: pass\n";
    assert_eq!(uses(source), [Use::IteratedAsync]);
}

#[test]
fn items_of_two_at_once_belong_to_whom_they_come_from() {
    let found = line("for a, b in zip(x, y): a.left, b.right");
    assert_eq!(found, [Use::Iterated, inside(Part::Item, attribute("left"))]);
    let found = line("for i, (a, b) in enumerate(x): a.left, b.right, i.no");
    let second = |used| inside(Part::Item, inside(Part::Index(1), used));
    assert!(found.contains(&Use::IteratedTuples(2)), "{found:?}");
    assert!(found.contains(&second(attribute("right"))), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn mappings_are_spread() {
    assert_eq!(line("{**x}"), [Use::Mapping]);
    assert_eq!(line("print(**x)"), [Use::Mapping, passed_to("print", "**")]);
}

#[test]
fn callables_are_called() {
    assert_eq!(line("x(1, a=2)"), [Use::Called { arguments: 2 }]);
    assert_eq!(line("map(x, y)"), [Use::Called { arguments: 1 }]);
    assert_eq!(
        line("x().name"),
        [Use::Called { arguments: 0 }, inside(Part::Returned, attribute("name")),]
    );
}

#[test]
fn what_is_awaited_and_entered_is_noted() {
    assert_eq!(uses("async def f(x):\n    await x\n"), [Use::Awaited]);
    assert_eq!(line("with x: pass"), [Use::Entered]);
    assert_eq!(uses("async def f(x):\n    async with x: pass\n"), [Use::EnteredAsync]);
    assert_eq!(
        line("with x as a: a.go()"),
        [Use::Entered, inside(Part::Entered, method("go", 0)),]
    );
}

#[test]
fn arithmetic_and_text_are_told_apart_by_the_other_side() {
    for expression in ["x + 1", "2 ** x", "-x", "x // y", "y - x", "abs(x)", "range(x)"] {
        assert_eq!(line(expression), [Use::Arithmetic], "{expression}");
    }
    for expression in ["x + 'a'", "'a' + x", "x + f'{y}'", "x in 'abc'", "ord(x)"] {
        assert_eq!(line(expression), [Use::Text], "{expression}");
    }
    assert_eq!(line("x + b'a'"), [Use::Bytes]);
    assert_eq!(line("x / 'a'"), [Use::PathJoined]);
    assert_eq!(line("x + [1]"), [Use::Iterated]);
    assert_eq!(line("x += 1"), [Use::Arithmetic]);
}

#[test]
fn a_template_tells_what_it_is_filled_with() {
    assert_eq!(line("'%d%%' % x"), [Use::Arithmetic]);
    assert_eq!(line("'%s' % x"), []);
    assert_eq!(line("'%s: %05.2f' % (y, x)"), [Use::Arithmetic]);
    assert_eq!(line("'%(a)s %(b)d' % x"), [key("a"), key("b")]);
    assert_eq!(line("f'{x:.2f}'"), [Use::Arithmetic]);
    assert_eq!(line("f'{x}'"), []);
    assert_eq!(line("', '.join(x)"), [Use::Iterated, inside(Part::Item, Use::Text)]);
    assert_eq!(line("b''.join([y, x])"), [Use::Bytes]);
}

#[test]
fn comparisons_with_literals_keep_the_literal() {
    assert_eq!(line("x == 'r'"), [equals("'r'")]);
    assert_eq!(line("'r' != x"), [equals("'r'")]);
    assert_eq!(line("x in ('r', \"w\")"), [equals("'r'"), equals("'w'")]);
    assert_eq!(line("x in {'a': 1}"), [equals("'a'")]);
    assert_eq!(line("x in frozenset(['a'])"), [equals("'a'")]);
    assert_eq!(line("0 < x <= 1.5"), [ordered("0"), ordered("1.5")]);
    assert_eq!(line("x < y"), [Use::Ordered(None)]);
    assert_eq!(line("x == -1"), [equals("-1")]);
    assert_eq!(line("x is True"), [equals("True")]);
    assert_eq!(line("x == y"), []);
}

#[test]
fn constants_of_the_file_count_as_the_literals_they_are() {
    let source = "def f(x):\n    if x == MODE or x in MODES or x > LIMIT: pass\n\
                  MODE = 'r'\nMODES = frozenset({'a', 'b'})\nLIMIT = 2 ** 16\n";
    let expected = [equals("'r'"), equals("'a'"), equals("'b'"), ordered("(2 ** 16)")];
    assert_eq!(uses(source), expected);
    let source = "TABLE = {'kb': 1, 'mb': 2}\ndef f(x):\n    return TABLE[x]\n";
    assert_eq!(uses(source), [equals("'kb'"), equals("'mb'")]);
    let source = "TABLE = {'kb': 1}\ndef f(x):\n    return TABLE.get(x)\n";
    assert!(uses(source).contains(&equals("'kb'")));
}

#[test]
fn types_that_are_asked_for_are_resolved() {
    assert_eq!(line("isinstance(x, Path)"), [is_instance(&["pathlib.Path"])]);
    assert_eq!(line("isinstance(x, (int, str))"), [is_instance(&["int", "str"])]);
    assert_eq!(line("isinstance(x, int | None)"), [is_instance(&["int", "None"])]);
    assert_eq!(line("type(x) is Path"), [passed_to("type", "0"), is_instance(&["pathlib.Path"])]);
    let source = "KINDS = (int, float)\nclass A: pass\ndef f(x):\n    isinstance(x, KINDS + ())\n    isinstance(x, (A, KINDS))\n";
    assert_eq!(uses(source), [is_instance(&["m.A", "int", "float"])]);
}

#[test]
fn a_tuple_of_classes_that_names_itself_ends() {
    let source = "A = (A, int)\ndef f(x):\n    isinstance(x, A)\n";
    assert!(matches!(&uses(source)[..], [Use::IsInstance(_)]));
}

#[test]
fn lengths_are_compared_too() {
    assert_eq!(line("len(x) > 3"), [Use::Length, inside(Part::Length, ordered("3"))]);
    assert_eq!(line("len(x) == 4"), [Use::Length, inside(Part::Length, equals("4"))]);
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
        assert_eq!(line(statement), [Use::MaybeNone], "{statement}");
    }
    assert_eq!(line("y or x"), []);
}

#[test]
fn arguments_are_passed_on_to_functions_with_a_name() {
    assert_eq!(line("json.dumps(x, indent=y)"), [passed_to("json.dumps", "0")]);
    assert_eq!(line("open(y, mode=x)"), [passed_to("open", "mode")]);
    assert_eq!(line("'{}'.format(x)"), [passed_to("str.format", "0")]);
    assert_eq!(line("y.cursor.execute(1, x)"), [passed_to("y.cursor.execute", "1")]);
    assert_eq!(line("y().run(x)"), [passed_to(".run", "0")]);
}

#[test]
fn functions_of_the_repository_are_named_by_where_they_are_defined() {
    let files = [
        ("base.py", "class Base:\n    def feed(self, data): pass\ndef load(path): pass\n"),
        (
            "m.py",
            "from base import Base as B, load\nclass Child(B): pass\n\
             def f(x, c: Child):\n    load(x)\n    Child(x)\n    c.feed(x)\n    d = Child()\n    d.feed(data=x)\n",
        ),
    ];
    let found = super::hints(&files, "m.py::f").params[0].uses.clone();
    let expected = [
        passed_to("base.load", "0"),
        passed_to("m.Child", "0"),
        passed_to("base.Base.feed", "0"),
        passed_to("base.Base.feed", "data"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn methods_of_the_own_class_and_of_its_base_are_known() {
    let source = "class A:\n    def __init__(self, x): pass\n    def go(self, y): pass\n\
                  class B(A):\n    def __init__(self, x):\n        super().__init__(x)\n        self.go(x)\n        self.other(x)\n    \
                  @classmethod\n    def make(cls, x):\n        return cls(x)\n";
    let found = super::uses_of(source, "B.__init__", "x");
    let expected =
        [passed_to("m.A.__init__", "0"), passed_to("m.A.go", "0"), passed_to("m.B.other", "0")];
    assert_eq!(found, expected);
    assert_eq!(super::uses_of(source, "B.make", "x")[0], passed_to("m.B", "0"));
}

#[test]
fn text_is_held_against_regular_expressions() {
    let matched = Use::Matched(r"\d+".into());
    assert_eq!(line(r"re.match(r'\d+', x)"), [passed_to("re.match", "1"), matched.clone()]);
    assert_eq!(
        line(r"re.sub(r'\d+', '', string=x)"),
        [passed_to("re.sub", "string"), matched.clone()]
    );
    let source = "import re\nP = re.compile(r'\\d+')\nclass A:\n    Q = re.compile('q')\n    \
                  def f(self, x):\n        P.search(x)\n        self.Q.sub('', x)\n";
    let found = super::uses_of(source, "A.f", "x");
    assert!(found.contains(&matched), "{found:?}");
    assert!(found.contains(&Use::Matched("q".into())), "{found:?}");
}

#[test]
fn patterns_of_match_statements_tell_what_the_subject_could_be() {
    let source = "def f(x):\n    match x:\n        case 'a' | -1: pass\n        case None: pass\n        \
                  case [a, b]: a.go()\n        case {'k': v}: v + 1\n        case int(): pass\n        \
                  case Point(left=0) as p: p.right\n";
    let expected = [
        equals("'a'"),
        equals("-1"),
        Use::MaybeNone,
        Use::Unpacked(2),
        inside(Part::Index(0), method("go", 0)),
        Use::Mapping,
        key("k"),
        inside(Part::Key("k".into()), Use::Arithmetic),
        is_instance(&["int"]),
        is_instance(&["Point"]),
        attribute("left"),
        inside(Part::Attribute("left".into()), equals("0")),
        attribute("right"),
    ];
    assert_eq!(uses(source), expected);
}

#[test]
fn parts_are_followed_three_levels_down() {
    let name = |used| inside(Part::Attribute("a".into()), used);
    let found = line("x.a['b'](1).c.d");
    let b = |used| name(inside(Part::Key("b".into()), used));
    let returned = |used| b(inside(Part::Returned, used));
    let called = Use::Called { arguments: 1 };
    assert_eq!(found, [attribute("a"), name(key("b")), b(called), returned(attribute("c"))]);
}

#[test]
fn items_tell_what_they_are_used_for() {
    assert_eq!(line("sum(x)"), [Use::Iterated, inside(Part::Item, Use::Arithmetic)]);
    assert_eq!(line("max(x)"), [Use::Iterated, inside(Part::Item, Use::Ordered(None))]);
    assert_eq!(line("max(x, key=y)"), [Use::Iterated]);
    let item = inside(Part::Item, method("strip", 0));
    assert_eq!(line("[a.strip() for a in x]"), [Use::Iterated, item]);
    let value = inside(Part::Method("items".into()), Use::IteratedTuples(2));
    assert_eq!(line("for k, v in x.items(): pass"), [method("items", 0), value]);
}
