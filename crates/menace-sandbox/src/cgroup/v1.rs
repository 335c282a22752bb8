//! The files of version 1: one directory per hierarchy, controllers spread over several of them.

use std::path::Path;

use super::available::CgroupLocation;
use super::control_file::{CgroupFileEntry, CgroupFileRole};
use super::mounts::{self, CgroupMembership, CgroupMount};
use super::{CgroupController, CgroupVersion};

pub(super) const CGROUP_V1_FILES: &[CgroupFileEntry] = &[
    CgroupFileEntry::new(
        CgroupController::Memory,
        CgroupFileRole::MemoryLimit,
        "memory.limit_in_bytes",
    ),
    CgroupFileEntry::new(
        CgroupController::Memory,
        CgroupFileRole::SwapLimit,
        "memory.memsw.limit_in_bytes",
    ),
    CgroupFileEntry::read_only(
        CgroupController::Memory,
        CgroupFileRole::MemoryUsage,
        "memory.usage_in_bytes",
    ),
    CgroupFileEntry::new(
        CgroupController::Memory,
        CgroupFileRole::MemoryPeak,
        "memory.max_usage_in_bytes",
    ),
    CgroupFileEntry::read_only(CgroupController::Memory, CgroupFileRole::MemoryStat, "memory.stat"),
    CgroupFileEntry::read_only(
        CgroupController::Memory,
        CgroupFileRole::OomEvents,
        "memory.oom_control",
    ),
    CgroupFileEntry::new(CgroupController::Cpu, CgroupFileRole::CpuPeriod, "cpu.cfs_period_us"),
    CgroupFileEntry::new(CgroupController::Cpu, CgroupFileRole::CpuQuota, "cpu.cfs_quota_us"),
    CgroupFileEntry::read_only(
        CgroupController::Cpuacct,
        CgroupFileRole::CpuTotal,
        "cpuacct.usage",
    ),
    CgroupFileEntry::read_only(
        CgroupController::Cpuacct,
        CgroupFileRole::CpuUser,
        "cpuacct.usage_user",
    ),
    CgroupFileEntry::read_only(
        CgroupController::Cpuacct,
        CgroupFileRole::CpuSystem,
        "cpuacct.usage_sys",
    ),
    CgroupFileEntry::new(CgroupController::Pids, CgroupFileRole::PidsLimit, "pids.max"),
    CgroupFileEntry::read_only(CgroupController::Pids, CgroupFileRole::PidsUsage, "pids.current"),
    CgroupFileEntry::read_only(CgroupController::Pids, CgroupFileRole::PidsEvents, "pids.events"),
    CgroupFileEntry::new(CgroupController::Kill, CgroupFileRole::Freezer, "freezer.state"),
];

/// The kernel's name of a controller in version 1.
pub(super) fn v1_name(controller: CgroupController) -> &'static str {
    match controller {
        CgroupController::Kill => "freezer",
        other => other.name(),
    }
}

/// The directory below which groups with `controller` can be made, or why there is none. `None`:
/// version 1 has no such controller.
pub(super) fn find_location(
    controller: CgroupController,
    members: &[CgroupMembership],
    mounts: &[CgroupMount],
    may_create: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> Option<Result<CgroupLocation, String>> {
    let name = v1_name(controller);
    let member = mounts::find_membership(members, name)?;
    let serving = mounts.iter().filter(|mount| {
        mount.version == CgroupVersion::CgroupV1
            && mount.options.iter().any(|option| option == name)
    });
    let Some((base, _)) = mounts::find_directory(serving, &member.path) else {
        return Some(Err(format!(
            "the controller {name} belongs to a version 1 hierarchy that is not mounted here"
        )));
    };
    Some(may_create(&base).map(|()| CgroupLocation {
        version: CgroupVersion::CgroupV1,
        base,
        controllers: vec![controller],
        to_enable: Vec::new(),
    }))
}
