//! Tests with real interpreters: the system's, and every one that pyenv has installed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;

const SYSTEM_PYTHON: &str = "/usr/bin/python3";

#[expect(clippy::disallowed_methods, reason = "where programs are is no setting of Menace")]
fn home() -> PathBuf {
    std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default()
}

/// A Python that pyenv has installed; the test machine has 3.6 to 3.13.
///
/// Without pyenv the system's Python is used, but not in CI, where that would go unnoticed.
#[expect(clippy::disallowed_methods, reason = "where programs are is no setting of Menace")]
fn pyenv(minor: &str) -> Option<PathBuf> {
    let directory = home().join(".pyenv/versions");
    let Ok(versions) = fs::read_dir(&directory) else {
        assert!(std::env::var_os("CI").is_none(), "no Pythons in `{}`", directory.display());
        return None;
    };
    let version = versions
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(&format!("{minor}."))
        })
        .unwrap_or_else(|| panic!("pyenv has no Python {minor}"));
    Some(version.join("bin/python"))
}

struct InterpreterFixture {
    directory: TempDir,
    sources: Vec<HarnessSource>,
}

impl InterpreterFixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("repository")).unwrap();
        let source = HarnessSource {
            name: "guest.py".to_owned(),
            text: "def answer():\n    return 'é', 42\n".to_owned(),
        };
        Self { directory, sources: vec![source] }
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap().join(name)
    }

    fn find(
        &self,
        python: Option<&Path>,
        path: &str,
    ) -> Result<PythonInterpreter, InterpreterError> {
        PythonInterpreter::find(&InterpreterSearch {
            python,
            repository: &self.at("repository"),
            path: OsStr::new(path),
            home: Some(&home()),
            sources: &self.sources,
            cache: Some(&self.at("cache")),
        })
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn venv(&self, base: &Path, name: &str, flags: &[&str]) -> PathBuf {
        let directory = self.at(name);
        let made = Command::new(base)
            .args(["-I", "-m", "venv", "--without-pip"])
            .args(flags)
            .arg(&directory)
            .status()
            .unwrap();
        assert!(made.success());
        directory
    }

    fn site_packages(&self, venv: &str) -> PathBuf {
        let lib = fs::read_dir(self.at(venv).join("lib")).unwrap();
        let python = lib.map(|entry| entry.unwrap().path()).next().unwrap();
        python.join("site-packages")
    }
}

fn run(executable: &Path, code: &str) -> String {
    let output =
        Command::new(executable).args(["-I", "-B", "-c", code]).env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Asserts that the description equals what the interpreter reports about itself when it runs.
fn assert_true(interpreter: &PythonInterpreter) {
    let output = run(
        &interpreter.executable,
        "import sys, json; print(json.dumps([sys.path, sys.prefix, sys.base_prefix, \
         '%d.%d.%d' % sys.version_info[:3]]))",
    );
    let (paths, prefix, base_prefix, version): (Vec<PathBuf>, PathBuf, PathBuf, String) =
        serde_json::from_str(&output).unwrap();
    assert_eq!(interpreter.paths, paths);
    assert_eq!(interpreter.prefix, prefix);
    assert_eq!(interpreter.base_prefix, base_prefix);
    let (major, minor, patch) = interpreter.version;
    assert_eq!(format!("{major}.{minor}.{patch}"), version);
    assert!(interpreter.stdlib.join("os.py").is_file());
}

fn assert_compiled(interpreter: &PythonInterpreter) {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in interpreter.compiled_harness() {
        // Unchecked hash: Python never looks for a source.
        assert_eq!(content[4..8], [1, 0, 0, 0]);
        let magic = u32::from_be_bytes(content[..4].try_into().unwrap());
        assert_eq!(interpreter.magic, format!("{magic:08x}"));
        fs::write(directory.path().join(name), content).unwrap();
    }
    let code = format!(
        "import sys; sys.path.insert(0, {:?}); import guest; \
         assert guest.answer() == ('\\xe9', 42); print(guest.answer.__code__.co_filename)",
        directory.path()
    );
    assert_eq!(run(&interpreter.executable, &code), "guest.py\n");
}

#[test]
fn every_supported_python_is_described_as_it_is_and_compiles_for_itself() {
    for minor in ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"] {
        let Some(python) = pyenv(minor) else { return };
        let world = InterpreterFixture::new();
        let interpreter = world.find(Some(&python), "").unwrap();
        assert_eq!(interpreter.executable, python);
        assert_eq!(interpreter.origin, InterpreterOrigin::Flag);
        assert_eq!(interpreter.implementation, "cpython");
        let tag = format!("cpython-{}", minor.replace('.', ""));
        assert_eq!(interpreter.cache_tag, tag);
        assert!(interpreter.soabi.starts_with(&tag), "{}", interpreter.soabi);
        let version = python.ancestors().nth(2).unwrap();
        assert_eq!(interpreter.readable_paths, [version]);
        assert_eq!(interpreter.warnings, [""; 0]);
        assert_true(&interpreter);
        assert_compiled(&interpreter);
    }
}

