//! Version 2: one directory, in a place whose controllers may be handed to children.
//!
//! A cgroup that holds processes may not hand controllers to its children (only the root may), so the
//! group usually stands beside Menace's own cgroup, below the nearest ancestor that hands them on.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use super::available::Place;
use super::mounted::words;
use super::part::{Entry, Role};
use super::{Controller, Version};

pub(super) const FILES: &[Entry] = &[
    Entry::new(Controller::Memory, Role::MemoryLimit, "memory.max"),
    Entry::new(Controller::Memory, Role::SwapLimit, "memory.swap.max"),
    Entry::read_only(Controller::Memory, Role::MemoryUsage, "memory.current"),
    Entry::new(Controller::Memory, Role::MemoryPeak, "memory.peak"),
    Entry::read_only(Controller::Memory, Role::MemoryStat, "memory.stat"),
    Entry::write_only(Controller::Memory, Role::MemoryReclaim, "memory.reclaim"),
    Entry::read_only(Controller::Memory, Role::OomEvents, "memory.events"),
    Entry::new(Controller::Cpu, Role::CpuQuota, "cpu.max"),
    Entry::read_only(Controller::Cpuacct, Role::CpuTotal, "cpu.stat"),
    Entry::new(Controller::Pids, Role::PidsLimit, "pids.max"),
    Entry::read_only(Controller::Pids, Role::PidsUsage, "pids.current"),
    Entry::read_only(Controller::Pids, Role::PidsEvents, "pids.events"),
    Entry::write_only(Controller::Kill, Role::Kill, "cgroup.kill"),
];

/// What has to be handed to the group; `cpu.stat` and `cgroup.kill` come with every directory.
pub(super) const HANDED_ON: [Controller; 3] =
    [Controller::Memory, Controller::Cpu, Controller::Pids];

/// How a user gets a cgroup of their own from systemd.
pub(super) const DELEGATED: &str = "systemd-run --user --scope -p Delegate=yes menace …";

/// One directory on the way from Menace's own cgroup up to the mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) path: PathBuf,
    /// `cgroup.controllers`: what could be handed on.
    pub(super) controllers: Vec<String>,
    /// `cgroup.subtree_control`: what is handed on.
    pub(super) enabled: Vec<String>,
    /// Whether processes are in it.
    pub(super) occupied: bool,
    /// Whether it is the root of the hierarchy, which may hold processes and still hand on.
    pub(super) root: bool,
    /// Whether `cgroup.subtree_control` may be written by us.
    pub(super) writable: bool,
}

impl Level {
    /// `None` for a threaded cgroup, which cannot have a group below it.
    fn read(path: &Path) -> Option<Self> {
        let text = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
        let kind = fs::read_to_string(path.join("cgroup.type"));
        if kind.as_ref().is_ok_and(|kind| !matches!(kind.trim(), "domain" | "domain threaded")) {
            return None;
        }
        Some(Self {
            path: path.to_owned(),
            controllers: words(&text("cgroup.controllers")),
            enabled: words(&text("cgroup.subtree_control")),
            occupied: !text("cgroup.procs").trim().is_empty(),
            // The root of the hierarchy has no type; the root of a namespace has one.
            root: kind.is_err(),
            writable: OpenOptions::new()
                .write(true)
                .open(path.join("cgroup.subtree_control"))
                .is_ok(),
        })
    }

    fn hands_on(&self, controller: Controller) -> bool {
        self.enabled.iter().any(|name| name == controller.name())
    }

    fn could_hand_on(&self, controller: Controller) -> bool {
        self.writable
            && (self.root || !self.occupied)
            && self.controllers.iter().any(|name| name == controller.name())
    }

    fn usable(&self, wanted: &[Controller]) -> Vec<Controller> {
        wanted
            .iter()
            .copied()
            .filter(|&one| self.hands_on(one) || self.could_hand_on(one))
            .collect()
    }
}

/// The levels from `own` up to the mount point, nearest first.
pub(super) fn levels(own: &Path, mount_point: &Path) -> Vec<Level> {
    own.ancestors()
        .take_while(|path| path.starts_with(mount_point))
        .filter_map(Level::read)
        .collect()
}

