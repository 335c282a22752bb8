//! `menace analyze` as its users meet it.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use crate::program::{CommandOutput, TestDirectory};
use serde_json::{Value, json};

fn module<'j>(analysis: &'j Value, path: &str) -> &'j Value {
    let modules = analysis["modules"].as_array().unwrap();
    modules.iter().find(|module| module["path"] == path).unwrap()
}

fn section<'j>(analysis: &'j Value, id: &str) -> &'j Value {
    let sections = module(analysis, id.split_once("::").unwrap().0)["sections"].as_array().unwrap();
    sections.iter().find(|section| section["id"] == id).unwrap()
}

#[test]
fn the_table_of_a_small_shop() {
    let ran = TestDirectory::with_fixture("bookshop").run(&["analyze", "--repo", "bookshop"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn the_table_names_what_could_not_be_read() {
    let ran = TestDirectory::with_fixture("broken").run(&["analyze", "--repo", "broken"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn one_module_as_json() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran = place.run(&[
        "analyze",
        "--repo",
        "bookshop",
        "--format",
        "json",
        "--module",
        "bookshop/pricing.py",
    ]);
    insta::assert_json_snapshot!(ran.json());
}

#[test]
fn the_shape_of_the_json_is_kept() {
    let place = TestDirectory::with_fixture("bookshop");
    let analysis = place.run(&["analyze", "--repo", "bookshop", "--format", "json"]).json();
    assert_eq!(analysis["version"], 1);
    assert_eq!(analysis["totals"]["modules"], 10);
    assert_eq!(analysis["scanner"], json!({"name": "builtin"}));
    for module in analysis["modules"].as_array().unwrap() {
        for key in [
            "path",
            "name",
            "sections",
            "imports",
            "imported_by",
            "maintainability",
            "entropy",
            "findings",
            "error",
            "security_score",
            "code_quality",
        ] {
            assert!(module.get(key).is_some(), "{key} of {}", module["path"]);
        }
        for section in module["sections"].as_array().unwrap() {
            for key in ["id", "kind", "line", "params", "complexity"] {
                assert!(section.get(key).is_some(), "{key} of {}", section["id"]);
            }
        }
    }
}

#[test]
fn types_and_constructors_lead_through_the_packages() {
    let place = TestDirectory::with_fixture("bookshop");
    let analysis = place.run(&["analyze", "--repo", "bookshop", "--format", "json"]).json();
    let checkout = section(&analysis, "bookshop/web/api.py::checkout");
    assert_eq!(checkout["params"][0]["type"], "bookshop.models.Order");
    assert_eq!(checkout["calls"][0]["path"], "bookshop/pricing.py");

    let handle = section(&analysis, "bookshop/web/api.py::Api.handle");
    assert_eq!(handle["async"], true);
    let plan = |section: &Value| {
        let path = section["id"].as_str().unwrap().split_once("::").unwrap().0;
        let place = usize::try_from(section["construction"].as_u64().unwrap()).unwrap();
        module(&analysis, path)["constructions"][place]["steps"].as_array().unwrap().clone()
    };
    let steps = plan(handle);
    let classes: Vec<_> = steps.iter().map(|step| step["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["bookshop.storage.database.Database", "bookshop.web.api.Api"]);

    let order = section(&analysis, "bookshop/models.py::Order.save");
    assert_eq!(order["params"][0]["type"], "bookshop.storage.database.Database");
    assert_eq!(plan(order)[0]["class"], "bookshop.models.Customer");
}

#[test]
fn modules_can_be_chosen_by_path_and_by_name() {
    let place = TestDirectory::with_fixture("bookshop");
    let paths = |globs: &[&str]| -> Vec<String> {
        let mut arguments = vec!["analyze", "--repo", "bookshop", "--format", "json"];
        for glob in globs {
            arguments.extend(["--module", glob]);
        }
        let analysis = place.run(&arguments).json();
        let modules = analysis["modules"].as_array().unwrap();
        modules.iter().map(|module| module["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(&["tools/*"]), ["tools/legacy_import.py"]);
    assert_eq!(
        paths(&["bookshop.web.*", "**/pricing.py"]),
        ["bookshop/pricing.py", "bookshop/web/api.py", "bookshop/web/export.py"]
    );
}

#[test]
fn a_glob_that_matches_nothing_is_an_error() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran = place.run(&["analyze", "--repo", "bookshop", "--module", "nothing/*"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn what_is_no_repository_is_an_error_that_says_so() {
    let place = TestDirectory::new();
    place.write("file.py", "");
    let missing = place.run(&["analyze", "--repo", "nowhere"]);
    let file = place.run(&["analyze", "--repo", "file.py"]);
    assert_eq!((missing.code, file.code), (Some(2), Some(2)));
    insta::assert_snapshot!(missing.err + &file.err);
}

/// Root may read everything: a test that runs as root starts Menace as another user.
#[cfg(unix)]
#[test]
fn a_repository_that_may_not_be_read_is_an_error_that_says_so() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let place = TestDirectory::new();
    let secret = place.path().join("secret");
    fs::create_dir(&secret).unwrap();
    mode(place.path(), 0o755);
    mode(&secret, 0o000);
    // The build directory may be closed to others.
    let binary = place.path().join("menace");
    fs::copy(env!("CARGO_BIN_EXE_menace"), &binary).unwrap();
    mode(&binary, 0o755);
    let mut command = std::process::Command::new(binary);
    command.args(["analyze", "--repo", "secret"]).current_dir(place.path()).env_clear();
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if is_root {
        command.uid(65534).gid(65534);
    }
    let ran = CommandOutput::from(command.output().unwrap());
    mode(&secret, 0o700);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    insta::assert_snapshot!(ran.err);
}

#[test]
fn an_unreadable_file_does_not_stop_the_others() {
    let place = TestDirectory::with_fixture("broken");
    let analysis = place.run(&["analyze", "--repo", "broken", "--format", "json"]).json();
    assert_eq!(analysis["totals"]["errors"], 4);
    let error = &module(&analysis, "pkg/null_byte.py")["error"];
    assert_eq!((&error["file"], &error["line"]), (&json!("pkg/null_byte.py"), &json!(2)));
    assert!(module(&analysis, "pkg/fine.py")["error"].is_null());
}

#[test]
fn nothing_in_the_repository_changes() {
    let place = TestDirectory::with_fixture("bookshop");
    let before = place.files("bookshop");
    place.run(&["analyze", "--repo", "bookshop"]);
    assert_eq!(place.files("bookshop"), before);
}

#[test]
fn from_inside_of_the_repository_nothing_changes_either() {
    let place = TestDirectory::with_fixture("bookshop");
    let before = place.files("bookshop");
    let mut command = place.command(&["analyze"]);
    assert!(command.current_dir(place.path().join("bookshop")).status().unwrap().success());
    assert_eq!(place.files("bookshop"), before);
}

#[test]
fn a_directory_without_python_and_an_empty_path_are_reported() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("empty")).unwrap();
    let ran = place.run(&["analyze", "--repo", "empty"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("no Python files below"), "{}", ran.err);
    let ran = place.run(&["analyze", "--repo", ""]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--repo is empty"), "{}", ran.err);
}

#[test]
fn a_database_of_the_project_itself_does_not_matter() {
    let place = TestDirectory::with_fixture("bookshop");
    place.write(".env", "DATABASE_URL=mysql://root@localhost/shop\n");
    assert_eq!(place.run(&["analyze", "--repo", "bookshop"]).code, Some(0));
}

#[test]
fn the_cache_is_filled_and_changes_nothing() {
    let place = TestDirectory::with_fixture("bookshop");
    let arguments = ["analyze", "--repo", "bookshop", "--format", "json"];
    let first = place.run(&arguments);
    assert_eq!(place.files(place.cache_dir()).len(), 1);
    assert_eq!(place.run(&arguments).out, first.out);

    let path = place.path().join("bookshop/tools/legacy_import.py");
    fs::write(path, "def renamed(): pass\n").unwrap();
    let changed = place.run(&arguments).json();
    section(&changed, "tools/legacy_import.py::renamed");
}

#[test]
fn a_damaged_cache_is_reported_and_rebuilt() {
    let place = TestDirectory::with_fixture("bookshop");
    let arguments = ["analyze", "--repo", "bookshop", "--format", "json"];
    let first = place.run(&arguments).json();
    let (path, mut content) = place.files(place.cache_dir()).remove(0);
    let middle = content.len() / 2;
    content[middle] ^= 0xff;
    fs::write(&path, &content).unwrap();
    let second = place.run(&arguments);
    assert!(second.err.contains("is damaged and will be rebuilt"), "{}", second.err);
    assert_eq!(second.json()["modules"], first["modules"]);
    assert_eq!(place.run(&arguments).err, "");
}

#[test]
fn no_cache_leaves_no_trace() {
    let place = TestDirectory::with_fixture("bookshop");
    place.run(&["analyze", "--repo", "bookshop", "--no-cache"]);
    assert_eq!(place.files(place.cache_dir()), []);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = TestDirectory::with_fixture("bookshop");
    let mut command = place.command(&["analyze", "--repo", "bookshop", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn control_characters_of_the_repository_do_not_reach_the_terminal() {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/\u{1b}[31mred.py", "def f(:\n");
    let ran = place.run(&["analyze", "--repo", "repo"]);
    assert_eq!(ran.code, Some(0));
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
}

#[test]
fn the_repository_can_come_from_the_environment() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran =
        place.run_with(&[("SANDBOX_REPO_PATH", "bookshop")], &["analyze", "--format", "json"]);
    assert_eq!(ran.json()["totals"]["modules"], 10);
}
