//! What is remembered between runs is the user's, and no repository can put words into its mouth.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::exec::{outcome, repo};
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

/// What Menace keeps about the interpreter.
fn interpreter_cache_file(cache: &Path) -> PathBuf {
    let is_it =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("interpreter-");
    let kept: Vec<_> = fs::read_dir(cache.join("menace"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_it)
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept[0].clone()
}

#[test]
fn the_interpreter_and_the_analysis_are_remembered_with_the_user() {
    let place = repo("def f(): return 1\n");
    outcome(&place, &["--repo", "repo", "mod:f"]);
    interpreter_cache_file(&place.cache_dir());
    assert_eq!(place.files(place.cache_dir()).len(), 2, "the interpreter and the analysis");
    assert!(!place.path().join("sandbox_data").exists());
}

#[test]
fn without_a_place_to_remember_calls_work_all_the_same() {
    let place = repo("def f(): return 1\n");
    let mut command = place.command(&["exec", "--repo", "repo", "mod:f"]);
    let ran = CommandOutput::from(
        command.envs(SANDBOX_VARIABLES).env_remove("XDG_CACHE_HOME").output().unwrap(),
    );
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    // A home is as good.
    let mut command = place.command(&["exec", "--repo", "repo", "mod:f"]);
    command
        .envs(SANDBOX_VARIABLES)
        .env_remove("XDG_CACHE_HOME")
        .env("HOME", place.path().join("home"));
    assert!(command.output().unwrap().status.success());
    interpreter_cache_file(&place.path().join("home/.cache"));
}

#[test]
fn a_cache_in_the_repository_is_reported_and_not_used() {
    let place = repo("def f(): return 1\n");
    let before = place.files("repo");
    let inside = place.path().join("repo/cache");
    let ran = place.run_with(
        &[&SANDBOX_VARIABLES[..], &[("XDG_CACHE_HOME", inside.to_str().unwrap())]].concat(),
        &["exec", "--repo", "repo", "mod:f"],
    );
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("lies in the repository"), "{}", ran.err);
    assert_eq!(place.files("repo"), before);
}

const READER_MODULE: &str = "\
def read(path):
    try:
        return open(path).read()
    except OSError as error:
        return type(error).__name__
";
const HOST_SECRET: &str = "a-key-of-the-host";

/// Makes the remembered interpreter say that it needs a library in `directory`.
fn forge_cached_interpreter(file: &Path, directory: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let mut kept: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    let mut answer: Value = serde_json::from_str(kept["answer"].as_str().unwrap()).unwrap();
    answer["libraries"].as_array_mut().unwrap().push(json!(directory.join("x.so")));
    kept["answer"] = json!(answer.to_string());
    let body = kept.to_string();
    let sum = blake3::hash(body.as_bytes()).to_hex();
    fs::write(file, format!("{sum}\n{body}")).unwrap();
}

/// In the repository, as its owner would be.
fn read_in_sandbox(place: &TestDirectory, path: &Path) -> Value {
    let arguments = format!("[{:?}]", path.display().to_string());
    let call = ["exec", "mod:read", "--args", &arguments, "--format", "json"];
    let mut command = place.command(&call);
    command.envs(SANDBOX_VARIABLES).current_dir(place.path().join("repo"));
    CommandOutput::from(command.output().unwrap()).json()["value"]["value"].clone()
}

#[test]
fn what_a_repository_brings_along_opens_nothing() {
    let place = repo(READER_MODULE);
    let host = place.path().join("host");
    let secret = host.join("id_rsa");
    fs::create_dir(&host).unwrap();
    fs::write(host.join("x.so"), "").unwrap();
    fs::write(&secret, HOST_SECRET).unwrap();
    assert_eq!(read_in_sandbox(&place, &secret), "FileNotFoundError");

    // The user's own file would be believed, so the forgery is a good one.
    let file = interpreter_cache_file(&place.cache_dir());
    forge_cached_interpreter(&file, &host);
    assert_eq!(read_in_sandbox(&place, &secret), HOST_SECRET);

    let name = file.file_name().unwrap();
    for below in ["sandbox_data/cache", "cache", ".cache", ".cache/menace", "menace"] {
        let directory = place.path().join("repo").join(below);
        fs::create_dir_all(&directory).unwrap();
        fs::copy(&file, directory.join(name)).unwrap();
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(read_in_sandbox(&place, &secret), "FileNotFoundError");
    // Settings that the repository brings along do not help.
    place.write("repo/.env", "XDG_CACHE_HOME=.cache\nHOME=.\nSANDBOX_DATA_DIR=sandbox_data\n");
    place.write("repo/sandbox_settings.yaml", "sandbox_data_dir: sandbox_data\n");
    fs::remove_file(interpreter_cache_file(&place.cache_dir())).unwrap();
    assert_eq!(read_in_sandbox(&place, &secret), "FileNotFoundError");
}
