//! Log messages hold names and values of checkouts and guests.

use std::io::{self, Write};

use menace_model::{escape_but_styles, escape_deceptive_in_json};

/// Writes whole messages, with unprintable characters escaped. In a message with several lines all
/// but the first are indented, so that none looks like another message.
#[derive(Debug)]
pub(super) struct EscapingWriter<W> {
    inner: W,
    is_json: bool,
}

impl<W: Write> EscapingWriter<W> {
    pub(super) fn new(inner: W, is_json: bool) -> Self {
        Self { inner, is_json }
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(message);
        if self.is_json {
            self.inner.write_all(escape_deceptive_in_json(&text).as_bytes())?;
        } else {
            let escaped = escape_but_styles(&text);
            let (lines, end) =
                escaped.strip_suffix('\n').map_or((&*escaped, ""), |lines| (lines, "\n"));
            self.inner.write_all((lines.replace('\n', "\n    ") + end).as_bytes())?;
        }
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