#[test]
fn the_python_of_the_system_needs_nothing_more() {
    let world = InterpreterFixture::new();
    let interpreter = world.find(None, "/nowhere:/usr/bin").unwrap();
    assert_eq!(interpreter.origin, InterpreterOrigin::Path);
    assert_eq!(interpreter.executable, Path::new(SYSTEM_PYTHON));
    assert_eq!(interpreter.readable_paths, Vec::<PathBuf>::new());
    assert_true(&interpreter);
    assert_compiled(&interpreter);
}

#[test]
fn the_virtual_environment_of_the_repository_comes_first() {
    for name in [".venv", "venv"] {
        for flags in [&[][..], &["--system-site-packages"], &["--copies"]] {
            let world = InterpreterFixture::new();
            let venv = world.venv(Path::new(SYSTEM_PYTHON), &format!("repository/{name}"), flags);
            let interpreter = world.find(None, "/usr/bin").unwrap();
            assert_eq!(interpreter.origin, InterpreterOrigin::Venv);
            assert_eq!(interpreter.executable, venv.join("bin/python"));
            assert_eq!(interpreter.program, fs::canonicalize(SYSTEM_PYTHON).unwrap());
            assert_eq!(interpreter.prefix, venv);
            assert_eq!(interpreter.readable_paths, Vec::<PathBuf>::new());
            assert_true(&interpreter);
            assert_compiled(&interpreter);
        }
    }
}

#[test]
fn a_virtual_environment_needs_the_python_that_it_was_made_from() {
    for minor in ["3.8", "3.11", "3.13"] {
        let Some(python) = pyenv(minor) else { return };
        for flags in [&[][..], &["--system-site-packages"], &["--copies"]] {
            let world = InterpreterFixture::new();
            world.venv(&python, "repository/.venv", flags);
            let interpreter = world.find(None, "/usr/bin").unwrap();
            let version = python.ancestors().nth(2).unwrap();
            assert_eq!(interpreter.readable_paths, [version]);
            assert_eq!(interpreter.base_prefix, version);
            assert_true(&interpreter);
            assert_compiled(&interpreter);
        }
    }
}

#[test]
fn a_virtual_environment_outside_of_the_repository_is_needed_itself() {
    let world = InterpreterFixture::new();
    let venv = world.venv(Path::new(SYSTEM_PYTHON), "environments/one", &[]);
    for flag in [venv.clone(), venv.join("bin/python3")] {
        let interpreter = world.find(Some(&flag), "").unwrap();
        assert_eq!(interpreter.readable_paths, [venv.as_path()]);
        assert_true(&interpreter);
    }
    // Through a link of the repository, only when the user names it.
    symlink(&venv, world.at("repository/.venv")).unwrap();
    let linked = world.at("repository/.venv/bin/python");
    let interpreter = world.find(Some(&linked), "/usr/bin").unwrap();
    assert_eq!(interpreter.readable_paths, [venv]);
    assert_true(&interpreter);
    let interpreter = world.find(None, "/usr/bin").unwrap();
    assert_eq!(interpreter.executable, Path::new(SYSTEM_PYTHON));
    assert_eq!(interpreter.readable_paths, Vec::<PathBuf>::new());
    let expected = format!("--python {}", linked.display());
    assert!(interpreter.warnings[0].contains(&expected), "{:?}", interpreter.warnings);
}