/// The best place for a group: most of the `wanted` controllers first, then nearest to our own cgroup.
pub(super) fn choose(
    levels: &[Level],
    wanted: &[Controller],
    may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> Result<Place, String> {
    let mut order: Vec<(&Level, Vec<Controller>)> =
        levels.iter().map(|level| (level, level.usable(wanted))).collect();
    order.sort_by_key(|(_, usable)| std::cmp::Reverse(usable.len()));
    let mut why = None;
    for (level, controllers) in order {
        match may_create(&level.path) {
            Ok(()) => {
                return Ok(Place {
                    version: Version::CgroupV2,
                    base: level.path.clone(),
                    to_enable: controllers
                        .iter()
                        .copied()
                        .filter(|&one| !level.hands_on(one))
                        .collect(),
                    controllers,
                });
            }
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    Err(why.unwrap_or_else(|| "no cgroup on the way up may have children".to_owned()))
}

/// Why the chosen place does not have `controller`.
pub(super) fn why_missing(levels: &[Level], controller: Controller) -> String {
    let name = controller.name();
    let has = |level: &&Level| level.controllers.iter().any(|one| one == name);
    let Some(nearest) = levels.iter().find(has) else {
        return format!(
            "no cgroup from our own upwards has the controller {name}: \
             the kernel was built or started without it, or it was not delegated"
        );
    };
    let path = nearest.path.display();
    if nearest.occupied && !nearest.root {
        format!(
            "`{path}` holds processes and so cannot hand {name} on: run menace as `{DELEGATED}`"
        )
    } else {
        format!(
            "{name} is not handed on by `{path}`, and we may not change that: run menace as root, \
             or as `{DELEGATED}`"
        )
    }
}

/// Hands `controllers` to the children of `base`; returns those that were refused, with the reason.
pub(super) fn enable(base: &Path, controllers: &[Controller]) -> Vec<(Controller, String)> {
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

    const ALL: &[Controller] = &HANDED_ON;

    fn level(path: &str, controllers: &str, enabled: &str) -> Level {
        Level {
            path: path.into(),
            controllers: words(controllers),
            enabled: words(enabled),
            occupied: false,
            root: false,
            writable: true,
        }
    }

    fn occupied(level: Level) -> Level {
        Level { occupied: true, ..level }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the form that is asked for")]
    fn yes(_: &Path) -> Result<(), String> {
        Ok(())
    }

    #[test]
    fn the_group_stands_beside_an_occupied_cgroup_whose_parent_hands_controllers_on() {
        let levels = [
            occupied(level("/app/a.scope", "cpu memory pids", "")),
            level("/app", "cpu memory pids", "cpu memory pids"),
            level("/", "cpu memory pids", "cpu memory pids"),
        ];
        let place = choose(&levels, ALL, &mut yes).unwrap();
        assert_eq!(place.base, PathBuf::from("/app"));
        assert_eq!(place.controllers, ALL);
        assert_eq!(place.to_enable, []);
    }

    #[test]
    fn what_is_not_handed_on_yet_is_enabled_where_no_process_stands_in_the_way() {
        let levels = [
            occupied(level("/app/a.scope", "memory pids", "")),
            level("/app", "cpu memory pids", "memory pids"),
        ];
        let place = choose(&levels, ALL, &mut yes).unwrap();
        assert_eq!(place.to_enable, [Controller::Cpu]);
    }

    #[test]
    fn the_root_hands_on_although_processes_are_in_it() {
        let mut root = occupied(level("/", "cpu memory pids", ""));
        root.root = true;
        let place = choose(&[root], ALL, &mut yes).unwrap();
        assert_eq!(place.to_enable, ALL);
    }

    #[test]
    fn the_root_of_a_container_holds_processes_and_hands_nothing_on() {
        let levels = [occupied(level("/", "cpu memory pids", ""))];
        let place = choose(&levels, ALL, &mut yes).unwrap();
        assert_eq!(place.controllers, []);
        let why = why_missing(&levels, Controller::Memory);
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
        let place = choose(&levels, &[Controller::Memory], &mut only_a).unwrap();
        assert_eq!(place.base, PathBuf::from("/a"));
        let refused = choose(&levels[..1], ALL, &mut only_a).unwrap_err();
        assert_eq!(refused, "no");
    }

    #[test]
    fn without_the_right_to_write_only_what_is_handed_on_counts() {
        let mut slice = level("/a", "cpu memory pids", "pids");
        slice.writable = false;
        let place = choose(&[slice.clone()], ALL, &mut yes).unwrap();
        assert_eq!(place.controllers, [Controller::Pids]);
        let why = why_missing(&[slice], Controller::Memory);
        assert!(why.contains("as root"), "{why}");
    }

    #[test]
    fn on_a_hybrid_machine_the_own_cgroup_is_the_place() {
        let levels = [occupied(level("/own", "", "")), level("/", "hugetlb", "")];
        let place = choose(&levels, &[], &mut yes).unwrap();
        assert_eq!(place.base, PathBuf::from("/own"));
    }

    /// No kernel here: plain files show what would be written, not that it works.
    #[test]
    fn enabling_writes_one_controller_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cgroup.subtree_control");
        fs::write(&file, "").unwrap();
        assert_eq!(enable(directory.path(), &[Controller::Pids]), []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "+pids");
        let refused = enable(&directory.path().join("missing"), &[Controller::Cpu]);
        assert_eq!(refused[0].0, Controller::Cpu);
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
        let levels = levels(&own, mount.path());
        assert_eq!(levels.len(), 3);
        assert!(levels[0].occupied && !levels[0].root && !levels[0].writable);
        assert!(levels[2].root && levels[2].writable);
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
            let levels = levels(&own, mount.path());
            assert_eq!(levels.len(), 1);
            assert_eq!(levels[0].path, mount.path());
        }
    }
}
