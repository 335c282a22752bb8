//! Plain files in place of a group: these tests show what is written where. `real_tests` shows its
//! effect on the kernel.

use std::fs::{self, File};
use std::os::fd::OwnedFd;

use super::*;

struct PlainCgroupFiles {
    directory: tempfile::TempDir,
    files: CgroupFiles,
}

impl PlainCgroupFiles {
    fn new(version: CgroupVersion, contents: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in contents {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let mut files = CgroupFiles::empty();
        files.open(directory.path(), version, &CgroupController::ALL).unwrap();
        // A write at offset 0 leaves the tail of a plain file; the kernel's files have no tail.
        for (name, _) in contents.iter().filter(|(_, content)| content.is_empty()) {
            fs::write(directory.path().join(name), "").unwrap();
        }
        Self { directory, files }
    }

    fn v2() -> Self {
        Self::new(
            CgroupVersion::CgroupV2,
            &[
                ("cgroup.procs", ""),
                ("cgroup.kill", ""),
                ("memory.max", ""),
                ("memory.swap.max", ""),
                ("memory.current", "5000\n"),
                ("memory.peak", ""),
                ("memory.stat", "anon 3000\nfile 9000\nkernel 100\nshmem 500\nanon_thp 0\n"),
                ("memory.reclaim", ""),
                ("memory.events", "low 0\noom 2\noom_kill 1\noom_group_kill 0\n"),
                ("cpu.max", ""),
                ("cpu.stat", "usage_usec 9\nuser_usec 6\nsystem_usec 3\nnr_periods 0\n"),
                ("pids.max", ""),
                ("pids.current", "2\n"),
                ("pids.events", "max 7\n"),
            ],
        )
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }
}

#[test]
fn plain_files_version_2_limits_go_to_their_files() {
    let mut group = PlainCgroupFiles::v2();
    group.files.set_memory_limit(Some(64 << 20)).unwrap();
    group.files.set_pids_limit(Some(20)).unwrap();
    group.files.set_cpu_share(Some(1.5)).unwrap();
    group.files.attach_self().unwrap();
    assert_eq!(group.text("memory.max"), "67108864");
    assert_eq!(group.text("memory.swap.max"), "0");
    assert_eq!(group.text("pids.max"), "20");
    assert_eq!(group.text("cpu.max"), "150000 100000");
    assert_eq!(group.text("cgroup.procs"), "0");
    assert_eq!(group.text("memory.reclaim"), "");
}

#[test]
fn plain_files_no_more_processes_are_written_than_the_kernel_takes() {
    let mut group = PlainCgroupFiles::v2();
    group.files.set_pids_limit(Some((1 << 22) + 1029)).unwrap();
    assert_eq!(group.text("pids.max"), "4194304");
}

#[test]
fn plain_files_version_2_no_limit_is_max() {
    let mut group = PlainCgroupFiles::v2();
    group.files.set_memory_limit(None).unwrap();
    group.files.set_pids_limit(None).unwrap();
    group.files.set_cpu_share(None).unwrap();
    assert_eq!(group.text("memory.max"), "max");
    assert_eq!(group.text("memory.swap.max"), "max");
    assert_eq!(group.text("pids.max"), "max");
    assert_eq!(group.text("cpu.max"), "max 100000");
}

#[test]
fn plain_files_version_2_counters_are_read() {
    let group = PlainCgroupFiles::v2();
    assert_eq!(group.files.oom_kills().unwrap(), 1);
    assert_eq!(group.files.pids_limit_hits().unwrap(), 7);
    assert_eq!(group.files.pids_usage().unwrap(), 2);
    let usage = CgroupCpuUsage { total_ns: 9000, user_ns: 6000, system_ns: 3000 };
    assert_eq!(group.files.cpu_usage().unwrap(), usage);
    assert_eq!(group.files.version(CgroupController::Kill), Some(CgroupVersion::CgroupV2));
}

#[test]
fn plain_files_what_processes_hold_is_no_page_cache() {
    assert_eq!(PlainCgroupFiles::v2().files.process_memory().unwrap(), 3500);
    let stat = "cache 9000\nrss 3000\nrss_huge 0\nshmem 500\ntotal_rss 1\n";
    let group = PlainCgroupFiles::new(CgroupVersion::CgroupV1, &[("memory.stat", stat)]);
    assert_eq!(group.files.process_memory().unwrap(), 3500);
}

#[test]
fn plain_files_version_2_never_kills_to_get_below_a_limit() {
    let mut group = PlainCgroupFiles::v2();
    let refused = group.files.set_memory_limit(Some(4000)).unwrap_err();
    assert!(matches!(refused, CgroupError::MemoryInUse { limit: 4000, usage: 5000 }), "{refused}");
    assert_eq!(group.text("memory.reclaim"), "1000");
    assert_eq!(group.text("memory.max"), "");
}

#[test]
fn plain_files_a_limit_that_is_known_is_not_written_again() {
    let mut group = PlainCgroupFiles::v2();
    group.files.set_pids_limit(Some(20)).unwrap();
    fs::write(group.directory.path().join("pids.max"), "").unwrap();
    group.files.set_pids_limit(Some(20)).unwrap();
    assert_eq!(group.text("pids.max"), "");
    group.files.set_pids_limit(Some(21)).unwrap();
    assert_eq!(group.text("pids.max"), "21");
}

#[test]
fn what_is_missing_is_an_error_that_names_it() {
    let mut group = PlainCgroupFiles::new(CgroupVersion::CgroupV2, &[("cgroup.procs", "")]);
    let error = group.files.set_memory_limit(Some(1)).unwrap_err();
    assert!(error.to_string().contains("a memory limit"), "{error}");
    assert_eq!(group.files.version(CgroupController::Memory), None);
    assert_eq!(group.files.peak_memory().unwrap(), None);
    assert!(!group.files.reset_peak_memory().unwrap());
}

#[test]
fn files_survive_being_handed_over() {
    let group = PlainCgroupFiles::v2();
    let json = serde_json::to_string(&group.files.inheritable()).unwrap();
    let handed: Vec<InheritedCgroupFile> = serde_json::from_str(&json).unwrap();
    let own = |fd| {
        let file = File::open(format!("/proc/self/fd/{fd}"))?;
        Ok(OwnedFd::from(file))
    };
    let rebuilt = CgroupFiles::from_inherited(&handed, own).unwrap();
    assert_eq!(rebuilt.pids_limit_hits().unwrap(), 7);
    assert_eq!(rebuilt.inheritable().len(), handed.len());
}
