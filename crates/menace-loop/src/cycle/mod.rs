//! One cycle: every section that is wanted, called in breadth, in depth and together.
//!
//! | room | what is in it |
//! |---|---|
//! | `plan` | which sections, which scenarios |
//! | `imports` | modules that cannot be imported are told once |
//! | `grid` | breadth: cells of sections × scenarios |
//! | `court`, `suspects` | calls that speak against a section, made again before anybody is blamed |
//! | `seen` | what came of it all |
//! | `together` | sections in one interpreter |
//! | `round_trip` | how long a round trip takes under each scenario |
//! | `depth` | exploring, section by section, for as long as there is time |
//! | `watch` | who hears of it meanwhile |
//!
//! What the outcomes are worth is told by `menace-track`, what is kept of them by [`crate::run`].

mod court;
mod depth;
mod grid;
mod imports;
mod plan;
mod round_trip;
mod seen;
mod suspects;
#[cfg(test)]
mod tests;
mod together;
mod watch;

use std::collections::BTreeSet;

use menace_model::{SectionId, Seed};
use menace_sandbox::SandboxError;
use menace_scenario::explore::Budget;
use menace_scenario::input::{Facts, InputSettings, Lessons};

use crate::calls::Caller;
use crate::failure::Lines;

use court::Court;
use depth::Depth;
use grid::{Grid, Standing};

pub use imports::Shut;
pub use plan::{BASELINE, Closed, Plan, Scenario, Subject, Wanted, Wish};
pub(crate) use seen::is_simpler;
pub use seen::{Lacking, Missed, Reached, Seen};
pub use together::{Company, Part};
pub use watch::{Called, Stage, Watch};

/// How much a cycle does.
#[derive(Debug, Clone)]
pub struct Extent<'e> {
    pub calls_per_cell: usize,
    /// None for a cycle without depth.
    pub depth: Option<Budget>,
    pub seed: Seed,
    /// What exploring makes inputs of.
    pub inputs: &'e InputSettings,
}

/// Runs a cycle.
pub(crate) fn run(
    plan: &Plan<'_>,
    facts: &Facts<'_>,
    caller: &Caller<'_>,
    extent: &Extent<'_>,
    lines: &Lines,
    watch: &mut dyn Watch,
) -> Result<Seen, SandboxError> {
    let grid = Grid { plan, facts, caller, calls_per_cell: extent.calls_per_cell };
    let mut standings: Vec<Standing<'_>> = plan.subjects.iter().map(Standing::new).collect();
    let mut court = Court::new(plan, lines);
    let Some(shut) = grid.imports(&mut standings, watch, &mut court.seen)? else {
        let all = plan.subjects.iter().map(|subject| subject.section.id.clone());
        court.seen.miss("imports", Missed::of(all));
        return Ok(court.close());
    };
    court.seen.shut = shut;
    court.blame_imports(watch);

    let mut lessons = Lessons::default();
    let is_whole = grid.baseline(&mut standings, &mut lessons, watch, &mut court)?
        && grid.scenarios(&mut standings, &lessons, watch, &mut court)?;
    court.seen.miss_scenarios(plan, &standings);
    let mut seen = court.close();
    let blamed: BTreeSet<&SectionId> =
        seen.failures.values().map(|(failure, _)| &failure.section).collect();
    let flagged: BTreeSet<usize> = (0..plan.subjects.len())
        .filter(|at| blamed.contains(&plan.subjects[*at].section.id))
        .collect();
    if !caller.is_late() {
        seen.company = grid.together(&standings, &flagged, watch)?;
        seen.round_trips = round_trip::round_trips(plan, caller)?;
    }
    if caller.is_late() {
        seen.miss("together", Missed::number(flagged.len().max(1)));
    }
    // Depth takes all the time that is left: everything that cycles are compared by comes before it.
    seen.is_broad = is_whole && seen.not_covered.is_empty();
    if let Some(budget) = extent.depth {
        let Extent { seed: chance, inputs, .. } = extent;
        // What the baseline says of threats holds in depth, too.
        let inputs = InputSettings { threat: plan.scenarios[0].inputs.threat, ..(*inputs).clone() };
        let depth = Depth { plan, facts, caller, budget, seed: *chance, inputs: &inputs };
        let deepened = depth.explore(&standings, &mut lessons, lines, watch, &mut seen)?;
        let is_cut = !deepened.left.is_empty() || deepened.unproven > 0;
        seen.miss("depth", Missed::of(deepened.left));
        seen.miss("confirmation", Missed::number(deepened.unproven));
        seen.depth = if is_cut { Reached::Cut } else { Reached::Whole };
    }
    Ok(seen)
}
