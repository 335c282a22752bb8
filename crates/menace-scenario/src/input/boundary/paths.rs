//! Names of files: none, odd ones, directories in their place.

use menace_model::Value;

use crate::input::make::{Maker, new};
use crate::input::shape::PathWhat;

pub(super) fn paths(
    maker: &mut Maker<'_, '_>,
    what: PathWhat,
    is_text: bool,
    name: &str,
) -> Vec<Value> {
    let plain = |text: &str| {
        let text = Value::from(text);
        if is_text { text } else { new("pathlib:Path", vec![text]) }
    };
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
    values.push(Value::Repeat { value: Box::new(Value::from("a")), times: 300 });
    values
}
