//! Faults below Python: system calls of the guest that fail, wait, or do something else than asked.
//!
//! They are injected only while the section runs, and only into operations on the guest's own
//! files, memory and sockets. What is allowed at all is decided by `confine`. Invariant: the call's
//! seed and the guest's own system calls determine every fault. The clock matters only for pauses
//! (`cpu_spike`) and for kills by time (`timeout`).

mod corruption;
mod cpu_pauses;
mod disk;
mod early_kill;
mod file_access;
mod memory;
mod schedule;
mod sockets;
mod substitute_write;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{
    CallConditions, FaultMode, FaultSpec, FaultStats, FaultTrigger, Limit, LimitMechanism, Seed,
    SyscallInterposition,
};

use crate::confine::{SyscallNotification, SyscallResponse};
use cpu_pauses::CpuPauses;
use early_kill::EarlyKill;
use file_access::FileAccess;
use schedule::FaultSchedule;

/// What happens to a system call that a fault is injected into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    Answer(SyscallResponse),
    /// The system call is made after this delay.
    Delay(Duration),
    /// The process is killed before the system call is made.
    Kill,
}

/// The faults of one call.
#[derive(Debug, Default)]
pub(crate) struct FaultInjector {
    active: Vec<ActiveFault>,
    pauses: Option<CpuPauses>,
    early_kill: Option<EarlyKill>,
    /// Directories whose files are the guest's; accesses to other files meet no fault.
    guest_dirs: Vec<PathBuf>,
    /// Whether all file system calls are interposed. Opening is interposed in any case, to record
    /// accesses outside of the sandbox; faults on files need the others too.
    interposes_files: bool,
    started_at: Option<Instant>,
}

#[derive(Debug)]
struct ActiveFault {
    mode: FaultMode,
    schedule: FaultSchedule,
    first_injected: Option<String>,
    last_injected_at: Option<Instant>,
}

impl FaultInjector {
    /// `guest_dirs`: file faults are injected below these directories only.
    pub(crate) fn new(guest_dirs: Vec<PathBuf>) -> Self {
        Self { guest_dirs, ..Self::default() }
    }

    /// Starts the faults of a call with this timeout. Faults that [`list_mechanisms`] reports as
    /// unenforced are not injected.
    pub(crate) fn begin_call(
        &mut self,
        conditions: &CallConditions,
        support: FaultSupport,
        seed: u64,
        timeout: Duration,
    ) {
        let seed = Seed(seed).derive("faults");
        let faults = || conditions.faults.iter().filter(|fault| support.supports(fault));
        self.active = faults()
            .filter(|fault| is_syscall_fault(fault.mode))
            .map(|fault| ActiveFault {
                mode: fault.mode,
                schedule: FaultSchedule::new(fault.trigger, seed.derive(fault.mode.as_str())),
                first_injected: None,
                last_injected_at: None,
            })
            .collect();
        // Corruption comes last: a write that another fault makes fail is no opportunity for it.
        self.active.sort_by_key(|active| active.mode == FaultMode::DiskCorruption);
        let when = |mode| faults().find(|it| it.mode == mode).map(|it| it.trigger);
        let now = Instant::now();
        self.pauses =
            when(FaultMode::CpuSpike).map(|when| CpuPauses::new(when, seed.derive("pauses"), now));
        self.early_kill = when(FaultMode::Timeout)
            .map(|when| EarlyKill::new(when, seed.derive("early"), now, timeout));
        self.interposes_files = support.interposition.files;
        self.started_at = Some(now);
    }

    /// Ends the call: no fault is injected any more. Returns what was injected.
    pub(crate) fn end_call(&mut self) -> Vec<FaultStats> {
        let started = self.started_at.take();
        let ms = |at: Instant| {
            started.map(|started| at.saturating_duration_since(started).as_secs_f64() * 1e3)
        };
        let mut stats: Vec<FaultStats> = self
            .active
            .drain(..)
            .map(|active| FaultStats {
                mode: active.mode,
                opportunities: active.schedule.opportunities,
                injected: active.schedule.injected,
                first_injected: active.first_injected,
                last_injected_ms: active.last_injected_at.and_then(ms),
            })
            .collect();
        stats.extend(self.pauses.take().map(|pauses| pauses.into_fault_stats(ms)));
        stats.extend(self.early_kill.take().map(|early| early.into_fault_stats(ms)));
        stats
    }

