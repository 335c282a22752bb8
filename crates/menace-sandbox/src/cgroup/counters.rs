//! What a group used and what happened in it: read before and after each call.

use super::files::GroupFiles;
use super::part::{Part, Role};
use super::{Result, Version};

/// Processor time used by all processes that are or were in the group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "names carry their unit")]
pub(crate) struct CpuUsage {
    /// Exact.
    pub(crate) total_ns: u64,
    /// Version 1 counts these two by clock ticks: see [`CpuUsage::since`].
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

impl CpuUsage {
    /// What was used between two readings, the exact total divided as the clock ticks fell; all of it
    /// is the user's where no tick fell.
    pub(crate) fn since(self, earlier: Self) -> Self {
        let total_ns = self.total_ns.saturating_sub(earlier.total_ns);
        let user = self.user_ns.saturating_sub(earlier.user_ns);
        let system = self.system_ns.saturating_sub(earlier.system_ns);
        let system_ns = (u128::from(total_ns) * u128::from(system))
            .checked_div(u128::from(user) + u128::from(system))
            .unwrap_or(0) as u64;
        Self { total_ns, user_ns: total_ns - system_ns, system_ns }
    }
}

impl GroupFiles {
    /// Bytes that processes hold themselves, shared memory and files in memory included: nothing
    /// that depends on what the kernel happens to have cached.
    pub(crate) fn memory_held(&self) -> Result<u64> {
        let stat = self.need(Role::MemoryStat, "the kinds of memory in use")?;
        let anonymous = match stat.version {
            Version::CgroupV1 => "rss",
            Version::CgroupV2 => "anon",
        };
        stat.keyed([anonymous, "shmem"]).map(|[anonymous, shared]| anonymous + shared)
    }

    /// Bytes now, page cache, the kernel's own and the waiting interpreter included.
    pub(crate) fn memory_usage(&self) -> Result<u64> {
        self.need(Role::MemoryUsage, "the memory usage")?.number()
    }

    /// Starts a new peak at the present usage; false where this kernel cannot.
    pub(crate) fn reset_peak(&self) -> Result<bool> {
        self.command(Role::MemoryPeak, "0")
    }

    /// The most bytes since [`Self::reset_peak`]; `None` where this kernel cannot tell.
    pub(crate) fn peak(&self) -> Result<Option<u64>> {
        self.part(Role::MemoryPeak).map(Part::number).transpose()
    }

    /// How many processes of this group the kernel killed for memory, ever.
    pub(crate) fn oom_kills(&self) -> Result<u64> {
        let events = self.need(Role::OomEvents, "the count of processes killed for memory")?;
        events.keyed(["oom_kill"]).map(|[kills]| kills)
    }

    /// Processor time used, ever.
    pub(crate) fn cpu_usage(&self) -> Result<CpuUsage> {
        let total = self.need(Role::CpuTotal, "the processor usage")?;
        if total.version == Version::CgroupV2 {
            let [total, user, system] = total.keyed(["usage_usec", "user_usec", "system_usec"])?;
            return Ok(CpuUsage {
                total_ns: total * 1000,
                user_ns: user * 1000,
                system_ns: system * 1000,
            });
        }
        let optional = |role| self.part(role).map_or(Ok(0), Part::number);
        Ok(CpuUsage {
            total_ns: total.number()?,
            user_ns: optional(Role::CpuUser)?,
            system_ns: optional(Role::CpuSystem)?,
        })
    }

    /// Processes and threads in the group now.
    #[cfg(test)]
    pub(crate) fn pids_usage(&self) -> Result<u64> {
        self.need(Role::PidsUsage, "the number of processes")?.number()
    }

    /// How many forks were refused for the limit, ever.
    pub(crate) fn pids_limit_hits(&self) -> Result<u64> {
        let events = self.need(Role::PidsEvents, "the count of refused forks")?;
        events.keyed(["max"]).map(|[hits]| hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_divided_as_the_ticks_fell() {
        let usage = |total_ns, user_ns, system_ns| CpuUsage { total_ns, user_ns, system_ns };
        let spent = usage(1900, 30, 10).since(usage(900, 0, 0));
        assert_eq!(spent, usage(1000, 750, 250));
        let tickless = usage(1900, 5, 5).since(usage(900, 5, 5));
        assert_eq!(tickless, usage(1000, 1000, 0));
    }
}
