//! Candidates with less context: without faults, concurrency, files and optional arguments.

use menace_model::{
    Call, CallConditions, CallLimits, CallStep, ConcurrencyBurst, FaultTrigger, NetworkConditions,
    ParamKind, SignatureParam, UpstreamConfig,
};

use super::scalars::shorter_sequences;
use super::scalars::simpler_counts;

/// Instead of a fault rate, single faults up to this opportunity are tried.
const MAX_FIRST_FAULT_INDEX: u64 = 4;
const MIN_CONCURRENT_RUNS: u32 = 2;

pub(super) fn context_candidates(call: &Call, params: &[SignatureParam]) -> Vec<Call> {
    let mut simpler = Vec::new();
    let upstream = call.conditions.upstream.clone();
    for conditions in
        [CallConditions::default(), CallConditions { upstream, ..CallConditions::default() }]
    {
        simpler.push(Call { conditions, ..call.clone() });
    }
    let conditions = |change: &dyn Fn(&mut CallConditions)| {
        let mut call = call.clone();
        change(&mut call.conditions);
        call
    };
    for faults in shorter_sequences(&call.conditions.faults) {
        simpler.push(conditions(&|now| now.faults.clone_from(&faults)));
    }
    simpler.push(conditions(&|now| now.burst = None));
    simpler.push(conditions(&|now| now.upstream = None));
    simpler.extend(
        simpler_networks(&call.conditions.network)
            .map(|better| conditions(&|now| now.network = better.clone())),
    );
    simpler.extend(fewer_faults(call));
    simpler.extend(fewer_concurrent_runs(call));
    if let Some(upstream) = &call.conditions.upstream {
        for mocks in shorter_sequences(&upstream.mocks) {
            let fewer = UpstreamConfig { mocks, ..upstream.clone() };
            simpler.push(conditions(&|now| now.upstream = Some(fewer.clone())));
        }
    }
    simpler.extend(default_limits(call));
    simpler.extend(fewer_fixtures(call));
    simpler.extend(fewer_arguments(call, params));
    simpler
}

fn simpler_networks(network: &NetworkConditions) -> impl Iterator<Item = NetworkConditions> {
    let with = |change: &dyn Fn(&mut NetworkConditions)| {
        let mut network = network.clone();
        change(&mut network);
        network
    };
    [
        NetworkConditions::default(),
        with(&|network| network.latency_ms = 0.0),
        with(&|network| network.jitter_ms = 0.0),
        with(&|network| network.loss = 0.0),
        with(&|network| network.duplication = 0.0),
        with(&|network| network.bits_per_second = None),
        with(&|network| network.partition.clear()),
    ]
    .into_iter()
}

/// One fault instead of a rate, and an earlier one.
fn fewer_faults(call: &Call) -> Vec<Call> {
    let mut simpler = Vec::new();
    for (at, fault) in call.conditions.faults.iter().enumerate() {
        let instead = match fault.trigger {
            FaultTrigger::Rate(_) => (1..=MAX_FIRST_FAULT_INDEX).collect(),
            FaultTrigger::Nth(nth) => {
                simpler_counts(nth).into_iter().filter(|nth| *nth > 0).collect::<Vec<_>>()
            }
        };
        for nth in instead {
            let mut call = call.clone();
            call.conditions.faults[at].trigger = FaultTrigger::Nth(nth);
            simpler.push(call);
        }
    }
    simpler
}

/// Fewer concurrent runs: two, a half.
fn fewer_concurrent_runs(call: &Call) -> Vec<Call> {
    let Some(burst) = call.conditions.burst else { return Vec::new() };
    let both = |to: &dyn Fn(u32) -> u32| ConcurrencyBurst {
        threads: to(burst.threads),
        tasks: to(burst.tasks),
    };
    let of = [
        ConcurrencyBurst { threads: burst.threads.min(MIN_CONCURRENT_RUNS), tasks: 0 },
        ConcurrencyBurst { threads: 0, tasks: burst.tasks.min(MIN_CONCURRENT_RUNS) },
        both(&|now| now.min(MIN_CONCURRENT_RUNS)),
        ConcurrencyBurst { tasks: 0, ..burst },
        ConcurrencyBurst { threads: 0, ..burst },
        both(&|now| (now / 2).max(now.min(MIN_CONCURRENT_RUNS))),
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

/// The default for each limit that the call narrows.
fn default_limits(call: &Call) -> Vec<Call> {
    let usual = CallLimits::default();
    let with = |limits: CallLimits| Call { limits, ..call.clone() };
    let now = call.limits.clone();
    vec![
        with(CallLimits {
            timeout_ms: now.timeout_ms,
            processes: now.processes.max(usual.processes),
            ..usual.clone()
        }),
        with(CallLimits { cpu_ms: usual.cpu_ms, ..now.clone() }),
        with(CallLimits { cpu_share: usual.cpu_share, ..now.clone() }),
        with(CallLimits { memory_bytes: usual.memory_bytes, ..now.clone() }),
        with(CallLimits { disk_bytes: usual.disk_bytes, ..now.clone() }),
        with(CallLimits { processes: usual.processes, ..now.clone() }),
        with(CallLimits { open_files: usual.open_files, ..now.clone() }),
        with(CallLimits { output_bytes: usual.output_bytes, ..now }),
    ]
}

fn fewer_fixtures(call: &Call) -> Vec<Call> {
    let mut simpler = Vec::new();
    for files in shorter_sequences(&call.fixtures.files) {
        let mut call = call.clone();
        call.fixtures.files = files;
        simpler.push(call);
    }
    for environment in shorter_sequences(&call.fixtures.environment) {
        let mut call = call.clone();
        call.fixtures.environment = environment;
        simpler.push(call);
    }
    for (at, file) in call.fixtures.files.iter().enumerate() {
        for content in shorter_sequences(&file.content) {
            let mut call = call.clone();
            call.fixtures.files[at].content = content;
            simpler.push(call);
        }
    }
    simpler
}

/// Without optional arguments: keyword arguments in any order, positional ones from the end.
fn fewer_arguments(call: &Call, params: &[SignatureParam]) -> Vec<Call> {
    let mut simpler = Vec::new();
    let may_go = |name: &str| match params.iter().find(|param| param.name == name) {
        Some(param) => param.default.is_some(),
        None => true,
    };
    let (optional, needed): (Vec<_>, Vec<_>) =
        call.kwargs.iter().cloned().partition(|(name, _)| may_go(name));
    for kept in shorter_sequences(&optional) {
        let stays =
            |(name, _): &&(String, _)| needed.iter().chain(&kept).any(|(other, _)| other == name);
        let kwargs = call.kwargs.iter().filter(stays).cloned().collect();
        simpler.push(Call { step: CallStep { kwargs, ..call.step.clone() }, ..call.clone() });
    }
    let positional = params.iter().filter(|param| {
        matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
    });
    let needed = positional.filter(|param| param.default.is_none()).count();
    // Without a signature, no argument is known to be optional.
    let needed = if params.is_empty() { call.args.len() } else { needed };
    for count in needed..call.args.len() {
        let mut shorter = call.clone();
        shorter.args.truncate(count);
        simpler.push(shorter);
    }
    simpler
}
