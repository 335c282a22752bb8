//! Version 2: one directory, below a cgroup that hands its controllers to its children.
//!
//! A cgroup that holds processes may not hand controllers to its children (only the root may), so
//! the group usually stands beside Menace's own cgroup, below the nearest ancestor that hands them
//! on.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use super::available::CgroupLocation;
use super::control_file::{CgroupFileEntry, CgroupFileRole};
use super::mounts::split_words;
use super::{CgroupController, CgroupVersion};

pub(super) const CGROUP_V2_FILES: &[CgroupFileEntry] = &[
    CgroupFileEntry::new(CgroupController::Memory, CgroupFileRole::MemoryLimit, "memory.max"),
    CgroupFileEntry::new(CgroupController::Memory, CgroupFileRole::SwapLimit, "memory.swap.max"),
    CgroupFileEntry::read_only(
        CgroupController::Memory,
        CgroupFileRole::MemoryUsage,
        "memory.current",
    ),
    CgroupFileEntry::new(CgroupController::Memory, CgroupFileRole::MemoryPeak, "memory.peak"),
    CgroupFileEntry::read_only(CgroupController::Memory, CgroupFileRole::MemoryStat, "memory.stat"),
    CgroupFileEntry::write_only(
        CgroupController::Memory,
        CgroupFileRole::MemoryReclaim,
        "memory.reclaim",
    ),
    CgroupFileEntry::read_only(
        CgroupController::Memory,
        CgroupFileRole::OomEvents,
        "memory.events",
    ),
    CgroupFileEntry::new(CgroupController::Cpu, CgroupFileRole::CpuQuota, "cpu.max"),
    CgroupFileEntry::read_only(CgroupController::Cpuacct, CgroupFileRole::CpuTotal, "cpu.stat"),
    CgroupFileEntry::new(CgroupController::Pids, CgroupFileRole::PidsLimit, "pids.max"),
    CgroupFileEntry::read_only(CgroupController::Pids, CgroupFileRole::PidsUsage, "pids.current"),
    CgroupFileEntry::read_only(CgroupController::Pids, CgroupFileRole::PidsEvents, "pids.events"),
    CgroupFileEntry::write_only(CgroupController::Kill, CgroupFileRole::Kill, "cgroup.kill"),
];

/// The controllers that must be handed to the group; `cpu.stat` and `cgroup.kill` exist in every
/// directory.
pub(super) const DELEGATED_CONTROLLERS: [CgroupController; 3] =
    [CgroupController::Memory, CgroupController::Cpu, CgroupController::Pids];

/// How a user gets a cgroup of their own from systemd.
pub(super) const DELEGATION_COMMAND: &str = "systemd-run --user --scope -p Delegate=yes menace …";

/// One directory on the way from Menace's own cgroup up to the mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupLevel {
    pub(super) path: PathBuf,
    /// `cgroup.controllers`: the controllers that it could hand to its children.
    pub(super) controllers: Vec<String>,
    /// `cgroup.subtree_control`: the controllers that it hands to its children.
    pub(super) enabled: Vec<String>,
    /// Whether processes are in it.
    pub(super) has_processes: bool,
    /// Whether it is the root of the hierarchy, which may hold processes and hand on controllers at
    /// once.
    pub(super) is_root: bool,
    /// Whether Menace may write `cgroup.subtree_control`.
    pub(super) writable: bool,
}

impl CgroupLevel {
    /// `None` for a threaded cgroup, which cannot have a group below it.
    fn read(path: &Path) -> Option<Self> {
        let text = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
        let kind = fs::read_to_string(path.join("cgroup.type"));
        if kind.as_ref().is_ok_and(|kind| !matches!(kind.trim(), "domain" | "domain threaded")) {
            return None;
        }
        Some(Self {
            path: path.to_owned(),
            controllers: split_words(&text("cgroup.controllers")),
            enabled: split_words(&text("cgroup.subtree_control")),
            has_processes: !text("cgroup.procs").trim().is_empty(),
            // The root of the hierarchy has no type; the root of a namespace has one.
            is_root: kind.is_err(),
            writable: OpenOptions::new()
                .write(true)
                .open(path.join("cgroup.subtree_control"))
                .is_ok(),
        })
    }

    fn delegates(&self, controller: CgroupController) -> bool {
        self.enabled.iter().any(|name| name == controller.name())
    }

    fn can_delegate(&self, controller: CgroupController) -> bool {
        self.writable
            && (self.is_root || !self.has_processes)
            && self.controllers.iter().any(|name| name == controller.name())
    }

