//! Computes the peak memory of a call from several measurements after it.

/// Measurements that are known once every process of the call is gone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeakMemoryEstimate {
    /// Memory that the control group had at the call's peak and has no more; `None` without a
    /// group. Caches and files that still exist are not included; removed files are.
    pub transient_bytes: Option<u64>,
    /// How much more the first process had mapped at its peak than the zygote has: memory, and
    /// files.
    pub first_process_bytes: u64,
    /// Bytes written to files that no longer exist, at most.
    pub removed_file_bytes: u64,
}

impl PeakMemoryEstimate {
    /// The peak as the group shows it; 0 without one. Removed files are subtracted, but not below
    /// what the first process held.
    pub(super) fn group_bytes(self) -> u64 {
        let beyond_files = |all: u64| all.saturating_sub(self.removed_file_bytes);
        self.transient_bytes
            .map_or(0, |all| beyond_files(all).max(all.min(self.first_process_bytes)))
    }

    /// The best estimate.
    pub(super) fn peak_bytes(self) -> u64 {
        if self.transient_bytes.is_some() { self.group_bytes() } else { self.first_process_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(transient: u64, first_process: u64, removed_files: u64) -> PeakMemoryEstimate {
        PeakMemoryEstimate {
            transient_bytes: Some(transient),
            first_process_bytes: first_process,
            removed_file_bytes: removed_files,
        }
    }

    #[test]
    fn files_that_were_removed_are_no_memory() {
        assert_eq!(estimate(150, 2, 150).group_bytes(), 2);
        assert_eq!(estimate(180, 30, 150).group_bytes(), 30);
    }

    #[test]
    fn children_count_with_the_first_process() {
        assert_eq!(estimate(100, 10, 0).group_bytes(), 100);
    }

    #[test]
    fn what_went_through_pipes_hides_no_memory_of_the_first_process() {
        assert_eq!(estimate(100, 90, 500).group_bytes(), 90);
    }

    #[test]
    fn mapped_files_are_no_memory_where_a_group_counts() {
        assert_eq!(estimate(3, 300, 0).group_bytes(), 3);
        let without_group = PeakMemoryEstimate {
            transient_bytes: None,
            first_process_bytes: 300,
            removed_file_bytes: 0,
        };
        assert_eq!((without_group.group_bytes(), without_group.peak_bytes()), (0, 300));
    }
}
