//! One test for one failure, by what is wrong.

use menace_model::{Burst, Call, Failure, How, ModuleReport, Section, Value, WeaknessKind};
use menace_scenario::judge::MARKER;
use menace_scenario::shrink::{at_size, largest_size};

use super::Test;
use super::limits::why_not;
use super::parts::Part;
use super::source::{self, literal};

/// What a process of its own may take, in seconds: far more than any sound section needs.
const ALONE_SECONDS: u32 = 5;
/// What a small input may take of the memory.
const MEGABYTES: u64 = 512;
/// Columns of a comment.
const WIDTH: usize = 96;

/// What a test does, line by line, and what it uses.
struct Body {
    lines: Vec<String>,
    parts: Vec<Part>,
}

pub(super) fn test(
    failure: &Failure,
    module: &ModuleReport,
    section: &Section,
) -> Result<Test, String> {
    if let Some(why) = why_not(failure) {
        return Err(why);
    }
    let Body { lines, mut parts } = body(failure, module, section)?;
    let fixtures = &failure.call.fixtures;
    let mut all = comment(failure);
    if failure.kind != WeaknessKind::Import {
        // Whatever the module raises while it is imported is no answer of the section.
        let qualname = &failure.call.target.qualname;
        let name = qualname.split('.').next().unwrap_or(qualname);
        all.push(format!("needs({})", literal(name)));
    }
    all.push("monkeypatch.chdir(tmp_path)".to_owned());
    let prepares_itself = parts.contains(&Part::Disk);
    if !fixtures.files.is_empty() && !prepares_itself {
        all.extend(plants(&failure.call));
        parts.push(Part::Plant);
    }
    for (name, value) in &fixtures.environment {
        all.push(format!("monkeypatch.setenv({}, {})", literal(name), literal(value)));
    }
    all.extend(lines);
    parts.push(Part::Answers);
    let mut text = format!("def test_{}_{}(tmp_path, monkeypatch):\n", word(failure), failure.id);
    for line in all {
        let indent = if line.is_empty() { "" } else { "    " };
        text.extend([indent, &line, "\n"]);
    }
    Ok(Test { id: failure.id.clone(), text, parts })
}

fn body(failure: &Failure, module: &ModuleReport, section: &Section) -> Result<Body, String> {
    let call = &failure.call;
    let import = format!("importlib.import_module({})", literal(&module.name));
    match failure.kind {
        WeaknessKind::Import => {
            let lines = vec!["import importlib".to_owned(), String::new(), import];
            Ok(Body { lines, parts: Vec::new() })
        }
        WeaknessKind::Unhandled | WeaknessKind::Encoding | WeaknessKind::Recursion => {
            let exception = failure.exception.as_deref().unwrap_or_default();
            answering(call, exception)
        }
        WeaknessKind::Crash => {
            let judge = ["assert ended >= 0, \"it died of signal \" + str(-ended)".to_owned()];
            alone(call, "use(call())", &judge, &[])
        }
        WeaknessKind::Hang => alone(call, "use(call(), None)", &[], &[]),
        WeaknessKind::Memory => {
            let judge = ["assert ended not in (9, -9), \"it took all the memory\"".to_owned()];
            alone(call, &format!("frugal(call, {MEGABYTES})"), &judge, &[Part::Frugal])
        }
        WeaknessKind::Leak if call.again > 0 => {
            let run = format!("__import__({})\nkeep(call, {})", literal(&module.name), call.again);
            let judge = ["assert ended != 8, \"each call keeps \" + said".to_owned()];
            alone(call, &run, &judge, &[Part::Kept])
        }
        WeaknessKind::Leak => {
            let run = format!("__import__({})\nleave(call)", literal(&module.name));
            let judge = ["assert ended != 8, said + \" was left\"".to_owned()];
            alone(call, &run, &judge, &[Part::Left])
        }
        WeaknessKind::SharedState => {
            let mut lines = function("call", &source::call(call)?);
            let name = Value::Name(source::section(call)?).to_python();
            lines.extend(function("section", &name));
            lines.push("leaves_as_it_was(section(), call)".to_owned());
            Ok(Body { lines, parts: vec![Part::State] })
        }
        WeaknessKind::Race => company(call, section, "same_in_company"),
        WeaknessKind::Deadlock => company(call, section, "ends_in_company"),
        WeaknessKind::Slow => slow(call),
        WeaknessKind::PartialWrite | WeaknessKind::SilentFailure => disk(failure),
        WeaknessKind::UncheckedResponse => {
            let reply = source::bytes(&super::reply::of(failure)?);
            let mut lines = function("call", &source::call(call)?);
            lines.push(format!("service(monkeypatch, {reply})"));
            lines.push("checks_answers(call)".to_owned());
            Ok(Body { lines, parts: vec![Part::Redirect, Part::Service] })
        }
        WeaknessKind::NoTimeout if section.is_async => {
            Err("an event loop waits for it, whose patience a test cannot see".to_owned())
        }
        WeaknessKind::NoTimeout => {
            let mut lines = function("call", &source::call(call)?);
            lines.push("with silence(monkeypatch):".to_owned());
            lines.push("    gives_up(call)".to_owned());
            Ok(Body { lines, parts: vec![Part::Redirect, Part::Silence] })
        }
        WeaknessKind::Injection => injection(failure),
        WeaknessKind::Traversal => {
            let mut lines = function("call", &source::call(&source::climbing(call))?);
            lines.push("stays_inside(call)".to_owned());
            Ok(Body { lines, parts: vec![Part::Harm] })
        }
    }
}

