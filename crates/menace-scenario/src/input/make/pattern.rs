//! Text that a regular expression matches, for the part of Python's syntax that needs no search:
//! literals, classes, groups, alternatives, repetition. None for other syntax.

mod pump;

use menace_model::SeededRng;

pub(crate) use self::pump::find_pumps;

/// Longer patterns are not read.
const MAX_PATTERN_CHARS: usize = 2000;
const MAX_MATCH_CHARS: usize = 400;
const MAX_PATTERN_DEPTH: usize = 20;

/// A text that the pattern matches as a whole.
pub(crate) fn generate_match(pattern: &str, random: &mut SeededRng) -> Option<String> {
    let mut text = String::new();
    let mut groups: Vec<String> = vec![String::new(); 100];
    write_match(&parse_pattern(pattern)?, random, &mut text, &mut groups)?;
    Some(text)
}

fn parse_pattern(pattern: &str) -> Option<RegexNode> {
    if pattern.len() > MAX_PATTERN_CHARS {
        return None;
    }
    let chars: Vec<char> = pattern.chars().collect();
    let mut reader = RegexReader { chars: &chars, at: 0, verbose: false, groups: Vec::new() };
    let tree = reader.read_alternatives(0)?;
    (reader.at == chars.len()).then_some(tree)
}

enum RegexNode {
    Empty,
    Char(char),
    Class(Vec<(char, char)>),
    Sequence(Vec<RegexNode>),
    Alternatives(Vec<RegexNode>),
    Repeat { node: Box<RegexNode>, min: u32, max: Option<u32> },
    Group(usize, Box<RegexNode>),
    BackReference(usize),
}

struct RegexReader<'a> {
    chars: &'a [char],
    at: usize,
    verbose: bool,
    /// Names of the groups so far, by number.
    groups: Vec<Option<String>>,
}

