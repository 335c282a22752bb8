//! What control groups can do for us on this machine, and why not more.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::mounted::{self, Membership, Mount};
use super::{Controller, Version, leftovers, v1, v2};

/// A directory below which groups are made, and what they get there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    pub(super) base: PathBuf,
    pub(super) controllers: Vec<Controller>,
    /// Controllers of version 2 that `base` could, but does not yet, hand to its children.
    pub(super) to_enable: Vec<Controller>,
}

/// Every controller with the interface that serves it, or the reason why none does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Available {
    /// One per hierarchy.
    pub(super) places: Vec<Place>,
    pub(super) why_not: Vec<(Controller, String)>,
}

impl Available {
    /// Which interface serves the controller.
    pub(crate) fn version(&self, controller: Controller) -> Option<Version> {
        self.places
            .iter()
            .find(|place| place.controllers.contains(&controller))
            .map(|place| place.version)
    }

    /// Why nothing serves the controller.
    pub(crate) fn why_not(&self, controller: Controller) -> Option<&str> {
        self.why_not.iter().find(|(other, _)| *other == controller).map(|(_, why)| why.as_str())
    }

    /// Whether there is nothing that a group could do here.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// Looks at this machine. Changes nothing, apart from making and removing an empty group for the proof
/// that it may.
pub(crate) fn available() -> Available {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut tried = HashMap::new();
    let mut may_create =
        |base: &Path| tried.entry(base.to_owned()).or_insert_with(|| try_create(base)).clone();
    find(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), &mut may_create)
}

/// Permissions, read-only mounts and delegation are known for sure only by trying.
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
                v2::DELEGATED
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

pub(super) fn find(
    cgroup: &str,
    mountinfo: &str,
    may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> Available {
    let members = mounted::memberships(cgroup);
    let mounts = mounted::mounts(mountinfo);
    let mut found = Available { places: Vec::new(), why_not: Vec::new() };
    let mut left = Vec::new();
    for controller in Controller::ALL {
        match v1::place(controller, &members, &mounts, may_create) {
            Some(Ok(place)) => found.add(place),
            Some(Err(why)) if !v2_has_anyway(controller) => found.why_not.push((controller, why)),
            _ => left.push(controller),
        }
    }
    // `cgroup.kill` is atomic and the freezer is not: version 2 is preferred wherever it is mounted.
    if !left.contains(&Controller::Kill) {
        left.push(Controller::Kill);
    }
    found.add_v2(&left, &members, &mounts, may_create);
    found.why_not.sort();
    found
}

/// Every directory of version 2 has these files, with or without controllers.
fn v2_has_anyway(controller: Controller) -> bool {
    matches!(controller, Controller::Cpuacct | Controller::Kill)
}

impl Available {
    fn add(&mut self, place: Place) {
        match self.places.iter_mut().find(|one| one.base == place.base) {
            Some(same) => same.controllers.extend(place.controllers),
            None => self.places.push(place),
        }
    }

    fn add_v2(
        &mut self,
        left: &[Controller],
        members: &[Membership],
        mounts: &[Mount],
        may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
    ) {
        let serving = mounts.iter().filter(|mount| mount.version == Version::CgroupV2);
        let own =
            mounted::unified(members).and_then(|member| mounted::directory(serving, &member.path));
        let Some((own, mount)) = own else {
            let why = if members.is_empty() {
                "the kernel has no control groups"
            } else {
                "neither version 1 nor version 2 of it is mounted here"
            };
            self.missing(left, |_| why.to_owned());
            return;
        };
        let levels = v2::levels(&own, &mount.point);
        let wanted: Vec<_> =
            left.iter().copied().filter(|one| v2::HANDED_ON.contains(one)).collect();
        match v2::choose(&levels, &wanted, may_create) {
            Err(why) => self.missing(left, |_| why.clone()),
            Ok(mut place) => {
                let has = place.controllers.clone();
                let lacks: Vec<_> = wanted.iter().filter(|one| !has.contains(one)).collect();
                for &&one in &lacks {
                    self.why_not.push((one, v2::why_missing(&levels, one)));
                }
                let anyway = left.iter().copied().filter(|&one| v2_has_anyway(one));
                place.controllers.extend(anyway);
                // The freezer of version 1, if any, has nothing to do any more.
                for other in &mut self.places {
                    other.controllers.retain(|one| *one != Controller::Kill);
                }
                self.places.retain(|other| !other.controllers.is_empty());
                self.add(place);
            }
        }
    }

    fn missing(&mut self, left: &[Controller], why: impl Fn(Controller) -> String) {
        for &one in left {
            if self.version(one).is_none() {
                self.why_not.push((one, why(one)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the form that is asked for")]
    fn yes(_: &Path) -> Result<(), String> {
        Ok(())
    }

    fn no(_: &Path) -> Result<(), String> {
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
        let found = find(V1_CGROUP, V1_MOUNTS, &mut yes);
        assert_eq!(found.version(Controller::Kill), Some(Version::CgroupV1));
        assert_eq!(found.places.len(), 3);
        assert_eq!(found.places[1].controllers, [Controller::Cpu, Controller::Cpuacct]);
        let why = found.why_not(Controller::Pids).unwrap();
        assert!(why.contains("not mounted"), "{why}");
    }

    #[test]
    fn a_hybrid_machine_kills_through_version_2() {
        let cgroup = format!("{V1_CGROUP}0::/\n");
        let mounts = format!("{V1_MOUNTS}36 25 0:31 / /cg/unified rw - cgroup2 cgroup2 rw\n");
        let found = find(&cgroup, &mounts, &mut yes);
        assert_eq!(found.version(Controller::Kill), Some(Version::CgroupV2));
        assert_eq!(found.version(Controller::Memory), Some(Version::CgroupV1));
        assert!(!found.places.iter().any(|place| place.base.ends_with("freezer")));
    }

    #[test]
    fn where_nothing_may_be_made_every_controller_says_why() {
        let cgroup = format!("{V1_CGROUP}0::/\n");
        let mounts = format!("{V1_MOUNTS}36 25 0:31 / /cg/unified ro - cgroup2 cgroup2 rw\n");
        let found = find(&cgroup, &mounts, &mut no);
        assert!(found.is_empty());
        for controller in Controller::ALL {
            assert!(found.why_not(controller).is_some(), "{controller:?}");
        }
        assert_eq!(found.why_not(Controller::Memory), Some("read-only"));
    }

    #[test]
    fn a_machine_without_control_groups_says_so() {
        let found = find("", "", &mut yes);
        assert!(found.is_empty());
        let why = found.why_not(Controller::Memory).unwrap();
        assert_eq!(why, "the kernel has no control groups");
        assert_eq!(found.why_not.len(), Controller::ALL.len());
    }
}
