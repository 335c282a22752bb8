//! The most memory that a call had at once, from what is known about it afterwards.

/// What is known once every process of the call is gone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    /// What the control group had at its height and has not any more; nothing without one. Caches and
    /// files that are still there are no part of it; files that were removed are.
    pub transient: Option<u64>,
    /// What the first process had mapped beyond what the interpreter has: memory, and files.
    pub first_process: u64,
    /// The most that files can have held that are gone.
    pub removed_files: u64,
}

impl Ended {
    /// As far as the group tells; nothing without one.
    pub(super) fn held(self) -> u64 {
        let beyond_files = |all: u64| all.saturating_sub(self.removed_files);
        self.transient.map_or(0, |all| beyond_files(all).max(all.min(self.first_process)))
    }

    /// The best guess.
    pub(super) fn peak(self) -> u64 {
        if self.transient.is_some() { self.held() } else { self.first_process }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(transient: u64, first_process: u64, removed_files: u64) -> Ended {
        Ended { transient: Some(transient), first_process, removed_files }
    }

    #[test]
    fn files_that_were_removed_are_no_memory() {
        assert_eq!(ended(150, 2, 150).held(), 2);
        assert_eq!(ended(180, 30, 150).held(), 30);
    }

    #[test]
    fn children_count_with_the_first_process() {
        assert_eq!(ended(100, 10, 0).held(), 100);
    }

    #[test]
    fn what_went_through_pipes_hides_no_memory_of_the_first_process() {
        assert_eq!(ended(100, 90, 500).held(), 90);
    }

    #[test]
    fn mapped_files_are_no_memory_where_a_group_counts() {
        assert_eq!(ended(3, 300, 0).held(), 3);
        let without_group = Ended { transient: None, first_process: 300, removed_files: 0 };
        assert_eq!((without_group.held(), without_group.peak()), (0, 300));
    }
}
