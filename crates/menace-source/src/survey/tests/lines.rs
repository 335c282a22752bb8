//! Lines on which something can happen.

use super::find_hints;

const LINES_SOURCE: &str = "\
import os


def f(x):
    \"\"\"Says what it does.\"\"\"
    global y
    if x:
        return (
            os.name
        )

    def g():
        return 1

    for _ in x: pass
    else:
        y = 2
    return g


class C:
    size: int
    name = 1

    @property
    def p(self):
        return 3
";

fn section_lines(qualname: &str) -> Vec<u32> {
    find_hints(&[("m.py", LINES_SOURCE)], &format!("m.py::{qualname}")).lines
}

#[test]
fn statements_belong_to_the_function_that_runs_them() {
    assert_eq!(section_lines("f"), [7, 8, 12, 15, 17, 18]);
    assert_eq!(section_lines("f.<locals>.g"), [13]);
    assert_eq!(section_lines("C.p"), [27]);
}

#[test]
fn the_top_level_has_definitions_and_classes() {
    assert_eq!(section_lines("<module>"), [1, 4, 21, 23, 25]);
}
