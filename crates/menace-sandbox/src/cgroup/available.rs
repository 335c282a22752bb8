//! Finds out which controllers this machine offers, through which interface, and why others are
//! missing.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::mounts::{self, CgroupMembership, CgroupMount};
use super::{CgroupController, CgroupVersion, leftovers, v1, v2};

/// A directory below which groups are made, and what they get there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupLocation {
    pub(super) version: CgroupVersion,
    pub(super) base: PathBuf,
    pub(super) controllers: Vec<CgroupController>,
    /// Controllers of version 2 that `base` has, but does not hand to its children yet.
    pub(super) to_enable: Vec<CgroupController>,
}

/// For each controller, where it is available or why it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AvailableCgroups {
    /// The directories below which groups are made, one per hierarchy.
    pub(super) locations: Vec<CgroupLocation>,
    pub(super) missing: Vec<(CgroupController, String)>,
}

impl AvailableCgroups {
    /// Which interface serves the controller.
    pub(crate) fn version(&self, controller: CgroupController) -> Option<CgroupVersion> {
        self.locations
            .iter()
            .find(|place| place.controllers.contains(&controller))
            .map(|place| place.version)
    }

    /// Why the controller is not available.
    pub(crate) fn explain_missing(&self, controller: CgroupController) -> Option<&str> {
        self.missing.iter().find(|(other, _)| *other == controller).map(|(_, why)| why.as_str())
    }

    /// Whether no controller is available.
    pub(crate) fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }
}

/// Inspects this machine. The only change is an empty group that is made and removed, to prove that
/// it is permitted.
pub(crate) fn detect_cgroups() -> AvailableCgroups {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut tried = HashMap::new();
    let mut may_create =
        |base: &Path| tried.entry(base.to_owned()).or_insert_with(|| try_create(base)).clone();
    find_cgroups(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), &mut may_create)
}

/// Makes and removes a group in `base`: permissions, read-only mounts and delegation are certain
/// only by trying.
fn try_create(base: &Path) -> Result<(), String> {
    let name = leftovers::next_name().map_err(|error| error.to_string())?;
    let probe = base.join(name);
    let is_v2 = base.join("cgroup.controllers").exists();
    fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).map_err(|error| {
        let base = base.display();
        match error.kind() {
            io::ErrorKind::PermissionDenied if is_v2 => format!(
                "no permission to make groups in `{base}`: run menace as root, \
                     or as `{}`",
                v2::DELEGATION_COMMAND
            ),
            io::ErrorKind::PermissionDenied => {
                format!("no permission to make groups in `{base}`: run menace as root")
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                format!("`{base}` is mounted read-only, as in most containers")
            }
            _ => format!("cannot make groups in `{base}`: {error}"),
        }
    })
}

