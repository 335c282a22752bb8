//! Reads the syntax of Python's `re`.
//!
//! Texts that match are not computed from the tree, only which characters can follow which: groups
//! are transparent, a backreference repeats the contents of its group, and atomic and possessive
//! parts are read as plain ones.

use super::RegexFlags;
use super::charset::{self, CharSet};

/// Longer patterns are not read.
const MAX_PATTERN_CHARS: usize = 10_000;
const MAX_PATTERN_DEPTH: usize = 60;
/// A backreference to a larger group is read as nothing.
const MAX_REFERENCED_NODES: usize = 60;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Empty,
    Chars(CharSet),
    /// `\A`, and `^` without the flag `MULTILINE`.
    TextStart,
    /// `\Z`.
    TextEnd,
    /// `$` without the flag `MULTILINE`.
    LastLineEnd,
    LineStart,
    LineEnd,
    /// `\b`, with the characters that words are made of.
    WordBoundary {
        word_chars: CharSet,
    },
    /// `\B`.
    NoWordBoundary,
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat {
        inner: Box<Node>,
        min: u32,
        max: Option<u32>,
    },
    LookAhead(Box<Node>),
    LookBehind {
        inner: Box<Node>,
        is_negated: bool,
    },
}

impl Node {
    fn count_nodes(&self) -> usize {
        1 + match self {
            Self::Sequence(nodes) | Self::Choice(nodes) => {
                nodes.iter().map(Self::count_nodes).sum()
            }
            Self::Repeat { inner, .. }
            | Self::LookAhead(inner)
            | Self::LookBehind { inner, .. } => inner.count_nodes(),
            _ => 0,
        }
    }
}

/// The tree of a pattern; none if Python would refuse it, or if it is too long or too deep.
pub(super) fn parse_pattern(pattern: &str, flags: RegexFlags, is_bytes: bool) -> Option<Node> {
    if pattern.len() > 4 * MAX_PATTERN_CHARS {
        return None;
    }
    let chars: Vec<char> = pattern.chars().collect();
    if chars.len() > MAX_PATTERN_CHARS {
        return None;
    }
    let mut flags = flags;
    // Flags such as `(?x)` hold for the whole pattern, which is then read once more.
    for _ in 0..2 {
        let mut reader = PatternReader {
            chars: &chars,
            at: 0,
            flags,
            global_flags: flags,
            is_bytes,
            groups: Vec::new(),
        };
        let tree = reader.read_choice(0)?;
        if reader.global_flags == flags {
            return (reader.at == chars.len()).then_some(tree);
        }
        flags = reader.global_flags;
    }
    None
}

/// A group so far: its name, and its contents once it is closed.
#[derive(Debug)]
struct ReadGroup {
    name: Option<String>,
    node: Option<Node>,
}

#[derive(Debug)]
struct PatternReader<'a> {
    chars: &'a [char],
    at: usize,
    flags: RegexFlags,
    global_flags: RegexFlags,
    is_bytes: bool,
    groups: Vec<ReadGroup>,
}