impl RegexReader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += 1;
        Some(char)
    }

    fn eat(&mut self, text: &str) -> bool {
        let there = text
            .chars()
            .enumerate()
            .all(|(index, char)| self.chars.get(self.at + index) == Some(&char));
        if there {
            self.at += text.chars().count();
        }
        there
    }

    fn read_alternatives(&mut self, depth: usize) -> Option<RegexNode> {
        if depth > MAX_PATTERN_DEPTH {
            return None;
        }
        let mut branches = vec![self.read_sequence(depth)?];
        while self.eat("|") {
            branches.push(self.read_sequence(depth)?);
        }
        Some(if branches.len() == 1 {
            branches.remove(0)
        } else {
            RegexNode::Alternatives(branches)
        })
    }

    fn read_sequence(&mut self, depth: usize) -> Option<RegexNode> {
        let mut nodes = Vec::new();
        while let Some(char) = self.peek() {
            if char == '|' || char == ')' {
                break;
            }
            if self.verbose && (char.is_whitespace() || char == '#') {
                self.at += 1;
                if char == '#' {
                    while self.next().is_some_and(|char| char != '\n') {}
                }
                continue;
            }
            let node = self.read_atom(depth)?;
            nodes.push(self.read_repetition(node)?);
        }
        Some(RegexNode::Sequence(nodes))
    }

    fn read_atom(&mut self, depth: usize) -> Option<RegexNode> {
        Some(match self.next()? {
            '^' | '$' => RegexNode::Empty,
            '.' => RegexNode::Class(vec![('a', 'z'), ('0', '9'), (' ', ' ')]),
            '[' => self.read_class()?,
            '(' => self.read_group(depth)?,
            '\\' => self.read_escape()?,
            '*' | '+' | '?' => return None,
            char => RegexNode::Char(char),
        })
    }

    fn read_group(&mut self, depth: usize) -> Option<RegexNode> {
        if !self.eat("?") {
            return self.read_captured_group(None, depth);
        }
        if self.eat("P<")
            || (self.peek() == Some('<') && !matches!(self.chars.get(self.at + 1), Some('=' | '!')))
        {
            self.eat("<");
            let mut name = String::new();
            while let Some(char) = self.next().filter(|char| *char != '>') {
                name.push(char);
            }
            return self.read_captured_group(Some(name), depth);
        }
        if self.eat("P=") {
            let mut name = String::new();
            while let Some(char) = self.next().filter(|char| *char != ')') {
                name.push(char);
            }
            let at = self.groups.iter().position(|known| known.as_deref() == Some(&name))?;
            return Some(RegexNode::BackReference(at));
        }
        if self.eat("#") {
            while self.next()? != ')' {}
            return Some(RegexNode::Empty);
        }
        // A negative look-around is assumed to hold.
        if self.eat("!") || self.eat("<!") {
            self.read_alternatives(depth + 1)?;
            return self.eat(")").then_some(RegexNode::Empty);
        }
        // A positive look-around would have to be part of the text that follows.
        if self.eat("=") || self.eat("<=") {
            return None;
        }
        self.eat(">");
        while let Some(flag) = self.peek().filter(|char| char.is_ascii_alphabetic() || *char == '-')
        {
            self.verbose |= flag == 'x';
            self.at += 1;
        }
        if self.eat(")") {
            return Some(RegexNode::Empty);
        }
        if !self.eat(":") && self.chars.get(self.at.checked_sub(1)?) != Some(&'>') {
            return None;
        }
        let node = self.read_alternatives(depth + 1)?;
        self.eat(")").then_some(node)
    }

    fn read_captured_group(&mut self, name: Option<String>, depth: usize) -> Option<RegexNode> {
        let number = self.groups.len();
        self.groups.push(name);
        let node = self.read_alternatives(depth + 1)?;
        self.eat(")").then(|| RegexNode::Group(number, Box::new(node)))
    }

    fn read_escape(&mut self) -> Option<RegexNode> {
        let char = self.next()?;
        if let Some(digit) = char.to_digit(10).filter(|digit| *digit > 0) {
            return Some(RegexNode::BackReference(digit as usize - 1));
        }
        Some(match char {
            'b' | 'B' | 'A' | 'Z' | 'z' => RegexNode::Empty,
            _ => match char_class(char) {
                Some(ranges) => RegexNode::Class(ranges),
                None => RegexNode::Char(self.read_escaped_char(char)?),
            },
        })
    }

    fn read_escaped_char(&mut self, char: char) -> Option<char> {
        let digits = match char {
            'n' => return Some('\n'),
            't' => return Some('\t'),
            'r' => return Some('\r'),
            'f' => return Some('\u{c}'),
            'v' => return Some('\u{b}'),
            'a' => return Some('\u{7}'),
            '0' => return Some('\0'),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            char if char.is_ascii_alphanumeric() => return None,
            char => return Some(char),
        };
        let text: String = (0..digits).map(|_| self.next()).collect::<Option<_>>()?;
        char::from_u32(u32::from_str_radix(&text, 16).ok()?)
    }

    fn read_class(&mut self) -> Option<RegexNode> {
        let negated = self.eat("^");
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut first = true;
        loop {
            let char = self.next()?;
            if char == ']' && !first {
                break;
            }
            first = false;
            let low = if char == '\\' {
                let escaped = self.next()?;
                if let Some(set) = char_class(escaped) {
                    ranges.extend(set);
                    continue;
                }
                if escaped == 'b' { '\u{8}' } else { self.read_escaped_char(escaped)? }
            } else {
                char
            };
            if self.peek() == Some('-')
                && self.chars.get(self.at + 1).is_some_and(|char| *char != ']')
            {
                self.at += 1;
                let mut high = self.next()?;
                if high == '\\' {
                    let escaped = self.next()?;
                    high = self.read_escaped_char(escaped)?;
                }
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
        if !negated {
            return Some(RegexNode::Class(ranges));
        }
        let outside: Vec<(char, char)> = ('a'..='z')
            .chain('A'..='Z')
            .chain('0'..='9')
            .chain([' ', '_', '-', '.', '!', '/'])
            .filter(|char| !ranges.iter().any(|(low, high)| low <= char && char <= high))
            .map(|char| (char, char))
            .collect();
        (!outside.is_empty()).then_some(RegexNode::Class(outside))
    }

    fn read_repetition(&mut self, node: RegexNode) -> Option<RegexNode> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.read_counted_repetition(node),
            _ => return Some(node),
        };
        self.at += 1;
        self.skip_laziness();
        Some(RegexNode::Repeat { node: Box::new(node), min: least, max: most })
    }

    fn read_counted_repetition(&mut self, node: RegexNode) -> Option<RegexNode> {
        let end = self.chars[self.at..].iter().position(|char| *char == '}');
        let inside: Option<String> =
            end.map(|end| self.chars[self.at + 1..self.at + end].iter().collect());
        let bounds = inside.as_ref().and_then(|inside| match inside.split_once(',') {
            None => inside.parse().ok().map(|count| (count, Some(count))),
            Some(("", "")) => None,
            Some((least, most)) => {
                let least = if least.is_empty() { 0 } else { least.parse().ok()? };
                let most = if most.is_empty() { None } else { Some(most.parse().ok()?) };
                Some((least, most))
            }
        });
        let Some((least, most)) = bounds else {
            // A literal brace.
            self.at += 1;
            return Some(RegexNode::Sequence(vec![node, RegexNode::Char('{')]));
        };
        self.at += end? + 1;
        self.skip_laziness();
        Some(RegexNode::Repeat { node: Box::new(node), min: least, max: most })
    }

    /// Lazy and possessive quantifiers match the same texts.
    fn skip_laziness(&mut self) {
        if matches!(self.peek(), Some('?' | '+')) {
            self.at += 1;
        }
    }
}

