//! Writes the test for one failure, by the kind of its weakness.

use menace_model::{
    AnalyzedModule, Call, ConcurrencyBurst, Failure, Section, TargetKind, Value, WeaknessKind,
};
use menace_scenario::input::INJECTION_MARKER;
use menace_scenario::shrink::{largest_size, with_size};

use super::ExportedTest;
use super::limits::unexportable_reason;
use super::parts::TestHelper;
use super::source::{self, literal};

/// Timeout of a test's subprocess: far more than a section without a weakness needs.
const SUBPROCESS_TIMEOUT_SECS: u32 = 5;
/// Repetitions of a call whose memory is measured. Fewer than in a rerun: garbage collections after
/// all of them must fit into the timeout.
const MAX_RETAINED_REPEATS: u32 = 15;
/// Memory that a call with a small input may use.
const MEMORY_LIMIT_MB: u64 = 512;
/// Width of the comment above a test.
const MAX_COMMENT_COLUMNS: usize = 96;

/// The lines of a test, and the helpers that they use.
struct TestBody {
    lines: Vec<String>,
    parts: Vec<TestHelper>,
}

pub(super) fn test(
    failure: &Failure,
    module: &AnalyzedModule,
    section: &Section,
) -> Result<ExportedTest, String> {
    if let Some(why) = unexportable_reason(failure) {
        return Err(why);
    }
    let TestBody { lines, mut parts } = build_test_body(failure, module, section)?;
    let fixtures = &failure.call.fixtures;
    let mut all = describe_failure(failure);
    if failure.kind != WeaknessKind::Import {
        // An exception of the import is no property of the section.
        let qualname = &failure.call.target.qualname;
        let name = qualname.split('.').next().unwrap_or(qualname);
        all.push(format!("require_name({})", literal(name)));
    }
    all.push("monkeypatch.chdir(tmp_path)".to_owned());
    let prepares_itself = parts.contains(&TestHelper::FullDisk);
    if !fixtures.files.is_empty() && !prepares_itself {
        all.extend(write_files(&failure.call));
        parts.push(TestHelper::WriteFile);
    }
    for (name, value) in &fixtures.environment {
        all.push(format!("monkeypatch.setenv({}, {})", literal(name), literal(value)));
    }
    all.extend(lines);
    parts.push(TestHelper::Consume);
    let mut text =
        format!("def test_{}_{}(tmp_path, monkeypatch):\n", test_name_part(failure), failure.id);
    for line in all {
        let indent = if line.is_empty() { "" } else { "    " };
        text.extend([indent, &line, "\n"]);
    }
    Ok(ExportedTest { id: failure.id.clone(), text, parts })
}

