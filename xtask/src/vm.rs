//! Limits under a kernel that has all controllers of control groups in version 2: a virtual
//! machine.
//!
//! It sees this machine's files, read-only, and a disk of its own as `/tmp`. Emulated processors
//! are slow: this is a chore to run by hand, not a part of the tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::run::{cargo, program, target_dir, workspace_root};
use crate::tools;

/// The program and the tests of it that are run where nothing else is asked for.
const DEFAULT_VM_TESTS: [(&str, &str); 2] =
    [("menace_sandbox", "cgroup::real_tests"), ("contract", "limits::root")];

/// What the kernel needs before it sees any files. `ext4` asks for its checksums by a name that
/// is no dependency.
const KERNEL_MODULES: [&str; 7] =
    ["virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_blk", "crc32c_generic", "ext4"];

const QEMU_ARGUMENTS: &str = "-machine q35 -cpu max -accel tcg,thread=multi -smp 2 -m 4G \
    -nographic -no-reboot -nic none -append";
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1";
const HOST_FILES_SHARE: &str =
    "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap";

/// The last line of a machine in which all went well.
const SUCCESS_LINE: &str = "the machine ends with 0";

/// Runs facts, those of the contract that begin like `filter` or the usual ones, in the machine.
pub(crate) fn run_in_vm(filter: &[String]) -> Result<()> {
    for (name, packages) in [
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("busybox", "busybox-static"),
        ("mkfs.ext4", "e2fsprogs"),
    ] {
        if !program("which", [name]).succeeds() {
            tools::apt_install(packages)?;
        }
    }
    let home = target_dir().join("tools/vm");
    let kernel = VmKernel::fetch(&home)?;
    let initrd = kernel.build_initrd(&home, &test_script(filter)?)?;
    let disk = home.join("disk.img");
    fs::File::create(&disk)?.set_len(4 << 30)?;
    program("mkfs.ext4", ["-q", "-F"]).arg(&disk).run()?;
    let machine = program("qemu-system-x86_64", QEMU_ARGUMENTS.split_whitespace())
        .arg(KERNEL_COMMAND_LINE)
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(&initrd)
        .arg("-drive")
        .arg(format!("file={},if=virtio,format=raw,cache=unsafe", disk.display()))
        .arg("-virtfs")
        .arg(HOST_FILES_SHARE);
    let mut succeeded = false;
    machine.run_with_lines(|line| succeeded |= line.trim() == SUCCESS_LINE)?;
    fs::remove_file(&disk)?;
    ensure!(succeeded, "a fact does not hold in the virtual machine");
    Ok(())
}

