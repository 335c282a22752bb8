//! Standard output, where a reader that goes away is no error.

use std::io::{self, BufWriter, ErrorKind, Write};

use serde::Serialize;

/// Prints text; colours are dropped where the output is no terminal, and all other control
/// characters are escaped.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let text = menace_model::escape_but_styles(text);
    ignore_broken_pipe(anstream::stdout().lock().write_all(text.as_bytes()))
}

/// Prints one JSON document on one line: `jq` formats it.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = menace_model::write_json(&mut out, value)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    ignore_broken_pipe(written)
}

/// `menace … | head` closes the pipe early, which is no error.
fn ignore_broken_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
