//! Removes files from an outcome's list that the harness created for the call, unless the call
//! changed them.

use std::path::Path;

use menace_model::{Call, FaultMode, FileChangeKind, FixtureFile, TouchedFile, TouchedFiles};

use crate::wire::marshal::MarshalValue;

/// Extensions of files that the `schema_drift` fault may change.
const DATA_FILE_EXTENSIONS: [&str; 5] = ["json", "jsonl", "ndjson", "csv", "tsv"];

/// Removes the harness's own changes from the list.
pub(super) fn remove_fixture_changes(files: &mut TouchedFiles, report: &MarshalValue, call: &Call) {
    let fixtures = &call.fixtures.files;
    let drifts = call.conditions.faults.iter().any(|fault| fault.mode == FaultMode::SchemaDrift);
    if fixtures.is_empty() && !drifts {
        return;
    }
    let before = files.touched.len();
    match report.get("fixture_files") {
        Some(fixture_files) => {
            for item in fixture_files.items() {
                let [name, state] = item.items() else { continue };
                let (Some(name), Some(state)) = (name.as_text(), state.as_text()) else { continue };
                let fixture = fixtures.iter().find(|file| is_same_path(&file.path, &name));
                if fixture.is_some() || drifts && is_data_file(&name) {
                    apply_fixture_state(files, &name, &state, fixture);
                }
            }
        }
        // Without a report the size shows whether the call changed the file.
        None => files.touched.retain(|file| {
            let size = |fixture: &FixtureFile| fixture.content.len() as u64;
            !fixtures
                .iter()
                .any(|one| is_same_path(&one.path, &file.path) && size(one) == file.bytes)
        }),
    }
    let leads_to_fixture = |file: &TouchedFile| {
        file.change == FileChangeKind::Created
            && file.bytes == 0
            && fixtures.iter().any(|one| is_parent_of(&file.path, &one.path))
    };
    files.touched.retain(|file| !leads_to_fixture(file));
    let removed = before.saturating_sub(files.touched.len()) as u64;
    let added = files.touched.len().saturating_sub(before) as u64;
    files.total = files.total.saturating_sub(removed) + added;
}

fn apply_fixture_state(
    files: &mut TouchedFiles,
    name: &str,
    state: &str,
    fixture: Option<&FixtureFile>,
) {
    let at = files.touched.iter().position(|file| is_same_path(&file.path, name));
    match (state, at) {
        ("same", Some(at)) => {
            files.touched.remove(at);
        }
        ("changed", Some(at)) if files.touched[at].change == FileChangeKind::Created => {
            files.touched[at].change = FileChangeKind::Changed;
        }
        ("gone", None) => {
            let bytes = fixture.map_or(0, |file| file.content.len() as u64);
            let what = FileChangeKind::Deleted;
            files.touched.push(TouchedFile {
                path: name.to_owned(),
                change: what,
                bytes,
                hash: None,
            });
            files.touched.sort();
        }
        _ => {}
    }
}

fn is_same_path(one: &str, other: &str) -> bool {
    Path::new(one).components().eq(Path::new(other).components())
}

fn is_parent_of(directory: &str, file: &str) -> bool {
    !is_same_path(directory, file) && Path::new(file).starts_with(directory)
}

fn is_data_file(name: &str) -> bool {
    let ending = Path::new(name).extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|end| DATA_FILE_EXTENSIONS.contains(&end.as_str()))
}

#[cfg(test)]
mod tests {
    use menace_model::{CallTarget, FaultSpec, FaultTrigger, ModuleRef, TargetKind};

    use super::*;
    use crate::wire::marshal::MarshalWriter;

    fn call(fixtures: &[(&str, &[u8])]) -> Call {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
        let mut call = Call::new(target);
        let file = |(path, content): &(&str, &[u8])| FixtureFile {
            path: (*path).to_owned(),
            content: content.to_vec(),
        };
        call.fixtures.files = fixtures.iter().map(file).collect();
        call
    }

    fn files(touched: &[(&str, FileChangeKind, u64)]) -> TouchedFiles {
        let one = |(path, what, bytes): &(&str, FileChangeKind, u64)| TouchedFile {
            path: (*path).to_owned(),
            change: *what,
            bytes: *bytes,
            hash: None,
        };
        TouchedFiles { touched: touched.iter().map(one).collect(), total: touched.len() as u64 }
    }

    fn fixture_report(fixture_files: &[(&str, &str)]) -> MarshalValue {
        let mut out = MarshalWriter::default();
        out.open_dict();
        out.write_str("fixture_files");
        out.open_list(fixture_files.len());
        for (name, state) in fixture_files {
            out.open_list(2);
            out.write_str(name);
            out.write_str(state);
        }
        out.close_dict();
        MarshalValue::parse(&out.0).unwrap()
    }

    fn settled_files(
        call: &Call,
        touched: &[(&str, FileChangeKind, u64)],
        said: &MarshalValue,
    ) -> TouchedFiles {
        let mut files = files(touched);
        remove_fixture_changes(&mut files, said, call);
        files
    }

    use FileChangeKind::{Changed, Created, Deleted};

    #[test]
    fn a_fixture_counts_only_when_the_call_changed_it() {
        let call = call(&[("in/a.txt", b"abc"), ("b.txt", b"b"), ("c.txt", b"")]);
        let touched = [
            ("b.txt", Created, 7),
            ("in", Created, 0),
            ("in/a.txt", Created, 3),
            ("other.txt", Created, 3),
        ];
        let said = fixture_report(&[("in/a.txt", "same"), ("b.txt", "changed"), ("c.txt", "gone")]);
        let expected =
            files(&[("b.txt", Changed, 7), ("c.txt", Deleted, 0), ("other.txt", Created, 3)]);
        assert_eq!(settled_files(&call, &touched, &said), expected);
    }

    #[test]
    fn nothing_but_fixtures_and_drifted_data_can_be_hidden() {
        let touched = [("data.json", Changed, 3), ("x.txt", Created, 3)];
        let said = fixture_report(&[("x.txt", "same"), ("data.json", "same")]);
        let mut call = call(&[("a.txt", b"")]);
        assert_eq!(settled_files(&call, &touched, &said), files(&touched));
        let when = FaultTrigger::Rate(1.0);
        call.conditions.faults = vec![FaultSpec { mode: FaultMode::SchemaDrift, trigger: when }];
        assert_eq!(settled_files(&call, &touched, &said), files(&touched[1..]));
    }

    #[test]
    fn without_a_report_the_size_decides() {
        let call = call(&[("a.txt", b"abc"), ("b.txt", b"abc")]);
        let touched = [("a.txt", Created, 3), ("b.txt", Created, 4)];
        assert_eq!(settled_files(&call, &touched, &MarshalValue::None), files(&touched[1..]));
    }
}
