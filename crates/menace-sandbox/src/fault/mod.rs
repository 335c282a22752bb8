//! Faults below Python: system calls of the guest that fail, wait, or do something else than asked.
//!
//! They strike only while the section runs, and only what belongs to the guest: its files, its
//! memory, its sockets. Deciding what is allowed at all stays with `confine`.
//! Invariant: everything comes from the call's seed and the guest's own doings, never from the clock,
//! but for the moments in which a processor is taken away or a call is ended.

mod corruption;
mod disk;
mod early;
mod files;
mod instead;
mod memory;
mod pauses;
mod schedule;
mod sockets;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{Conditions, Fault, FaultMode, Felt, Limit, Mechanism, Seed, When};

use crate::confine::{Answer, Interpose, Notice};
use early::Early;
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
    early: Option<Early>,
    /// Where files are the guest's.
    places: Vec<PathBuf>,
    /// All that is done to files is asked about. Opening them always is, for another reason.
    sees_files: bool,
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

    /// The faults of the call that begins, and that may take so long. What [`account`] says not to
    /// strike does not.
    pub(crate) fn begin(
        &mut self,
        conditions: &Conditions,
        means: Means,
        seed: u64,
        timeout: Duration,
    ) {
        let seed = Seed(seed).of("faults");
        let faults = || conditions.faults.iter().filter(|fault| means.suffice(fault));
        self.active = faults()
            .filter(|fault| is_ours(fault.mode))
            .map(|fault| Active {
                mode: fault.mode,
                schedule: Schedule::new(fault.when, seed.of(fault.mode.as_str())),
                first: None,
                last: None,
            })
            .collect();
        // Only what is written at all can be spoilt.
        self.active.sort_by_key(|active| active.mode == FaultMode::DiskCorruption);
        let when = |mode| faults().find(|it| it.mode == mode).map(|it| it.when);
        let now = Instant::now();
        self.pauses =
            when(FaultMode::CpuSpike).map(|when| Pauses::new(when, seed.of("pauses"), now));
        self.early =
            when(FaultMode::Timeout).map(|when| Early::new(when, seed.of("early"), now, timeout));
        self.sees_files = means.interpose.files;
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
        felt.extend(self.early.take().map(|early| early.felt(ms)));
        felt
    }

    pub(crate) fn are_active(&self) -> bool {
        !self.active.is_empty() || self.early.is_some()
    }

    /// When the processor is to be taken away or given back, or the call to be killed.
    pub(crate) fn due(&self) -> Option<Instant> {
        let pause = self.pauses.as_ref().map(Pauses::due);
        pause.into_iter().chain(self.early.as_ref().and_then(Early::due)).min()
    }

    /// Whether the call is to be killed now.
    pub(crate) fn ends(&mut self, now: Instant, section_runs: bool) -> bool {
        self.early.as_mut().is_some_and(|early| early.is_due(now, section_runs))
    }

    /// Whether everybody stands still for now.
    pub(crate) fn are_paused(&self) -> bool {
        self.pauses.as_ref().is_some_and(Pauses::is_on)
    }

    /// Whether everybody has to stop or to go on from now.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<bool> {
        self.pauses.as_mut().and_then(|pauses| pauses.turn(now))
    }

    /// What a fault makes of this system call; nothing when none strikes. The first one that does has
    /// left the others nothing to strike at.
    pub(crate) fn strike(&mut self, notice: &Notice) -> Option<Struck> {
        let touch = Touch::of(notice, &self.places);
        if let (Some(early), Some(touch)) = (&mut self.early, &touch)
            && self.sees_files
            && touch.changes()
            && early.at_change(|| touch.to_string())
        {
            return Some(Struck::Kill);
        }
        self.active.iter_mut().find_map(|active| active.strike(notice, touch.as_ref()))
    }
}

impl Active {
    fn strike(&mut self, notice: &Notice, touch: Option<&Touch>) -> Option<Struck> {
        let schedule = &mut self.schedule;
        let (what, struck) = match (self.mode, touch) {
            (FaultMode::Disk, Some(touch)) => {
                (touch.to_string(), disk::strike(notice, touch, schedule)?)
            }
            (FaultMode::DiskCorruption, Some(touch)) if touch.copies() => {
                return Some(corruption::REFUSED_COPY);
            }
            (FaultMode::DiskCorruption, Some(touch)) if touch.writes_data() => {
                (touch.to_string(), corruption::strike(notice, schedule)?)
            }
            (FaultMode::Memory, None) => {
                let (what, answer) = memory::demand(notice)?;
                // The C library tries another way when the first one fails.
                let strikes = schedule.strikes_for_good();
                (what, strikes.then_some(Struck::Answer(answer))?)
            }
            (FaultMode::Network, None) => {
                let talk = sockets::Talk::of(notice)?;
                (talk.to_string(), sockets::strike(talk, schedule)?)
            }
            _ => return None,
        };
        self.first.get_or_insert(what);
        self.last = Some(Instant::now());
        Some(struck)
    }
}