pub(super) fn find_cgroups(
    cgroup: &str,
    mountinfo: &str,
    may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> AvailableCgroups {
    let members = mounts::parse_memberships(cgroup);
    let mounts = mounts::parse_mounts(mountinfo);
    let mut found = AvailableCgroups { locations: Vec::new(), missing: Vec::new() };
    let mut left = Vec::new();
    for controller in CgroupController::ALL {
        match v1::find_location(controller, &members, &mounts, may_create) {
            Some(Ok(place)) => found.add_location(place),
            Some(Err(why)) if !is_always_in_v2(controller) => found.missing.push((controller, why)),
            _ => left.push(controller),
        }
    }
    // `cgroup.kill` is atomic and the freezer is not: version 2 is preferred wherever it is
    // mounted.
    if !left.contains(&CgroupController::Kill) {
        left.push(CgroupController::Kill);
    }
    found.add_v2_location(&left, &members, &mounts, may_create);
    found.missing.sort();
    found
}

/// Every directory of version 2 has these files, with or without controllers.
fn is_always_in_v2(controller: CgroupController) -> bool {
    matches!(controller, CgroupController::Cpuacct | CgroupController::Kill)
}

impl AvailableCgroups {
    fn add_location(&mut self, place: CgroupLocation) {
        match self.locations.iter_mut().find(|one| one.base == place.base) {
            Some(same) => same.controllers.extend(place.controllers),
            None => self.locations.push(place),
        }
    }

    fn add_v2_location(
        &mut self,
        left: &[CgroupController],
        members: &[CgroupMembership],
        mounts: &[CgroupMount],
        may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
    ) {
        let serving = mounts.iter().filter(|mount| mount.version == CgroupVersion::CgroupV2);
        let own = mounts::find_v2_membership(members)
            .and_then(|member| mounts::find_directory(serving, &member.path));
        let Some((own, mount)) = own else {
            let why = if members.is_empty() {
                "the kernel has no control groups"
            } else {
                "neither version 1 nor version 2 of it is mounted here"
            };
            self.record_missing(left, |_| why.to_owned());
            return;
        };
        let levels = v2::read_levels(&own, &mount.mount_point);
        let wanted: Vec<_> =
            left.iter().copied().filter(|one| v2::DELEGATED_CONTROLLERS.contains(one)).collect();
        match v2::choose_location(&levels, &wanted, may_create) {
            Err(why) => self.record_missing(left, |_| why.clone()),
            Ok(mut place) => {
                let has = place.controllers.clone();
                let lacks: Vec<_> = wanted.iter().filter(|one| !has.contains(one)).collect();
                for &&one in &lacks {
                    self.missing.push((one, v2::explain_missing(&levels, one)));
                }
                let anyway = left.iter().copied().filter(|&one| is_always_in_v2(one));
                place.controllers.extend(anyway);
                // `cgroup.kill` replaces the freezer of version 1.
                for other in &mut self.locations {
                    other.controllers.retain(|one| *one != CgroupController::Kill);
                }
                self.locations.retain(|other| !other.controllers.is_empty());
                self.add_location(place);
            }
        }
    }

    fn record_missing(
        &mut self,
        left: &[CgroupController],
        why: impl Fn(CgroupController) -> String,
    ) {
        for &one in left {
            if self.version(one).is_none() {
                self.missing.push((one, why(one)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the form that is asked for")]
    fn allow_create(_: &Path) -> Result<(), String> {
        Ok(())
    }

    fn refuse_create(_: &Path) -> Result<(), String> {
        Err("read-only".to_owned())
    }

    const V1_MOUNTS: &str = "\
33 25 0:28 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 25 0:29 / /cg/memory rw - cgroup cgroup rw,memory
35 25 0:30 / /cg/freezer rw - cgroup cgroup rw,freezer
";
    const V1_CGROUP: &str = "5:cpu,cpuacct:/x\n4:memory:/x\n3:pids:/\n2:freezer:/\n";

    #[test]
    fn version_1_alone_kills_through_the_freezer() {
        let found = find_cgroups(V1_CGROUP, V1_MOUNTS, &mut allow_create);
        assert_eq!(found.version(CgroupController::Kill), Some(CgroupVersion::CgroupV1));
        assert_eq!(found.locations.len(), 3);
        assert_eq!(
            found.locations[1].controllers,
            [CgroupController::Cpu, CgroupController::Cpuacct]
        );
        let why = found.explain_missing(CgroupController::Pids).unwrap();
        assert!(why.contains("not mounted"), "{why}");
    }

    #[test]
    fn a_hybrid_machine_kills_through_version_2() {
        let cgroup = format!("{V1_CGROUP}0::/\n");
        let mounts = format!("{V1_MOUNTS}36 25 0:31 / /cg/unified rw - cgroup2 cgroup2 rw\n");
        let found = find_cgroups(&cgroup, &mounts, &mut allow_create);
        assert_eq!(found.version(CgroupController::Kill), Some(CgroupVersion::CgroupV2));
        assert_eq!(found.version(CgroupController::Memory), Some(CgroupVersion::CgroupV1));
        assert!(!found.locations.iter().any(|place| place.base.ends_with("freezer")));
    }

    #[test]
    fn where_nothing_may_be_made_every_controller_says_why() {
        let cgroup = format!("{V1_CGROUP}0::/\n");
        let mounts = format!("{V1_MOUNTS}36 25 0:31 / /cg/unified ro - cgroup2 cgroup2 rw\n");
        let found = find_cgroups(&cgroup, &mounts, &mut refuse_create);
        assert!(found.is_empty());
        for controller in CgroupController::ALL {
            assert!(found.explain_missing(controller).is_some(), "{controller:?}");
        }
        assert_eq!(found.explain_missing(CgroupController::Memory), Some("read-only"));
    }

    #[test]
    fn a_machine_without_control_groups_says_so() {
        let found = find_cgroups("", "", &mut allow_create);
        assert!(found.is_empty());
        let why = found.explain_missing(CgroupController::Memory).unwrap();
        assert_eq!(why, "the kernel has no control groups");
        assert_eq!(found.missing.len(), CgroupController::ALL.len());
    }
}