fn answering(call: &Call, exception: &str) -> Result<Body, String> {
    let mut lines = function("call", &source::call(call)?);
    lines.push(format!("answers(call, {})", literal(exception)));
    Ok(Body { lines, parts: Vec::new() })
}

/// In a process of its own, whose end says what became of it.
fn alone(call: &Call, run: &str, judge: &[String], parts: &[Part]) -> Result<Body, String> {
    let mut inner = source::function("call", &source::call(call)?);
    inner.extend(run.lines().map(str::to_owned));
    let opening = if judge.is_empty() { "alone(" } else { "ended, said = alone(" };
    let mut lines = vec![opening.to_owned(), "    [".to_owned()];
    lines.extend(inner.iter().map(|line| format!("        {},", literal(line))));
    lines.push("    ],".to_owned());
    lines.push(format!("    seconds={ALONE_SECONDS},"));
    lines.push(")".to_owned());
    lines.extend(judge.iter().cloned());
    Ok(Body { lines, parts: [parts, &[Part::Alone]].concat() })
}

fn company(call: &Call, section: &Section, check: &str) -> Result<Body, String> {
    let burst = call.conditions.burst.unwrap_or(Burst { threads: 2, tasks: 2 });
    let count = if section.is_async { burst.tasks } else { burst.threads }.max(2);
    let made = source::parts(call);
    let called = match call.target.how {
        How::Method => format!("receiver.{}(*args, **kwargs)", source::method(call)),
        How::Property => format!("receiver.{}", source::method(call)),
        _ => "section(*args, **kwargs)".to_owned(),
    };
    let mut lines = vec!["def make():".to_owned()];
    if !matches!(call.target.how, How::Method | How::Property) {
        let name = Value::Name(source::section(call)?).to_python();
        lines.extend(name.imports.iter().map(|import| format!("    {import}")));
        lines.push(format!("    section = {}", name.expression));
    }
    for statement in made.imports.iter().chain(&made.lets) {
        lines.extend(statement.lines().map(|line| format!("    {line}")));
    }
    lines.push(format!("    receiver, args, kwargs = {}", made.expression));
    lines.push(format!("    return receiver, lambda: {called}"));
    lines.push(String::new());
    let tasks = if section.is_async { "True" } else { "False" };
    lines.push(format!("{check}(make, {count}, tasks={tasks})"));
    Ok(Body { lines, parts: vec![Part::Company] })
}

