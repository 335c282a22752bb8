//! What the interpreter's own handlers wrote of the frames of a call that did not live to tell.
//!
//! Each answer is a head and a line for each frame, innermost first. The guest can write into the same
//! pipe: anything that does not look like that is left out.

use std::collections::BTreeMap;

use menace_model::{Frame, Stood};

use super::report::{Context, shown};

const HEAD: &str = "(most recent call first):\n";
/// In the place of what did not fit: no more than a hundred frames are told.
const MORE: &str = "  ...";

/// One answer: frames of the repository, innermost last.
#[derive(Debug)]
struct Look {
    frames: Vec<Frame>,
    is_cut: bool,
}

/// Where all answers agree that it was, and where it was beyond that.
pub(super) fn stood(told: &[u8], context: &Context<'_>) -> Option<Stood> {
    let text = String::from_utf8_lossy(told);
    let mut answers: Vec<&str> = text.split(HEAD).skip(1).collect();
    if answers.len() > 1 {
        // It may not have come to the end of the last one.
        answers.pop();
    }
    let mut looks: Vec<Look> =
        answers.into_iter().filter_map(|answer| look(answer, context)).collect();
    looks.retain(|look| !look.frames.is_empty());
    if looks.iter().any(|look| look.is_cut) {
        return most_often(&looks);
    }
    let first = &looks.first()?.frames;
    let is_common = |at: usize| looks.iter().all(|look| look.frames.get(at) == first.get(at));
    let common = (0..first.len()).take_while(|at| is_common(*at)).count();
    let next: Option<Vec<Frame>> =
        looks.iter().map(|look| look.frames.get(common).cloned()).collect();
    let mut among = next.filter(|next| is_one_function(next)).unwrap_or_default();
    among.sort_by_key(|frame| frame.line);
    among.dedup();
    if common == 0 && among.is_empty() {
        return None;
    }
    Some(Stood { frames: first[..common].to_vec(), among })
}

/// Of a stack that is too deep to be told as a whole: what goes down is on it more often than anything else.
fn most_often(looks: &[Look]) -> Option<Stood> {
    let mut counts: BTreeMap<(&str, u32), (usize, &Frame)> = BTreeMap::new();
    for frame in looks.iter().flat_map(|look| &look.frames) {
        counts.entry((&frame.file, frame.line)).or_insert((0, frame)).0 += 1;
    }
    let most = counts.values().map(|(count, _)| *count).max()?;
    let (_, frame) = counts.into_values().find(|(count, _)| *count == most)?;
    Some(Stood { frames: vec![frame.clone()], among: Vec::new() })
}

fn is_one_function(frames: &[Frame]) -> bool {
    let name = |frame: &Frame| (frame.file.clone(), frame.function.clone());
    frames.windows(2).all(|pair| name(&pair[0]) == name(&pair[1]))
}

/// Nothing of an answer that breaks off in the middle of a line: what is on the line is not what it was
/// to be, and frames are missing behind it.
fn look(answer: &str, context: &Context<'_>) -> Option<Look> {
    let lines = answer.split_inclusive('\n').take_while(|line| line.starts_with(' '));
    let mut found = Look { frames: Vec::new(), is_cut: false };
    for line in lines {
        let line = line.strip_suffix('\n')?;
        found.is_cut |= line == MORE;
        found.frames.extend(frame(line, context).filter(|frame| frame.own));
    }
    found.frames.reverse();
    Some(found)
}

/// `  File "/repo/shop.py", line 7 in total`
fn frame(line: &str, context: &Context<'_>) -> Option<Frame> {
    let rest = line.strip_prefix("  File \"")?;
    let (file, rest) = rest.rsplit_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    let (file, own) = shown(&unescaped(file), context);
    let (line, function) = (number.parse().ok()?, unescaped(function));
    Some(Frame { file, line, function, own })
}

