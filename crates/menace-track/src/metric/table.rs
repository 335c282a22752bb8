//! The table of all metrics.

use super::{DISCREPANCY_COUNT, MetricDefinition, MetricDirection, MetricRange, MetricScope};

/// In the order in which people read them: behaviour, cost, code, value.
pub const METRICS: &[MetricDefinition] = &[
    MetricDefinition {
        name: "reliability",
        unit: "share",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "Calls with valid inputs under the baseline that returned, of all of these but \
            those that the section declined: it raised on purpose, and knows better what is valid. \
            A call that shows a failure of the section does not count as returned.",
    },
    MetricDefinition {
        name: "resilience",
        unit: "share",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "Share of answered calls (returned, refused or raised on purpose, no failure) \
            under faults or bad inputs, divided by the same share under the baseline, at most 1. \
            It is 0 when nothing is answered under the baseline.",
    },
    MetricDefinition {
        name: "antifragility",
        unit: "share",
        range: MetricRange::Signed,
        direction: MetricDirection::Up,
        scope: MetricScope::Section,
        definition: "Resilience at severity `high` minus resilience at `low`, over the scenarios \
            that ran at both.",
    },
    MetricDefinition {
        name: "safety_rating",
        unit: "share",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "1 − harm / calls. The harm of a call is that of the worst it did: death by a \
            signal or a crash that is a failure 1, an exit 0.25, a forbidden connection 0.5, a \
            forbidden file \
            0.75, any other violation 1. A crash that an injected fault made does not count.",
    },
    MetricDefinition {
        name: "security_score",
        unit: "score",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Module,
        definition: "1 / (1 + d / 9), where d is the sum of severity (1, 3, 9) × confidence (⅓, ⅔, \
            1) of the findings that Bandit has rules for, per 100 logical lines; a module below \
            100 lines counts as one of 100.",
    },
    MetricDefinition {
        name: "risk_index",
        unit: "share",
        range: MetricRange::Share,
        direction: MetricDirection::Down,
        scope: MetricScope::Cell,
        definition: "Probability of something bad × severity of the module (impact table). The \
            probability is the larger of the share of bad calls and 1 − ½ⁿ for n confirmed \
            failures. A call is bad when it shows a failure of the section or, under the baseline, \
            when \
            it crashed or hit a limit.",
    },
    MetricDefinition {
        name: "flexibility",
        unit: "share",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "Mean, over the kinds of inputs that were tried (valid, boundary, hostile, \
            misuse, drifted), of the share that was answered (returned, refused or raised on \
            purpose, no failure).",
    },
    MetricDefinition {
        name: "adaptability",
        unit: "share",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "Lines of the section that at least one call reached, of the lines that can \
            run. All calls under the baseline count, and the first one under each other scenario: \
            there is no value for such a scenario by itself.",
    },
    MetricDefinition {
        name: "recovery_time",
        unit: "s",
        range: MetricRange::Positive,
        direction: MetricDirection::Down,
        scope: MetricScope::Cell,
        definition: "Median time from the last injected fault to the return of the section, over \
            the calls that had a fault and returned.",
    },
    MetricDefinition {
        name: "efficiency",
        unit: "score",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "1 / (1 + cost / budget per call). The cost is that of a typical answered call \
            at the profile's prices: median processor seconds, GiB × seconds, GiB read and \
            written, and what it waits beyond 10 ms. It is 0 when no call was answered.",
    },
    MetricDefinition {
        name: "throughput",
        unit: "calls/s",
        range: MetricRange::Positive,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "1 / median time of an answered call, as measured inside: what the sandbox \
            adds is not in it. It is 0 when no call was answered.",
    },
    MetricDefinition {
        name: "energy_consumption",
        unit: "J/call",
        range: MetricRange::Positive,
        direction: MetricDirection::Down,
        scope: MetricScope::Cell,
        definition: "Joules per call: processor seconds × watts per core; for the run, what the \
            processor's own meter says, where it can be read.",
    },
    MetricDefinition {
        name: "network_latency",
        unit: "ms",
        range: MetricRange::Positive,
        direction: MetricDirection::Down,
        scope: MetricScope::Scenario,
        definition: "A round trip inside of the sandbox under the scenario, as measured.",
    },
    MetricDefinition {
        name: "concurrency_threads",
        unit: "threads",
        range: MetricRange::Positive,
        direction: MetricDirection::Neither,
        scope: MetricScope::Scenario,
        definition: "Threads that bursts started under the scenario, all calls together. Only \
            where \
            there was a burst.",
    },
    MetricDefinition {
        name: "concurrency_tasks",
        unit: "tasks",
        range: MetricRange::Positive,
        direction: MetricDirection::Neither,
        scope: MetricScope::Scenario,
        definition: "The same for tasks.",
    },
    MetricDefinition {
        name: "maintainability",
        unit: "score",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Module,
        definition: "Maintainability index / 100, equal to radon's.",
    },
    MetricDefinition {
        name: "code_quality",
        unit: "score",
        range: MetricRange::Share,
        direction: MetricDirection::Up,
        scope: MetricScope::Module,
        definition: "1 / (1 + 10 × lints / statements).",
    },
    MetricDefinition {
        name: "shannon_entropy",
        unit: "bits",
        range: MetricRange::Positive,
        direction: MetricDirection::Neither,
        scope: MetricScope::Module,
        definition: "Entropy of the distribution of the module's tokens.",
    },
    MetricDefinition {
        name: "patch_complexity",
        unit: "points",
        range: MetricRange::Positive,
        direction: MetricDirection::Down,
        scope: MetricScope::Module,
        definition: "Change of logical lines plus change of cyclomatic complexity, each without \
            its \
            sign, of the last time that the module was found changed since the cycle before; \
            absent \
            until there was one.",
    },
    MetricDefinition {
        name: "revenue",
        unit: "credits/call",
        range: MetricRange::Positive,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "Price of a successful call × share of answered calls.",
    },
    MetricDefinition {
        name: "profitability",
        unit: "credits/call",
        range: MetricRange::Any,
        direction: MetricDirection::Up,
        scope: MetricScope::Cell,
        definition: "Revenue minus the cost of a typical call, its energy included.",
    },
    MetricDefinition {
        name: "projected_lucrativity",
        unit: "credits/call",
        range: MetricRange::Any,
        direction: MetricDirection::Up,
        scope: MetricScope::Run,
        definition: "Forecast of the run's profitability for the next cycle; absent before the \
            fourth.",
    },
    MetricDefinition {
        name: DISCREPANCY_COUNT,
        unit: "count",
        range: MetricRange::Positive,
        direction: MetricDirection::Down,
        scope: MetricScope::Run,
        definition: "Irregularities after the cycle: results that differ between equal calls, a \
            metric outside of its own history, a section that came, went or changed signature.",
    },
];