fn build_test_body(
    failure: &Failure,
    module: &AnalyzedModule,
    section: &Section,
) -> Result<TestBody, String> {
    let call = &failure.call;
    let import = format!("importlib.import_module({})", literal(&module.name));
    match failure.kind {
        WeaknessKind::Import => {
            let lines = vec!["import importlib".to_owned(), String::new(), import];
            Ok(TestBody { lines, parts: Vec::new() })
        }
        WeaknessKind::Unhandled | WeaknessKind::Encoding | WeaknessKind::Recursion => {
            let exception = failure.exception.as_deref().unwrap_or_default();
            raise_nothing(call, exception)
        }
        WeaknessKind::Crash => {
            let judge =
                ["assert exit_code >= 0, \"it was killed by signal \" + str(-exit_code)"
                    .to_owned()];
            run_in_subprocess(call, "consume(call())", &judge, &[])
        }
        WeaknessKind::Hang => run_in_subprocess(call, "consume(call(), None)", &[], &[]),
        WeaknessKind::Memory => {
            let judge = ["assert exit_code not in (9, -9), \"it ran out of memory\"".to_owned()];
            run_in_subprocess(
                call,
                &format!("call_within_memory(call, {MEMORY_LIMIT_MB})"),
                &judge,
                &[TestHelper::MemoryLimit],
            )
        }
        WeaknessKind::Leak if call.repeats > 0 => {
            let times = call.repeats.min(MAX_RETAINED_REPEATS);
            let run = format!(
                "__import__({})\ncheck_retained_memory(call, {times})",
                literal(&module.name)
            );
            let judge = ["assert exit_code != 8, \"each call retains \" + output".to_owned()];
            run_in_subprocess(call, &run, &judge, &[TestHelper::RetainedMemory])
        }
        WeaknessKind::Leak => {
            let run = format!("__import__({})\ncheck_leaks(call)", literal(&module.name));
            let judge = ["assert exit_code != 8, output + \" was leaked\"".to_owned()];
            run_in_subprocess(call, &run, &judge, &[TestHelper::Leaks])
        }
        WeaknessKind::SharedState => {
            let mut lines = function("call", &source::call(call)?);
            let name = Value::Name(source::section(call)?).to_python();
            lines.extend(function("section", &name));
            lines.push("leaves_state_unchanged(section(), call)".to_owned());
            Ok(TestBody { lines, parts: vec![TestHelper::SharedState] })
        }
        WeaknessKind::Race => run_concurrently(call, section, "same_result_concurrently"),
        WeaknessKind::Deadlock => run_concurrently(call, section, "finishes_concurrently"),
        WeaknessKind::Slow => build_slow_test(call),
        WeaknessKind::PartialWrite | WeaknessKind::SilentFailure => build_disk_test(failure),
        WeaknessKind::UncheckedResponse => {
            let reply = source::bytes(&super::reply::reply_of(failure)?);
            let mut lines = function("call", &source::call(call)?);
            lines.push(format!("serve_reply(monkeypatch, {reply})"));
            lines.push("rejects_bad_replies(call)".to_owned());
            Ok(TestBody { lines, parts: vec![TestHelper::Redirect, TestHelper::BadReplies] })
        }
        WeaknessKind::NoTimeout if section.is_async => {
            Err("an event loop waits for it, whose timeout a test cannot see".to_owned())
        }
        WeaknessKind::NoTimeout => {
            let mut lines = function("call", &source::call(call)?);
            lines.push("with silent_service(monkeypatch):".to_owned());
            lines.push("    times_out(call)".to_owned());
            Ok(TestBody { lines, parts: vec![TestHelper::Redirect, TestHelper::SilentService] })
        }
        WeaknessKind::Injection => build_injection_test(failure),
        WeaknessKind::Traversal => {
            let mut lines = function("call", &source::call(&source::replace_parent_paths(call))?);
            lines.push("reads_no_outside_file(call)".to_owned());
            Ok(TestBody { lines, parts: vec![TestHelper::Injection] })
        }
    }
}

fn raise_nothing(call: &Call, exception: &str) -> Result<TestBody, String> {
    let mut lines = function("call", &source::call(call)?);
    lines.push(format!("does_not_raise(call, {})", literal(exception)));
    Ok(TestBody { lines, parts: Vec::new() })
}

/// A call in a subprocess, judged by its exit code.
fn run_in_subprocess(
    call: &Call,
    run: &str,
    judge: &[String],
    parts: &[TestHelper],
) -> Result<TestBody, String> {
    let mut inner = source::function("call", &source::call(call)?);
    inner.extend(run.lines().map(str::to_owned));
    let opening = if judge.is_empty() {
        "run_in_subprocess("
    } else {
        "exit_code, output = run_in_subprocess("
    };
    let mut lines = vec![opening.to_owned(), "    [".to_owned()];
    lines.extend(inner.iter().map(|line| format!("        {},", literal(line))));
    lines.push("    ],".to_owned());
    lines.push(format!("    seconds={SUBPROCESS_TIMEOUT_SECS},"));
    lines.push(")".to_owned());
    lines.extend(judge.iter().cloned());
    Ok(TestBody { lines, parts: [parts, &[TestHelper::Subprocess]].concat() })
}

fn run_concurrently(call: &Call, section: &Section, check: &str) -> Result<TestBody, String> {
    let burst = call.conditions.burst.unwrap_or(ConcurrencyBurst { threads: 2, tasks: 2 });
    let count = if section.is_async { burst.tasks } else { burst.threads }.max(2);
    let made = source::parts(call);
    let called = match call.target.kind {
        TargetKind::Method => format!("receiver.{}(*args, **kwargs)", source::method(call)),
        TargetKind::Property => format!("receiver.{}", source::method(call)),
        _ => "section(*args, **kwargs)".to_owned(),
    };
    let mut lines = vec!["def make():".to_owned()];
    if !matches!(call.target.kind, TargetKind::Method | TargetKind::Property) {
        let name = Value::Name(source::section(call)?).to_python();
        lines.extend(name.imports.iter().map(|import| format!("    {import}")));
        lines.push(format!("    section = {}", name.expression));
    }
    for statement in made.imports.iter().chain(&made.statements) {
        lines.extend(statement.lines().map(|line| format!("    {line}")));
    }
    lines.push(format!("    receiver, args, kwargs = {}", made.expression));
    lines.push(format!("    return receiver, lambda: {called}"));
    lines.push(String::new());
    let tasks = if section.is_async { "True" } else { "False" };
    lines.push(format!("{check}(make, {count}, tasks={tasks})"));
    Ok(TestBody { lines, parts: vec![TestHelper::Concurrency] })
}

