//! B613: characters that change the direction of text, which can make code look like other code.

use ruff_text_size::{TextRange, TextSize};

use super::rule_match::FindingSink;

/// One finding for a file, at the first line with such a character.
pub(super) fn check(source: &str, sink: &mut FindingSink) {
    // In UTF-8 all of them begin with this byte, which few source files have.
    if !source.as_bytes().contains(&0xE2) {
        return;
    }
    if let Some(at) = source.find(changes_text_direction) {
        let at = TextSize::new(at as u32);
        let message = "a character that turns the direction of text hides what the code does";
        sink.report("B613", TextRange::empty(at), message);
    }
}

fn changes_text_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200F}')
}
