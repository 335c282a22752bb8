//! Faults below Python: system calls of the guest that fail, wait, or do something else than asked.
//!
//! They strike only while the section runs, and only what belongs to the guest: its files, its
//! memory, its sockets. Deciding what is allowed at all stays with `confine`.
//! Invariant: everything comes from the call's seed and the guest's own doings, never from the clock,
//! but for the moments in which a processor is taken away.

mod corruption;
mod disk;
mod files;
mod memory;
mod pauses;
mod schedule;
mod sockets;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{Conditions, Fault, FaultMode, Felt, Limit, Mechanism, Seed};

use crate::confine::{Answer, Interpose, Notice};
use files::Touch;
use pauses::Pauses;
use schedule::Schedule;

/// What becomes of a system call that a fault has struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Struck {
    Answer(Answer),
    /// It is made, later.
    Delay(Duration),
    /// The process does not live to see it.
    Kill,
}

/// The faults of one call.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    active: Vec<Active>,
    pauses: Option<Pauses>,
    /// Where files are the guest's.
    places: Vec<PathBuf>,
    started: Option<Instant>,
}

#[derive(Debug)]
struct Active {
    mode: FaultMode,
    schedule: Schedule,
    first: Option<String>,
    last: Option<Instant>,
}

impl Faults {
    /// For files below these places.
    pub(crate) fn new(places: Vec<PathBuf>) -> Self {
        Self { places, ..Self::default() }
    }

    /// The faults of the call that begins.
    pub(crate) fn begin(&mut self, conditions: &Conditions, seed: u64) {
        let seed = Seed(seed).of("faults");
        self.active = conditions
            .faults
            .iter()
            .filter(|fault| is_ours(fault.mode))
            .map(|fault| Active {
                mode: fault.mode,
                schedule: Schedule::new(fault.when, seed.of(fault.mode.as_str())),
                first: None,
                last: None,
            })
            .collect();
        let spike = conditions.faults.iter().find(|fault| fault.mode == FaultMode::CpuSpike);
        let now = Instant::now();
        self.pauses = spike.map(|fault| Pauses::new(fault.when, seed.of("pauses"), now));
        self.started = Some(now);
    }

    /// The call is over: nothing strikes any more.
    pub(crate) fn end(&mut self) -> Vec<Felt> {
        let started = self.started.take();
        let ms = |at: Instant| {
            started.map(|started| at.saturating_duration_since(started).as_secs_f64() * 1e3)
        };
        let mut felt: Vec<Felt> = self
            .active
            .drain(..)
            .map(|active| Felt {
                mode: active.mode,
                offered: active.schedule.offered,
                struck: active.schedule.struck,
                first: active.first,
                last_ms: active.last.and_then(ms),
            })
            .collect();
        felt.extend(self.pauses.take().map(|pauses| pauses.felt(ms)));
        felt
    }

    pub(crate) fn are_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// When the processor is to be taken away or given back.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.pauses.as_ref().map(Pauses::due)
    }

    /// Whether everybody has to stop or to go on from now.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<bool> {
        self.pauses.as_mut().and_then(|pauses| pauses.turn(now))
    }

    /// What a fault makes of this system call; nothing when none strikes.
    pub(crate) fn strike(&mut self, notice: &Notice) -> Option<Struck> {
        let touch = Touch::of(notice, &self.places);
        let mut struck = None;
        for active in &mut self.active {
            let (what, outcome) = match (active.mode, &touch) {
                (FaultMode::Disk, Some(touch)) => {
                    (touch.to_string(), disk::strike(touch, &mut active.schedule))
                }
                (FaultMode::DiskCorruption, Some(touch)) if touch.writes_data() => {
                    let strikes = active.schedule.strikes();
                    let spoilt = strikes
                        .then(|| corruption::write(notice, active.schedule.random()))
                        .flatten();
                    (touch.to_string(), spoilt.map(|count| Struck::Answer(Answer::Return(count))))
                }
                (FaultMode::Timeout, Some(touch)) if touch.changes() => {
                    let strikes = active.schedule.strikes();
                    (touch.to_string(), strikes.then_some(Struck::Kill))
                }
                (FaultMode::Memory, None) => match memory::demand(notice) {
                    Some((what, answer)) => {
                        // The C library tries another way when the first one fails.
                        let strikes = active.schedule.strikes_for_good();
                        (what, strikes.then_some(Struck::Answer(answer)))
                    }
                    None => continue,
                },
                (FaultMode::Network, None) => match sockets::Talk::of(notice) {
                    Some(talk) => (talk.to_string(), sockets::strike(talk, &mut active.schedule)),
                    None => continue,
                },
                _ => continue,
            };
            if outcome.is_some() {
                active.first.get_or_insert(what);
                active.last = Some(Instant::now());
                struck = struck.or(outcome);
            }
        }
        struck
    }
}

/// Faults that strike here; the others are the network's, the limits' and the harness's.
fn is_ours(mode: FaultMode) -> bool {
    mechanism(mode) == Some(Mechanism::SystemCalls)
}

fn mechanism(mode: FaultMode) -> Option<Mechanism> {
    match mode {
        FaultMode::Disk
        | FaultMode::DiskCorruption
        | FaultMode::Network
        | FaultMode::Memory
        | FaultMode::Timeout => Some(Mechanism::SystemCalls),
        FaultMode::CpuSpike => Some(Mechanism::Freezer),
        FaultMode::SchemaDrift | FaultMode::FlakyUpstream => Some(Mechanism::Harness),
        // Held by what the preset asks for beside it.
        FaultMode::NetworkPartition | FaultMode::Cpu => None,
    }
}

/// What makes each fault strike here, or that nothing can.
pub(crate) fn account(
    faults: &[Fault],
    interpose: Interpose,
    has_listener: bool,
) -> impl Iterator<Item = (Limit, Option<Mechanism>)> {
    faults.iter().filter_map(move |fault| {
        let mechanism = mechanism(fault.mode)?;
        let wanted = Interpose::of(&Conditions { faults: vec![*fault], ..Conditions::default() });
        let asked = |wants: bool, has: bool| !wants || has;
        let can = mechanism != Mechanism::SystemCalls
            || has_listener
                && asked(wanted.files, interpose.files)
                && asked(wanted.memory, interpose.memory)
                && asked(wanted.sockets, interpose.sockets);
        Some((Limit::from(fault.mode), can.then_some(mechanism)))
    })
}
