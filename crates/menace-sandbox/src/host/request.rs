//! Encodes messages for the harness on the host, so that init need not understand them.

use menace_model::{
    Call, CallStep, CallTarget, FaultTrigger, MockResponse, ModuleRef, NetworkConditions, Value,
};

use crate::wire::marshal::MarshalWriter;
use crate::wire::values;

/// `path`: where modules are imported from, relative to the repository.
pub(crate) fn encode_import_path(roots: &[String], repo: &str) -> Vec<u8> {
    let mut out = MarshalWriter::default();
    out.open_dict();
    write_entry(&mut out, "op", "path");
    out.write_str("sys_path");
    out.open_list(roots.len());
    for root in roots {
        out.write_str(format!("{repo}/{root}").trim_end_matches('/'));
    }
    out.close_dict();
    out.0
}

/// `import`: the zygote itself imports the module.
pub(crate) fn encode_import(module: &ModuleRef, repo: &str) -> Vec<u8> {
    let mut out = MarshalWriter::default();
    out.open_dict();
    write_entry(&mut out, "op", "import");
    write_entry(&mut out, "module", &module.name);
    write_module_path(&mut out, module, repo);
    out.write_str("description_limits");
    out.write_none();
    out.close_dict();
    out.0
}

/// A call, for a fork of the zygote; `guest_may_fork` says whether the call may fork in turn.
pub(crate) fn encode_call(call: &Call, repo: &str, guest_may_fork: bool) -> Vec<u8> {
    let mut out = MarshalWriter::default();
    out.open_dict();
    write_section(&mut out, &call.target, call.receiver.as_ref(), &call.args, &call.kwargs, repo);
    out.write_str("seed");
    out.write_magnitude(false, call.seed);
    write_entry(&mut out, "cwd", repo);
    out.write_str("description_limits");
    out.write_none();
    write_conditions(&mut out, call, guest_may_fork);
    let steps = call.steps();
    if !steps.is_empty() {
        if call.shared_steps.is_empty() {
            out.write_str("measure_memory");
            out.write_bool(true);
        }
        out.write_str("steps");
        out.open_list(steps.len());
        for CallStep { target, receiver, args, kwargs, intent: _ } in steps.iter() {
            out.open_dict();
            write_section(&mut out, target, receiver.as_ref(), args, kwargs, repo);
            out.close_dict();
        }
    }
    out.close_dict();
    out.0
}

/// The section, its receiver and its arguments.
fn write_section(
    out: &mut MarshalWriter,
    target: &CallTarget,
    receiver: Option<&Value>,
    args: &[Value],
    kwargs: &[(String, Value)],
    repo: &str,
) {
    out.write_str("target");
    out.open_dict();
    write_entry(out, "module", &target.module.name);
    write_module_path(out, &target.module, repo);
    write_entry(out, "qualname", &target.qualname);
    write_entry(out, "kind", target.kind.as_str());
    out.close_dict();
    out.write_str("receiver");
    match receiver {
        Some(receiver) => values::write_value(out, receiver),
        None => out.write_none(),
    }
    out.write_str("args");
    out.open_list(args.len());
    for value in args {
        values::write_value(out, value);
    }
    out.write_str("kwargs");
    out.open_list(kwargs.len());
    for (name, value) in kwargs {
        out.open_list(2);
        out.write_str(name);
        values::write_value(out, value);
    }
    out.write_str("needs_no_building");
    out.write_bool(receiver.is_none() && need_no_building(args, kwargs));
}

