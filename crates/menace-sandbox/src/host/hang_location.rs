//! Parses stack dumps that the interpreter's signal handlers wrote for a crashed or killed call.
//!
//! Each dump has a header and one line per frame, innermost first. The guest can write into the
//! same pipe: lines of any other form are left out.

use std::collections::BTreeMap;

use menace_model::{HangLocation, StackFrame};

use super::report::{ReportContext, display_path};

const STACK_DUMP_HEADER: &str = "(most recent call first):\n";
/// The line that `faulthandler` writes after a hundred frames instead of the rest.
const TRUNCATION_LINE: &str = "  ...";

/// One dump: frames of the repository, innermost last.
#[derive(Debug)]
struct StackSample {
    frames: Vec<StackFrame>,
    is_truncated: bool,
}

/// The frames that all dumps have in common, and those below them that differ (the loop).
pub(super) fn locate_hang(dumps: &[u8], context: &ReportContext<'_>) -> Option<HangLocation> {
    let text = String::from_utf8_lossy(dumps);
    let mut answers: Vec<&str> = text.split(STACK_DUMP_HEADER).skip(1).collect();
    if answers.len() > 1 {
        // The process may have been killed while it wrote the last dump.
        answers.pop();
    }
    let mut samples: Vec<StackSample> =
        answers.into_iter().filter_map(|answer| parse_sample(answer, context)).collect();
    samples.retain(|look| !look.frames.is_empty());
    if samples.iter().any(|look| look.is_truncated) {
        return most_frequent_frame(&samples);
    }
    let first = &samples.first()?.frames;
    let is_common = |at: usize| samples.iter().all(|look| look.frames.get(at) == first.get(at));
    let common = (0..first.len()).take_while(|at| is_common(*at)).count();
    let next: Option<Vec<StackFrame>> =
        samples.iter().map(|look| look.frames.get(common).cloned()).collect();
    let mut among = next.filter(|next| are_one_function(next)).unwrap_or_default();
    among.sort_by_key(|frame| frame.line);
    among.dedup();
    if common == 0 && among.is_empty() {
        return None;
    }
    Some(HangLocation { frames: first[..common].to_vec(), loop_frames: among })
}

/// For stacks too deep to be written completely: the frame of the recursive function occurs most
/// often.
fn most_frequent_frame(samples: &[StackSample]) -> Option<HangLocation> {
    let mut counts: BTreeMap<(&str, u32), (usize, &StackFrame)> = BTreeMap::new();
    for frame in samples.iter().flat_map(|look| &look.frames) {
        counts.entry((&frame.file, frame.line)).or_insert((0, frame)).0 += 1;
    }
    let most = counts.values().map(|(count, _)| *count).max()?;
    let (_, frame) = counts.into_values().find(|(count, _)| *count == most)?;
    Some(HangLocation { frames: vec![frame.clone()], loop_frames: Vec::new() })
}

fn are_one_function(frames: &[StackFrame]) -> bool {
    let name = |frame: &StackFrame| (frame.file.clone(), frame.function.clone());
    frames.windows(2).all(|pair| name(&pair[0]) == name(&pair[1]))
}

/// `None` for a dump that breaks off in the middle of a line: that line may be wrong, and frames
/// after it are missing.
fn parse_sample(answer: &str, context: &ReportContext<'_>) -> Option<StackSample> {
    let lines = answer.split_inclusive('\n').take_while(|line| line.starts_with(' '));
    let mut found = StackSample { frames: Vec::new(), is_truncated: false };
    for line in lines {
        let line = line.strip_suffix('\n')?;
        found.is_truncated |= line == TRUNCATION_LINE;
        found.frames.extend(parse_frame(line, context).filter(|frame| frame.in_repository));
    }
    found.frames.reverse();
    Some(found)
}

/// `  File "/repo/shop.py", line 7 in total`
fn parse_frame(line: &str, context: &ReportContext<'_>) -> Option<StackFrame> {
    let rest = line.strip_prefix("  File \"")?;
    let (file, rest) = rest.rsplit_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    let (file, own) = display_path(&unescape(file), context);
    let (line, function) = (number.parse().ok()?, unescape(function));
    Some(StackFrame { file, line, function, in_repository: own })
}

