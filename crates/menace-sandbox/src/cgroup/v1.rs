//! The files of version 1: one directory per hierarchy, controllers spread over several of them.

use std::path::Path;

use super::available::Place;
use super::mounted::{self, Membership, Mount};
use super::part::{Entry, Role};
use super::{Controller, Version};

pub(super) const FILES: &[Entry] = &[
    Entry::new(Controller::Memory, Role::MemoryLimit, "memory.limit_in_bytes"),
    Entry::new(Controller::Memory, Role::SwapLimit, "memory.memsw.limit_in_bytes"),
    Entry::read_only(Controller::Memory, Role::MemoryUsage, "memory.usage_in_bytes"),
    Entry::new(Controller::Memory, Role::MemoryPeak, "memory.max_usage_in_bytes"),
    Entry::read_only(Controller::Memory, Role::MemoryStat, "memory.stat"),
    Entry::read_only(Controller::Memory, Role::OomEvents, "memory.oom_control"),
    Entry::new(Controller::Cpu, Role::CpuPeriod, "cpu.cfs_period_us"),
    Entry::new(Controller::Cpu, Role::CpuQuota, "cpu.cfs_quota_us"),
    Entry::read_only(Controller::Cpuacct, Role::CpuTotal, "cpuacct.usage"),
    Entry::read_only(Controller::Cpuacct, Role::CpuUser, "cpuacct.usage_user"),
    Entry::read_only(Controller::Cpuacct, Role::CpuSystem, "cpuacct.usage_sys"),
    Entry::new(Controller::Pids, Role::PidsLimit, "pids.max"),
    Entry::read_only(Controller::Pids, Role::PidsUsage, "pids.current"),
    Entry::read_only(Controller::Pids, Role::PidsEvents, "pids.events"),
    Entry::new(Controller::Kill, Role::Freezer, "freezer.state"),
];

/// The kernel's name of a controller in version 1.
pub(super) fn kernel_name(controller: Controller) -> &'static str {
    match controller {
        Controller::Kill => "freezer",
        other => other.name(),
    }
}

/// Where a group with `controller` would be made, or why nowhere. `None`: the controller is not in
/// version 1 at all.
pub(super) fn place(
    controller: Controller,
    members: &[Membership],
    mounts: &[Mount],
    may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> Option<Result<Place, String>> {
    let name = kernel_name(controller);
    let member = mounted::member_of(members, name)?;
    let serving = mounts.iter().filter(|mount| {
        mount.version == Version::CgroupV1 && mount.options.iter().any(|option| option == name)
    });
    let Some((base, _)) = mounted::directory(serving, &member.path) else {
        return Some(Err(format!(
            "the controller {name} belongs to a version 1 hierarchy that is not mounted here"
        )));
    };
    Some(may_create(&base).map(|()| Place {
        version: Version::CgroupV1,
        base,
        controllers: vec![controller],
        to_enable: Vec::new(),
    }))
}
