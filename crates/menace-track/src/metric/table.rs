//! The table of all metrics.

use super::{DISCREPANCY_COUNT, MetricDefinition, MetricDirection, MetricRange, MetricScope};

/// A row has name, unit, range, direction, scope and definition.
macro_rules! metrics {
    ($(
        $name:expr, $unit:literal, $range:ident, $direction:ident, $scope:ident:
        $definition:literal;
    )+) => {
        &[$(MetricDefinition {
            name: $name,
            unit: $unit,
            range: MetricRange::$range,
            direction: MetricDirection::$direction,
            scope: MetricScope::$scope,
            definition: $definition,
        }),+]
    };
}

/// Ordered by topic: behaviour, cost, code, value.
pub const METRICS: &[MetricDefinition] = metrics! {
    "reliability", "share", Share, Up, Cell:
        "Calls with valid inputs under the baseline that returned, of all of these but those \
         that the section declined: it raised on purpose, and knows better what is valid. A call \
         that shows a failure of the section does not count as returned.";
    "resilience", "share", Share, Up, Cell:
        "Share of answered calls (returned, refused or raised on purpose, no failure) under \
         faults or bad inputs, divided by the same share under the baseline, at most 1. It is 0 \
         when nothing is answered under the baseline.";
    "antifragility", "share", Signed, Up, Section:
        "Resilience at severity `high` minus resilience at `low`, over the scenarios that ran at \
         both.";
    "safety_rating", "share", Share, Up, Cell:
        "1 − harm / calls. The harm of a call is that of the worst it did: death by a signal or \
         a crash that is a failure 1, an exit 0.25, a forbidden connection 0.5, a forbidden file \
         0.75, any other violation 1. A crash that an injected fault made does not count.";
    "security_score", "score", Share, Up, Module:
        "1 / (1 + d / 9), where d is the sum of severity (1, 3, 9) × confidence (⅓, ⅔, 1) of the \
         findings that Bandit has rules for, per 100 logical lines; a module below 100 lines \
         counts as one of 100.";
    "risk_index", "share", Share, Down, Cell:
        "Probability of something bad × severity of the module (impact table). The probability \
         is the larger of the share of bad calls and 1 − ½ⁿ for n confirmed failures. A call is \
         bad when it shows a failure of the section or, under the baseline, when it crashed or \
         hit a limit.";
    "flexibility", "share", Share, Up, Cell:
        "Mean, over the kinds of inputs that were tried (valid, boundary, hostile, misuse, \
         drifted), of the share that was answered (returned, refused or raised on purpose, no \
         failure).";
    "adaptability", "share", Share, Up, Cell:
        "Lines of the section that at least one call reached, of the lines that can run. All \
         calls under the baseline count, and the first one under each other scenario: there is \
         no value for such a scenario by itself.";
    "recovery_time", "s", Positive, Down, Cell:
        "Median time from the last injected fault to the return of the section, over the calls \
         that had a fault and returned.";
    "efficiency", "score", Share, Up, Cell:
        "1 / (1 + cost / budget per call). The cost is that of a typical answered call at the \
         profile's prices: median processor seconds, GiB × seconds, GiB read and written, and \
         what it waits beyond 10 ms. It is 0 when no call was answered.";
    "throughput", "calls/s", Positive, Up, Cell:
        "1 / median time of an answered call, as measured inside: what the sandbox adds is not \
         in it. It is 0 when no call was answered.";
    "energy_consumption", "J/call", Positive, Down, Cell:
        "Joules per call: processor seconds × watts per core; for the run, what the processor's \
         own meter says, where it can be read.";
    "network_latency", "ms", Positive, Down, Scenario:
        "A round trip inside of the sandbox under the scenario, as measured.";
    "concurrency_threads", "threads", Positive, Neither, Scenario:
        "Threads that bursts started under the scenario, all calls together. Only where there \
         was a burst.";
    "concurrency_tasks", "tasks", Positive, Neither, Scenario:
        "The same for tasks.";
    "maintainability", "score", Share, Up, Module:
        "Maintainability index / 100, equal to radon's.";
    "code_quality", "score", Share, Up, Module:
        "1 / (1 + 10 × lints / statements).";
    "shannon_entropy", "bits", Positive, Neither, Module:
        "Entropy of the distribution of the module's tokens.";
    "patch_complexity", "points", Positive, Down, Module:
        "Change of logical lines plus change of cyclomatic complexity, each without its sign, of \
         the last time that the module was found changed since the cycle before; absent until \
         there was one.";
    "revenue", "credits/call", Positive, Up, Cell:
        "Price of a successful call × share of answered calls.";
    "profitability", "credits/call", Any, Up, Cell:
        "Revenue minus the cost of a typical call, its energy included.";
    "projected_lucrativity", "credits/call", Any, Up, Run:
        "Forecast of the run's profitability for the next cycle; absent before the fourth.";
    DISCREPANCY_COUNT, "count", Positive, Down, Run:
        "Irregularities after the cycle: results that differ between equal calls, a metric \
         outside of its own history, a section that came, went or changed signature.";
};
