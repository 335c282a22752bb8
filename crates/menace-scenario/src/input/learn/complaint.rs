//! What an exception says is wrong with a value, from `data/complaints.txt`.

use std::sync::OnceLock;

use menace_model::{Raised, Value};

use super::prose::{affix, choices, in_prose, range};
use crate::input::facts::Facts;
use crate::input::infer::{annotation, documented};
use crate::input::shape::Shape;

/// Something is wrong with a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Complaint {
    /// The class of the value, as messages have it: without its module.
    pub found: Option<String>,
    /// It is inside of a container.
    pub is_item: bool,
    /// What it lacks.
    pub member: Option<String>,
    /// What would do, the likeliest first.
    pub shapes: Vec<Shape>,
    /// There were not enough arguments.
    pub wants_more: bool,
    /// How many items something should come apart into, and how many there were.
    pub count: Option<(usize, Option<usize>)>,
}

struct Pattern {
    message: Vec<Piece>,
    found: Option<&'static str>,
    is_item: bool,
    wants_more: bool,
    kinds: Vec<&'static str>,
}

enum Piece {
    Text(&'static str),
    Hole(&'static str),
}

fn patterns() -> &'static [Pattern] {
    static PATTERNS: OnceLock<Vec<Pattern>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let lines = include_str!("../data/complaints.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let mut parts = line.splitn(3, '|').map(str::trim);
                let (message, about, kinds) = (parts.next()?, parts.next()?, parts.next()?);
                let kinds = kinds.split(';').map(str::trim).filter(|kind| !kind.is_empty());
                Some(Pattern {
                    message: pieces(message),
                    found: Some(about).filter(|about| !matches!(*about, "" | "items" | "*")),
                    is_item: about == "items",
                    wants_more: about == "*",
                    kinds: kinds.collect(),
                })
            })
            .collect()
    })
}

