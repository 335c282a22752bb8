//! Names of files: none, odd ones, directories in their place.

use menace_model::Value;

use super::repeated;
use crate::input::make::{Maker, new};
use crate::input::shape::PathWhat;

pub(super) fn paths(
    maker: &mut Maker<'_, '_>,
    what: PathWhat,
    is_text: bool,
    name: &str,
) -> Vec<Value> {
    let path = |text: Value| if is_text { text } else { new("pathlib:Path", vec![text]) };
    let plain = |text: &str| path(Value::from(text));
    let other = match what {
        PathWhat::Directory => PathWhat::File,
        PathWhat::File | PathWhat::New => PathWhat::Directory,
    };
    let mut values = vec![
        plain(""),
        plain("menace-input/missing/nothing.txt"),
        maker.path(other, is_text, name),
        plain("."),
        plain("/dev/null"),
    ];
    values.push(maker.path(PathWhat::New, is_text, name));
    values.extend(["name with spaces.txt", "naïve\u{301}.txt", "new\nline", "-rf", "~"].map(plain));
    // Longer than a file system takes.
    values.push(path(repeated(Value::from("a"), 300)));
    values
}