/// Letters beyond ASCII are written as `\xe9`, `\u20ac` or `\U0001f600`.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = match rest.as_bytes().get(1) {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        let letter = rest.get(2..2 + digits).filter(|_| digits > 0);
        let letter = letter.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(letter) = letter.and_then(char::from_u32) {
            out.push(letter);
            rest = &rest[2 + digits..];
        } else {
            out.push('\\');
            rest = &rest[1..];
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use menace_model::{Call, How, ModuleRef, Target};

    use super::*;

    fn of(told: &str) -> Option<Stood> {
        let module = ModuleRef { name: "shop".to_owned(), path: None };
        let target = Target { module, qualname: "f".to_owned(), how: How::Function };
        let call = Call::new(target);
        stood(told.as_bytes(), &Context::new("/repo", Path::new("/home/me/shop"), &call))
    }

    /// Innermost first, as `file:line:function`.
    fn answer(frames: &[&str]) -> String {
        let line = |frame: &&str| {
            let parts: Vec<&str> = frame.split(':').collect();
            format!("  File \"{}\", line {} in {}\n", parts[0], parts[1], parts[2])
        };
        let lines: String = frames.iter().map(line).collect();
        format!("Stack (most recent call first):\n{lines}")
    }

    fn lines(frames: &[Frame]) -> Vec<u32> {
        frames.iter().map(|frame| frame.line).collect()
    }

    #[test]
    fn a_crash_is_where_the_only_answer_says() {
        let told = answer(&[
            "/usr/lib/ctypes.py:9:string_at",
            "/repo/shop.py:7:f",
            "/menace/child.py:3:g",
        ]);
        let stood = of(&format!("Fatal Python error: Aborted\n\n{told}\nExtension modules: a\n"));
        let frames = stood.expect("a place").frames;
        assert_eq!((frames[0].file.as_str(), frames[0].function.as_str()), ("shop.py", "f"));
        assert_eq!(lines(&frames), [7]);
    }

    #[test]
    fn what_goes_round_is_found_where_it_always_is_and_beyond_that_on_several_lines() {
        let looks = [7, 9, 7, 8].map(|line| {
            answer(&[
                "/usr/lib/json.py:1:loads",
                &format!("/repo/a.py:{line}:g"),
                "/repo/shop.py:3:f",
            ])
        });
        let stood =
            of(&(looks.concat() + "Stack (most recent call first):\n  Fil")).expect("a place");
        assert_eq!((lines(&stood.frames), lines(&stood.among)), (vec![3], vec![7, 8, 9]));
    }

    #[test]
    fn what_waits_is_on_one_line_and_an_answer_that_was_cut_off_does_not_count() {
        let waits = answer(&["/repo/shop.py:5:f"]);
        let stood = of(&format!("{waits}{waits}{}", answer(&["/repo/shop.py:6:f"])));
        let stood = stood.expect("a place");
        assert_eq!((lines(&stood.frames), stood.among.len()), (vec![5], 0));
    }

    #[test]
    fn an_only_answer_that_breaks_off_within_a_line_is_none() {
        let whole = answer(&["/repo/a.py:12:g", "/repo/shop.py:3:total_of"]);
        assert_eq!(lines(&of(&whole).expect("a place").frames), [3, 12]);
        let second = whole.rfind("  File").expect("two frames");
        for end in second + 1..whole.len() {
            assert_eq!(of(&whole[..end]), None, "{}", &whole[..end]);
        }
        // Whatever follows the frames is not part of the answer.
        assert_eq!(lines(&of(&(whole + "\nExtension mod")).expect("a place").frames), [3, 12]);
    }

    #[test]
    fn of_a_stack_that_is_too_deep_the_line_counts_that_is_on_it_most_often() {
        let deep = answer(&["/repo/a.py:2:g", "/repo/a.py:4:g", "/repo/a.py:4:g"]) + "  ...\n";
        assert_eq!(lines(&of(&deep).expect("a place").frames), [4]);
    }

    #[test]
    fn names_beyond_ascii_are_read_and_nonsense_is_nothing() {
        let stood = of(&answer(&[r"/repo/caf\xe9.py:1:f"])).expect("a place");
        assert_eq!(stood.frames[0].file, "café.py");
        for nonsense in
            ["", "MNC1", "(most recent call first):\n  File \"x\n", &answer(&["/a.py:x:f"])]
        {
            assert_eq!(of(nonsense), None, "{nonsense}");
        }
        assert_eq!(unescaped(r"\x \u12 \ud800 \"), r"\x \u12 \ud800 \");
    }
}
