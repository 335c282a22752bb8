//! Regular expressions: how they are put together, and which section uses them.

use menace_model::{PatternMethod, PatternUse};

use super::find_hints;

fn find_uses_of(source: &str, section: &str) -> Vec<PatternUse> {
    let source = format!("import re\n{source}");
    find_hints(&[("m.py", &source)], &format!("m.py::{section}")).literals.pattern_uses
}

/// The patterns that the function `f` uses.
fn patterns_of_f(source: &str) -> Vec<String> {
    let uses = find_uses_of(source, "f");
    uses.into_iter().map(|one| one.pattern).collect()
}

#[test]
fn patterns_are_put_together_from_constants() {
    for (expression, pattern) in [
        (r#"r"a+" r"b+""#, "a+b+"),
        (r#"START + r"\d+$""#, r"^x\d+$"),
        (r#"r"(%s)-%d%%" % (START, 3)"#, "(^x)-3%"),
        (r#"r"%(start)s!" % {"start": START}"#, "^x!"),
        (r#"r"%(START)s!" % globals()"#, "^x!"),
        (r#"f"{START}[{SIGNS}]{{2}}""#, "^x[+-]{2}"),
        (r#""|".join(["a", START, r"c*"])"#, "a|^x|c*"),
        (r#"r"{}-{sign}{{1}}".format(START, sign="s")"#, "^x-s{1}"),
        (r#"r"{start}".format(**{"start": START})"#, "^x"),
        (r#""(" + re.escape("a.b") + ")""#, r"(a\.b)"),
        (r#"("a " "b").replace(" ", r"\s*")"#, r"a\s*b"),
        (r#"r"(?:%s)" % unknown"#, "(?:1)"),
        (r#"f"{unknown()}+b""#, "1+b"),
        ("TABLE['two']", "two+"),
        ("ROWS[1][0]", "row+"),
        ("GROWN", "g+h+"),
    ] {
        let source = format!(
            "START = '^x'\nSIGNS = '+-'\nTABLE = {{'one': 'one+', 'two': 'two+'}}\nROWS = [('x', \
             1), ('row+', 2)]\nGROWN = 'g+'\nGROWN += 'h+'\ndef f(x, unknown):\n    return \
             re.match({expression}, x)\n"
        );
        assert_eq!(patterns_of_f(&source), [pattern], "{expression}");
    }
    let unknown = "def f(x, pattern):\n    return re.match(pattern, x)\n";
    assert_eq!(patterns_of_f(unknown), Vec::<String>::new());
}

#[test]
fn tables_of_patterns_are_read_by_loops() {
    for (table, read) in [
        ("['a+', 'b+']", "[re.compile(p) for p in TABLE]"),
        ("{'a+': 1, 'b+': 2}", "[re.compile(p) for p in TABLE]"),
        ("{1: 'a+', 2: 'b+'}", "{k: re.compile(p) for k, p in TABLE.items()}"),
        ("{1: 'a+', 2: 'b+'}", "[re.compile(p) for p in TABLE.values()]"),
        ("(('a+', 1), ('b+', 2))", "[(re.compile(p), n) for p, n in TABLE]"),
        ("(('a+', 1), ('b+', 2))", "[(i, re.compile(p)) for i, (p, n) in enumerate(TABLE)]"),
        ("(('a+', 1), ('b+', 2))", "[re.compile(row[0]) for row in TABLE]"),
        ("['a+'] + ['b+']", "[re.compile(p) for p in sorted(TABLE)]"),
    ] {
        let source = format!("TABLE = {table}\ndef f(x):\n    found = {read}\n    return found\n");
        assert_eq!(patterns_of_f(&source), ["a+", "b+"], "{table}, {read}");
    }
    // A table of compiled patterns, whose use is in another place.
    let source = "TABLE = [(re.compile('a+'), 1), (re.compile('b+', re.I), 2)]\ndef f(x):\n    for \
                  pattern, number in TABLE:\n        if pattern.match(x): return number\n";
    let uses = find_uses_of(source, "f");
    let [a, b] = &uses[..] else { panic!("{uses:?}") };
    assert_eq!((a.pattern.as_str(), a.flags, a.method), ("a+", 0, PatternMethod::Match));
    assert_eq!((b.pattern.as_str(), b.flags, b.method), ("b+", 2, PatternMethod::Match));
}

#[test]
fn flags_methods_and_bytes_are_known() {
    let one = |source: &str| {
        let uses = find_uses_of(source, "f");
        let [one] = &uses[..] else { panic!("{uses:?}") };
        one.clone()
    };
    let verbose = one(
        "P = re.compile(rb'''\n  \\xff a  # letter\n''', re.VERBOSE | re.S)\ndef f(x):\n    return \
         P.sub(b'', x)\n",
    );
    assert!(verbose.is_bytes && verbose.pattern.contains("\\xff a  # letter"));
    assert_eq!((verbose.flags, verbose.method), (64 | 16, PatternMethod::Sub));
    let local = one("def f(x):\n    return re.split('a+', x, flags=re.M)\n");
    assert_eq!((local.flags, local.method), (8, PatternMethod::Split));
    let bound = one("find = re.compile('a+').fullmatch\ndef f(x):\n    return find(x)\n");
    assert_eq!(bound.method, PatternMethod::Fullmatch);
    let other = one("from re import X, match as m\ndef f(x):\n    return m('a +', x, X)\n");
    assert_eq!((other.flags, other.method), (64, PatternMethod::Match));
}

#[test]
fn patterns_of_classes_and_instances_are_found() {
    let source = [
        "class C:",
        "    ONE = re.compile('a+')",
        "    TEXT = 'b+'",
        "    def __init__(self):",
        "        self.three = re.compile('c+')",
        "    def m(self, x):",
        "        self.ONE.match(x)",
        "        C.ONE.match(x)",
        "        re.search(self.TEXT, x)",
        "        self.three.findall(x)\n",
    ];
    let source = &source.join("\n");
    let uses = find_uses_of(source, "C.m");
    let found: Vec<(&str, PatternMethod)> =
        uses.iter().map(|one| (one.pattern.as_str(), one.method)).collect();
    assert_eq!(
        found,
        [
            ("a+", PatternMethod::Match),
            ("b+", PatternMethod::Search),
            ("c+", PatternMethod::Findall)
        ]
    );
    let of_module = find_uses_of(source, "<module>");
    assert_eq!(of_module[0].pattern, "a+");
}

#[test]
fn a_pattern_is_followed_through_the_functions_that_pass_it_on() {
    let source = [
        "class Lexer:",
        "    def match(self, regexp, flags=None):",
        "        reg = re.compile(regexp, flags) if flags else re.compile(regexp)",
        "        return reg.match(self.text)",
        "    def tag(self):",
        "        return self.match(r'''",
        "  <%  # opening",
        "''', re.I | re.X)\n",
    ];
    let source = &source.join("\n");
    let uses = find_uses_of(source, "Lexer.tag");
    assert!(uses.iter().all(|one| one.pattern.contains("# opening") && one.flags & 64 != 0));
    assert!(uses.iter().any(|one| one.method == PatternMethod::Match), "{uses:?}");
    let made = [
        "class Rule:",
        "    def __init__(self, text, pattern):",
        "        self.pattern = pattern",
        "        self.regex = re.compile(self.pattern)",
        "RULES = [Rule('x', 'a+b')]\n",
    ];
    let made = &made.join("\n");
    assert_eq!(find_uses_of(made, "<module>")[0].pattern, "a+b");
}

#[test]
fn texts_that_look_like_patterns_count_for_the_module() {
    let source = "RULES = [('name', r'\\w+\\s*=\\s*[^;]+'), ('plain', 'a + b * c')]\n";
    let uses = find_uses_of(source, "<module>");
    let [one] = &uses[..] else { panic!("{uses:?}") };
    assert_eq!((one.pattern.as_str(), one.method), (r"\w+\s*=\s*[^;]+", PatternMethod::Unknown));
}

#[test]
fn names_that_are_bound_to_themselves_end() {
    let source = "A = A + A + 'x'\nB = [B, B, *B]\ndef f(x):\n    for p in B:\n        re.match(p, \
                  x)\n    return re.match(A, x)\n";
    assert!(patterns_of_f(source).len() < 100);
}