fn build_slow_test(call: &Call) -> Result<TestBody, String> {
    let largest = largest_size(call).filter(|size| *size >= 4);
    let largest = largest.ok_or("nothing of its input can be made smaller by measure")?;
    let mut lines = Vec::new();
    let mut calls = Vec::new();
    for size in [largest / 4, largest / 2, largest] {
        let sized = with_size(call, size).ok_or("its input has no size")?;
        lines.extend(function(&format!("call_{size}"), &source::call(&sized)?));
        calls.push(format!("{size}: call_{size}"));
    }
    lines.push(format!("scales_well({{{}}})", calls.join(", ")));
    Ok(TestBody { lines, parts: vec![TestHelper::Scaling] })
}

fn build_disk_test(failure: &Failure) -> Result<TestBody, String> {
    let call = &failure.call;
    // The first thing in quotes that the message names is the file.
    let file = failure.message.split('`').nth(1).unwrap_or_default();
    if file.starts_with('/') {
        return Err(format!("it writes `{file}`, which is outside of a test's directory"));
    }
    let mut lines = function("call", &source::call(call)?);
    lines.push("def prepare():".to_owned());
    let mut prepared: Vec<String> =
        write_files(call).into_iter().map(|line| format!("    {line}")).collect();
    if let Some((directory, _)) = file.rsplit_once('/') {
        let directory = literal(directory);
        prepared.push(format!("    Path({directory}).mkdir(parents=True, exist_ok=True)"));
    }
    if prepared.is_empty() {
        prepared.push("    pass".to_owned());
    }
    lines.extend(prepared);
    lines.push(String::new());
    lines.push("leaves_no_partial_file(call, prepare, tmp_path)".to_owned());
    Ok(TestBody { lines, parts: vec![TestHelper::FullDisk, TestHelper::WriteFile] })
}

fn build_injection_test(failure: &Failure) -> Result<TestBody, String> {
    let made =
        |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with(INJECTION_MARKER));
    let makes_file = failure.outcome.files.touched.iter().any(|file| made(&file.path));
    // The exception is no part of an injection's identity, but shows which kind it is.
    let in_query = failure.outcome.exception.as_ref().is_some_and(|raised| {
        let mut classes = std::iter::once(&raised.kind).chain(&raised.bases);
        classes.any(|class| class == "sqlite3.OperationalError")
    });
    let check = match (makes_file, in_query) {
        (true, _) => "executes_no_input(call, tmp_path, monkeypatch)",
        (false, true) => "injects_no_sql(call)",
        (false, false) => "injects_no_html(call)",
    };
    let mut lines = function("call", &source::call(&failure.call)?);
    lines.push(check.to_owned());
    Ok(TestBody { lines, parts: vec![TestHelper::Injection] })
}

fn write_files(call: &Call) -> Vec<String> {
    let files = call.fixtures.files.iter();
    files
        .map(|file| {
            format!("write_file({}, {})", literal(&file.path), source::bytes(&file.content))
        })
        .collect()
}

/// The function with an empty line before and after it.
fn function(name: &str, source: &menace_model::PythonSource) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.extend(source::function(name, source));
    lines.push(String::new());
    lines
}

/// The section's name, as a part of a name.
fn test_name_part(failure: &Failure) -> String {
    let name = failure.section.qualname().to_ascii_lowercase();
    let word: String =
        name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
    word.trim_matches('_').to_owned()
}

/// Why the test is there.
fn describe_failure(failure: &Failure) -> Vec<String> {
    let message: String =
        failure.message.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let text = format!(
        "{}: {message}. Seen at {}, under the scenario `{}`. It is failure {id}: \
         `menace show {id}` shows the details.",
        failure.kind,
        failure.location,
        failure.scenario,
        id = failure.id,
    );
    let mut lines = Vec::new();
    let mut line = "#".to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > MAX_COMMENT_COLUMNS && line.len() > 1 {
            lines.push(std::mem::replace(&mut line, "#".to_owned()));
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
    lines
}
