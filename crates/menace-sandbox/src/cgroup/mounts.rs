//! Where this process stands in the control group hierarchies, from the texts of `/proc`.
//!
//! Pure: nothing here looks at the machine.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::CgroupVersion;

/// One line of `/proc/self/cgroup`: the cgroup of this process in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupMembership {
    /// Empty for version 2.
    pub(super) controllers: Vec<String>,
    pub(super) path: PathBuf,
}

/// One mount of a control group hierarchy, from `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupMount {
    pub(super) version: CgroupVersion,
    /// The cgroup that is seen at the mount point; not `/` in some containers.
    pub(super) root: PathBuf,
    pub(super) mount_point: PathBuf,
    pub(super) writable: bool,
    /// Super block options, the controllers of version 1 among them.
    pub(super) options: Vec<String>,
}

/// Parses `/proc/self/cgroup`; lines of another form are left out.
pub(super) fn parse_memberships(text: &str) -> Vec<CgroupMembership> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            id.parse::<u32>().ok()?;
            Some(CgroupMembership {
                controllers: controllers
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
                path: PathBuf::from(path),
            })
        })
        .collect()
}

/// Parses `/proc/self/mountinfo`, keeping the control group hierarchies only.
pub(super) fn parse_mounts(text: &str) -> Vec<CgroupMount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<CgroupMount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => CgroupVersion::CgroupV1,
        "cgroup2" => CgroupVersion::CgroupV2,
        _ => return None,
    };
    let super_options = kind.nth(1).unwrap_or_default();
    let mut place = place.split(' ').skip(3);
    let (root, point, options) = (place.next()?, place.next()?, place.next()?);
    let is_writable = |options: &str| !options.split(',').any(|option| option == "ro");
    Some(CgroupMount {
        version,
        root: unescape_octal(root),
        mount_point: unescape_octal(point),
        writable: is_writable(options) && is_writable(super_options),
        options: super_options.split(',').map(str::to_owned).collect(),
    })
}

/// Undoes the octal escapes of mountinfo (`\040` is a space).
fn unescape_octal(field: &str) -> PathBuf {
    let bytes = field.as_bytes();
    let mut path = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'\\')
            .then(|| field.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = code {
            path.push(byte);
            at += 4;
        } else {
            path.push(bytes[at]);
            at += 1;
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

/// This process's cgroup in the version 1 hierarchy of a controller, if there is one.
pub(super) fn find_membership<'a>(
    members: &'a [CgroupMembership],
    controller: &str,
) -> Option<&'a CgroupMembership> {
    members.iter().find(|member| member.controllers.iter().any(|name| name == controller))
}

/// This process's cgroup in version 2; absent where there is no such hierarchy.
pub(super) fn find_v2_membership(members: &[CgroupMembership]) -> Option<&CgroupMembership> {
    members.iter().find(|member| member.controllers.is_empty())
}

/// The directory where `path` (a cgroup) can be seen, and its mount: a writable one if there is
/// one.
pub(super) fn find_directory<'a>(
    mounts: impl Iterator<Item = &'a CgroupMount>,
    path: &Path,
) -> Option<(PathBuf, &'a CgroupMount)> {
    // The kernel writes `/..` for a cgroup outside of the cgroup namespace, which has no directory
    // here.
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return None;
    }
    mounts
        .filter_map(|mount| {
            let below = path.strip_prefix(&mount.root).ok()?;
            // Joining an empty path would leave a trailing slash.
            let directory = if below.as_os_str().is_empty() {
                mount.mount_point.clone()
            } else {
                mount.mount_point.join(below)
            };
            Some((directory, mount))
        })
        .max_by_key(|(_, mount)| (mount.writable, mount.root.components().count()))
}

