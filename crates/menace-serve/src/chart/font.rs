//! Small letters for pictures: five columns, seven rows. There are no capitals.

const FONT_TABLE: &str = include_str!("font.txt");
/// The glyph for characters that the font lacks.
const MISSING_GLYPH: [u8; 7] = [0x1f, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1f];

/// The rows of a letter, the leftmost column in the highest of five bits.
pub(super) fn glyph(letter: char) -> [u8; 7] {
    let letter = letter.to_ascii_lowercase();
    if letter == ' ' {
        return [0; 7];
    }
    // Few letters are drawn, and few times: there is no need for a table.
    FONT_TABLE.lines().find_map(|line| parse_glyph_rows(line, letter)).unwrap_or(MISSING_GLYPH)
}

fn parse_glyph_rows(line: &str, letter: char) -> Option<[u8; 7]> {
    let mut words = line.split_whitespace();
    if words.next()? != letter.encode_utf8(&mut [0; 4]) {
        return None;
    }
    let mut rows = [0; 7];
    for row in &mut rows {
        *row = u8::from_str_radix(words.next()?, 16).ok()?;
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_that_charts_use_is_there() {
        for letter in "abcdefghijklmnopqrstuvwxyz0123456789.,:;-_+/()%…=<>".chars() {
            assert_ne!(glyph(letter), MISSING_GLYPH, "{letter}");
        }
        assert_eq!(glyph('漢'), MISSING_GLYPH);
        assert_eq!(glyph('A'), glyph('a'));
    }
}