/// The commands that the machine runs: test programs of this build.
fn test_script(filter: &[String]) -> Result<String> {
    let build =
        "test --no-run --package menace-sandbox --lib --test contract --message-format=json";
    let messages = cargo(build.split(' ')).output()?;
    let path_of = |name: &str| {
        let (_, path) = messages
            .lines()
            .filter_map(|line| line.split_once(r#""executable":""#))
            .find(|(_, path)| {
                path.split('"').next().is_some_and(|path| is_test_program(path, name))
            })
            .with_context(|| format!("cargo built no test program `{name}`"))?;
        anyhow::Ok(path.split('"').next().unwrap_or_default().to_owned())
    };
    let mut lines =
        vec![format!("cd {}", workspace_root().join("crates/menace-sandbox").display())];
    let asked = filter.iter().map(|filter| ("contract", filter.as_str()));
    let usual = DEFAULT_VM_TESTS.into_iter().filter(|_| filter.is_empty());
    for (name, facts) in asked.chain(usual) {
        lines.push(format!("{} {facts} --test-threads=1", path_of(name)?));
    }
    Ok(lines.join("\n"))
}

/// Whether a path is that of the program, which Cargo gives a hash after its name.
fn is_test_program(path: &str, name: &str) -> bool {
    let file = Path::new(path).file_name().and_then(|file| file.to_str()).unwrap_or_default();
    file.rsplit_once('-').is_some_and(|(before, _)| before == name)
}

/// Debian's, unpacked and not installed.
struct VmKernel {
    image: PathBuf,
    modules: PathBuf,
}

impl VmKernel {
    fn fetch(home: &Path) -> Result<Self> {
        let unpacked = home.join("kernel");
        if !unpacked.exists() {
            fs::create_dir_all(home)?;
            let depends = program("apt-cache", ["depends", "linux-image-amd64"]).output()?;
            let package = depends
                .lines()
                .find_map(|line| line.trim().strip_prefix("Depends: linux-image-"))
                .context("the package linux-image-amd64 names no kernel")?;
            let fetch = ["download", "-qq"];
            program("apt-get", fetch)
                .arg(format!("linux-image-{package}"))
                .in_directory(home)
                .run()?;
            let archive = only_matching_entry(home, |name| name.starts_with("linux-image-"))?;
            program("dpkg-deb", ["-x"]).arg(&archive).arg(&unpacked).run()?;
            fs::remove_file(archive)?;
        }
        let image =
            only_matching_entry(&unpacked.join("boot"), |name| name.starts_with("vmlinuz-"))?;
        let modules = only_matching_entry(&unpacked.join("lib/modules"), |_| true)?;
        let version = modules.file_name().context("the modules have a version")?;
        program("busybox", ["depmod", "-b"]).arg(&unpacked).arg(version).run()?;
        Ok(Self { image, modules })
    }

    /// What is in memory when the kernel starts: its modules, `busybox` and what to run.
    fn build_initrd(&self, home: &Path, script: &str) -> Result<PathBuf> {
        let tree = home.join("initrd");
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        for directory in ["bin", "dev", "host", "modules", "proc", "sys"] {
            fs::create_dir_all(tree.join(directory))?;
        }
        let busybox = program("which", ["busybox"]).output()?;
        fs::copy(busybox.trim(), tree.join("bin/busybox"))?;
        fs::copy(workspace_root().join("xtask/vm/init.sh"), tree.join("init"))?;
        fs::write(tree.join("facts.sh"), script)?;
        let known = fs::read_to_string(self.modules.join("modules.dep"))?;
        for (number, module) in in_dependency_order(&known, &KERNEL_MODULES)?.iter().enumerate() {
            let name = module.rsplit('/').next().unwrap_or(module);
            let copy = tree.join(format!("modules/{number:02}-{name}"));
            fs::copy(self.modules.join(module), copy)?;
        }
        let pack = "find . | busybox cpio -o -H newc > ../initrd.cpio 2> /dev/null";
        program("sh", ["-c", pack]).in_directory(&tree).run()?;
        Ok(home.join("initrd.cpio"))
    }
}

/// The only entry of a directory with such a name.
fn only_matching_entry(directory: &Path, is_meant: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let mut meant = entries.iter().filter(|each| each.file_name().to_str().is_some_and(&is_meant));
    let first = meant.next().with_context(|| format!("nothing fits in {}", directory.display()))?;
    ensure!(meant.next().is_none(), "several fit in {}: delete it", directory.display());
    Ok(first.path())
}

/// Modules and before each what it depends on, by the lines that `depmod` writes.
fn in_dependency_order<'a>(known: &'a str, wanted: &[&str]) -> Result<Vec<&'a str>> {
    let mut order = Vec::new();
    for name in wanted {
        let ending = format!("/{name}.ko");
        let (module, needs) = known
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(module, _)| module.ends_with(&ending))
            .with_context(|| format!("the kernel has no module `{name}`"))?;
        for each in needs.split_whitespace().rev().chain([module]) {
            if !order.contains(&each) {
                order.push(each);
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_after_what_they_depend_on_and_once() {
        let known = "k/a.ko: k/b.ko k/c.ko\nk/b.ko: k/c.ko\nk/c.ko:\nk/d.ko: k/c.ko\n";
        let order = in_dependency_order(known, &["a", "d"]).expect("all are known");
        assert_eq!(order, ["k/c.ko", "k/b.ko", "k/a.ko", "k/d.ko"]);
        assert!(in_dependency_order(known, &["e"]).is_err());
    }

    #[test]
    fn a_program_is_known_by_its_name_before_the_hash() {
        assert!(is_test_program("/t/deps/contract-0f", "contract"));
        assert!(!is_test_program("/t/deps/menace_sandbox-0f", "sandbox"));
    }
}
