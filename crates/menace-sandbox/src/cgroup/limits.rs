//! The limits of a group: set before each call; writing the same value again is skipped.

use std::io;

use super::control_file::{CgroupFile, CgroupFileRole};
use super::group_files::CgroupFiles;
use super::{CgroupError, CgroupResult, CgroupVersion};

/// The limits that were written last, so that writing the same one again is skipped.
#[derive(Debug)]
pub(super) struct LastWrittenLimits {
    memory: LastWritten<u64>,
    cpu: LastWritten<f64>,
    pids: LastWritten<u64>,
}

#[derive(Debug, PartialEq)]
enum LastWritten<T> {
    Unknown,
    Set(Option<T>),
}

impl LastWrittenLimits {
    pub(super) const UNKNOWN: Self = Self {
        memory: LastWritten::Unknown,
        cpu: LastWritten::Unknown,
        pids: LastWritten::Unknown,
    };
}

impl CgroupFiles {
    /// Limits memory, swap included. Where the group already holds more and the kernel cannot
    /// reclaim it, the old limit stays and the error is [`CgroupError::MemoryInUse`]: nothing is
    /// killed to make room.
    pub(crate) fn set_memory_limit(&mut self, bytes: Option<u64>) -> CgroupResult<()> {
        if self.last_written.memory == LastWritten::Set(bytes) {
            return Ok(());
        }
        let limit = self.require_file(CgroupFileRole::MemoryLimit, "a memory limit")?;
        let swap = self.file(CgroupFileRole::SwapLimit);
        match limit.version {
            CgroupVersion::CgroupV1 => self.set_memory_v1(limit, swap, bytes)?,
            CgroupVersion::CgroupV2 => self.set_memory_v2(limit, swap, bytes)?,
        }
        self.last_written.memory = LastWritten::Set(bytes);
        Ok(())
    }

    /// The limit of memory plus swap may never be below that of memory, so raising and lowering
    /// write them in opposite order.
    fn set_memory_v1(
        &self,
        limit: &CgroupFile,
        swap: Option<&CgroupFile>,
        bytes: Option<u64>,
    ) -> CgroupResult<()> {
        let value = bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
        let raising = bytes.is_none_or(|bytes| limit.read_number().is_ok_and(|now| bytes > now));
        let set = |part: &CgroupFile| {
            part.write(&value).map_err(|source| match (source.kind(), bytes) {
                (io::ErrorKind::ResourceBusy, Some(limit)) => {
                    CgroupError::MemoryInUse { limit, usage: self.memory_usage().unwrap_or(0) }
                }
                _ => CgroupError::Set { file: part.name(), value: value.clone(), source },
            })
        };
        match swap {
            Some(swap) if raising => set(swap).and_then(|()| set(limit)),
            Some(swap) => set(limit).and_then(|()| set(swap)),
            None => set(limit),
        }
    }

    /// In version 2 a limit below the usage makes the kernel kill, so memory is reclaimed first.
    fn set_memory_v2(
        &self,
        limit: &CgroupFile,
        swap: Option<&CgroupFile>,
        bytes: Option<u64>,
    ) -> CgroupResult<()> {
        if let Some(bytes) = bytes {
            let usage = self.memory_usage()?;
            if let (true, Some(reclaim)) = (usage > bytes, self.file(CgroupFileRole::MemoryReclaim))
            {
                // The write fails when less could be reclaimed than requested; the usage read next
                // shows that.
                let _ = reclaim.write(&(usage - bytes).to_string());
            }
            let usage = self.memory_usage()?;
            if usage > bytes {
                return Err(CgroupError::MemoryInUse { limit: bytes, usage });
            }
        }
        if let Some(swap) = swap {
            swap.set(if bytes.is_some() { "0" } else { "max" })?;
        }
        limit.set(&bytes.map_or("max".to_owned(), |bytes| bytes.to_string()))
    }

    /// Limits the share of the processors; 0.5 is half of one core.
    pub(crate) fn set_cpu_share(&mut self, cores: Option<f64>) -> CgroupResult<()> {
        if self.last_written.cpu == LastWritten::Set(cores) {
            return Ok(());
        }
        let quota = self.require_file(CgroupFileRole::CpuQuota, "a processor share")?;
        let limit = cores.map(compute_quota).transpose()?;
        match quota.version {
            CgroupVersion::CgroupV1 => self.set_cpu_v1(quota, limit)?,
            CgroupVersion::CgroupV2 => quota.set(&match limit {
                Some((quota, period)) => format!("{quota} {period}"),
                None => format!("max {CPU_PERIOD_US}"),
            })?,
        }
        self.last_written.cpu = LastWritten::Set(cores);
        Ok(())
    }

    fn set_cpu_v1(&self, quota: &CgroupFile, limit: Option<(u64, u64)>) -> CgroupResult<()> {
        const NO_QUOTA: &str = "-1";
        let Some((micros, period)) = limit else {
            return quota.set(NO_QUOTA);
        };
        let period_file =
            self.require_file(CgroupFileRole::CpuPeriod, "the period of a processor share")?;
        if period_file.read_number()? != period {
            quota.set(NO_QUOTA)?;
            period_file.set(&period.to_string())?;
        }
        match quota.write(&micros.to_string()) {
            // An outer group has a lower quota, which applies to this one too.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => quota.set(NO_QUOTA),
            Err(source) => {
                Err(CgroupError::Set { file: quota.name(), value: micros.to_string(), source })
            }
            Ok(()) => Ok(()),
        }
    }

    /// Limits the number of processes and threads in the group.
    pub(crate) fn set_pids_limit(&mut self, limit: Option<u64>) -> CgroupResult<()> {
        if self.last_written.pids == LastWritten::Set(limit) {
            return Ok(());
        }
        let value = limit.map_or("max".to_owned(), |limit| limit.min(MAX_PIDS).to_string());
        self.require_file(CgroupFileRole::PidsLimit, "a limit of processes")?.set(&value)?;
        self.last_written.pids = LastWritten::Set(limit);
        Ok(())
    }
}

/// The largest number that the kernel accepts (`PID_MAX_LIMIT`).
const MAX_PIDS: u64 = 1 << 22;
/// The kernel's default period: long enough to cost little, short enough that a stopped call does
/// not notice.
const CPU_PERIOD_US: u64 = 100_000;
const MAX_CPU_PERIOD_US: u64 = 1_000_000;
/// The smallest quota that the kernel accepts.
const MIN_CPU_QUOTA_US: u64 = 1_000;

#[allow(clippy::cast_sign_loss)]
fn compute_quota(cores: f64) -> CgroupResult<(u64, u64)> {
    if !cores.is_finite() || cores <= 0.0 {
        return Err(CgroupError::InvalidCpuShare { cores });
    }
    let quota = |period: u64| (cores * period as f64).round() as u64;
    Ok(if quota(CPU_PERIOD_US) >= MIN_CPU_QUOTA_US {
        (quota(CPU_PERIOD_US), CPU_PERIOD_US)
    } else {
        (quota(MAX_CPU_PERIOD_US).max(MIN_CPU_QUOTA_US), MAX_CPU_PERIOD_US)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_get_a_long_period_and_nonsense_is_refused() {
        assert_eq!(compute_quota(0.5).unwrap(), (50_000, 100_000));
        assert_eq!(compute_quota(0.002).unwrap(), (2_000, 1_000_000));
        assert_eq!(compute_quota(1e-9).unwrap(), (1_000, 1_000_000));
        for cores in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(compute_quota(cores).is_err());
        }
    }
}
