//! The table of all metrics.

use super::{Better, DISCREPANCY_COUNT, Metric, Range, Scope};

/// In the order in which people read them: behaviour, cost, code, value.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "reliability",
        unit: "share",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "Calls with valid inputs under the baseline that returned, of all of these but \
            those that the section declined: it raised on purpose, and knows better what is valid. \
            A call for which the section is blamed does not count as returned.",
    },
    Metric {
        name: "resilience",
        unit: "share",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "Share of answered calls (returned, refused or raised on purpose, not blamed) \
            under faults or bad inputs, divided by the same share under the baseline, at most 1. It is 0 when nothing \
            is answered under the baseline.",
    },
    Metric {
        name: "antifragility",
        unit: "share",
        range: Range::Signed,
        better: Better::Up,
        scope: Scope::Section,
        definition: "Resilience at severity `high` minus resilience at `low`, over the scenarios \
            that ran at both.",
    },
    Metric {
        name: "safety_rating",
        unit: "share",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "1 − harm / calls. The harm of a call is that of the worst it did: death by a \
            signal or a blamed crash 1, an exit 0.25, a forbidden connection 0.5, a forbidden file \
            0.75, any other violation 1. A crash that an injected fault made does not count.",
    },
    Metric {
        name: "security_score",
        unit: "score",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Module,
        definition: "1 / (1 + d / 9), where d is the sum of severity (1, 3, 9) × confidence (⅓, ⅔, \
            1) of the findings that Bandit has rules for, per 100 logical lines; a module below 100 \
            lines counts as one of 100.",
    },
    Metric {
        name: "risk_index",
        unit: "share",
        range: Range::Share,
        better: Better::Down,
        scope: Scope::Cell,
        definition: "Probability of something bad × severity of the module (impact table). The \
            probability is the larger of the share of bad calls and 1 − ½ⁿ for n confirmed \
            failures. A call is bad when the section is blamed for it or, under the baseline, when \
            it crashed or hit a limit.",
    },
    Metric {
        name: "flexibility",
        unit: "share",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "Mean, over the kinds of inputs that were tried (valid, boundary, hostile, \
            misuse, drifted), of the share that was answered (returned, refused or raised on \
            purpose, not blamed).",
    },
    Metric {
        name: "adaptability",
        unit: "share",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "Lines of the section that at least one call reached, of the lines that can \
            run. Of calls in peace all are looked at, of those under another scenario the first: \
            it is not told of such a scenario alone.",
    },
    Metric {
        name: "recovery_time",
        unit: "s",
        range: Range::Positive,
        better: Better::Down,
        scope: Scope::Cell,
        definition: "Median time from the last injected fault to the return of the section, over \
            the calls that were struck and returned.",
    },
    Metric {
        name: "efficiency",
        unit: "score",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "1 / (1 + cost / budget per call). The cost is that of a typical answered call \
            at the profile's prices: median processor seconds, GiB × seconds, GiB read and \
            written, and what it waits beyond 10 ms. It is 0 when no call was answered.",
    },
    Metric {
        name: "throughput",
        unit: "calls/s",
        range: Range::Positive,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "1 / median time of an answered call, as measured inside: what the sandbox \
            adds is not in it. It is 0 when no call was answered.",
    },
    Metric {
        name: "energy_consumption",
        unit: "J/call",
        range: Range::Positive,
        better: Better::Down,
        scope: Scope::Cell,
        definition: "Joules per call: processor seconds × watts per core; for the run, what the \
            processor's own meter says, where it can be read.",
    },
    Metric {
        name: "network_latency",
        unit: "ms",
        range: Range::Positive,
        better: Better::Down,
        scope: Scope::Scenario,
        definition: "A round trip inside of the sandbox under the scenario, as measured.",
    },
    Metric {
        name: "concurrency_threads",
        unit: "threads",
        range: Range::Positive,
        better: Better::Neither,
        scope: Scope::Scenario,
        definition: "Threads that bursts started under the scenario, all calls together. Only where \
            there was a burst.",
    },
    Metric {
        name: "concurrency_tasks",
        unit: "tasks",
        range: Range::Positive,
        better: Better::Neither,
        scope: Scope::Scenario,
        definition: "The same for tasks.",
    },
    Metric {
        name: "maintainability",
        unit: "score",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Module,
        definition: "Maintainability index / 100, equal to radon's.",
    },
    Metric {
        name: "code_quality",
        unit: "score",
        range: Range::Share,
        better: Better::Up,
        scope: Scope::Module,
        definition: "1 / (1 + 10 × lints / statements).",
    },
    Metric {
        name: "shannon_entropy",
        unit: "bits",
        range: Range::Positive,
        better: Better::Neither,
        scope: Scope::Module,
        definition: "Entropy of the distribution of the module's tokens.",
    },
    Metric {
        name: "patch_complexity",
        unit: "points",
        range: Range::Positive,
        better: Better::Down,
        scope: Scope::Module,
        definition: "Change of logical lines plus change of cyclomatic complexity, each without its \
            sign, of the last time that the module was found changed since the cycle before; absent \
            until there was one.",
    },
    Metric {
        name: "revenue",
        unit: "credits/call",
        range: Range::Positive,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "Price of a successful call × share of answered calls.",
    },
    Metric {
        name: "profitability",
        unit: "credits/call",
        range: Range::Any,
        better: Better::Up,
        scope: Scope::Cell,
        definition: "Revenue minus the cost of a typical call, its energy included.",
    },
    Metric {
        name: "projected_lucrativity",
        unit: "credits/call",
        range: Range::Any,
        better: Better::Up,
        scope: Scope::Run,
        definition: "Forecast of the run's profitability for the next cycle; absent before the \
            fourth.",
    },
    Metric {
        name: DISCREPANCY_COUNT,
        unit: "count",
        range: Range::Positive,
        better: Better::Down,
        scope: Scope::Run,
        definition: "Irregularities after the cycle: results that differ between equal calls, a \
            metric outside of its own history, a section that came, went or changed signature.",
    },
];
