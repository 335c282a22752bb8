//! Checks that the `planned` marks of the declarations agree with the source of the workspace.
//!
//! Product code reads a setting as `settings.<group>.<field>`, or as `.<field>` in a file that
//! borrows the whole group (`let ports = &settings.ports`). What a preset can set is read as a
//! field of `PresetValues`. These tests look for that text.

use std::fs;
use std::path::{Path, PathBuf};

use crate::SettingDeclaration;
use crate::settings::GROUPS;

/// Settings that this crate reads itself, and where.
const READ_HERE: [&str; 4] = [
    "SANDBOX_SETTINGS_YAML", // load.rs finds the YAML file by it
    "SANDBOX_LOG_LEVEL",     // logging.rs
    "SANDBOX_DEBUG",         // logging.rs
    "keyword_profiles",      // PresetSettings::profiles_by_keyword
];

/// The declarations of preset keys: `timeout: … = "TIMEOUT" in limits.timeout`.
const PRESET_KEYS: &str = "menace-scenario/src/preset/keys.rs";

/// Files that read, write, generate and check presets, and therefore read every key without
/// applying it.
const CARRIERS: [&str; 9] = [
    PRESET_KEYS,
    "menace-scenario/src/preset/generate.rs",
    "menace-scenario/src/preset/har.rs",
    "menace-scenario/src/preset/ineffective.rs",
    "menace-scenario/src/preset/profile.rs",
    "menace-scenario/src/preset/profiles.rs",
    "menace-scenario/src/preset/read.rs",
    "menace-scenario/src/preset/reference.rs",
    "menace/src/commands/presets/",
];

/// One file of product code, without tests and white space.
struct SourceFile {
    path: PathBuf,
    text: String,
}

impl SourceFile {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        Self { path, text: code.flat_map(str::split_whitespace).collect() }
    }

    fn reads(&self, group: &str, field: &str) -> bool {
        let borrowed = format!("settings.{group}");
        let is_borrowed = find_words(&self.text, &borrowed).any(|rest| !rest.starts_with('.'));
        let direct = format!("settings.{group}.{field}");
        find_words(&self.text, &direct).next().is_some()
            || (is_borrowed && find_words(&self.text, &format!(".{field}")).next().is_some())
    }

    /// Whether it reads that field of `PresetValues`, by its name or by taking the struct apart.
    fn reads_preset_value(&self, field: &str) -> bool {
        let taken_apart = self.text.split("PresetValues{").skip(1).any(|rest| {
            let fields = rest.split('}').next().unwrap_or_default();
            fields.split(',').any(|name| name.split(':').next() == Some(field))
        });
        taken_apart || find_words(&self.text, &format!("values.{field}")).next().is_some()
    }

    fn is_carrier(&self) -> bool {
        let path = self.path.display().to_string();
        CARRIERS.iter().any(|carrier| path.contains(carrier))
    }
}

/// The text after each occurrence of `word` that is not part of a longer name.
fn find_words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(word)
        .map(move |(at, _)| &text[at + word.len()..])
        .filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The field of `PresetValues` that holds a setting, if presets can set it.
fn preset_field<'a>(keys: &'a str, setting: &str) -> Option<&'a str> {
    let (before, _) = keys.split_once(&format!("=\"{setting}\"in"))?;
    // An entry ends in `,}`; types have braces, too.
    let entry = before.rsplit(",}").next()?;
    entry.rsplit("keys!{").next()?.split(':').next()
}

/// The product code of every crate but this one.
fn product_files() -> Vec<SourceFile> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(own.parent().unwrap()).unwrap();
    let mut directories: Vec<PathBuf> = crates
        .map(|entry| entry.unwrap().path())
        .filter(|path| path != own)
        .map(|path| path.join("src"))
        .collect();
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") && !is_test {
                files.push(SourceFile::read(path));
            }
        }
    }
    files
}

fn settings_where(
    is_wanted: impl Fn(&str, &SettingDeclaration) -> bool,
) -> impl Iterator<Item = &'static str> {
    let all = GROUPS.iter().flat_map(|(group, declared)| declared.iter().map(|it| (*group, it)));
    all.filter(move |(group, declared)| is_wanted(group, declared)).map(|(_, it)| it.name)
}

#[test]
fn every_setting_without_a_planned_mark_has_a_reader() {
    let files = product_files();
    let keys = files.iter().find(|file| file.path.ends_with(PRESET_KEYS)).unwrap();
    let unread = settings_where(|group, declared| {
        let mut readers = files.iter().filter(|file| !file.is_carrier());
        let is_read = match preset_field(&keys.text, declared.name) {
            Some(field) => readers.any(|file| file.reads_preset_value(field)),
            None => readers.any(|file| file.reads(group, declared.field)),
        };
        !declared.planned && !READ_HERE.contains(&declared.name) && !is_read
    });
    assert_eq!(unread.collect::<Vec<_>>(), [] as [&str; 0], "mark them `.planned()`");
}

#[test]
fn no_planned_setting_has_a_reader() {
    let files = product_files();
    let read = settings_where(|group, declared| {
        let mut readers = files.iter().filter(|file| !file.is_carrier());
        declared.planned && readers.any(|file| file.reads(group, declared.field))
    });
    assert_eq!(read.collect::<Vec<_>>(), [] as [&str; 0], "remove `.planned()`");
}

#[test]
fn the_scan_finds_direct_and_borrowed_readers() {
    let file = |text: &str| SourceFile { path: PathBuf::new(), text: text.into() };
    assert!(file("context.settings.agent.port.value").reads("agent", "port"));
    assert!(file("leta=&settings.agent;a.port.get()").reads("agent", "port"));
    assert!(!file("settings.agent.port_range;other.port").reads("agent", "port"));
    assert!(!file("leta=&settings.agents;a.port").reads("agent", "port"));
    assert!(file("letPresetValues{a,port,..}=x;").reads_preset_value("port"));
    assert!(file("self.values.port.get()").reads_preset_value("port"));
    assert!(!file("letPresetValues{ports,..}=x;port").reads_preset_value("port"));
}

#[test]
fn neither_the_list_of_preset_keys_nor_a_comment_reads_a_setting() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.rs");
    let text = "// settings.agent.port\nkeys! { port: u8 = \"PORT\" in agent.port { } }\n\
                for port in agent.port {}\n";
    fs::write(&path, text).unwrap();
    let file = SourceFile::read(path);
    assert!(!file.reads("agent", "port"));
    assert_eq!(preset_field(&file.text, "PORT"), Some("port"));
    assert!(!file.reads_preset_value("port"));
}
