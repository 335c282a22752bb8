//! Makes forks of the interpreter cheaper.
//!
//! A fork does not copy the page tables of program code: the child finds every page again, one
//! fault after the other, which for Python costs more than the fork itself. The kernel does copy
//! them for mappings that hold a private page. Writing one byte back to where it was read makes
//! one, and changes nothing else.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Gives each mapping of code and constants a private page. What cannot be done is left as it is.
///
/// `proc` is a `/proc` that can be written to.
pub(crate) fn keep_mapped(proc: &Path, pid: i32) {
    let directory = proc.join(pid.to_string());
    let Ok(maps) = fs::read_to_string(directory.join("maps")) else { return };
    let Ok(memory) = OpenOptions::new().read(true).write(true).open(directory.join("mem")) else {
        return;
    };
    for start in maps.lines().filter_map(code_mapping) {
        rewrite(&memory, start);
    }
}

fn rewrite(memory: &File, at: u64) {
    let mut byte = [0_u8];
    if memory.read_exact_at(&mut byte, at).is_ok() {
        let _ = memory.write_all_at(&byte, at);
    }
}

/// The start of a private mapping of a file that cannot be written to.
fn code_mapping(line: &str) -> Option<u64> {
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
    fn only_read_only_mappings_of_files_are_meant() {
        let code = "00400000-006f0000 r-xp 00000000 fe:00 1234    /usr/bin/python3.11";
        assert_eq!(code_mapping(code), Some(0x40_0000));
        for line in [
            "006f0000-00700000 rw-p 002f0000 fe:00 1234    /usr/bin/python3.11",
            "7f00000000-7f00001000 r-xp 00000000 00:00 0    [vdso]",
            "7f00000000-7f00001000 r--s 00000000 fe:00 9    /usr/share/x",
            "7f00000000-7f00001000 r--p 00000000 00:00 0",
            "",
        ] {
            assert_eq!(code_mapping(line), None, "{line}");
        }
    }
}