/// The words of `cgroup.controllers` and `cgroup.subtree_control`.
pub(super) fn split_words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID_CGROUP: &str = "4:memory:/process_api/451e\n2:cpuacct:/\n1:cpu:/\n0::/\n";
    const HYBRID_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const V2_CGROUP: &str = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n";
    const V2_MOUNTS: &str = "\
29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate
";
    const V1_CGROUP: &str =
        "5:cpu,cpuacct:/user.slice\n4:memory:/user.slice\n1:name=systemd:/a:b\n";
    const V1_MOUNTS: &str = "\
33 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
34 25 0:29 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory
";
    const DOCKER_V1_CGROUP: &str = "4:memory:/docker/abc\n";
    const DOCKER_V1_MOUNTS: &str = "\
700 699 0:29 /docker/abc /sys/fs/cgroup/memory ro,nosuid master:10 - cgroup cgroup rw,memory
";
    const DOCKER_V2_CGROUP: &str = "0::/\n";
    const DOCKER_V2_MOUNTS: &str = "\
1024 1023 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate
";

    fn v1_directory(cgroup: &str, mountinfo: &str, controller: &str) -> Option<PathBuf> {
        let (members, mounts) = (parse_memberships(cgroup), parse_mounts(mountinfo));
        let member = find_membership(&members, controller)?;
        let serving =
            mounts.iter().filter(|mount| mount.options.iter().any(|option| option == controller));
        find_directory(serving, &member.path).map(|(path, _)| path)
    }

    fn v2_directory(cgroup: &str, mountinfo: &str) -> Option<PathBuf> {
        let (members, mounts) = (parse_memberships(cgroup), parse_mounts(mountinfo));
        let serving = mounts.iter().filter(|mount| mount.version == CgroupVersion::CgroupV2);
        find_directory(serving, &find_v2_membership(&members)?.path).map(|(path, _)| path)
    }

    #[test]
    fn a_hybrid_machine_has_controllers_in_version_1_and_a_bare_version_2() {
        let directory = v1_directory(HYBRID_CGROUP, HYBRID_MOUNTS, "memory");
        assert_eq!(directory, Some("/sys/fs/cgroup/memory/process_api/451e".into()));
        let directory = v2_directory(HYBRID_CGROUP, HYBRID_MOUNTS);
        assert_eq!(directory, Some("/sys/fs/cgroup/unified".into()));
        // Listed by the kernel, mounted nowhere.
        assert_eq!(v1_directory(HYBRID_CGROUP, HYBRID_MOUNTS, "cpuacct"), None);
    }

    #[test]
    fn a_version_2_machine_has_one_directory() {
        let directory = v2_directory(V2_CGROUP, V2_MOUNTS).unwrap();
        let expected =
            "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope";
        assert_eq!(directory, PathBuf::from(expected));
        assert!(find_membership(&parse_memberships(V2_CGROUP), "memory").is_none());
    }

    #[test]
    fn controllers_of_version_1_may_share_a_hierarchy() {
        let expected = Some("/sys/fs/cgroup/cpu,cpuacct/user.slice".into());
        assert_eq!(v1_directory(V1_CGROUP, V1_MOUNTS, "cpu"), expected);
        assert_eq!(v1_directory(V1_CGROUP, V1_MOUNTS, "cpuacct"), expected);
        assert_eq!(v2_directory(V1_CGROUP, V1_MOUNTS), None);
    }

    #[test]
    fn a_cgroup_path_may_hold_colons() {
        let members = parse_memberships(V1_CGROUP);
        assert_eq!(members[2].controllers, ["name=systemd"]);
        assert_eq!(members[2].path, PathBuf::from("/a:b"));
    }

    #[test]
    fn a_container_sees_its_own_part_of_a_version_1_hierarchy_at_the_mount_point() {
        let directory = v1_directory(DOCKER_V1_CGROUP, DOCKER_V1_MOUNTS, "memory");
        assert_eq!(directory, Some("/sys/fs/cgroup/memory".into()));
        assert!(!parse_mounts(DOCKER_V1_MOUNTS)[0].writable);
    }

    #[test]
    fn a_container_under_version_2_stands_at_its_root_and_may_not_write() {
        let directory = v2_directory(DOCKER_V2_CGROUP, DOCKER_V2_MOUNTS);
        assert_eq!(directory, Some("/sys/fs/cgroup".into()));
        assert!(!parse_mounts(DOCKER_V2_MOUNTS)[0].writable);
    }

    #[test]
    fn a_machine_without_control_groups_has_neither_memberships_nor_mounts() {
        assert_eq!(parse_memberships(""), []);
        assert_eq!(parse_mounts("22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\nnonsense\n"), []);
    }

    #[test]
    fn a_cgroup_outside_of_the_namespace_has_no_directory() {
        assert_eq!(v2_directory("0::/../other\n", DOCKER_V2_MOUNTS), None);
    }

    #[test]
    fn the_writable_mount_is_preferred() {
        let twice = "\
1 0 0:26 / /ro ro - cgroup2 cgroup2 rw
2 0 0:26 / /rw rw - cgroup2 cgroup2 rw
3 0 0:26 / /ro-too ro - cgroup2 cgroup2 rw
";
        assert_eq!(v2_directory("0::/\n", twice), Some("/rw".into()));
    }

    #[test]
    fn mount_points_are_unescaped() {
        let found = parse_mounts("1 0 0:26 / /a\\040b\\134c rw - cgroup2 cgroup2 rw\n");
        assert_eq!(found[0].mount_point, PathBuf::from("/a b\\c"));
    }

    #[test]
    fn subtree_control_is_a_list_of_words() {
        assert_eq!(split_words("cpu memory pids\n"), ["cpu", "memory", "pids"]);
        assert_eq!(split_words("\n"), Vec::<String>::new());
    }
}