    pub(crate) fn has_active(&self) -> bool {
        !self.active.is_empty() || self.early_kill.is_some()
    }

    /// The next time at which [`Self::toggle_pause_if_due`] or [`Self::should_kill`] has to be
    /// called.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let pause = self.pauses.as_ref().map(CpuPauses::next_toggle);
        pause.into_iter().chain(self.early_kill.as_ref().and_then(EarlyKill::next_check)).min()
    }

    /// Whether the call is to be killed now.
    pub(crate) fn should_kill(&mut self, now: Instant, is_window_open: bool) -> bool {
        self.early_kill.as_mut().is_some_and(|early| early.is_due(now, is_window_open))
    }

    /// Whether all processes of the call are stopped at the moment.
    pub(crate) fn is_in_cpu_pause(&self) -> bool {
        self.pauses.as_ref().is_some_and(CpuPauses::is_paused)
    }

    /// `Some(true)`: stop the processes of the call; `Some(false)`: continue them.
    pub(crate) fn toggle_pause_if_due(&mut self, now: Instant) -> Option<bool> {
        self.pauses.as_mut().and_then(|pauses| pauses.toggle_if_due(now))
    }

    /// The fault to be injected into this system call, if any. At most one fault is injected into a
    /// system call.
    pub(crate) fn inject(&mut self, notice: &SyscallNotification) -> Option<InjectedFault> {
        let touch = FileAccess::from_notification(notice, &self.guest_dirs);
        if let (Some(early), Some(touch)) = (&mut self.early_kill, &touch)
            && self.interposes_files
            && touch.modifies_disk()
            && early.kills_at_change(|| touch.to_string())
        {
            return Some(InjectedFault::Kill);
        }
        self.active.iter_mut().find_map(|active| active.inject(notice, touch.as_ref()))
    }
}

impl ActiveFault {
    fn inject(
        &mut self,
        notice: &SyscallNotification,
        touch: Option<&FileAccess>,
    ) -> Option<InjectedFault> {
        let schedule = &mut self.schedule;
        let (what, injected) = match (self.mode, touch) {
            (FaultMode::Disk, Some(touch)) => {
                (touch.to_string(), disk::inject(notice, touch, schedule)?)
            }
            (FaultMode::DiskCorruption, Some(touch)) if touch.is_copy() => {
                return Some(corruption::REFUSE_KERNEL_COPY);
            }
            (FaultMode::DiskCorruption, Some(touch)) if touch.is_data_write() => {
                (touch.to_string(), corruption::inject(notice, schedule)?)
            }
            (FaultMode::Memory, None) => {
                let (what, answer) = memory::allocation_request(notice)?;
                // Once one allocation has failed all later ones fail too: the C library tries
                // `mmap` when `brk` fails.
                let injects = schedule.should_inject_persistent();
                (what, injects.then_some(InjectedFault::Answer(answer))?)
            }
            (FaultMode::Network, None) => {
                let talk = sockets::SocketOperation::from_notification(notice)?;
                (talk.to_string(), sockets::inject(talk, schedule)?)
            }
            _ => return None,
        };
        self.first_injected.get_or_insert(what);
        self.last_injected_at = Some(Instant::now());
        Some(injected)
    }
}

/// Faults that are injected into single system calls; timers, the network, the limits and the
/// harness inject the others.
fn is_syscall_fault(mode: FaultMode) -> bool {
    matches!(
        mode,
        FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Network | FaultMode::Memory
    )
}

