//! What a group used and what happened in it: read before and after each call.

use super::control_file::{CgroupFile, CgroupFileRole};
use super::group_files::CgroupFiles;
use super::{CgroupResult, CgroupVersion};

/// Processor time used by all processes that are or were in the group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "names carry their unit")]
pub(crate) struct CgroupCpuUsage {
    /// Exact, in both versions.
    pub(crate) total_ns: u64,
    /// Version 1 counts these two by clock ticks: see [`CgroupCpuUsage::since`].
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

impl CgroupCpuUsage {
    /// The usage between two readings: the exact total, divided into user and system time by the
    /// clock ticks. Without a tick in between all of it counts as user time.
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

impl CgroupFiles {
    /// Bytes of anonymous and shared memory and of files in memory. Page cache is left out, since
    /// what the kernel caches does not depend on the call.
    pub(crate) fn process_memory(&self) -> CgroupResult<u64> {
        let stat = self.require_file(CgroupFileRole::MemoryStat, "the kinds of memory in use")?;
        let anonymous = match stat.version {
            CgroupVersion::CgroupV1 => "rss",
            CgroupVersion::CgroupV2 => "anon",
        };
        stat.read_keyed([anonymous, "shmem"]).map(|[anonymous, shared]| anonymous + shared)
    }

    /// All bytes that the group is charged for: page cache, kernel memory and the idle interpreter
    /// included.
    pub(crate) fn memory_usage(&self) -> CgroupResult<u64> {
        self.require_file(CgroupFileRole::MemoryUsage, "the memory usage")?.read_number()
    }

    /// Sets the peak to the present usage; false where this kernel cannot (version 2 before Linux
    /// 6.12).
    pub(crate) fn reset_peak_memory(&self) -> CgroupResult<bool> {
        self.write_command(CgroupFileRole::MemoryPeak, "0")
    }

    /// The highest usage since [`Self::reset_peak_memory`]; `None` where this kernel cannot measure
    /// it.
    pub(crate) fn peak_memory(&self) -> CgroupResult<Option<u64>> {
        self.file(CgroupFileRole::MemoryPeak).map(CgroupFile::read_number).transpose()
    }

    /// How many processes of this group the OOM killer has killed since the group was made.
    pub(crate) fn oom_kills(&self) -> CgroupResult<u64> {
        let events = self
            .require_file(CgroupFileRole::OomEvents, "the count of processes killed for memory")?;
        events.read_keyed(["oom_kill"]).map(|[kills]| kills)
    }

    /// Processor time used since the group was made.
    pub(crate) fn cpu_usage(&self) -> CgroupResult<CgroupCpuUsage> {
        let total = self.require_file(CgroupFileRole::CpuTotal, "the processor usage")?;
        if total.version == CgroupVersion::CgroupV2 {
            let [total, user, system] =
                total.read_keyed(["usage_usec", "user_usec", "system_usec"])?;
            return Ok(CgroupCpuUsage {
                total_ns: total * 1000,
                user_ns: user * 1000,
                system_ns: system * 1000,
            });
        }
        let optional = |role| self.file(role).map_or(Ok(0), CgroupFile::read_number);
        Ok(CgroupCpuUsage {
            total_ns: total.read_number()?,
            user_ns: optional(CgroupFileRole::CpuUser)?,
            system_ns: optional(CgroupFileRole::CpuSystem)?,
        })
    }

    /// Processes and threads in the group now.
    #[cfg(test)]
    pub(crate) fn pids_usage(&self) -> CgroupResult<u64> {
        self.require_file(CgroupFileRole::PidsUsage, "the number of processes")?.read_number()
    }

    /// How many forks the limit has refused since the group was made.
    pub(crate) fn pids_limit_hits(&self) -> CgroupResult<u64> {
        let events = self.require_file(CgroupFileRole::PidsEvents, "the count of refused forks")?;
        events.read_keyed(["max"]).map(|[hits]| hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_divided_as_the_ticks_fell() {
        let usage = |total_ns, user_ns, system_ns| CgroupCpuUsage { total_ns, user_ns, system_ns };
        let spent = usage(1900, 30, 10).since(usage(900, 0, 0));
        assert_eq!(spent, usage(1000, 750, 250));
        let tickless = usage(1900, 5, 5).since(usage(900, 5, 5));
        assert_eq!(tickless, usage(1000, 1000, 0));
    }
}
