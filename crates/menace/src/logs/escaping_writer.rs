//! Log messages hold names and values of checkouts and guests.

use std::io::{self, Write};

use menace_model::{escape_deceptive, escape_deceptive_in_json};

/// Writes whole messages, in which what is not printable is an escape. The formatter escapes the
/// controls of ASCII.
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
        let escaped =
            if self.is_json { escape_deceptive_in_json(&text) } else { escape_deceptive(&text) };
        self.inner.write_all(escaped.as_bytes())?;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