fn slow(call: &Call) -> Result<Body, String> {
    let largest = largest_size(call).filter(|size| *size >= 4);
    let largest = largest.ok_or("nothing of its input can be made smaller by measure")?;
    let mut lines = Vec::new();
    let mut calls = Vec::new();
    for size in [largest / 4, largest / 2, largest] {
        let sized = at_size(call, size).ok_or("its input has no size")?;
        lines.extend(function(&format!("call_{size}"), &source::call(&sized)?));
        calls.push(format!("{size}: call_{size}"));
    }
    lines.push(format!("grows_gently({{{}}})", calls.join(", ")));
    Ok(Body { lines, parts: vec![Part::Growth] })
}

fn disk(failure: &Failure) -> Result<Body, String> {
    let call = &failure.call;
    // The first thing in quotes that the message names is the file.
    let file = failure.message.split('`').nth(1).unwrap_or_default();
    if file.starts_with('/') {
        return Err(format!("it writes `{file}`, which is outside of a test's directory"));
    }
    let mut lines = function("call", &source::call(call)?);
    lines.push("def prepare():".to_owned());
    let mut prepared: Vec<String> =
        plants(call).into_iter().map(|line| format!("    {line}")).collect();
    if let Some((directory, _)) = file.rsplit_once('/') {
        let directory = literal(directory);
        prepared.push(format!("    Path({directory}).mkdir(parents=True, exist_ok=True)"));
    }
    if prepared.is_empty() {
        prepared.push("    pass".to_owned());
    }
    lines.extend(prepared);
    lines.push(String::new());
    lines.push("keeps_files_whole(call, prepare, tmp_path)".to_owned());
    Ok(Body { lines, parts: vec![Part::Disk, Part::Plant] })
}

fn injection(failure: &Failure) -> Result<Body, String> {
    let made = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with(MARKER));
    let makes_file = failure.outcome.files.touched.iter().any(|file| made(&file.path));
    // What is raised is no part of an injection's identity, and says all the same which one it is.
    let in_query = failure.outcome.exception.as_ref().is_some_and(|raised| {
        let mut classes = std::iter::once(&raised.kind).chain(&raised.bases);
        classes.any(|class| class == "sqlite3.OperationalError")
    });
    let check = match (makes_file, in_query) {
        (true, _) => "runs_nothing(call, tmp_path, monkeypatch)",
        (false, true) => "stays_out_of_queries(call)",
        (false, false) => "passes_no_tag(call)",
    };
    let mut lines = function("call", &source::call(&failure.call)?);
    lines.push(check.to_owned());
    Ok(Body { lines, parts: vec![Part::Harm] })
}

fn plants(call: &Call) -> Vec<String> {
    let files = call.fixtures.files.iter();
    files
        .map(|file| format!("plant({}, {})", literal(&file.path), source::bytes(&file.content)))
        .collect()
}

/// With an empty line before and after it.
fn function(name: &str, source: &menace_model::PythonSource) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.extend(source::function(name, source));
    lines.push(String::new());
    lines
}

/// The section's name, as a part of a name.
fn word(failure: &Failure) -> String {
    let name = failure.section.qualname().to_ascii_lowercase();
    let word: String =
        name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
    word.trim_matches('_').to_owned()
}

/// Why the test is there.
fn comment(failure: &Failure) -> Vec<String> {
    let message: String =
        failure.message.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let text = format!(
        "{}: {message}. Seen at {}, under the scenario `{}`. It is failure {id}: `menace show {id}` \
         tells the whole story.",
        failure.kind,
        failure.location,
        failure.scenario,
        id = failure.id,
    );
    let mut lines = Vec::new();
    let mut line = "#".to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > 1 {
            lines.push(std::mem::replace(&mut line, "#".to_owned()));
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
    lines
}