fn required_mechanism(fault: &FaultSpec) -> Option<LimitMechanism> {
    match fault.mode {
        FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Network | FaultMode::Memory => {
            Some(LimitMechanism::SystemCalls)
        }
        FaultMode::Timeout if matches!(fault.trigger, FaultTrigger::Nth(_)) => {
            Some(LimitMechanism::SystemCalls)
        }
        FaultMode::Timeout => Some(LimitMechanism::Monitor),
        FaultMode::CpuSpike => Some(LimitMechanism::Sigstop),
        FaultMode::SchemaDrift | FaultMode::FlakyUpstream => Some(LimitMechanism::Harness),
        // The shaper of the link drops packets of the partition, and the processor share is a
        // limit.
        FaultMode::NetworkPartition | FaultMode::Cpu => None,
    }
}

/// The mechanisms through which faults can be injected into this sandbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultSupport {
    pub interposition: SyscallInterposition,
    /// Whether there is a seccomp listener, through which system calls can be answered.
    pub has_listener: bool,
    /// Whether the guest has a network (not in the `landlock` tier, nor at levels 4 and 5).
    pub network: bool,
}

impl FaultSupport {
    /// Whether this sandbox can inject the fault.
    fn supports(self, fault: &FaultSpec) -> bool {
        let sockets = self.interposition.sockets && self.network;
        let interposition = SyscallInterposition { sockets, ..self.interposition };
        required_mechanism(fault) != Some(LimitMechanism::SystemCalls)
            || self.has_listener
                && interposition.covers(SyscallInterposition::for_faults(&[*fault]))
    }
}

/// The mechanism that injects each fault here, if there is one.
pub(crate) fn list_mechanisms(
    faults: &[FaultSpec],
    support: FaultSupport,
) -> impl Iterator<Item = (Limit, Option<LimitMechanism>)> {
    faults.iter().filter_map(move |fault| {
        let mechanism = required_mechanism(fault)?;
        Some((Limit::from(fault.mode), support.supports(fault).then_some(mechanism)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The notification that an `openat` with `O_CREAT` by this process would cause.
    fn creating_notification() -> SyscallNotification {
        let mut notice = SyscallNotification::default();
        (notice.pid, notice.number) = (std::process::id(), libc::SYS_openat);
        let path = c"/own/new";
        let flags = u64::from((libc::O_CREAT | libc::O_WRONLY).cast_unsigned());
        notice.arguments = [0, path.as_ptr() as u64, flags, 0, 0, 0];
        notice
    }

    /// The faults that the first file creations of a call meet.
    fn run_with_fault(
        fault: FaultSpec,
        files: bool,
    ) -> (Vec<Option<InjectedFault>>, Vec<FaultStats>) {
        let interpose = SyscallInterposition { files, ..SyscallInterposition::default() };
        let means = FaultSupport { interposition: interpose, has_listener: true, network: true };
        let conditions = CallConditions { faults: vec![fault], ..CallConditions::default() };
        let mut faults = FaultInjector::new(vec!["/own".into()]);
        faults.begin_call(&conditions, means, 1, Duration::from_mins(1));
        let injected = (0..2).map(|_| faults.inject(&creating_notification())).collect();
        (injected, faults.end_call())
    }

    #[test]
    fn system_calls_notified_for_another_reason_get_no_fault() {
        for (mode, when) in [
            (FaultMode::Disk, FaultTrigger::Rate(1.0)),
            (FaultMode::Timeout, FaultTrigger::Nth(1)),
            (FaultMode::Timeout, FaultTrigger::Rate(1.0)),
        ] {
            let fault = FaultSpec { mode, trigger: when };
            let (injected, stats) = run_with_fault(fault, true);
            assert!(injected.iter().any(Option::is_some), "{fault:?}: {stats:?}");
            let (injected, stats) = run_with_fault(fault, false);
            assert_eq!(injected, [None, None], "{fault:?}");
            assert!(stats.iter().all(|stats| stats.injected == 0), "{fault:?}: {stats:?}");
        }
    }
}
