//! Files that the harness put in place are not the call's doing, unless it changed them.

use std::path::Path;

use menace_model::{Call, FaultMode, FileChange, Files, FixtureFile, Touched};

use crate::wire::marshal::Item;

/// Endings of the files whose shape the harness may change.
const DATA: [&str; 5] = ["json", "jsonl", "ndjson", "csv", "tsv"];

/// Takes out of the list what the harness put there.
pub(super) fn settle(files: &mut Files, said: &Item, call: &Call) {
    let fixtures = &call.fixtures.files;
    let drifts = call.conditions.faults.iter().any(|fault| fault.mode == FaultMode::SchemaDrift);
    if fixtures.is_empty() && !drifts {
        return;
    }
    let before = files.touched.len();
    match said.get("planted") {
        Some(planted) => {
            for item in planted.items() {
                let [name, state] = item.items() else { continue };
                let (Some(name), Some(state)) = (name.as_text(), state.as_text()) else { continue };
                let fixture = fixtures.iter().find(|file| same(&file.path, &name));
                if fixture.is_some() || drifts && is_data(&name) {
                    settle_one(files, &name, &state, fixture);
                }
            }
        }
        // It did not live to tell: by its size, then.
        None => files.touched.retain(|file| {
            let size = |fixture: &FixtureFile| fixture.content.len() as u64;
            !fixtures.iter().any(|one| same(&one.path, &file.path) && size(one) == file.bytes)
        }),
    }
    let leads_to_fixture = |file: &Touched| {
        file.what == FileChange::Created
            && file.bytes == 0
            && fixtures.iter().any(|one| is_above(&file.path, &one.path))
    };
    files.touched.retain(|file| !leads_to_fixture(file));
    let removed = before.saturating_sub(files.touched.len()) as u64;
    let added = files.touched.len().saturating_sub(before) as u64;
    files.total = files.total.saturating_sub(removed) + added;
}

fn settle_one(files: &mut Files, name: &str, state: &str, fixture: Option<&FixtureFile>) {
    let at = files.touched.iter().position(|file| same(&file.path, name));
    match (state, at) {
        ("same", Some(at)) => {
            files.touched.remove(at);
        }
        ("changed", Some(at)) if files.touched[at].what == FileChange::Created => {
            files.touched[at].what = FileChange::Changed;
        }
        ("gone", None) => {
            let bytes = fixture.map_or(0, |file| file.content.len() as u64);
            let what = FileChange::Deleted;
            files.touched.push(Touched { path: name.to_owned(), what, bytes, hash: None });
            files.touched.sort();
        }
        _ => {}
    }
}

fn same(one: &str, other: &str) -> bool {
    Path::new(one).components().eq(Path::new(other).components())
}

fn is_above(directory: &str, file: &str) -> bool {
    !same(directory, file) && Path::new(file).starts_with(directory)
}

fn is_data(name: &str) -> bool {
    let ending = Path::new(name).extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|end| DATA.contains(&end.as_str()))
}

#[cfg(test)]
mod tests {
    use menace_model::{Fault, How, ModuleRef, Target, When};

    use super::*;
    use crate::wire::marshal::Writer;

    fn call(fixtures: &[(&str, &[u8])]) -> Call {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        let target = Target { module, qualname: "f".to_owned(), how: How::Function };
        let mut call = Call::new(target);
        let file = |(path, content): &(&str, &[u8])| FixtureFile {
            path: (*path).to_owned(),
            content: content.to_vec(),
        };
        call.fixtures.files = fixtures.iter().map(file).collect();
        call
    }

    fn files(touched: &[(&str, FileChange, u64)]) -> Files {
        let one = |(path, what, bytes): &(&str, FileChange, u64)| Touched {
            path: (*path).to_owned(),
            what: *what,
            bytes: *bytes,
            hash: None,
        };
        Files { touched: touched.iter().map(one).collect(), total: touched.len() as u64 }
    }

    fn said(planted: &[(&str, &str)]) -> Item {
        let mut out = Writer::default();
        out.open_dict();
        out.str("planted");
        out.list(planted.len());
        for (name, state) in planted {
            out.list(2);
            out.str(name);
            out.str(state);
        }
        out.close_dict();
        Item::read(&out.0).unwrap()
    }

    fn settled(call: &Call, touched: &[(&str, FileChange, u64)], said: &Item) -> Files {
        let mut files = files(touched);
        settle(&mut files, said, call);
        files
    }

    use FileChange::{Changed, Created, Deleted};

    #[test]
    fn a_fixture_counts_only_when_the_call_changed_it() {
        let call = call(&[("in/a.txt", b"abc"), ("b.txt", b"b"), ("c.txt", b"")]);
        let touched = [
            ("b.txt", Created, 7),
            ("in", Created, 0),
            ("in/a.txt", Created, 3),
            ("other.txt", Created, 3),
        ];
        let said = said(&[("in/a.txt", "same"), ("b.txt", "changed"), ("c.txt", "gone")]);
        let expected =
            files(&[("b.txt", Changed, 7), ("c.txt", Deleted, 0), ("other.txt", Created, 3)]);
        assert_eq!(settled(&call, &touched, &said), expected);
    }

    #[test]
    fn nothing_but_fixtures_and_drifted_data_can_be_hidden() {
        let touched = [("data.json", Changed, 3), ("x.txt", Created, 3)];
        let said = said(&[("x.txt", "same"), ("data.json", "same")]);
        let mut call = call(&[("a.txt", b"")]);
        assert_eq!(settled(&call, &touched, &said), files(&touched));
        let when = When::Rate(1.0);
        call.conditions.faults = vec![Fault { mode: FaultMode::SchemaDrift, when }];
        assert_eq!(settled(&call, &touched, &said), files(&touched[1..]));
    }

    #[test]
    fn without_a_report_the_size_decides() {
        let call = call(&[("a.txt", b"abc"), ("b.txt", b"abc")]);
        let touched = [("a.txt", Created, 3), ("b.txt", Created, 4)];
        assert_eq!(settled(&call, &touched, &Item::None), files(&touched[1..]));
    }
}
