//! Types from docstrings.

use super::find_hints;

fn documented_types(source: &str, section: &str) -> Vec<Option<String>> {
    let hints = find_hints(&[("m.py", source)], &format!("m.py::{section}"));
    hints.params.into_iter().map(|param| param.documented_type).collect()
}

fn documented_types_of_f(docstring: &str) -> Vec<Option<String>> {
    let docstring = docstring.replace('\n', "\n    ");
    documented_types(&format!("def f(x, y, *rest):\n    '''{docstring}'''\n"), "f")
}

fn expected_types(types: [&str; 3]) -> Vec<Option<String>> {
    types.iter().map(|kind| (!kind.is_empty()).then(|| (*kind).to_owned())).collect()
}

#[test]
fn fields_of_restructured_text_and_epytext_are_read() {
    let text = "Does.\n\n:param int x: a number\n:param y: text\n:type y: str or None\n\
        :param list[int, str] rest: more\n:returns: x";
    assert_eq!(
        documented_types_of_f(text),
        expected_types(["int", "str or None", "list[int, str]"])
    );
    assert_eq!(
        documented_types_of_f("@param x: a\n@type x: C{int}"),
        expected_types(["C{int}", "", ""])
    );
}

#[test]
fn googles_style_is_read() {
    let text = "Does.\n\nArgs:\n    x (int): a number\n        (really): and more\n    y \
        (Callable[[int], str], optional): what\n    *rest (str): more\n\n\
        Returns:\n    y (bool): no parameter";
    assert_eq!(
        documented_types_of_f(text),
        expected_types(["int", "Callable[[int], str], optional", "str"])
    );
    assert_eq!(
        documented_types_of_f("Args:\n    x: no type (at all)\n    y (int) is odd"),
        expected_types(["", "", ""])
    );
}

#[test]
fn numpys_style_is_read() {
    let text = "Does.\n\nParameters\n----------\nx, y : array_like\n    Both.\n    z : int\n\
        *rest : {'a', 'b'}, optional\n\nReturns\n-------\nx : float\n";
    assert_eq!(
        documented_types_of_f(text),
        expected_types(["array_like", "array_like", "{'a', 'b'}, optional"])
    );
}

#[test]
fn prose_tells_no_types() {
    assert_eq!(
        documented_types_of_f("Arguments are x: 1 and y (2).\n\nx : y"),
        expected_types(["", "", ""])
    );
}

#[test]
fn the_docstring_of_a_class_describes_its_constructor() {
    let source = "class A:\n    '''Args:\n        x (int): number\n    '''\n    def __init__(self, \
        x):\n        'Makes it.'\n    def go(self, x): pass\n";
    assert_eq!(documented_types(source, "A.__init__"), [Some("int".to_owned())]);
    assert_eq!(documented_types(source, "A.go"), [None]);
}