fn pieces(message: &'static str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = message;
    while let Some((text, more)) = rest.split_once('{') {
        let (name, more) = more.split_once('}').unwrap_or((more, ""));
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        pieces.push(Piece::Hole(name));
        rest = more;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

impl Pattern {
    /// What stands in the holes; none when the message is another one.
    fn captures<'m>(&self, message: &'m str) -> Option<Vec<(&'static str, &'m str)>> {
        let mut rest = message;
        let mut captured = Vec::new();
        let mut open: Option<&'static str> = None;
        let mut is_first = true;
        for piece in &self.message {
            match piece {
                Piece::Hole(name) => open = Some(name),
                Piece::Text(text) => {
                    // The first piece may stand anywhere, the others close the hole before them.
                    let at = match (open, is_first) {
                        (None, false) => rest.starts_with(text).then_some(0)?,
                        _ => rest.find(text)?,
                    };
                    if let Some(name) = open.take() {
                        captured.push((name, &rest[..at]));
                    }
                    rest = &rest[at + text.len()..];
                }
            }
            is_first = false;
        }
        if let Some(name) = open {
            let end = rest.find([' ', ',', ';', ':', ')', '\n']).unwrap_or(rest.len());
            captured.push((name, &rest[..end]));
        }
        Some(captured)
    }

    fn complaint(&self, facts: &Facts<'_>, message: &str) -> Option<Complaint> {
        let captured = self.captures(message)?;
        let mut complaint = Complaint {
            found: self.found.map(str::to_owned),
            is_item: self.is_item,
            wants_more: self.wants_more,
            ..Complaint::default()
        };
        let kinds = self.kinds.iter().map(|kind| annotation::kind(facts, kind));
        complaint.shapes = kinds.filter(|shape| *shape != Shape::Any).collect();
        for (name, text) in captured {
            match name {
                "found" => complaint.found = Some(class_name(text)),
                "member" => complaint.member = Some(text.to_owned()),
                "wanted" => complaint.shapes.extend(wanted(facts, text)),
                "count" => complaint.count = Some((text.parse().ok()?, None)),
                "got" => {
                    let expected = complaint.count?.0;
                    complaint.count = Some((expected, text.parse().ok()));
                }
                "size" => {
                    let times = text.parse().ok().filter(|size| *size <= 1 << 20)?;
                    let value = Box::new(Value::Bytes(vec![0]));
                    complaint.shapes.push(Shape::OneOf(vec![Value::Repeat { value, times }]));
                }
                _ => {}
            }
        }
        let says_something = complaint.member.is_some()
            || complaint.count.is_some()
            || complaint.wants_more
            || !complaint.shapes.is_empty();
        says_something.then_some(complaint)
    }
}

/// `_io.StringIO` is a `StringIO`.
fn class_name(text: &str) -> String {
    let text = text.trim_matches(['\'', '"', '.']);
    text.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The shape behind the name of a class, or behind some words.
fn wanted(facts: &Facts<'_>, text: &str) -> Option<Shape> {
    let text = text.trim_matches(['\'', '"']);
    let is_meant = |class: &&&str| class.rsplit('.').next() == Some(text);
    let own = || {
        let found = facts.classes_called(text).iter().find(is_meant);
        found.map(|class| Shape::Instance((*class).to_owned()))
    };
    own().or_else(|| documented::shape(facts, text)).filter(|shape| *shape != Shape::Any)
}

/// All that the exception says.
pub(crate) fn complaints(facts: &Facts<'_>, raised: &Raised) -> Vec<Complaint> {
    let message: String = raised.message.chars().take(400).collect();
    let mut complaints: Vec<Complaint> = Vec::new();
    let mut add = |complaint: Complaint| {
        if !complaints.contains(&complaint) {
            complaints.push(complaint);
        }
    };
    for pattern in patterns() {
        if let Some(complaint) = pattern.complaint(facts, &message) {
            add(complaint);
            // Two sides of an operator: either could be at fault.
            if let Some(other) = swapped(facts, pattern, &message) {
                add(other);
            }
        }
    }
    if let Some(shape) = affix(&message) {
        add(Complaint { shapes: vec![shape], ..Complaint::default() });
    }
    let is_key = raised.kind.ends_with("KeyError") && message.parse::<i64>().is_ok();
    if is_key {
        // Somebody counts where there are names.
        let shapes = vec![Shape::text(), Shape::list(Shape::text())];
        add(Complaint { found: Some("dict".to_owned()), shapes, ..Complaint::default() });
    }
    if let Some(shape) = range(&message) {
        add(Complaint { shapes: vec![shape], ..Complaint::default() });
    } else if let Some(shape) = choices(&message) {
        add(Complaint { shapes: vec![shape], ..Complaint::default() });
    } else if let Some(shape) = in_prose(facts, &message) {
        add(Complaint { shapes: vec![shape], ..Complaint::default() });
    }
    complaints
}

fn swapped(facts: &Facts<'_>, pattern: &Pattern, message: &str) -> Option<Complaint> {
    const OPERATORS: [&str; 3] = ["unsupported operand", "not supported between", "can only conc"];
    let Some(Piece::Text(first)) = pattern.message.first() else { return None };
    OPERATORS.iter().find(|operator| first.contains(*operator))?;
    let captured = pattern.captures(message)?;
    let of = |wanted: &str| captured.iter().find(|(name, _)| *name == wanted).map(|(_, it)| *it);
    let shape = wanted(facts, of("found")?)?;
    Some(Complaint {
        found: Some(class_name(of("wanted")?)),
        shapes: vec![shape],
        ..Complaint::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::{Classes, TypeNames};

    fn heard(message: &str) -> Vec<Complaint> {
        let (classes, types) = (Classes::default(), TypeNames::default());
        let facts = Facts::new(&classes, &types);
        let raised = Raised {
            kind: "builtins.TypeError".to_owned(),
            message: message.to_owned(),
            bases: Vec::new(),
            explicit: false,
            frames: Vec::new(),
            errno: None,
            cause: None,
            group: Vec::new(),
            notes: Vec::new(),
        };
        complaints(&facts, &raised)
    }

    #[test]
    fn every_line_of_the_table_says_something() {
        let (classes, types) = (Classes::default(), TypeNames::default());
        let facts = Facts::new(&classes, &types);
        for pattern in patterns() {
            let example: String = pattern
                .message
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text,
                    Piece::Hole("count" | "got" | "size") => "2",
                    Piece::Hole("wanted") => "str",
                    Piece::Hole(_) => "int",
                })
                .collect();
            assert!(pattern.complaint(&facts, &example).is_some(), "{example}");
        }
    }

    #[test]
    fn the_class_and_what_it_lacks_are_read() {
        let lacks = &heard("'_io.StringIO' object has no attribute 'frob'")[0];
        assert_eq!(lacks.found.as_deref(), Some("StringIO"));
        assert_eq!(lacks.member.as_deref(), Some("frob"));
        let sides = heard("'<' not supported between instances of 'str' and 'int'");
        let of = |found: &str, shape: Shape| {
            sides
                .iter()
                .any(|it| it.found.as_deref() == Some(found) && it.shapes == [shape.clone()])
        };
        assert!(of("str", Shape::Int) && of("int", Shape::text()), "{sides:?}");
    }

    #[test]
    fn choices_and_prose_are_read() {
        let shapes = |message: &str| heard(message).remove(0).shapes;
        let modes = ["r", "w", "x"].map(Value::from).to_vec();
        assert_eq!(shapes("mode must be 'r', 'w', or 'x'"), [Shape::OneOf(modes)]);
        assert_eq!(shapes("the first argument must be a string"), [Shape::text()]);
        let values = vec![Value::Float(0.5), Value::Float(0.5)];
        assert_eq!(shapes("p must be in the range 0.0 < p < 1.0"), [Shape::OneOf(values)]);
        assert_eq!(
            heard("not enough values to unpack (expected 3, got 2)")[0].count,
            Some((3, Some(2)))
        );
        let option = Shape::OneOf(vec![Value::from("--alpha")]);
        assert_eq!(shapes("invalid option 'x': must start with --, then a letter"), [option]);
        assert_eq!(heard("something went wrong"), []);
    }
}