/// Undoes the escapes `\xe9`, `\u20ac` and `\U0001f600` of characters beyond ASCII.
fn unescape(text: &str) -> String {
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

    use menace_model::{Call, CallTarget, ModuleRef, TargetKind};

    use super::*;

    fn locate(dumps: &str) -> Option<HangLocation> {
        let module = ModuleRef { name: "shop".to_owned(), path: None };
        let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
        let call = Call::new(target);
        locate_hang(
            dumps.as_bytes(),
            &ReportContext::new("/repo", Path::new("/home/me/shop"), &call),
        )
    }

    /// A dump of frames, innermost first, given as `file:line:function`.
    fn stack_dump(frames: &[&str]) -> String {
        let line = |frame: &&str| {
            let parts: Vec<&str> = frame.split(':').collect();
            format!("  File \"{}\", line {} in {}\n", parts[0], parts[1], parts[2])
        };
        let lines: String = frames.iter().map(line).collect();
        format!("Stack (most recent call first):\n{lines}")
    }

    fn lines(frames: &[StackFrame]) -> Vec<u32> {
        frames.iter().map(|frame| frame.line).collect()
    }

    #[test]
    fn a_crash_is_where_the_only_answer_says() {
        let dump = stack_dump(&[
            "/usr/lib/ctypes.py:9:string_at",
            "/repo/shop.py:7:f",
            "/menace/child.py:3:g",
        ]);
        let location =
            locate(&format!("Fatal Python error: Aborted\n\n{dump}\nExtension modules: a\n"));
        let frames = location.expect("a place").frames;
        assert_eq!((frames[0].file.as_str(), frames[0].function.as_str()), ("shop.py", "f"));
        assert_eq!(lines(&frames), [7]);
    }

    #[test]
    fn what_goes_round_is_found_where_it_always_is_and_beyond_that_on_several_lines() {
        let looks = [7, 9, 7, 8].map(|line| {
            stack_dump(&[
                "/usr/lib/json.py:1:loads",
                &format!("/repo/a.py:{line}:g"),
                "/repo/shop.py:3:f",
            ])
        });
        let location =
            locate(&(looks.concat() + "Stack (most recent call first):\n  Fil")).expect("a place");
        assert_eq!(
            (lines(&location.frames), lines(&location.loop_frames)),
            (vec![3], vec![7, 8, 9])
        );
    }

    #[test]
    fn what_waits_is_on_one_line_and_an_answer_that_was_cut_off_does_not_count() {
        let waits = stack_dump(&["/repo/shop.py:5:f"]);
        let location = locate(&format!("{waits}{waits}{}", stack_dump(&["/repo/shop.py:6:f"])));
        let location = location.expect("a place");
        assert_eq!((lines(&location.frames), location.loop_frames.len()), (vec![5], 0));
    }

    #[test]
    fn an_only_answer_that_breaks_off_within_a_line_is_none() {
        let whole = stack_dump(&["/repo/a.py:12:g", "/repo/shop.py:3:total_of"]);
        assert_eq!(lines(&locate(&whole).expect("a place").frames), [3, 12]);
        let second = whole.rfind("  File").expect("two frames");
        for end in second + 1..whole.len() {
            assert_eq!(locate(&whole[..end]), None, "{}", &whole[..end]);
        }
        // Text after the frames is not part of the dump.
        assert_eq!(lines(&locate(&(whole + "\nExtension mod")).expect("a place").frames), [3, 12]);
    }

    #[test]
    fn of_a_stack_that_is_too_deep_the_line_counts_that_is_on_it_most_often() {
        let deep = stack_dump(&["/repo/a.py:2:g", "/repo/a.py:4:g", "/repo/a.py:4:g"]) + "  ...\n";
        assert_eq!(lines(&locate(&deep).expect("a place").frames), [4]);
    }

    #[test]
    fn names_beyond_ascii_are_read_and_nonsense_is_nothing() {
        let location = locate(&stack_dump(&[r"/repo/caf\xe9.py:1:f"])).expect("a place");
        assert_eq!(location.frames[0].file, "café.py");
        for nonsense in
            ["", "MNC2", "(most recent call first):\n  File \"x\n", &stack_dump(&["/a.py:x:f"])]
        {
            assert_eq!(locate(nonsense), None, "{nonsense}");
        }
        assert_eq!(unescape(r"\x \u12 \ud800 \"), r"\x \u12 \ud800 \");
    }
}
