//! B602–B607, B609: starting other programs, with and without a shell in between.

use menace_model::{Confidence, Severity};
use ruff_python_ast::{Expr, Number};

use super::call::Call;
use super::hit::Sink;
use super::literal::{Literal, string};

/// How a function starts a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Starts {
    /// Through a shell when `shell=` says so.
    Subprocess,
    /// Always through a shell.
    Shell,
    /// Never through a shell.
    Direct,
}

impl Starts {
    fn of(qualified: &str) -> Option<Self> {
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

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    let starts = Starts::of(call.qualified);
    let shell = call.keyword("shell").is_some_and(is_true);
    match starts {
        Some(Starts::Subprocess) if shell => subprocess_with_shell(call, sink),
        Some(Starts::Subprocess) => sink.report_at(
            call.keyword_start("shell"),
            "B603",
            (Severity::Low, Confidence::High),
            call.range(),
            "starts a program; check where its arguments come from",
        ),
        _ if shell => sink.report_at(
            call.keyword_start("shell"),
            "B604",
            (Severity::Medium, Confidence::Low),
            call.range(),
            "`shell=` is on; check what the shell is given",
        ),
        _ => {}
    }
    match starts {
        Some(Starts::Shell) => shell_function(call, sink),
        Some(Starts::Direct) => {
            let message = "starts a program in place of or beside this one";
            sink.report("B606", (Severity::Low, Confidence::Medium), call.range(), message);
        }
        _ => {}
    }
    if starts.is_some() {
        partial_path(call, sink);
    }
    if starts == Some(Starts::Shell)
        || (starts == Some(Starts::Subprocess) && call.keyword_value("shell").is_text("True"))
    {
        wildcard(call, sink);
    }
}

/// B602: safe for now when the command is constant.
fn subprocess_with_shell(call: &Call<'_, '_>, sink: &mut Sink) {
    let Some(command) = call.args().first() else { return };
    let (severity, message) = shell_risk(command);
    let at = call.keyword_start("shell");
    sink.report_at(at, "B602", (severity, Confidence::High), call.range(), message);
}

/// B605: as B602, for functions that always use a shell.
fn shell_function(call: &Call<'_, '_>, sink: &mut Sink) {
    let Some(command) = call.args().first() else { return };
    let (severity, message) = shell_risk(command);
    sink.report("B605", (severity, Confidence::High), call.range(), message);
}

fn shell_risk(command: &Expr) -> (Severity, &'static str) {
    if command.is_string_literal_expr() {
        (Severity::Low, "a constant command goes through a shell; pass a list of arguments instead")
    } else {
        (Severity::High, "a shell interprets this command; pass a list of arguments instead")
    }
}

/// B607: which program runs depends on `PATH`.
fn partial_path(call: &Call<'_, '_>, sink: &mut Sink) {
    let program = match call.args().first() {
        Some(Expr::List(list)) => list.elts.first().or(call.args().first()),
        other => other,
    };
    if program.and_then(string).is_some_and(|path| !is_full_path(path)) {
        let message = "`PATH` decides which program this is; name it in full";
        sink.report("B607", (Severity::Low, Confidence::High), call.range(), message);
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
fn wildcard(call: &Call<'_, '_>, sink: &mut Sink) {
    let command = match call.arg(0) {
        Literal::Text(text) => text.to_owned(),
        Literal::List(items) => {
            let texts: Vec<&str> =
                items.iter().filter_map(|item| Literal::of(item).text()).collect();
            texts.join(" ")
        }
        _ => return,
    };
    let risky = ["chown", "chmod", "tar", "rsync"].iter().any(|name| command.contains(name));
    if risky && command.contains('*') {
        sink.report_at(
            call.keyword_start("shell"),
            "B609",
            (Severity::High, Confidence::Medium),
            call.range(),
            "a file name that the wildcard matches can act as an option",
        );
    }
}

/// Whether the value of `shell=` is true; what cannot be known counts as true.
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
