//! The limits of a group: set before each call, at no cost where they are what they were.

use std::io;

use super::files::GroupFiles;
use super::part::{Part, Role};
use super::{Error, Result, Version};

/// Limits that were set through this value, so that the same limit twice costs nothing.
#[derive(Debug)]
pub(super) struct Known {
    memory: Last<u64>,
    cpu: Last<f64>,
    pids: Last<u64>,
}

#[derive(Debug, PartialEq)]
enum Last<T> {
    Unknown,
    Set(Option<T>),
}

impl Known {
    pub(super) const NOTHING: Self =
        Self { memory: Last::Unknown, cpu: Last::Unknown, pids: Last::Unknown };
}

impl GroupFiles {
    /// Limits memory, swap included. Where the group already holds more and the kernel cannot reclaim
    /// it, the old limit stays and the error is [`Error::InUse`]: nothing is killed to make room.
    pub(crate) fn set_memory_limit(&mut self, bytes: Option<u64>) -> Result<()> {
        if self.known.memory == Last::Set(bytes) {
            return Ok(());
        }
        let limit = self.need(Role::MemoryLimit, "a memory limit")?;
        let swap = self.part(Role::SwapLimit);
        match limit.version {
            Version::CgroupV1 => self.set_memory_v1(limit, swap, bytes)?,
            Version::CgroupV2 => self.set_memory_v2(limit, swap, bytes)?,
        }
        self.known.memory = Last::Set(bytes);
        Ok(())
    }

    /// Memory plus swap may never be limited below memory: which comes first depends on the direction.
    fn set_memory_v1(&self, limit: &Part, swap: Option<&Part>, bytes: Option<u64>) -> Result<()> {
        let value = bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
        let raising = bytes.is_none_or(|bytes| limit.number().is_ok_and(|now| bytes > now));
        let set = |part: &Part| {
            part.write(&value).map_err(|source| match (source.kind(), bytes) {
                (io::ErrorKind::ResourceBusy, Some(limit)) => {
                    Error::InUse { limit, usage: self.memory_usage().unwrap_or(0) }
                }
                _ => Error::Set { file: part.name(), value: value.clone(), source },
            })
        };
        match swap {
            Some(swap) if raising => set(swap).and_then(|()| set(limit)),
            Some(swap) => set(limit).and_then(|()| set(swap)),
            None => set(limit),
        }
    }

    /// Version 2 would kill to get below a new limit, so room is made before it is set.
    fn set_memory_v2(&self, limit: &Part, swap: Option<&Part>, bytes: Option<u64>) -> Result<()> {
        if let Some(bytes) = bytes {
            let usage = self.memory_usage()?;
            if let (true, Some(reclaim)) = (usage > bytes, self.part(Role::MemoryReclaim)) {
                // It fails when less could be reclaimed than was asked for: the next reading tells.
                let _ = reclaim.write(&(usage - bytes).to_string());
            }
            let usage = self.memory_usage()?;
            if usage > bytes {
                return Err(Error::InUse { limit: bytes, usage });
            }
        }
        if let Some(swap) = swap {
            swap.set(if bytes.is_some() { "0" } else { "max" })?;
        }
        limit.set(&bytes.map_or("max".to_owned(), |bytes| bytes.to_string()))
    }

    /// Limits the share of the processors; 0.5 is half of one core.
    pub(crate) fn set_cpu_share(&mut self, cores: Option<f64>) -> Result<()> {
        if self.known.cpu == Last::Set(cores) {
            return Ok(());
        }
        let quota = self.need(Role::CpuQuota, "a processor share")?;
        let limit = cores.map(quota_and_period).transpose()?;
        match quota.version {
            Version::CgroupV1 => self.set_cpu_v1(quota, limit)?,
            Version::CgroupV2 => quota.set(&match limit {
                Some((quota, period)) => format!("{quota} {period}"),
                None => format!("max {PERIOD_US}"),
            })?,
        }
        self.known.cpu = Last::Set(cores);
        Ok(())
    }

    fn set_cpu_v1(&self, quota: &Part, limit: Option<(u64, u64)>) -> Result<()> {
        const NONE: &str = "-1";
        let Some((micros, period)) = limit else {
            return quota.set(NONE);
        };
        let period_file = self.need(Role::CpuPeriod, "the period of a processor share")?;
        if period_file.number()? != period {
            quota.set(NONE)?;
            period_file.set(&period.to_string())?;
        }
        match quota.write(&micros.to_string()) {
            // An outer cgroup allows less than that; its limit holds for us too.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => quota.set(NONE),
            Err(source) => {
                Err(Error::Set { file: quota.name(), value: micros.to_string(), source })
            }
            Ok(()) => Ok(()),
        }
    }

    /// Limits the number of processes and threads in the group.
    pub(crate) fn set_pids_limit(&mut self, limit: Option<u64>) -> Result<()> {
        if self.known.pids == Last::Set(limit) {
            return Ok(());
        }
        let value = limit.map_or("max".to_owned(), |limit| limit.min(MOST_PIDS).to_string());
        self.need(Role::PidsLimit, "a limit of processes")?.set(&value)?;
        self.known.pids = Last::Set(limit);
        Ok(())
    }
}

/// The kernel takes no larger number: no machine has more.
const MOST_PIDS: u64 = 1 << 22;
/// The kernel's own default: long enough not to cost, short enough not to be noticed.
const PERIOD_US: u64 = 100_000;
const LONGEST_PERIOD_US: u64 = 1_000_000;
/// The kernel takes no smaller quota.
const SMALLEST_QUOTA_US: u64 = 1_000;

#[allow(clippy::cast_sign_loss)]
fn quota_and_period(cores: f64) -> Result<(u64, u64)> {
    if !cores.is_finite() || cores <= 0.0 {
        return Err(Error::Share { cores });
    }
    let quota = |period: u64| (cores * period as f64).round() as u64;
    Ok(if quota(PERIOD_US) >= SMALLEST_QUOTA_US {
        (quota(PERIOD_US), PERIOD_US)
    } else {
        (quota(LONGEST_PERIOD_US).max(SMALLEST_QUOTA_US), LONGEST_PERIOD_US)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_get_a_long_period_and_nonsense_is_refused() {
        assert_eq!(quota_and_period(0.5).unwrap(), (50_000, 100_000));
        assert_eq!(quota_and_period(0.002).unwrap(), (2_000, 1_000_000));
        assert_eq!(quota_and_period(1e-9).unwrap(), (1_000, 1_000_000));
        for cores in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(quota_and_period(cores).is_err());
        }
    }
}