fn char_class(char: char) -> Option<Vec<(char, char)>> {
    Some(match char {
        'd' => vec![('0', '9')],
        'w' => vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')],
        's' => vec![(' ', ' ')],
        'D' => vec![('a', 'z')],
        'W' => vec![(' ', ' '), ('-', '-')],
        'S' => vec![('a', 'z'), ('0', '9')],
        _ => return None,
    })
}

fn write_match(
    node: &RegexNode,
    random: &mut SeededRng,
    text: &mut String,
    groups: &mut [String],
) -> Option<()> {
    if text.len() > MAX_MATCH_CHARS {
        return None;
    }
    match node {
        RegexNode::Empty => {}
        RegexNode::Char(char) => text.push(*char),
        RegexNode::Class(ranges) => {
            let (low, high) = random.pick(ranges)?;
            let point =
                random.next_between(i64::from(u32::from(*low)), i64::from(u32::from(*high)));
            let point = u32::try_from(point).ok().and_then(char::from_u32);
            text.push(point.unwrap_or(*low));
        }
        RegexNode::Sequence(nodes) => {
            nodes.iter().try_for_each(|node| write_match(node, random, text, groups))?;
        }
        RegexNode::Alternatives(branches) => {
            let branch = random.pick(branches)?;
            write_match(branch, random, text, groups)?;
        }
        RegexNode::Repeat { node, min: least, max: most } => {
            let most = most.unwrap_or(least.saturating_add(3)).min(least.saturating_add(3));
            let times = random.next_between(i64::from(*least), i64::from(most.max(*least)));
            for _ in 0..times {
                write_match(node, random, text, groups)?;
            }
        }
        RegexNode::Group(number, node) => {
            let from = text.len();
            write_match(node, random, text, groups)?;
            if let Some(group) = groups.get_mut(*number) {
                text[from..].clone_into(group);
            }
        }
        RegexNode::BackReference(number) => text.push_str(groups.get(*number)?),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use menace_model::Seed;

    const FULLMATCH_SCRIPT: &str = "import json, re, sys\n\
        print(json.dumps([p for p, t in json.load(sys.stdin) if not re.fullmatch(p, t)]))";

    #[test]
    fn python_matches_the_generated_text() {
        let patterns = [
            r"\d{4}-\d{2}-\d{2}",
            r"^(?P<key>[a-z_]\w*)\s*=\s*(?P<value>[^#\n]*)$",
            r"(a|b|)*c+?d??",
            r"[^a-y]{2,5}",
            r"(['\x22])\w+\1",
            r"(?x) a  b # comment",
            r"(?:(?P<n>\d)(?P=n))",
            r"[]\-a]+\.\*",
            r"(?i:x)(?!y)z",
            r"a{,2}b{2,}",
            r"x{y",
            r"\Afoo\b\Z",
            r"[\w.+-]+@[\w-]+\.[a-z]{2,3}",
        ];
        let mut random = Seed(3).rng();
        let mut pairs = Vec::new();
        for pattern in patterns {
            for _ in 0..20 {
                pairs.push((pattern, generate_match(pattern, &mut random).expect(pattern)));
            }
        }
        let mut python = Command::new("python3")
            .args(["-I", "-c", FULLMATCH_SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is needed to test what is made for it");
        let mut stdin = python.stdin.take().expect("a pipe");
        stdin.write_all(&serde_json::to_vec(&pairs).expect("JSON")).expect("python3 reads");
        drop(stdin);
        let output = python.wait_with_output().expect("python3 ends");
        let wrong: Vec<String> = serde_json::from_slice(&output.stdout).expect("a list");
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn unsupported_patterns_give_none() {
        let mut random = Seed(3).rng();
        for pattern in ["(", "[a", "(?=x)y", "*", &"(".repeat(100), &"a".repeat(3000)] {
            assert_eq!(generate_match(pattern, &mut random), None, "{pattern}");
        }
    }
}