impl PatternReader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += 1;
        Some(char)
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_next = text
            .chars()
            .enumerate()
            .all(|(index, char)| self.chars.get(self.at + index) == Some(&char));
        if is_next {
            self.at += text.chars().count();
        }
        is_next
    }

    /// The text up to this character, which is skipped.
    fn read_until(&mut self, end: char) -> Option<String> {
        let length = self.chars[self.at..].iter().position(|char| *char == end)?;
        let text = self.chars[self.at..self.at + length].iter().collect();
        self.at += length + 1;
        Some(text)
    }

    fn is_ascii(&self) -> bool {
        self.is_bytes || self.flags.is_ascii
    }

    fn chars_node(&self, set: CharSet) -> Node {
        Node::Chars(if self.flags.ignores_case { set.with_both_cases() } else { set })
    }

    fn read_choice(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_PATTERN_DEPTH {
            return None;
        }
        let mut start = self.at;
        let mut branches = vec![self.read_sequence(depth)?];
        let mut texts = vec![&self.chars[start..self.at]];
        while self.eat("|") {
            start = self.at;
            branches.push(self.read_sequence(depth)?);
            texts.push(&self.chars[start..self.at]);
        }
        if branches.len() == 1 {
            return Some(branches.remove(0));
        }
        // A common beginning of all branches is read first.
        let are_equal = texts.iter().all(|text| *text == texts[0]);
        let class = as_one_class(&branches).filter(|_| !are_equal);
        Some(class.unwrap_or(Node::Choice(branches)))
    }

    fn read_sequence(&mut self, depth: usize) -> Option<Node> {
        let mut nodes = Vec::new();
        while let Some(char) = self.peek() {
            if char == '|' || char == ')' {
                break;
            }
            if self.flags.is_verbose && self.skip_verbose(char) {
                continue;
            }
            let node = self.read_atom(depth)?;
            nodes.push(self.read_repetition(node)?);
        }
        nodes.retain(|node| *node != Node::Empty);
        Some(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Sequence(nodes),
        })
    }

    /// Skips a blank or a comment.
    fn skip_verbose(&mut self, char: char) -> bool {
        match char {
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' => self.at += 1,
            '#' => while self.next().is_some_and(|char| char != '\n') {},
            _ => return false,
        }
        true
    }

    fn read_atom(&mut self, depth: usize) -> Option<Node> {
        Some(match self.next()? {
            '^' if self.flags.is_multi_line => Node::LineStart,
            '^' => Node::TextStart,
            '$' if self.flags.is_multi_line => Node::LineEnd,
            '$' => Node::LastLineEnd,
            '.' if self.flags.dot_matches_all => Node::Chars(CharSet::all(self.is_bytes)),
            '.' => Node::Chars(CharSet::from_char(0x0A).complement(self.is_bytes)),
            '[' => self.read_class()?,
            '(' => self.read_group(depth)?,
            '\\' => self.read_escape()?,
            '*' | '+' | '?' => return None,
            char => self.chars_node(CharSet::from_char(u32::from(char))),
        })
    }

    fn read_group(&mut self, depth: usize) -> Option<Node> {
        if !self.eat("?") {
            return self.read_captured_group(None, depth);
        }
        if self.eat("P<") {
            let name = self.read_until('>')?;
            return self.read_captured_group(Some(name), depth);
        }
        if self.eat("P=") {
            let name = self.read_until(')')?;
            return self.referenced_group(&name);
        }
        if self.eat("#") {
            self.read_until(')')?;
            return Some(Node::Empty);
        }
        if self.eat("=") || self.eat("!") {
            let inner = self.read_group_body(depth)?;
            return Some(Node::LookAhead(Box::new(inner)));
        }
        for (sign, is_negated) in [("<=", false), ("<!", true)] {
            if self.eat(sign) {
                let inner = Box::new(self.read_group_body(depth)?);
                return Some(Node::LookBehind { inner, is_negated });
            }
        }
        if self.eat(">") || self.eat(":") {
            return self.read_group_body(depth);
        }
        if self.eat("(") {
            // `(?(1)yes|no)`: either may be needed.
            self.read_until(')')?;
            return self.read_group_body(depth);
        }
        self.read_flags(depth)
    }

    /// `(?i)`, `(?i-s:…)`.
    fn read_flags(&mut self, depth: usize) -> Option<Node> {
        let mut flags = self.flags;
        let mut is_added = true;
        loop {
            match self.next()? {
                '-' => is_added = false,
                ')' => {
                    self.global_flags = self.global_flags.with_added(flags);
                    self.flags = flags;
                    return Some(Node::Empty);
                }
                ':' => {
                    let outside = std::mem::replace(&mut self.flags, flags);
                    let node = self.read_group_body(depth);
                    self.flags = outside;
                    return node;
                }
                letter => flags.set_letter(letter, is_added)?,
            }
        }
    }

    fn read_group_body(&mut self, depth: usize) -> Option<Node> {
        let flags = self.flags;
        let node = self.read_choice(depth + 1)?;
        self.flags = flags;
        self.eat(")").then_some(node)
    }

    fn read_captured_group(&mut self, name: Option<String>, depth: usize) -> Option<Node> {
        let number = self.groups.len();
        self.groups.push(ReadGroup { name, node: None });
        let node = self.read_group_body(depth)?;
        if node.count_nodes() <= MAX_REFERENCED_NODES {
            self.groups[number].node = Some(node.clone());
        }
        Some(node)
    }

    fn referenced_group(&self, name: &str) -> Option<Node> {
        let group = self.groups.iter().find(|group| group.name.as_deref() == Some(name))?;
        Some(group.node.clone().unwrap_or(Node::Empty))
    }

    fn read_escape(&mut self) -> Option<Node> {
        let char = self.next()?;
        Some(match char {
            'A' => Node::TextStart,
            'Z' | 'z' => Node::TextEnd,
            'b' => Node::WordBoundary { word_chars: charset::word_chars(self.is_ascii()) },
            'B' => Node::NoWordBoundary,
            '1'..='9' => return self.read_back_reference(char),
            _ => {
                if let Some(set) = self.class_of_escape(char) {
                    return Some(Node::Chars(set));
                }
                let code = self.read_escaped_char(char)?;
                self.chars_node(CharSet::from_char(code))
            }
        })
    }

    /// `\1`, `\12`, or the octal `\123`.
    fn read_back_reference(&mut self, first: char) -> Option<Node> {
        let digits: Vec<u32> = std::iter::once(&first)
            .chain(self.chars[self.at..].iter().take(2))
            .map_while(|char| char.to_digit(10))
            .collect();
        if let [a @ 0..=3, b @ 0..=7, c @ 0..=7] = digits[..] {
            self.at += 2;
            return Some(self.chars_node(CharSet::from_char(64 * a + 8 * b + c)));
        }
        let number = digits.iter().take(2).fold(0, |number, digit| 10 * number + digit) as usize;
        self.at += digits.len().min(2) - 1;
        let group = self.groups.get(number.checked_sub(1)?)?;
        Some(group.node.clone().unwrap_or(Node::Empty))
    }

    /// `\d`, `\s`, `\w`, and their complements.
    fn class_of_escape(&self, char: char) -> Option<CharSet> {
        let set = match char.to_ascii_lowercase() {
            'd' => charset::digits(self.is_ascii()),
            's' => charset::spaces(self.is_ascii()),
            'w' => charset::word_chars(self.is_ascii()),
            _ => return None,
        };
        let is_negated = char.is_ascii_uppercase();
        Some(if is_negated { set.complement(self.is_bytes) } else { set })
    }

    /// The character after a backslash, which was read.
    fn read_escaped_char(&mut self, char: char) -> Option<u32> {
        let length = match char {
            'n' => return Some(0x0A),
            't' => return Some(0x09),
            'r' => return Some(0x0D),
            'f' => return Some(0x0C),
            'v' => return Some(0x0B),
            'a' => return Some(0x07),
            '0'..='7' => return Some(self.read_octal(char)),
            // The name is not looked up: any letter stands for it.
            'N' if self.eat("{") => return self.read_until('}').map(|_| u32::from('é')),
            'x' => 2,
            'u' if !self.is_bytes => 4,
            'U' if !self.is_bytes => 8,
            char => return Some(u32::from(char)),
        };
        let digits: String = self.chars.get(self.at..self.at + length)?.iter().collect();
        self.at += length;
        let code = u32::from_str_radix(&digits, 16).ok()?;
        (code <= charset::LAST_CODE_POINT).then_some(code)
    }

    fn read_octal(&mut self, first: char) -> u32 {
        let mut code = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|char| char.to_digit(8)) else { break };
            code = 8 * code + digit;
            self.at += 1;
        }
        code & 0xFF
    }

    fn read_class(&mut self) -> Option<Node> {
        let is_negated = self.eat("^");
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut is_first = true;
        loop {
            let char = self.next()?;
            if char == ']' && !is_first {
                break;
            }
            is_first = false;
            let low = match self.read_class_item(char)? {
                ClassItem::Set(set) => {
                    ranges.extend(set.ranges());
                    continue;
                }
                ClassItem::Char(low) => low,
            };
            let is_range = self.peek() == Some('-')
                && self.chars.get(self.at + 1).is_some_and(|char| *char != ']');
            if !is_range {
                ranges.push((low, low));
                continue;
            }
            self.at += 1;
            let high = self.next()?;
            match self.read_class_item(high)? {
                ClassItem::Char(high) if low <= high => ranges.push((low, high)),
                _ => return None,
            }
        }
        let mut set = CharSet::from_ranges(ranges);
        if self.flags.ignores_case {
            set = set.with_both_cases();
        }
        Some(Node::Chars(if is_negated { set.complement(self.is_bytes) } else { set }))
    }

    fn read_class_item(&mut self, char: char) -> Option<ClassItem> {
        if char != '\\' {
            return Some(ClassItem::Char(u32::from(char)));
        }
        let escaped = self.next()?;
        Some(match self.class_of_escape(escaped) {
            Some(set) => ClassItem::Set(set),
            None if escaped == 'b' => ClassItem::Char(0x08),
            None => ClassItem::Char(self.read_escaped_char(escaped)?),
        })
    }

    fn read_repetition(&mut self, node: Node) -> Option<Node> {
        if self.flags.is_verbose {
            while let Some(char) = self.peek() {
                if !self.skip_verbose(char) {
                    break;
                }
            }
        }
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.read_counts() {
                Some(counts) => counts,
                None => return Some(node),
            },
            _ => return Some(node),
        };
        self.at += 1;
        // Lazy or possessive.
        if matches!(self.peek(), Some('?' | '+')) {
            self.at += 1;
        } else if matches!(self.peek(), Some('*')) {
            return None;
        }
        Some(match node {
            Node::Empty | Node::TextStart | Node::TextEnd => node,
            node => Node::Repeat { inner: Box::new(node), min, max },
        })
    }

    /// The counts in `{2,5}`, up to the closing brace; none where the brace stands for itself.
    fn read_counts(&mut self) -> Option<(u32, Option<u32>)> {
        const MAX_COUNT_CHARS: usize = 24;
        let rest = self.chars.get(self.at + 1..)?;
        let length = rest.iter().take(MAX_COUNT_CHARS).position(|char| *char == '}')?;
        let inside: String = rest[..length].iter().collect();
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(u32::MAX))
        };
        let (min, max) = match inside.split_once(',') {
            None => {
                let count = number(&inside)?;
                (count, Some(count))
            }
            Some((min, max)) => {
                let min = if min.is_empty() { 0 } else { number(min)? };
                (min, if max.is_empty() { None } else { Some(number(max)?) })
            }
        };
        if max.is_some_and(|max| max < min) {
            return None;
        }
        self.at += 1 + length;
        Some((min, max))
    }
}

/// Different single characters, which CPython reads as one class.
fn as_one_class(branches: &[Node]) -> Option<Node> {
    /// Complements are left as they are.
    const MAX_CLASS_RANGES: usize = 8;
    const LAST_PLAIN_CHAR: u32 = 0x7F;
    let mut all = CharSet::default();
    for branch in branches {
        let Node::Chars(set) = branch else { return None };
        let is_plain = set.ranges().last().is_some_and(|last| last.1 <= LAST_PLAIN_CHAR);
        if set.ranges().len() > MAX_CLASS_RANGES || !is_plain {
            return None;
        }
        all = all.union(set);
    }
    Some(Node::Chars(all))
}

/// An item of a class in brackets.
enum ClassItem {
    Char(u32),
    Set(CharSet),
}
