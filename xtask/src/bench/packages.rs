//! Releases of packages, each laid out as a repository with an environment beside it.
//!
//! `target/packages/NAME-VERSION/repository` holds the files of the package itself, and
//! `…/venv` its dependencies and its metadata. Where packages come from is up to the configuration
//! of pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};

use crate::run::{ProgramCommand, program, target_dir};

/// To be raised when the layout changes: what was installed before is installed again.
const LAYOUT: u32 = 1;

static INSTALLING: Mutex<()> = Mutex::new(());

#[derive(Debug)]
pub(super) struct InstalledPackage {
    /// The files of the package, to be tested.
    pub(super) repository: PathBuf,
    /// The virtual environment with everything that the package imports.
    pub(super) venv: PathBuf,
}

impl InstalledPackage {
    pub(super) fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    /// The module that a path of the corpus means.
    pub(super) fn has_module(&self, path: &str) -> bool {
        self.repository.join(path).is_file()
    }
}

/// Installs the release, unless an earlier call has.
pub(super) fn ensure_package(
    name: &str,
    version: &str,
    others: &[String],
) -> Result<InstalledPackage> {
    // Two bugs may be of the same release.
    let _lock = INSTALLING.lock();
    let directory = target_dir().join("packages").join(format!("{name}-{version}"));
    let package =
        InstalledPackage { repository: directory.join("repository"), venv: directory.join("venv") };
    let requirements: Vec<String> =
        std::iter::once(format!("{name}=={version}")).chain(others.iter().cloned()).collect();
    let wanted = format!("layout {LAYOUT}: {}", requirements.join(" "));
    let stamp = directory.join("installed");
    let is_current = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
    if is_current && program(package.python(), ["-c", ""]).succeeds() {
        return Ok(package);
    }
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&package.repository)?;
    program("python3", ["-m", "venv", "--without-pip"]).arg(&package.venv).run()?;
    let site = ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"];
    let site = PathBuf::from(program(package.python(), site).output()?.trim());
    let pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--root-user-action=ignore"];
    let pip = program("python3", pip).arg("--target").arg(&site);
    let pip = requirements.iter().fold(pip, ProgramCommand::arg);
    let (is_installed, messages) = pip.output_and_messages()?;
    ensure!(is_installed, "pip cannot install {name} {version}: {messages}");
    let metadata = find_metadata(&site, name)?;
    move_own_files(&site, &metadata, &package.repository)
        .with_context(|| format!("cannot lay out {name} {version}"))?;
    fs::write(stamp, wanted)?;
    Ok(package)
}

/// The `.dist-info` directory of a package. Names are equal without their case and separators.
fn find_metadata(site: &Path, name: &str) -> Result<PathBuf> {
    for entry in fs::read_dir(site)? {
        let path = entry?.path();
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(stem) = file_name.strip_suffix(".dist-info") else { continue };
        let distribution = stem.split_once('-').map_or(stem, |(distribution, _)| distribution);
        if normalized_name(distribution) == normalized_name(name) {
            return Ok(path);
        }
    }
    anyhow::bail!("pip installed no metadata of {name}")
}

fn normalized_name(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Moves what belongs to the package, and leaves what belongs to its dependencies.
fn move_own_files(site: &Path, metadata: &Path, repository: &Path) -> Result<()> {
    let record = fs::read_to_string(metadata.join("RECORD"))?;
    let files = own_files(&record);
    ensure!(!files.is_empty(), "the package has no files");
    for file in files {
        let (from, to) = (site.join(&file), repository.join(&file));
        if !from.is_file() {
            continue;
        }
        fs::create_dir_all(to.parent().expect("below the repository"))?;
        fs::rename(&from, to)?;
        // An empty directory would be a package without a file.
        let parents = from.ancestors().skip(1).take_while(|parent| *parent != site);
        for parent in parents {
            if fs::remove_dir(parent).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Paths of the package in a `RECORD`, without metadata, programs, bytecode, and modules in machine
/// code whose source is there as well: the source is tested.
fn own_files(record: &str) -> Vec<String> {
    let paths: Vec<&str> = paths(record).collect();
    let has_source = |path: &str| {
        let stem = path.rsplit_once(".cpython-").or_else(|| path.rsplit_once(".abi3"));
        let has_twin = stem.is_some_and(|(stem, _)| paths.contains(&&*format!("{stem}.py")));
        // What mypyc puts beside the modules that it compiles.
        has_twin || path.contains("__mypyc.")
    };
    let is_own = |path: &&&str| {
        let top = path.split('/').next().unwrap_or_default();
        let is_metadata = Path::new(top).extension().is_some_and(|end| end == "dist-info");
        let is_outside = path.starts_with('/') || top == "..";
        !(is_outside || is_metadata || path.contains("__pycache__/") || has_source(path))
    };
    paths.iter().filter(is_own).map(|path| (*path).to_owned()).collect()
}

fn paths(record: &str) -> impl Iterator<Item = &str> {
    record.lines().filter_map(|line| match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(path, _)| path),
        None => line.split_once(',').map(|(path, _)| path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_reduced_to_the_files_of_the_package() {
        let record = "../../bin/tool,sha256=x,241\nshop/__init__.py,sha256=y,12\n\
                      shop/__pycache__/__init__.cpython-311.pyc,,\nshop-1.0.dist-info/RECORD,,\n\
                      shop/fast.cpython-311-x86_64-linux-gnu.so,sha256=y,9\n\
                      shop/fast.py,sha256=z,5\n\
                      0a1b__mypyc.cpython-311-x86_64-linux-gnu.so,sha256=y,9\n\
                      shop/only.cpython-311-x86_64-linux-gnu.so,sha256=y,9\n\
                      one_file.py,sha256=z,5\n\"shop/a,b.py\",sha256=z,5\n";
        let only = "shop/only.cpython-311-x86_64-linux-gnu.so";
        let own = ["shop/__init__.py", "shop/fast.py", only, "one_file.py", "shop/a,b.py"];
        assert_eq!(own_files(record), own);
    }

    #[test]
    fn names_of_distributions_are_normalized() {
        assert_eq!(normalized_name("Markdown_It.py"), normalized_name("markdown-it-py"));
    }
}
