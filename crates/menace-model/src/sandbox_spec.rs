//! The description of a sandbox that presets, stored calls, the sandbox pool and init share.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{Call, CallConditions, CallLimits, FaultMode, FaultSpec, ModuleRef, SecurityLevel};

/// The policy of a call; stored with it, so that a rerun is confined in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallConfinement {
    /// `SECURITY_LEVEL`.
    pub security_level: SecurityLevel,
    /// `SAFE_MODE`: no network at all.
    pub safe_mode: bool,
}

impl CallConfinement {
    pub const DEFAULT: Self = Self { security_level: SecurityLevel::DEFAULT, safe_mode: false };
}

impl Default for CallConfinement {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Which system calls stop in the kernel until init has decided about them. Fixed when the
/// interpreter starts; each interposed system call is slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct SyscallInterposition {
    /// Opening, reading, writing files.
    pub files: bool,
    /// Allocating memory.
    pub memory: bool,
    /// Connecting, sending, receiving.
    pub sockets: bool,
}

impl SyscallInterposition {
    /// The interposition that injecting these faults needs.
    pub fn for_faults(faults: &[FaultSpec]) -> Self {
        let mut interposition = Self::default();
        for fault in faults {
            match fault.mode {
                FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Timeout => {
                    interposition.files = true;
                }
                FaultMode::Memory => interposition.memory = true,
                FaultMode::Network => interposition.sockets = true,
                FaultMode::NetworkPartition
                | FaultMode::Cpu
                | FaultMode::CpuSpike
                | FaultMode::SchemaDrift
                | FaultMode::FlakyUpstream => {}
            }
        }
        interposition
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Whether this interposition includes everything that `needed` does.
    pub fn covers(self, needed: Self) -> bool {
        self.files >= needed.files && self.memory >= needed.memory && self.sockets >= needed.sockets
    }
}

/// Everything that distinguishes sandboxes: calls with equal specs can share one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// The module that is imported before the first call; `None` for calls of module top levels.
    pub module: Option<ModuleRef>,
    /// Directories that go to the front of `sys.path`, relative to the repository.
    pub import_roots: Vec<String>,
    pub confinement: CallConfinement,
    pub interposition: SyscallInterposition,
    /// Seed for the import; each call has its own.
    pub seed: u64,
    /// `PYTHONHASHSEED`, which is fixed when Python starts and cannot be set for a single call.
    pub hash_seed: u32,
    /// The time of the frozen clock, in seconds since 1970.
    pub freeze_time: Option<f64>,
    /// Limits of the import. Those on open files and processes are also ceilings for all calls.
    pub import_limits: CallLimits,
    /// Additional environment variables for the guest.
    pub environment: Vec<(String, String)>,
}

/// Specs are keys of pools. The floating-point fields come from settings and presets, which reject
/// NaN.
impl Eq for SandboxSpec {}

/// `import_limits`, `freeze_time` and `environment` rarely distinguish two specs, and are left to
/// `Eq`.
impl Hash for SandboxSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.module.hash(state);
        self.import_roots.hash(state);
        self.confinement.hash(state);
        self.interposition.hash(state);
        self.seed.hash(state);
        self.hash_seed.hash(state);
    }
}

impl SandboxSpec {
    pub fn new(module: Option<ModuleRef>) -> Self {
        Self {
            module,
            import_roots: vec![String::new()],
            confinement: CallConfinement::DEFAULT,
            interposition: SyscallInterposition::default(),
            seed: 0,
            hash_seed: 0,
            freeze_time: None,
            import_limits: CallLimits::default(),
            environment: Vec::new(),
        }
    }

    /// The spec that this call needs, derived from the default spec of its module.
    #[must_use]
    pub fn for_call(&self, call: &Call) -> Self {
        let confinement = call.confinement.unwrap_or(self.confinement);
        let mut spec = self.clone().for_conditions(confinement, &call.conditions);
        spec.import_limits.processes = spec.import_limits.processes.max(call.limits.processes);
        spec
    }

    /// The spec for a call with these conditions, whose target is not known yet.
    #[must_use]
    pub fn for_conditions(self, confinement: CallConfinement, conditions: &CallConditions) -> Self {
        let interposition = SyscallInterposition::for_faults(&conditions.faults);
        Self { confinement, interposition, ..self }
    }

    /// The spec of a sandbox that has not imported anything, which is equal for all modules.
    #[must_use]
    pub fn before_import(&self) -> Self {
        let CallLimits { processes, open_files, .. } = self.import_limits;
        let import_limits = CallLimits { processes, open_files, ..CallLimits::default() };
        Self { module: None, import_roots: Vec::new(), import_limits, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultTrigger;

    #[test]
    fn each_fault_interposes_what_injecting_it_needs() {
        let interposed = |mode: FaultMode| {
            let fault = FaultSpec { mode, trigger: FaultTrigger::Rate(0.5) };
            let SyscallInterposition { files, memory, sockets } =
                SyscallInterposition::for_faults(&[fault]);
            (files, memory, sockets)
        };
        for mode in FaultMode::ALL {
            let expected = match mode.as_str() {
                "disk" | "disk_corruption" | "timeout" => (true, false, false),
                "memory" => (false, true, false),
                "network" => (false, false, true),
                _ => (false, false, false),
            };
            assert_eq!(interposed(mode), expected, "{mode}");
        }
    }

    #[test]
    fn one_interposition_covers_another_when_nothing_is_missing() {
        let all = SyscallInterposition { files: true, memory: true, sockets: true };
        let files = SyscallInterposition { files: true, ..SyscallInterposition::default() };
        let memory = SyscallInterposition { memory: true, ..SyscallInterposition::default() };
        assert!(all.covers(files) && files.covers(SyscallInterposition::default()));
        assert!(files.covers(files) && !files.covers(memory) && !files.covers(all));
    }
}