/// Faults that strike system calls one by one; the others are the clock's, the network's, the limits'
/// and the harness's.
fn is_ours(mode: FaultMode) -> bool {
    matches!(
        mode,
        FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Network | FaultMode::Memory
    )
}

fn mechanism(fault: &Fault) -> Option<Mechanism> {
    match fault.mode {
        FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Network | FaultMode::Memory => {
            Some(Mechanism::SystemCalls)
        }
        FaultMode::Timeout if matches!(fault.when, When::Nth(_)) => Some(Mechanism::SystemCalls),
        FaultMode::Timeout => Some(Mechanism::Monitor),
        FaultMode::CpuSpike => Some(Mechanism::Freezer),
        FaultMode::SchemaDrift | FaultMode::FlakyUpstream => Some(Mechanism::Harness),
        // Held as a figure of the link, and as a share of the processor.
        FaultMode::NetworkPartition | FaultMode::Cpu => None,
    }
}

/// What there is to make faults strike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means {
    pub interpose: Interpose,
    /// System calls can be asked about.
    pub listens: bool,
    /// Guests have a network.
    pub network: bool,
}

impl Means {
    /// Whether there is all that this fault needs.
    fn suffice(self, fault: &Fault) -> bool {
        let wanted = Interpose::of(&Conditions { faults: vec![*fault], ..Conditions::default() });
        let asked = |wants: bool, has: bool| !wants || has;
        mechanism(fault) != Some(Mechanism::SystemCalls)
            || self.listens
                && asked(wanted.files, self.interpose.files)
                && asked(wanted.memory, self.interpose.memory)
                && asked(wanted.sockets, self.interpose.sockets && self.network)
    }
}

/// What makes each fault strike here, or that nothing can.
pub(crate) fn account(
    faults: &[Fault],
    means: Means,
) -> impl Iterator<Item = (Limit, Option<Mechanism>)> {
    faults.iter().filter_map(move |fault| {
        let mechanism = mechanism(fault)?;
        Some((Limit::from(fault.mode), means.suffice(fault).then_some(mechanism)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As this very process would ask before it creates a file.
    fn creating() -> Notice {
        let mut notice = Notice::default();
        (notice.pid, notice.number) = (std::process::id(), libc::SYS_openat);
        let path = c"/own/new";
        let flags = u64::from((libc::O_CREAT | libc::O_WRONLY).cast_unsigned());
        notice.arguments = [0, path.as_ptr() as u64, flags, 0, 0, 0];
        notice
    }

    /// What becomes of the first files that a call creates.
    fn strikes(fault: Fault, files: bool) -> (Vec<Option<Struck>>, Vec<Felt>) {
        let interpose = Interpose { files, ..Interpose::default() };
        let means = Means { interpose, listens: true, network: true };
        let conditions = Conditions { faults: vec![fault], ..Conditions::default() };
        let mut faults = Faults::new(vec!["/own".into()]);
        faults.begin(&conditions, means, 1, Duration::from_mins(1));
        let struck = (0..2).map(|_| faults.strike(&creating())).collect();
        (struck, faults.end())
    }

    #[test]
    fn what_is_asked_about_for_another_reason_is_not_struck() {
        for (mode, when) in [
            (FaultMode::Disk, When::Rate(1.0)),
            (FaultMode::Timeout, When::Nth(1)),
            (FaultMode::Timeout, When::Rate(1.0)),
        ] {
            let fault = Fault { mode, when };
            let (struck, felt) = strikes(fault, true);
            assert!(struck.iter().any(Option::is_some), "{fault:?}: {felt:?}");
            let (struck, felt) = strikes(fault, false);
            assert_eq!(struck, [None, None], "{fault:?}");
            assert!(felt.iter().all(|felt| felt.struck == 0), "{fault:?}: {felt:?}");
        }
    }
}