#[test]
fn what_links_of_an_environment_lead_to_is_withheld() {
    for link in ["lib", "lib/python", "lib/python/site-packages"] {
        let world = InterpreterFixture::new();
        let venv = world.venv(Path::new(SYSTEM_PYTHON), "repository/.venv", &[]);
        let site = world.site_packages("repository/.venv");
        let version = site.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let link = venv.join(link.replace("python", version));
        fs::create_dir(world.at("secret")).unwrap();
        let target = world.at("secret/target");
        fs::rename(&link, &target).unwrap();
        symlink(&target, &link).unwrap();
        let interpreter = world.find(None, "/usr/bin").unwrap();
        assert_eq!(interpreter.readable_paths, Vec::<PathBuf>::new(), "{link:?}");
        let withheld = &interpreter.withheld;
        let is_target = |path: &PathBuf| path.starts_with(&target);
        assert!(!withheld.is_empty() && withheld.iter().all(is_target), "{withheld:?}");
        let named = withheld[0].display().to_string();
        assert!(interpreter.warnings.iter().any(|warning| warning.contains(&named)));
    }
}

/// Places that the user has nothing to do with: beside the checkout, in `/tmp`.
#[test]
fn no_program_is_run_because_a_repository_points_to_it() {
    let world = InterpreterFixture::new();
    let canary = world.at("canary");
    let script = format!("#!/bin/sh\ntouch '{}'\nexec {SYSTEM_PYTHON} \"$@\"\n", canary.display());
    let script = world.script("beside/python3", &script);
    let program = world.at("beside/python3.11");
    fs::copy(SYSTEM_PYTHON, &program).unwrap();
    let refuse = |path: &str| {
        let error = world.find(None, path).unwrap_err();
        assert!(matches!(error, InterpreterError::Untrusted { .. }), "{error}");
        let python = world.at("repository/.venv/bin/python");
        let text = error.to_string();
        assert!(text.contains(&format!("--python {}", python.display())), "{text}");
        assert!(!canary.exists());
    };
    let venv = world.venv(Path::new(SYSTEM_PYTHON), "repository/.venv", &[]);
    let python = venv.join("bin/python");
    let link = |target: &Path| {
        fs::remove_file(&python).unwrap();
        symlink(target, &python).unwrap();
    };
    link(&script);
    refuse("/usr/bin");
    link(&program);
    refuse("/usr/bin");

    fs::remove_file(&python).unwrap();
    fs::copy(SYSTEM_PYTHON, &python).unwrap();
    let config = |home: &Path| {
        fs::write(venv.join("pyvenv.cfg"), format!("home = {}\n", home.display())).unwrap();
    };
    config(&world.at("beside"));
    refuse("/usr/bin");
    link(Path::new(SYSTEM_PYTHON));
    refuse("/usr/bin");

    // What the user has on the PATH is the user's choice.
    link(&program);
    let path = world.at("beside");
    fs::remove_file(&script).unwrap();
    let found = world.find(None, &format!("{}:/usr/bin", path.display())).unwrap();
    assert_eq!((found.origin, found.program), (InterpreterOrigin::Venv, program));
}

