//! B602–B607, B609: starting other programs, with and without a shell in between.

use menace_model::FindingSeverity;
use ruff_python_ast::{Expr, Number};

use super::call::CheckedCall;
use super::literal::{ArgumentLiteral, string_value};
use super::rule_match::FindingSink;

/// How a function starts a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessStartKind {
    /// Through a shell if `shell=` is true.
    Subprocess,
    /// Always through a shell.
    Shell,
    /// Never through a shell.
    Direct,
}

impl ProcessStartKind {
    fn from_qualified_name(qualified: &str) -> Option<Self> {
        let (module, function) = qualified.rsplit_once('.')?;
        Some(match (module, function) {
            ("subprocess", "Popen" | "call" | "check_call" | "check_output" | "run") => {
                Self::Subprocess
            }
            ("os", "system" | "popen" | "popen2" | "popen3" | "popen4")
            | ("popen2", "popen2" | "popen3" | "popen4" | "Popen3" | "Popen4")
            | ("commands" | "subprocess", "getoutput" | "getstatusoutput") => Self::Shell,
            (
                "os",
                "execl" | "execle" | "execlp" | "execlpe" | "execv" | "execve" | "execvp"
                | "execvpe" | "spawnl" | "spawnle" | "spawnlp" | "spawnlpe" | "spawnv" | "spawnve"
                | "spawnvp" | "spawnvpe" | "startfile",
            ) => Self::Direct,
            _ => return None,
        })
    }
}

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let starts = ProcessStartKind::from_qualified_name(call.qualified_name);
    let shell = call.keyword("shell").is_some_and(is_true);
    match starts {
        Some(ProcessStartKind::Subprocess) if shell => check_subprocess_with_shell(call, sink),
        Some(ProcessStartKind::Subprocess) => {
            let message = "starts a program; check where its arguments come from";
            sink.report_at(call.keyword_start("shell"), "B603", call, message);
        }
        _ if shell => {
            let message = "`shell=` is on; check what the shell is given";
            sink.report_at(call.keyword_start("shell"), "B604", call, message);
        }
        _ => {}
    }
    match starts {
        Some(ProcessStartKind::Shell) => check_shell_function(call, sink),
        Some(ProcessStartKind::Direct) => {
            sink.report("B606", call, "starts a program in place of or beside this one");
        }
        _ => {}
    }
    if starts.is_some() {
        check_partial_path(call, sink);
    }
    if starts == Some(ProcessStartKind::Shell)
        || (starts == Some(ProcessStartKind::Subprocess)
            && call.keyword_value("shell").is_text("True"))
    {
        check_wildcard(call, sink);
    }
}

/// B602: safe for now when the command is constant.
fn check_subprocess_with_shell(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let Some(command) = call.args().first() else { return };
    let (severity, message) = shell_risk(command);
    let at = call.keyword_start("shell");
    sink.report_at(at, "B602", call, message).severity = severity;
}

/// B605: as B602, for functions that always use a shell.
fn check_shell_function(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let Some(command) = call.args().first() else { return };
    let (severity, message) = shell_risk(command);
    sink.report("B605", call, message).severity = severity;
}

fn shell_risk(command: &Expr) -> (FindingSeverity, &'static str) {
    if command.is_string_literal_expr() {
        (
            FindingSeverity::Low,
            "a constant command goes through a shell; pass a list of arguments instead",
        )
    } else {
        (FindingSeverity::High, "a shell interprets this command; pass a list of arguments instead")
    }
}

/// B607: which program runs depends on `PATH`.
fn check_partial_path(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let program = match call.args().first() {
        Some(Expr::List(list)) => list.elts.first().or(call.args().first()),
        other => other,
    };
    if program.and_then(string_value).is_some_and(|path| !is_full_path(path)) {
        sink.report("B607", call, "`PATH` decides which program this is; name it in full");
    }
}

/// A path that starts with a separator, a dot or a drive.
fn is_full_path(path: &str) -> bool {
    match path.as_bytes() {
        [b'\\' | b'/' | b'.', ..] => true,
        [drive, b':', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// B609: a wildcard in a command whose options a file name could imitate.
fn check_wildcard(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let command = match call.arg(0) {
        ArgumentLiteral::Text(text) => text.to_owned(),
        ArgumentLiteral::List(items) => {
            let texts: Vec<&str> =
                items.iter().filter_map(|item| ArgumentLiteral::from_expr(item).text()).collect();
            texts.join(" ")
        }
        _ => return,
    };
    let risky = ["chown", "chmod", "tar", "rsync"].iter().any(|name| command.contains(name));
    if risky && command.contains('*') {
        let message = "a file name that the wildcard matches can act as an option";
        sink.report_at(call.keyword_start("shell"), "B609", call, message);
    }
}

/// Whether the value of `shell=` is true; an unknown value counts as true.
fn is_true(value: &Expr) -> bool {
    match value {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(int) => int.as_u64() != Some(0),
            Number::Float(float) => *float != 0.0,
            Number::Complex { real, imag } => *real != 0.0 || *imag != 0.0,
        },
        Expr::BooleanLiteral(value) => value.value,
        Expr::List(list) => !list.elts.is_empty(),
        Expr::Dict(dict) => !dict.items.is_empty(),
        Expr::StringLiteral(string) => !string.value.is_empty(),
        Expr::BytesLiteral(bytes) => !bytes.value.is_empty(),
        Expr::NoneLiteral(_) => false,
        _ => true,
    }
}
