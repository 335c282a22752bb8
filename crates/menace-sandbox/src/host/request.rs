//! The messages for the harness, written by the host so that the init need not understand them.

use menace_model::{Call, Mock, ModuleRef, Network, Step, Target, Value, When};

use crate::wire::marshal::Writer;
use crate::wire::values;

/// `path`: where modules are imported from, relative to the repository.
pub(crate) fn path(roots: &[String], repo: &str) -> Vec<u8> {
    let mut out = Writer::default();
    out.open_dict();
    entry(&mut out, "op", "path");
    out.str("sys_path");
    out.list(roots.len());
    for root in roots {
        out.str(format!("{repo}/{root}").trim_end_matches('/'));
    }
    out.close_dict();
    out.0
}

/// `import`: the interpreter itself imports the module.
pub(crate) fn import(module: &ModuleRef, repo: &str, nonce: u64) -> Vec<u8> {
    let mut out = Writer::default();
    out.open_dict();
    entry(&mut out, "op", "import");
    entry(&mut out, "module", &module.name);
    file(&mut out, module, repo);
    out.str("nonce");
    out.unsigned(false, nonce);
    out.str("caps");
    out.none();
    out.close_dict();
    out.0
}

/// The call itself, for a fork of the interpreter, which may fork again or not.
pub(crate) fn call(call: &Call, repo: &str, nonce: u64, may_fork: bool) -> Vec<u8> {
    let mut out = Writer::default();
    out.open_dict();
    out.str("nonce");
    out.unsigned(false, nonce);
    section(&mut out, &call.target, call.receiver.as_ref(), &call.args, &call.kwargs, repo);
    out.str("seed");
    out.unsigned(false, call.seed);
    entry(&mut out, "cwd", repo);
    out.str("caps");
    out.none();
    conditions(&mut out, call, may_fork);
    let steps = call.steps();
    if !steps.is_empty() {
        if call.together.is_empty() {
            out.str("weigh");
            out.bool(true);
        }
        out.str("together");
        out.list(steps.len());
        for Step { target, receiver, args, kwargs, intent: _ } in steps.iter() {
            out.open_dict();
            section(&mut out, target, receiver.as_ref(), args, kwargs, repo);
            out.close_dict();
        }
    }
    out.close_dict();
    out.0
}

/// What is called, and with what.
fn section(
    out: &mut Writer,
    target: &Target,
    receiver: Option<&Value>,
    args: &[Value],
    kwargs: &[(String, Value)],
    repo: &str,
) {
    out.str("target");
    out.open_dict();
    entry(out, "module", &target.module.name);
    file(out, &target.module, repo);
    entry(out, "qualname", &target.qualname);
    entry(out, "how", target.how.as_str());
    out.close_dict();
    out.str("receiver");
    match receiver {
        Some(receiver) => values::write(out, receiver),
        None => out.none(),
    }
    out.str("args");
    out.list(args.len());
    for value in args {
        values::write(out, value);
    }
    out.str("kwargs");
    out.list(kwargs.len());
    for (name, value) in kwargs {
        out.list(2);
        out.str(name);
        values::write(out, value);
    }
    out.str("plain");
    out.bool(receiver.is_none() && is_plain(args, kwargs));
}

/// What the harness itself has to do with; nothing for a call in peace.
fn conditions(out: &mut Writer, call: &Call, may_fork: bool) {
    let Call { conditions, fixtures, .. } = call;
    if call.coverage {
        out.str("coverage");
        out.bool(true);
    }
    if let Some(burst) = conditions.burst
        && may_fork
        // Runs of one section are compared, and there is not one.
        && call.together.is_empty()
        && call.again == 0
    {
        out.str("burst");
        out.list(3);
        out.unsigned(false, burst.threads.into());
        out.unsigned(false, burst.tasks.into());
        out.unsigned(false, call.limits.timeout_ms);
    }
    if !fixtures.files.is_empty() {
        out.str("files");
        out.list(fixtures.files.len());
        for file in &fixtures.files {
            out.list(2);
            out.str(&file.path);
            out.bytes(&file.content);
        }
    }
    if !fixtures.environment.is_empty() {
        out.str("environment");
        pairs(out, &fixtures.environment);
    }
    if !conditions.faults.is_empty() {
        out.str("faults");
        out.list(conditions.faults.len());
        for fault in &conditions.faults {
            out.list(3);
            out.str(fault.mode.as_str());
            match fault.when {
                When::Nth(number) => {
                    out.str("nth");
                    out.unsigned(false, number);
                }
                When::Rate(share) => {
                    out.str("rate");
                    out.float(share);
                }
            }
        }
    }
    if let Some(upstream) = &conditions.upstream {
        link(out, &conditions.network);
        out.str("upstream");
        out.open_dict();
        out.str("answer_all");
        out.bool(upstream.answer_all);
        if let Some(failure) = upstream.failure {
            entry(out, "failure", failure.as_str());
        }
        out.str("mocks");
        out.list(upstream.mocks.len());
        for mock in &upstream.mocks {
            answer(out, mock);
        }
        out.close_dict();
    }
}

fn answer(out: &mut Writer, mock: &Mock) {
    out.open_dict();
    out.str("method");
    match &mock.method {
        Some(method) => out.str(method),
        None => out.none(),
    }
    entry(out, "url", &mock.url);
    out.str("status");
    out.unsigned(false, mock.status.into());
    out.str("headers");
    pairs(out, &mock.headers);
    out.str("body");
    out.bytes(&mock.body);
    out.str("delay_ms");
    out.unsigned(false, mock.delay_ms);
    out.str("times");
    match mock.times {
        Some(times) => out.unsigned(false, times.into()),
        None => out.none(),
    }
    out.close_dict();
}

/// The link, for answers that never cross it.
fn link(out: &mut Writer, network: &Network) {
    out.str("network");
    out.open_dict();
    for (name, value) in [
        ("latency_ms", network.latency_ms),
        ("jitter_ms", network.jitter_ms),
        ("loss", network.loss),
        ("bits_per_second", network.bits_per_second.unwrap_or(0) as f64),
    ] {
        out.str(name);
        out.float(value);
    }
    out.str("partition");
    out.list(network.partition.len());
    for peer in &network.partition {
        out.list(2);
        match &peer.host {
            Some(host) => out.str(host),
            None => out.none(),
        }
        match peer.port {
            Some(port) => out.unsigned(false, port.into()),
            None => out.none(),
        }
    }
    out.close_dict();
}

fn pairs(out: &mut Writer, pairs: &[(String, String)]) {
    out.list(pairs.len());
    for (name, value) in pairs {
        out.list(2);
        out.str(name);
        out.str(value);
    }
}

fn entry(out: &mut Writer, key: &str, text: &str) {
    out.str(key);
    out.str(text);
}

fn file(out: &mut Writer, module: &ModuleRef, repo: &str) {
    out.str("path");
    match &module.path {
        Some(path) => out.str(&format!("{repo}/{path}")),
        None => out.none(),
    }
}

/// Nothing has to be built from a description: the harness can take the arguments as they are.
fn is_plain(args: &[Value], kwargs: &[(String, Value)]) -> bool {
    let plain = |value: &Value| {
        matches!(
            value,
            Value::None
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Str(_)
                | Value::Bytes(_)
        )
    };
    args.iter().all(plain) && kwargs.iter().all(|(_, value)| plain(value))
}
