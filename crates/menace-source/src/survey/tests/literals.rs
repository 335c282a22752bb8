//! Constants in the body, and raised exceptions.

use super::find_hints;

fn find_literals(source: &str) -> menace_model::SourceLiterals {
    find_hints(&[("m.py", source)], "m.py::f").literals
}

#[test]
fn strings_bytes_and_numbers_are_collected_once_each_without_docstrings() {
    let found = find_literals(
        "def f(x):\n    'Docs.'\n    'a comment'\n    a = 'one', 'two', 'one', b'raw', 3, -4.5, \
         1_000, 0x10, 2j\n    \
         return f'pre{x}post' 'fix'\n",
    );
    assert_eq!(found.strings, ["one", "two", "pre", "post", "fix"]);
    assert_eq!(found.bytes, [b"raw"]);
    assert_eq!(found.numbers, ["3", "4.5", "1000", "16"]);
}

#[test]
fn constants_that_the_body_names_belong_to_it() {
    let found = find_literals(
        "def f(x):\n    return UNITS.get(x, DEFAULT)\nUNITS = {'kb': 1024, 'mb': [2048]}\n\
         DEFAULT = 'byte'\nOTHER = 'no'\n",
    );
    assert_eq!(found.strings, ["kb", "mb", "byte"]);
    assert_eq!(found.numbers, ["1024", "2048"]);
}

#[test]
fn regular_expressions_are_patterns_however_they_are_reached() {
    let found = find_literals(
        "import re\nfrom re import compile as rc\nA = re.compile('a+')\nB = 'b+'\ndef f(x):\n    \
         A.match(x)\n    re.search(B, x)\n    local = rc('c+')\n    local.sub('-', x)\n    \
         re.split(pattern='d+', string=x)\n",
    );
    assert_eq!(found.patterns, ["a+", "b+", "c+", "d+"]);
}

#[test]
fn what_a_nested_function_contains_counts_for_the_one_around_it_but_not_for_the_module() {
    let source =
        "TOP = 'top'\ndef f():\n    def inner():\n        raise KeyError('in')\n    return 'out'\n";
    let files = [("m.py", source)];
    assert_eq!(find_hints(&files, "m.py::f").literals.strings, ["in", "out"]);
    assert_eq!(find_hints(&files, "m.py::f").raises, ["KeyError"]);
    assert_eq!(find_hints(&files, "m.py::f.<locals>.inner").literals.strings, ["in"]);
    assert_eq!(find_hints(&files, "m.py::<module>").literals.strings, ["top"]);
}

#[test]
fn what_is_raised_explicitly_is_named_once() {
    let files = [
        ("errors.py", "class Bad(Exception): pass\n"),
        (
            "m.py",
            "import errors as e\ndef f(x):\n    if x: raise ValueError\n    if not x: raise \
             e.Bad('no') from None\n    \
             error = TypeError('x')\n    if x: raise error\n    try: pass\n    except KeyError: \
             raise\n    raise ValueError('again')\n    raise x\n",
        ),
    ];
    assert_eq!(find_hints(&files, "m.py::f").raises, ["ValueError", "errors.Bad", "TypeError"]);
}

#[test]
fn long_lists_of_literals_are_cut() {
    let many: Vec<String> = (0..500).map(|number| format!("    'text {number}'.go()\n")).collect();
    assert_eq!(find_literals(&format!("def f():\n{}", many.concat())).strings.len(), 200);
    assert_eq!(
        find_literals(&format!("def f():\n    return '{}'\n", "a".repeat(2_000))).strings.len(),
        0
    );
}
