//! Reads the interpreter's memory mappings: makes its forks faster, and finds memory that they
//! would share.
//!
//! A fork does not copy the page tables of program code: the child takes a page fault for every
//! page again, which for Python costs more than the fork itself. The kernel does copy them for
//! mappings with a private page. Writing a byte back unchanged makes a page private, and changes
//! nothing else.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Gives each mapping of code and constants a private page; failures are ignored.
///
/// `proc` is a writable `/proc`. `done` has the mappings that have one already.
pub(crate) fn make_code_pages_private(proc: &Path, pid: i32, done: &mut BTreeSet<u64>) {
    let directory = proc.join(pid.to_string());
    let Ok(maps) = fs::read_to_string(directory.join("maps")) else { return };
    let Ok(memory) = OpenOptions::new().read(true).write(true).open(directory.join("mem")) else {
        return;
    };
    for start in maps.lines().filter_map(parse_code_mapping) {
        if done.insert(start) {
            rewrite_byte(&memory, start);
        }
    }
}

/// What forks of the process would share in the `landlock` tier: writable shared memory except the
/// mailbox, and mapped files below `below`, which a call can change in place. (Mapped code is left
/// out: otherwise a library in the repository would require an import for each call.)
pub(crate) fn list_shared_mappings(
    proc: &Path,
    pid: i32,
    mailbox: u64,
    below: &Path,
) -> Vec<String> {
    fs::read_to_string(proc.join(pid.to_string()).join("maps")).map_or_else(
        |error| vec![format!("memory that cannot be looked at: {error}")],
        |maps| find_shared_mappings(&maps, mailbox, below),
    )
}

/// Whether this process has mapped the mailbox, which has this inode, more than once.
pub(crate) fn is_mailbox_mapped_again(proc: &Path, pid: i32, inode: u64) -> bool {
    let maps = fs::read_to_string(proc.join(pid.to_string()).join("maps")).unwrap_or_default();
    // On other file systems there may be files with the same inode.
    let is_mailbox =
        |one: &MemoryMapping<'_>| one.inode == inode && one.name.starts_with("/memfd:mailbox");
    maps.lines().filter_map(MemoryMapping::parse).filter(is_mailbox).count() > 1
}

fn find_shared_mappings(maps: &str, mailbox: u64, below: &Path) -> Vec<String> {
    let mappings: Vec<_> = maps.lines().filter_map(MemoryMapping::parse).collect();
    let code: BTreeSet<_> =
        mappings.iter().filter(|one| one.permissions.contains('x')).map(|one| one.name).collect();
    let is_shared = |one: &&MemoryMapping<'_>| {
        let can_be_written = one.permissions.contains('w') || one.name.ends_with("(deleted)");
        let memory = one.permissions.ends_with('s') && can_be_written && one.inode != mailbox;
        memory || Path::new(one.name).starts_with(below) && !code.contains(one.name)
    };
    let names: BTreeSet<_> = mappings.iter().filter(is_shared).map(|one| one.name).collect();
    names.into_iter().map(|name| format!("mapping {name}")).collect()
}

/// A line of `/proc/<pid>/maps`.
struct MemoryMapping<'a> {
    permissions: &'a str,
    inode: u64,
    name: &'a str,
}

impl<'a> MemoryMapping<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ').skip(1);
        let (rights, inode) = (fields.next()?, fields.nth(2)?.parse().ok()?);
        Some(Self { permissions: rights, inode, name: fields.next().map_or("", str::trim) })
    }
}

fn rewrite_byte(memory: &File, at: u64) {
    let mut byte = [0_u8];
    if memory.read_exact_at(&mut byte, at).is_ok() {
        let _ = memory.write_all_at(&byte, at);
    }
}

/// The start of a private, read-only mapping of a file.
fn parse_code_mapping(line: &str) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights) = (fields.next()?, fields.next()?);
    let is_file = fields.nth(3)?.starts_with('/');
    let fits = matches!(rights, "r-xp" | "r--p") && is_file;
    fits.then(|| u64::from_str_radix(range.split('-').next()?, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_forks_would_share_is_found_except_for_the_mailbox() {
        let found = |mappings: &[(&str, u64, &str)]| {
            let line = |(rights, inode, name): &(&str, u64, &str)| {
                format!("7f00000000-7f00001000 {rights} 00000000 00:01 {inode}    {name}\n")
            };
            let maps: String = mappings.iter().map(line).collect();
            find_shared_mappings(&maps, 7, Path::new("/repo"))
        };
        assert_eq!(found(&[("rw-s", 8, "/dev/zero (deleted)")]), ["mapping /dev/zero (deleted)"]);
        assert_eq!(found(&[("r--s", 8, "/dev/zero (deleted)")]), ["mapping /dev/zero (deleted)"]);
        assert_eq!(found(&[("rwxs", 8, "/a b")]), ["mapping /a b"]);
        assert_eq!(found(&[("r--p", 8, "/repo/x"); 2]), ["mapping /repo/x"]);
        let library = "/repo/x.so";
        for others in [
            [("rw-s", 7, "/memfd:mailbox (deleted)"), ("rw-p", 0, "[heap]")],
            [("rw-p", 8, "/a"), ("r--s", 8, "/a")],
            [("r-xp", 8, library), ("r--p", 8, library)],
        ] {
            assert_eq!(found(&others), Vec::<String>::new());
        }
    }

    #[test]
    fn only_read_only_mappings_of_files_are_meant() {
        let code = "00400000-006f0000 r-xp 00000000 fe:00 1234    /usr/bin/python3.11";
        assert_eq!(parse_code_mapping(code), Some(0x40_0000));
        for line in [
            "006f0000-00700000 rw-p 002f0000 fe:00 1234    /usr/bin/python3.11",
            "7f00000000-7f00001000 r-xp 00000000 00:00 0    [vdso]",
            "7f00000000-7f00001000 r--s 00000000 fe:00 9    /usr/share/x",
            "7f00000000-7f00001000 r--p 00000000 00:00 0",
            "",
        ] {
            assert_eq!(parse_code_mapping(line), None, "{line}");
        }
    }
}
