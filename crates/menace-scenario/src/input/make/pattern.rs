//! Text that a regular expression matches, for the part of Python's syntax that needs no search:
//! literals, classes, groups, alternatives, repetition. Anything else gives none.

mod pump;

use menace_model::Random;

pub(crate) use self::pump::pumps;

/// Patterns with more are not worth it.
const MAX_PATTERN: usize = 2000;
const MAX_TEXT: usize = 400;
const MAX_DEPTH: usize = 20;

/// A text that the pattern matches from beginning to end.
pub(crate) fn matching(pattern: &str, random: &mut Random) -> Option<String> {
    let mut text = String::new();
    let mut groups: Vec<String> = vec![String::new(); 100];
    write(&read(pattern)?, random, &mut text, &mut groups)?;
    Some(text)
}

fn read(pattern: &str) -> Option<Node> {
    if pattern.len() > MAX_PATTERN {
        return None;
    }
    let chars: Vec<char> = pattern.chars().collect();
    let mut reader = Reader { chars: &chars, at: 0, verbose: false, groups: Vec::new() };
    let tree = reader.alternatives(0)?;
    (reader.at == chars.len()).then_some(tree)
}

enum Node {
    Empty,
    Char(char),
    /// One of these ranges.
    Class(Vec<(char, char)>),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
    },
    Group(usize, Box<Node>),
    Back(usize),
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    verbose: bool,
    /// Names of the groups so far, by number.
    groups: Vec<Option<String>>,
}

impl Reader<'_> {
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

    fn alternatives(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut branches = vec![self.sequence(depth)?];
        while self.eat("|") {
            branches.push(self.sequence(depth)?);
        }
        Some(if branches.len() == 1 { branches.remove(0) } else { Node::Alternatives(branches) })
    }

    fn sequence(&mut self, depth: usize) -> Option<Node> {
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
            let node = self.atom(depth)?;
            nodes.push(self.repeated(node)?);
        }
        Some(Node::Sequence(nodes))
    }

    fn atom(&mut self, depth: usize) -> Option<Node> {
        Some(match self.next()? {
            '^' | '$' => Node::Empty,
            '.' => Node::Class(vec![('a', 'z'), ('0', '9'), (' ', ' ')]),
            '[' => self.class()?,
            '(' => self.group(depth)?,
            '\\' => self.escape()?,
            '*' | '+' | '?' => return None,
            char => Node::Char(char),
        })
    }

    fn group(&mut self, depth: usize) -> Option<Node> {
        if !self.eat("?") {
            return self.captured(None, depth);
        }
        if self.eat("P<")
            || (self.peek() == Some('<') && !matches!(self.chars.get(self.at + 1), Some('=' | '!')))
        {
            self.eat("<");
            let mut name = String::new();
            while let Some(char) = self.next().filter(|char| *char != '>') {
                name.push(char);
            }
            return self.captured(Some(name), depth);
        }
        if self.eat("P=") {
            let mut name = String::new();
            while let Some(char) = self.next().filter(|char| *char != ')') {
                name.push(char);
            }
            let at = self.groups.iter().position(|known| known.as_deref() == Some(&name))?;
            return Some(Node::Back(at));
        }
        if self.eat("#") {
            while self.next()? != ')' {}
            return Some(Node::Empty);
        }
        // What must not follow is most often not there.
        if self.eat("!") || self.eat("<!") {
            self.alternatives(depth + 1)?;
            return self.eat(")").then_some(Node::Empty);
        }
        // What must follow has to be written by what comes next, which this cannot tell.
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
            return Some(Node::Empty);
        }
        if !self.eat(":") && self.chars.get(self.at.checked_sub(1)?) != Some(&'>') {
            return None;
        }
        let node = self.alternatives(depth + 1)?;
        self.eat(")").then_some(node)
    }

    fn captured(&mut self, name: Option<String>, depth: usize) -> Option<Node> {
        let number = self.groups.len();
        self.groups.push(name);
        let node = self.alternatives(depth + 1)?;
        self.eat(")").then(|| Node::Group(number, Box::new(node)))
    }

    fn escape(&mut self) -> Option<Node> {
        let char = self.next()?;
        if let Some(digit) = char.to_digit(10).filter(|digit| *digit > 0) {
            return Some(Node::Back(digit as usize - 1));
        }
        Some(match char {
            'b' | 'B' | 'A' | 'Z' | 'z' => Node::Empty,
            _ => match set(char) {
                Some(ranges) => Node::Class(ranges),
                None => Node::Char(self.escaped(char)?),
            },
        })
    }

    fn escaped(&mut self, char: char) -> Option<char> {
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

    fn class(&mut self) -> Option<Node> {
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
                if let Some(set) = set(escaped) {
                    ranges.extend(set);
                    continue;
                }
                if escaped == 'b' { '\u{8}' } else { self.escaped(escaped)? }
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
                    high = self.escaped(escaped)?;
                }
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
        if !negated {
            return Some(Node::Class(ranges));
        }
        let outside: Vec<(char, char)> = ('a'..='z')
            .chain('A'..='Z')
            .chain('0'..='9')
            .chain([' ', '_', '-', '.', '!', '/'])
            .filter(|char| !ranges.iter().any(|(low, high)| low <= char && char <= high))
            .map(|char| (char, char))
            .collect();
        (!outside.is_empty()).then_some(Node::Class(outside))
    }

    fn repeated(&mut self, node: Node) -> Option<Node> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(node),
            _ => return Some(node),
        };
        self.at += 1;
        self.lazy();
        Some(Node::Repeat { node: Box::new(node), least, most })
    }

    fn counted(&mut self, node: Node) -> Option<Node> {
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
            // A brace that stands for itself.
            self.at += 1;
            return Some(Node::Sequence(vec![node, Node::Char('{')]));
        };
        self.at += end? + 1;
        self.lazy();
        Some(Node::Repeat { node: Box::new(node), least, most })
    }

    /// How greedy it is does not matter here.
    fn lazy(&mut self) {
        if matches!(self.peek(), Some('?' | '+')) {
            self.at += 1;
        }
    }
}

