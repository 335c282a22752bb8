//! Calls with less around them: without faults, company, files, and arguments with a default.

use menace_model::{Burst, Call, Conditions, Limits, Network, Param, ParamKind, Upstream, When};

use super::numbers::counts;
use super::text::shorter;

/// What is tried instead of a share: strikes at these opportunities only.
const FIRST_STRIKES: u64 = 4;
/// The smallest company.
const TWO: u32 = 2;

pub(super) fn simpler(call: &Call, params: &[Param]) -> Vec<Call> {
    let mut simpler = Vec::new();
    let upstream = call.conditions.upstream.clone();
    for conditions in [Conditions::default(), Conditions { upstream, ..Conditions::default() }] {
        simpler.push(Call { conditions, ..call.clone() });
    }
    let conditions = |change: &dyn Fn(&mut Conditions)| {
        let mut call = call.clone();
        change(&mut call.conditions);
        call
    };
    for faults in shorter(&call.conditions.faults) {
        simpler.push(conditions(&|now| now.faults.clone_from(&faults)));
    }
    simpler.push(conditions(&|now| now.burst = None));
    simpler.push(conditions(&|now| now.upstream = None));
    simpler.extend(
        networks(&call.conditions.network)
            .map(|better| conditions(&|now| now.network = better.clone())),
    );
    simpler.extend(strikes(call));
    simpler.extend(company(call));
    if let Some(upstream) = &call.conditions.upstream {
        for mocks in shorter(&upstream.mocks) {
            let fewer = Upstream { mocks, ..upstream.clone() };
            simpler.push(conditions(&|now| now.upstream = Some(fewer.clone())));
        }
    }
    simpler.extend(limits(call));
    simpler.extend(fixtures(call));
    simpler.extend(arguments(call, params));
    simpler
}

fn networks(network: &Network) -> impl Iterator<Item = Network> {
    let with = |change: &dyn Fn(&mut Network)| {
        let mut network = network.clone();
        change(&mut network);
        network
    };
    [
        Network::default(),
        with(&|network| network.latency_ms = 0.0),
        with(&|network| network.jitter_ms = 0.0),
        with(&|network| network.loss = 0.0),
        with(&|network| network.duplication = 0.0),
        with(&|network| network.bits_per_second = None),
        with(&|network| network.partition.clear()),
    ]
    .into_iter()
}

/// One strike instead of a share of them, and an earlier one.
fn strikes(call: &Call) -> Vec<Call> {
    let mut simpler = Vec::new();
    for (at, fault) in call.conditions.faults.iter().enumerate() {
        let instead = match fault.when {
            When::Rate(_) => (1..=FIRST_STRIKES).collect(),
            When::Nth(nth) => counts(nth).into_iter().filter(|nth| *nth > 0).collect::<Vec<_>>(),
        };
        for nth in instead {
            let mut call = call.clone();
            call.conditions.faults[at].when = When::Nth(nth);
            simpler.push(call);
        }
    }
    simpler
}

/// A company that is smaller: two, a half.
fn company(call: &Call) -> Vec<Call> {
    let Some(burst) = call.conditions.burst else { return Vec::new() };
    let both =
        |to: &dyn Fn(u32) -> u32| Burst { threads: to(burst.threads), tasks: to(burst.tasks) };
    let of = [
        Burst { threads: burst.threads.min(TWO), tasks: 0 },
        Burst { threads: 0, tasks: burst.tasks.min(TWO) },
        both(&|now| now.min(TWO)),
        Burst { tasks: 0, ..burst },
        Burst { threads: 0, ..burst },
        both(&|now| (now / 2).max(now.min(TWO))),
    ];
    let alive = of.into_iter().filter(|burst| burst.threads > 0 || burst.tasks > 0);
    alive
        .map(|burst| {
            let mut call = call.clone();
            call.conditions.burst = Some(burst);
            call
        })
        .collect()
}

/// As much as usual of what the call has less of.
fn limits(call: &Call) -> Vec<Call> {
    let usual = Limits::default();
    let with = |limits: Limits| Call { limits, ..call.clone() };
    let now = call.limits.clone();
    vec![
        with(Limits {
            timeout_ms: now.timeout_ms,
            processes: now.processes.max(usual.processes),
            ..usual.clone()
        }),
        with(Limits { cpu_ms: usual.cpu_ms, ..now.clone() }),
        with(Limits { cpu_share: usual.cpu_share, ..now.clone() }),
        with(Limits { memory_bytes: usual.memory_bytes, ..now.clone() }),
        with(Limits { disk_bytes: usual.disk_bytes, ..now.clone() }),
        with(Limits { processes: usual.processes, ..now.clone() }),
        with(Limits { open_files: usual.open_files, ..now.clone() }),
        with(Limits { output_bytes: usual.output_bytes, ..now }),
    ]
}

fn fixtures(call: &Call) -> Vec<Call> {
    let mut simpler = Vec::new();
    for files in shorter(&call.fixtures.files) {
        let mut call = call.clone();
        call.fixtures.files = files;
        simpler.push(call);
    }
    for environment in shorter(&call.fixtures.environment) {
        let mut call = call.clone();
        call.fixtures.environment = environment;
        simpler.push(call);
    }
    for (at, file) in call.fixtures.files.iter().enumerate() {
        for content in shorter(&file.content) {
            let mut call = call.clone();
            call.fixtures.files[at].content = content;
            simpler.push(call);
        }
    }
    simpler
}

/// Without what has a default: by name in any order, by position from the end.
fn arguments(call: &Call, params: &[Param]) -> Vec<Call> {
    let mut simpler = Vec::new();
    let may_go = |name: &str| match params.iter().find(|param| param.name == name) {
        Some(param) => param.default.is_some(),
        None => true,
    };
    let (optional, needed): (Vec<_>, Vec<_>) =
        call.kwargs.iter().cloned().partition(|(name, _)| may_go(name));
    for kept in shorter(&optional) {
        let stays =
            |(name, _): &&(String, _)| needed.iter().chain(&kept).any(|(other, _)| other == name);
        let kwargs = call.kwargs.iter().filter(stays).cloned().collect();
        simpler.push(Call { kwargs, ..call.clone() });
    }
    let positional = params.iter().filter(|param| {
        matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
    });
    let needed = positional.filter(|param| param.default.is_none()).count();
    // Without any parameters, nothing is known of them.
    let needed = if params.is_empty() { call.args.len() } else { needed };
    for count in needed..call.args.len() {
        simpler.push(Call { args: call.args[..count].to_vec(), ..call.clone() });
    }
    simpler
}
