//! Lines on which something can happen.

use super::hints;

const SOURCE: &str = "\
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

fn lines(qualname: &str) -> Vec<u32> {
    hints(&[("m.py", SOURCE)], &format!("m.py::{qualname}")).lines
}

#[test]
fn statements_belong_to_the_function_that_runs_them() {
    assert_eq!(lines("f"), [7, 8, 12, 15, 17, 18]);
    assert_eq!(lines("f.<locals>.g"), [13]);
    assert_eq!(lines("C.p"), [27]);
}

#[test]
fn the_top_level_has_definitions_and_classes() {
    assert_eq!(lines("<module>"), [1, 4, 21, 23, 25]);
}