#[test]
fn an_activated_environment_of_the_repository_is_no_choice_of_the_users() {
    let world = InterpreterFixture::new();
    let program = world.at("beside/python3.11");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(SYSTEM_PYTHON, &program).unwrap();
    let python = world.venv(Path::new(SYSTEM_PYTHON), "repository/env", &[]).join("bin/python3");
    fs::create_dir(world.at("links")).unwrap();
    symlink(&python, world.at("links/python3")).unwrap();
    let paths = [python.parent().unwrap(), &world.at("links")];
    for path in paths.map(|path| path.to_str().unwrap()) {
        let interpreter = world.find(None, path).unwrap();
        assert_eq!(interpreter.program, fs::canonicalize(SYSTEM_PYTHON).unwrap());
    }
    for name in ["python3", "python"] {
        let link = python.with_file_name(name);
        fs::remove_file(&link).unwrap();
        symlink(&program, &link).unwrap();
    }
    for path in paths.map(|path| path.to_str().unwrap()) {
        let error = world.find(None, path).unwrap_err();
        assert!(matches!(error, InterpreterError::Untrusted { .. }), "{error}");
    }
}

#[test]
fn pipes_of_a_repository_are_not_waited_for() {
    let world = InterpreterFixture::new();
    let pipe = |path: PathBuf| {
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    let started = std::time::Instant::now();
    fs::create_dir_all(world.at("repository/venv/bin")).unwrap();
    pipe(world.at("repository/venv/pyvenv.cfg"));
    let interpreter = world.find(None, "/usr/bin").unwrap();
    assert!(interpreter.warnings[0].contains("venv/pyvenv.cfg"), "{:?}", interpreter.warnings);
    world.venv(Path::new(SYSTEM_PYTHON), "repository/.venv", &[]);
    pipe(world.site_packages("repository/.venv").join("a.pth"));
    assert_eq!(world.find(None, "/usr/bin").unwrap().origin, InterpreterOrigin::Venv);
    assert!(started.elapsed() < std::time::Duration::from_secs(8));
}

#[test]
fn a_directory_named_venv_is_not_enough() {
    let world = InterpreterFixture::new();
    world.script("repository/.venv/bin/python", "#!/bin/sh\nexit 1\n");
    let interpreter = world.find(None, "/usr/bin").unwrap();
    assert_eq!(interpreter.executable, Path::new(SYSTEM_PYTHON));
}

#[test]
fn directories_of_pth_files_and_editable_installations_are_needed() {
    let world = InterpreterFixture::new();
    let venv = world.venv(Path::new(SYSTEM_PYTHON), "environments/one", &[]);
    let site = world.site_packages("environments/one");
    for name in ["plain/library", "editable/source/package"] {
        fs::create_dir_all(world.at(name)).unwrap();
    }
    let plain = world.at("plain/library");
    fs::write(site.join("a.pth"), format!("# x\n{}\n/nowhere\n", plain.display())).unwrap();
    let mapping = world.at("editable/source/package");
    let finder =
        format!("MAPPING: dict[str, str] = {{'package': {mapping:?}}}\ndef install(): pass\n");
    fs::write(site.join("__editable___package_1_finder.py"), finder).unwrap();
    let line = "import __editable___package_1_finder; __editable___package_1_finder.install()\n";
    fs::write(site.join("__editable__.package-1.pth"), line).unwrap();

    let interpreter = world.find(Some(&venv), "").unwrap();

    let expected = [world.at("editable/source"), venv, plain];
    assert_eq!(interpreter.readable_paths, expected);
    assert_true(&interpreter);
}

/// Each of these files would write to the canary if it ran outside of a sandbox.
#[test]
fn nothing_that_the_repository_brings_along_runs_on_the_host() {
    let touch = |canary: &Path| format!("open({:?}, 'w')", canary.display().to_string());

    let world = InterpreterFixture::new();
    let canary = world.at("canary");
    world.venv(Path::new(SYSTEM_PYTHON), "repository/.venv", &[]);
    let site = world.site_packages("repository/.venv");
    fs::create_dir(world.at("secret")).unwrap();
    let evil = format!("import os; {}\n{}\n", touch(&canary), world.at("secret").display());
    fs::write(site.join("evil.pth"), evil).unwrap();
    fs::write(site.join("sitecustomize.py"), touch(&canary)).unwrap();
    let interpreter = world.find(None, "/usr/bin").unwrap();
    assert_eq!(interpreter.withheld, [world.at("secret")]);
    assert_eq!(interpreter.readable_paths, Vec::<PathBuf>::new());
    assert!(!canary.exists());

    // A script in the place of the interpreter.
    let python = world.at("repository/.venv/bin/python");
    fs::remove_file(&python).unwrap();
    let script = format!("#!/bin/sh\ntouch '{}'\n", canary.display());
    world.script("repository/.venv/bin/python", &script);
    let refused = world.find(None, "/usr/bin").unwrap_err();
    assert!(matches!(refused, InterpreterError::Untrusted { .. }), "{refused}");

    // A binary in the place of the interpreter, as in an environment of copies: it is not run.
    fs::remove_file(&python).unwrap();
    fs::copy("/bin/echo", &python).unwrap();
    let interpreter = world.find(None, "/usr/bin").unwrap();
    assert_eq!(interpreter.base_prefix, Path::new("/usr"));

    // A link to some program of the host.
    fs::remove_file(&python).unwrap();
    symlink("/bin/sh", &python).unwrap();
    let refused = world.find(None, "/usr/bin").unwrap_err();
    assert!(matches!(refused, InterpreterError::Untrusted { .. }), "{refused}");

    // A standard library in the repository.
    fs::remove_file(&python).unwrap();
    symlink(SYSTEM_PYTHON, &python).unwrap();
    let version = site.parent().unwrap().file_name().unwrap();
    let library = world.at("repository/evil/lib").join(version);
    fs::create_dir_all(library.join("encodings")).unwrap();
    fs::create_dir_all(world.at("repository/evil/bin")).unwrap();
    fs::write(library.join("encodings/__init__.py"), touch(&canary)).unwrap();
    fs::write(library.join("os.py"), touch(&canary)).unwrap();
    let config = format!("home = {}\n", world.at("repository/evil/bin").display());
    fs::write(world.at("repository/.venv/pyvenv.cfg"), config).unwrap();
    let refused = world.find(None, "/usr/bin").unwrap_err();
    assert!(matches!(refused, InterpreterError::Untrusted { .. }), "{refused}");

    // A directory of the repository on the PATH, and the current directory.
    fs::remove_dir_all(world.at("repository/.venv")).unwrap();
    world.script("repository/bin/python3", &script);
    let path = format!("{}:.::/usr/bin", world.at("repository/bin").display());
    let interpreter = world.find(None, &path).unwrap();
    assert_eq!(interpreter.executable, Path::new(SYSTEM_PYTHON));
    assert!(interpreter.warnings[0].contains("passed by"));

    assert!(!canary.exists());
}

#[test]
fn a_shim_is_asked_once_and_the_binary_behind_it_is_used() {
    let Some(expected) = pyenv("3.11") else {
        return;
    };
    let world = InterpreterFixture::new();
    fs::write(world.at("repository/.python-version"), "3.11.7\n").unwrap();
    let path = format!("{}:/usr/bin:/bin", home().join(".pyenv/shims").display());
    let interpreter = world.find(None, &path).unwrap();
    let names = [expected.clone(), expected.with_file_name("python3")];
    assert!(names.contains(&interpreter.executable), "{interpreter:?}");
    assert_eq!(interpreter.origin, InterpreterOrigin::Path);
    assert_eq!(interpreter.warnings, [""; 0]);
    assert_true(&interpreter);

    fs::write(world.at("repository/.python-version"), "../../../evil\n").unwrap();
    let interpreter = world.find(None, &path).unwrap();
    assert!(interpreter.warnings[0].contains("ignored"), "{interpreter:?}");
}

#[test]
fn a_shim_after_the_chosen_interpreter_is_not_resolved() {
    let world = InterpreterFixture::new();
    let asked = world.at("asked");
    let shim =
        format!("#!/bin/sh\necho \"$0\" >> {}\nexec {SYSTEM_PYTHON} \"$@\"\n", asked.display());
    let first = world.script("shims/python3", &shim);
    world.script("shims/python", &shim);
    let path = format!("{}:/bin", world.at("shims").display());
    assert_eq!(world.find(None, &path).unwrap().executable, Path::new(SYSTEM_PYTHON));
    assert_eq!(fs::read_to_string(asked).unwrap().trim(), first.to_str().unwrap());
}

#[test]
fn a_link_to_a_version_manager_is_a_shim_too() {
    let world = InterpreterFixture::new();
    let manager = format!("#!/bin/sh\nexec {SYSTEM_PYTHON} \"$@\"\n");
    let manager = world.script("manager/mise", &manager);
    fs::create_dir(world.at("shims")).unwrap();
    symlink(manager, world.at("shims/python3")).unwrap();
    let path = format!("{}:/bin", world.at("shims").display());
    let interpreter = world.find(None, &path).unwrap();
    assert_eq!(interpreter.executable, Path::new(SYSTEM_PYTHON));
}

#[test]
fn what_is_missing_says_what_was_tried_and_what_to_do() {
    let world = InterpreterFixture::new();
    let text = world.find(None, "/nowhere:/nothing").unwrap_err().to_string();
    for part in [".venv/bin/python", "/nowhere:/nothing", "--python PATH"] {
        assert!(text.contains(part), "{text}");
    }
    let missing = world.at("none");
    let text = world.find(Some(&missing), "/usr/bin").unwrap_err().to_string();
    assert!(text.contains(missing.to_str().unwrap()), "{text}");
    let error = world.find(Some(Path::new("python9")), "/usr/bin").unwrap_err();
    assert!(matches!(error, InterpreterError::NoSuchExecutable { .. }), "{error}");
}

#[test]
fn a_broken_virtual_environment_is_an_error_and_not_passed_by() {
    let world = InterpreterFixture::new();
    let venv = world.venv(Path::new(SYSTEM_PYTHON), "repository/.venv", &[]);
    fs::remove_file(venv.join("bin/python")).unwrap();
    symlink("/nowhere/python3", venv.join("bin/python")).unwrap();
    let text = world.find(None, "/usr/bin").unwrap_err().to_string();
    assert!(text.contains("broken") && text.contains("python3 -m venv"), "{text}");

    fs::remove_file(venv.join("bin/python")).unwrap();
    symlink(SYSTEM_PYTHON, venv.join("bin/python")).unwrap();
    fs::write(venv.join("pyvenv.cfg"), "home = /nowhere/bin\n").unwrap();
    let text = world.find(None, "/usr/bin").unwrap_err().to_string();
    assert!(text.contains("/nowhere/bin"), "{text}");
}

#[test]
fn programs_that_are_no_python_are_refused_with_their_reason() {
    let world = InterpreterFixture::new();
    let failing = world.script("failing/python3", "#!/bin/sh\necho broken >&2\nexit 1\n");
    let text = world.find(Some(&failing), "").unwrap_err().to_string();
    assert!(text.contains("broken"), "{text}");

    let babbling = world.script("babbling/python3", "#!/bin/sh\necho hello\n");
    let error = world.find(Some(&babbling), "").unwrap_err();
    assert!(matches!(error, InterpreterError::Shim { .. }), "{error}");

    // Binaries that are named like an interpreter.
    fs::copy("/bin/echo", world.at("python3.11")).unwrap();
    let error = world.find(Some(&world.at("python3.11")), "").unwrap_err();
    assert!(matches!(error, InterpreterError::UnreadableAnswer { .. }), "{error}");
    fs::copy("/bin/false", world.at("python3.12")).unwrap();
    let error = world.find(Some(&world.at("python3.12")), "").unwrap_err();
    assert!(matches!(error, InterpreterError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("--python PATH"), "{error}");

    fs::write(world.at("python3.13"), "not executable").unwrap();
    let error = world.find(Some(&world.at("python3.13")), "").unwrap_err();
    assert!(matches!(error, InterpreterError::NotExecutable { .. }), "{error}");
}

#[test]
fn old_pythons_are_refused_with_their_version() {
    for (minor, shown) in [("3.7", "3.7.16"), ("3.6", "3.6.15"), ("2.7", "Python 2")] {
        let Some(python) = pyenv(minor) else { return };
        let text = InterpreterFixture::new().find(Some(&python), "").unwrap_err().to_string();
        assert!(text.contains(shown) && text.contains("3.8 or newer"), "{text}");
    }
}

#[test]
fn an_old_python_on_the_path_is_passed_by_with_a_warning() {
    let Some(old) = pyenv("3.7") else { return };
    let path = format!("{}:/usr/bin", old.parent().unwrap().display());
    let interpreter = InterpreterFixture::new().find(None, &path).unwrap();
    assert_eq!(interpreter.executable, Path::new(SYSTEM_PYTHON));
    assert!(interpreter.warnings[0].contains("3.7.16"), "{interpreter:?}");
}

#[test]
fn a_harness_that_does_not_compile_is_our_error() {
    let mut world = InterpreterFixture::new();
    world.sources[0].text = "def broken(:\n".to_owned();
    let error = world.find(Some(Path::new(SYSTEM_PYTHON)), "").unwrap_err();
    assert!(matches!(error, InterpreterError::HarnessUncompilable { .. }), "{error}");
    assert!(error.to_string().contains("guest.py"), "{error}");
}

fn cache_file(world: &InterpreterFixture) -> PathBuf {
    let files: Vec<_> =
        fs::read_dir(world.at("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Replaces a word in the cached answer.
fn forge(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    let body = text.split_once('\n').unwrap().1.replace(from, to);
    assert!(body.contains(to));
    let sum = blake3::hash(body.as_bytes()).to_hex();
    fs::write(file, format!("{sum}\n{body}")).unwrap();
}

#[test]
fn an_answer_is_remembered_until_something_changes() {
    let world = InterpreterFixture::new();
    let venv = world.venv(Path::new(SYSTEM_PYTHON), "environments/one", &[]);
    let find = || world.find(Some(&venv), "").unwrap();
    let asked = find();
    assert_eq!(find(), asked);
    let file = cache_file(&world);

    forge(&file, "x86_64-linux-gnu", "remembered-soabi");
    assert!(find().soabi.contains("remembered-soabi"));

    // A package was installed.
    fs::write(world.site_packages("environments/one").join("new.pth"), "").unwrap();
    assert_eq!(find(), asked);

    forge(&file, "x86_64-linux-gnu", "remembered-soabi");
    let changed = fs::read_to_string(&file).unwrap().replace("remembered", "corrupted!");
    fs::write(&file, changed).unwrap();
    assert_eq!(find(), asked);

    for nonsense in ["", "x", "x\n{}", "\u{0}\n"] {
        fs::write(&file, nonsense).unwrap();
        assert_eq!(find(), asked);
    }
    assert_eq!(cache_file(&world), file);
}

#[test]
fn another_harness_is_another_answer() {
    let mut world = InterpreterFixture::new();
    world.find(Some(Path::new(SYSTEM_PYTHON)), "").unwrap();
    let first = cache_file(&world);
    world.sources[0].text.push_str("\nmore = 1\n");
    let interpreter = world.find(Some(Path::new(SYSTEM_PYTHON)), "").unwrap();
    assert_compiled(&interpreter);
    fs::remove_file(first).unwrap();
    cache_file(&world);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let world = InterpreterFixture::new();
    fs::write(world.at("cache"), "a file").unwrap();
    let interpreter = world.find(Some(Path::new(SYSTEM_PYTHON)), "").unwrap();
    assert!(interpreter.warnings[0].contains("could not be kept"));
}