/// The conditions that the harness itself applies; nothing for a baseline call.
fn write_conditions(out: &mut MarshalWriter, call: &Call, guest_may_fork: bool) {
    let Call { conditions, fixtures, .. } = call;
    if call.coverage {
        out.write_str("coverage");
        out.write_bool(true);
    }
    if let Some(burst) = conditions.burst
        && guest_may_fork
        // A burst compares runs of one section, so it needs a call without steps and repeats.
        && call.shared_steps.is_empty()
        && call.repeats == 0
    {
        out.write_str("burst");
        out.open_list(3);
        out.write_magnitude(false, burst.threads.into());
        out.write_magnitude(false, burst.tasks.into());
        out.write_magnitude(false, call.limits.timeout_ms);
    }
    if !fixtures.files.is_empty() {
        out.write_str("files");
        out.open_list(fixtures.files.len());
        for file in &fixtures.files {
            out.open_list(2);
            out.write_str(&file.path);
            out.write_bytes(&file.content);
        }
    }
    if !fixtures.environment.is_empty() {
        out.write_str("environment");
        write_pairs(out, &fixtures.environment);
    }
    if !conditions.faults.is_empty() {
        out.write_str("faults");
        out.open_list(conditions.faults.len());
        for fault in &conditions.faults {
            out.open_list(3);
            out.write_str(fault.mode.as_str());
            match fault.trigger {
                FaultTrigger::Nth(number) => {
                    out.write_str("nth");
                    out.write_magnitude(false, number);
                }
                FaultTrigger::Rate(share) => {
                    out.write_str("rate");
                    out.write_float(share);
                }
            }
        }
    }
    if let Some(upstream) = &conditions.upstream {
        write_link(out, &conditions.network);
        out.write_str("upstream");
        out.open_dict();
        out.write_str("answer_all");
        out.write_bool(upstream.answer_all);
        if let Some(failure) = upstream.failure {
            write_entry(out, "failure", failure.as_str());
        }
        out.write_str("mocks");
        out.open_list(upstream.mocks.len());
        for mock in &upstream.mocks {
            write_mock(out, mock);
        }
        out.close_dict();
    }
}

fn write_mock(out: &mut MarshalWriter, mock: &MockResponse) {
    out.open_dict();
    out.write_str("method");
    match &mock.method {
        Some(method) => out.write_str(method),
        None => out.write_none(),
    }
    write_entry(out, "url", &mock.url);
    out.write_str("status");
    out.write_magnitude(false, mock.status.into());
    out.write_str("headers");
    write_pairs(out, &mock.headers);
    out.write_str("body");
    out.write_bytes(&mock.body);
    out.write_str("delay_ms");
    out.write_magnitude(false, mock.delay_ms);
    out.write_str("times");
    match mock.times {
        Some(times) => out.write_magnitude(false, times.into()),
        None => out.write_none(),
    }
    out.close_dict();
}

/// The link's conditions, which the harness applies to its replies, since they never cross the
/// link.
fn write_link(out: &mut MarshalWriter, network: &NetworkConditions) {
    out.write_str("network");
    out.open_dict();
    for (name, value) in [
        ("latency_ms", network.latency_ms),
        ("jitter_ms", network.jitter_ms),
        ("loss", network.loss),
        ("bits_per_second", network.bits_per_second.unwrap_or(0) as f64),
    ] {
        out.write_str(name);
        out.write_float(value);
    }
    out.write_str("partition");
    out.open_list(network.partition.len());
    for peer in &network.partition {
        out.open_list(2);
        match &peer.host {
            Some(host) => out.write_str(host),
            None => out.write_none(),
        }
        match peer.port {
            Some(port) => out.write_magnitude(false, port.into()),
            None => out.write_none(),
        }
    }
    out.close_dict();
}

fn write_pairs(out: &mut MarshalWriter, pairs: &[(String, String)]) {
    out.open_list(pairs.len());
    for (name, value) in pairs {
        out.open_list(2);
        out.write_str(name);
        out.write_str(value);
    }
}

fn write_entry(out: &mut MarshalWriter, key: &str, text: &str) {
    out.write_str(key);
    out.write_str(text);
}

fn write_module_path(out: &mut MarshalWriter, module: &ModuleRef, repo: &str) {
    out.write_str("path");
    match &module.path {
        Some(path) => out.write_str(&format!("{repo}/{path}")),
        None => out.write_none(),
    }
}

/// Whether `marshal` can carry all arguments as they are, without a description to build them from.
fn need_no_building(args: &[Value], kwargs: &[(String, Value)]) -> bool {
    let needs_no_building = |value: &Value| {
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
    args.iter().all(needs_no_building) && kwargs.iter().all(|(_, value)| needs_no_building(value))
}