    fn usable_controllers(&self, wanted: &[CgroupController]) -> Vec<CgroupController> {
        wanted
            .iter()
            .copied()
            .filter(|&one| self.delegates(one) || self.can_delegate(one))
            .collect()
    }
}

/// The levels from `own` up to the mount point, nearest first.
pub(super) fn read_levels(own: &Path, mount_point: &Path) -> Vec<CgroupLevel> {
    own.ancestors()
        .take_while(|path| path.starts_with(mount_point))
        .filter_map(CgroupLevel::read)
        .collect()
}

/// The best place for a group: the one with most of the `wanted` controllers, then the nearest to
/// Menace's own cgroup.
pub(super) fn choose_location(
    levels: &[CgroupLevel],
    wanted: &[CgroupController],
    may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> Result<CgroupLocation, String> {
    let mut order: Vec<(&CgroupLevel, Vec<CgroupController>)> =
        levels.iter().map(|level| (level, level.usable_controllers(wanted))).collect();
    order.sort_by_key(|(_, usable)| std::cmp::Reverse(usable.len()));
    let mut why = None;
    for (level, controllers) in order {
        match may_create(&level.path) {
            Ok(()) => {
                return Ok(CgroupLocation {
                    version: CgroupVersion::CgroupV2,
                    base: level.path.clone(),
                    to_enable: controllers
                        .iter()
                        .copied()
                        .filter(|&one| !level.delegates(one))
                        .collect(),
                    controllers,
                });
            }
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    Err(why.unwrap_or_else(|| "no cgroup on the way up may have children".to_owned()))
}

/// Explains why the chosen place lacks `controller`.
pub(super) fn explain_missing(levels: &[CgroupLevel], controller: CgroupController) -> String {
    let name = controller.name();
    let has = |level: &&CgroupLevel| level.controllers.iter().any(|one| one == name);
    let Some(nearest) = levels.iter().find(has) else {
        return format!(
            "no cgroup from our own upwards has the controller {name}: \
             the kernel was built or started without it, or it was not delegated"
        );
    };
    let path = nearest.path.display();
    if nearest.has_processes && !nearest.is_root {
        format!(
            "`{path}` holds processes and so cannot hand {name} on: \
             run menace as `{DELEGATION_COMMAND}`"
        )
    } else {
        format!(
            "{name} is not handed on by `{path}`, and we may not change that: run menace as root, \
             or as `{DELEGATION_COMMAND}`"
        )
    }
}

/// Hands `controllers` to the children of `base`; returns those that the kernel refused, with the
/// reason.
pub(super) fn enable_controllers(
    base: &Path,
    controllers: &[CgroupController],
) -> Vec<(CgroupController, String)> {
    let file = base.join("cgroup.subtree_control");
    controllers
        .iter()
        .filter_map(|&one| {
            let refusal = fs::write(&file, format!("+{}", one.name())).err()?;
            Some((one, format!("`{}` did not accept it: {refusal}", file.display())))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_DELEGATED: &[CgroupController] = &DELEGATED_CONTROLLERS;

    fn level(path: &str, controllers: &str, enabled: &str) -> CgroupLevel {
        CgroupLevel {
            path: path.into(),
            controllers: split_words(controllers),
            enabled: split_words(enabled),
            has_processes: false,
            is_root: false,
            writable: true,
        }
    }

    fn occupied(level: CgroupLevel) -> CgroupLevel {
        CgroupLevel { has_processes: true, ..level }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the form that is asked for")]
    fn allow_create(_: &Path) -> Result<(), String> {
        Ok(())
    }

    #[test]
    fn the_group_stands_beside_an_occupied_cgroup_whose_parent_hands_controllers_on() {
        let levels = [
            occupied(level("/app/a.scope", "cpu memory pids", "")),
            level("/app", "cpu memory pids", "cpu memory pids"),
            level("/", "cpu memory pids", "cpu memory pids"),
        ];
        let place = choose_location(&levels, ALL_DELEGATED, &mut allow_create).unwrap();
        assert_eq!(place.base, PathBuf::from("/app"));
        assert_eq!(place.controllers, ALL_DELEGATED);
        assert_eq!(place.to_enable, []);
    }

    #[test]
    fn what_is_not_handed_on_yet_is_enabled_where_no_process_stands_in_the_way() {
        let levels = [
            occupied(level("/app/a.scope", "memory pids", "")),
            level("/app", "cpu memory pids", "memory pids"),
        ];
        let place = choose_location(&levels, ALL_DELEGATED, &mut allow_create).unwrap();
        assert_eq!(place.to_enable, [CgroupController::Cpu]);
    }

    #[test]
    fn the_root_hands_on_although_processes_are_in_it() {
        let mut root = occupied(level("/", "cpu memory pids", ""));
        root.is_root = true;
        let place = choose_location(&[root], ALL_DELEGATED, &mut allow_create).unwrap();
        assert_eq!(place.to_enable, ALL_DELEGATED);
    }

    #[test]
    fn the_root_of_a_container_holds_processes_and_hands_nothing_on() {
        let levels = [occupied(level("/", "cpu memory pids", ""))];
        let place = choose_location(&levels, ALL_DELEGATED, &mut allow_create).unwrap();
        assert_eq!(place.controllers, []);
        let why = explain_missing(&levels, CgroupController::Memory);
        assert!(why.contains("holds processes"), "{why}");
    }

    #[test]
    fn a_place_where_nothing_may_be_made_is_passed_by() {
        let levels = [
            level("/a/b", "cpu memory pids", "memory pids cpu"),
            level("/a", "cpu memory pids", "memory"),
        ];
        let mut only_a = |path: &Path| match path.to_str() {
            Some("/a") => Ok(()),
            _ => Err("no".to_owned()),
        };
        let place = choose_location(&levels, &[CgroupController::Memory], &mut only_a).unwrap();
        assert_eq!(place.base, PathBuf::from("/a"));
        let refused = choose_location(&levels[..1], ALL_DELEGATED, &mut only_a).unwrap_err();
        assert_eq!(refused, "no");
    }

    #[test]
    fn without_the_right_to_write_only_what_is_handed_on_counts() {
        let mut slice = level("/a", "cpu memory pids", "pids");
        slice.writable = false;
        let place = choose_location(&[slice.clone()], ALL_DELEGATED, &mut allow_create).unwrap();
        assert_eq!(place.controllers, [CgroupController::Pids]);
        let why = explain_missing(&[slice], CgroupController::Memory);
        assert!(why.contains("as root"), "{why}");
    }

    #[test]
    fn on_a_hybrid_machine_the_own_cgroup_is_the_place() {
        let levels = [occupied(level("/own", "", "")), level("/", "hugetlb", "")];
        let place = choose_location(&levels, &[], &mut allow_create).unwrap();
        assert_eq!(place.base, PathBuf::from("/own"));
    }

    /// No kernel here: plain files show what would be written, not that it works.
    #[test]
    fn enabling_writes_one_controller_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cgroup.subtree_control");
        fs::write(&file, "").unwrap();
        assert_eq!(enable_controllers(directory.path(), &[CgroupController::Pids]), []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "+pids");
        let refused =
            enable_controllers(&directory.path().join("missing"), &[CgroupController::Cpu]);
        assert_eq!(refused[0].0, CgroupController::Cpu);
    }

    /// No kernel here: a tree of plain files stands in for a hierarchy.
    #[test]
    fn levels_are_read_from_the_own_cgroup_up_to_the_mount_point() {
        let mount = tempfile::tempdir().unwrap();
        let own = mount.path().join("a/b");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.procs"), "12\n").unwrap();
        fs::write(own.join("cgroup.type"), "domain\n").unwrap();
        fs::write(mount.path().join("cgroup.controllers"), "cpu pids\n").unwrap();
        fs::write(mount.path().join("cgroup.subtree_control"), "pids\n").unwrap();
        let levels = read_levels(&own, mount.path());
        assert_eq!(levels.len(), 3);
        assert!(levels[0].has_processes && !levels[0].is_root && !levels[0].writable);
        assert!(levels[2].is_root && levels[2].writable);
        assert_eq!(levels[2].controllers, ["cpu", "pids"]);
        assert_eq!(levels[2].enabled, ["pids"]);
    }

    /// No kernel here: a tree of plain files stands in for a hierarchy.
    #[test]
    fn a_threaded_cgroup_is_no_place() {
        let mount = tempfile::tempdir().unwrap();
        let own = mount.path().join("a");
        fs::create_dir(&own).unwrap();
        for kind in ["threaded\n", "domain invalid\n"] {
            fs::write(own.join("cgroup.type"), kind).unwrap();
            let levels = read_levels(&own, mount.path());
            assert_eq!(levels.len(), 1);
            assert_eq!(levels[0].path, mount.path());
        }
    }
}