fn set(char: char) -> Option<Vec<(char, char)>> {
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

fn write(node: &Node, random: &mut Random, text: &mut String, groups: &mut [String]) -> Option<()> {
    if text.len() > MAX_TEXT {
        return None;
    }
    match node {
        Node::Empty => {}
        Node::Char(char) => text.push(*char),
        Node::Class(ranges) => {
            let (low, high) = random.pick(ranges)?;
            let point = random.between(i64::from(u32::from(*low)), i64::from(u32::from(*high)));
            let point = u32::try_from(point).ok().and_then(char::from_u32);
            text.push(point.unwrap_or(*low));
        }
        Node::Sequence(nodes) => {
            nodes.iter().try_for_each(|node| write(node, random, text, groups))?;
        }
        Node::Alternatives(branches) => {
            let branch = random.pick(branches)?;
            write(branch, random, text, groups)?;
        }
        Node::Repeat { node, least, most } => {
            let most = most.unwrap_or(least.saturating_add(3)).min(least.saturating_add(3));
            let times = random.between(i64::from(*least), i64::from(most.max(*least)));
            for _ in 0..times {
                write(node, random, text, groups)?;
            }
        }
        Node::Group(number, node) => {
            let from = text.len();
            write(node, random, text, groups)?;
            if let Some(group) = groups.get_mut(*number) {
                text[from..].clone_into(group);
            }
        }
        Node::Back(number) => text.push_str(groups.get(*number)?),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use menace_model::Seed;

    const CHECK: &str = "import json, re, sys\n\
        print(json.dumps([p for p, t in json.load(sys.stdin) if not re.fullmatch(p, t)]))";

    #[test]
    fn python_finds_that_the_text_matches() {
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
        let mut random = Seed(3).random();
        let mut pairs = Vec::new();
        for pattern in patterns {
            for _ in 0..20 {
                pairs.push((pattern, matching(pattern, &mut random).expect(pattern)));
            }
        }
        let mut python = Command::new("python3")
            .args(["-I", "-c", CHECK])
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
    fn what_it_cannot_read_gives_none() {
        let mut random = Seed(3).random();
        for pattern in ["(", "[a", "(?=x)y", "*", &"(".repeat(100), &"a".repeat(3000)] {
            assert_eq!(matching(pattern, &mut random), None, "{pattern}");
        }
    }
}
