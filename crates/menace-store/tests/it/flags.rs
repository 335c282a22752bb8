//! Files of flags, which people may edit.

use std::collections::BTreeSet;
use std::fs;

use menace_store::{ModuleFlagsFile, StoreNotice};
use tempfile::tempdir;

#[test]
fn flags_are_added_once_and_comments_stay() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("data/roi.flags");
    let flags = ModuleFlagsFile::new(&path);
    assert_eq!(flags.flagged_modules().unwrap(), (BTreeSet::new(), None));
    assert!(!path.exists(), "looking makes nothing");
    flags.add(["b.py", "a.py"]).unwrap();
    fs::write(&path, format!("# by hand\n\n{}  c.py  ", fs::read_to_string(&path).unwrap()))
        .unwrap();
    flags.add(["c.py", "d.py", "a.py", "#e.py", "two\nlines.py"]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "# by hand\n\nb.py\na.py\n  c.py  \nd.py\n");
    let modules = ["a.py", "b.py", "c.py", "d.py"].map(str::to_owned);
    assert_eq!(flags.flagged_modules().unwrap(), (BTreeSet::from(modules), None));

    assert_eq!(flags.reset().unwrap(), (4, None));
    assert_eq!(fs::read_to_string(&path).unwrap(), "# by hand\n\n");
    assert_eq!(flags.reset().unwrap(), (0, None));
}

#[test]
fn what_is_no_text_is_kept_aside() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("roi.flags");
    fs::write(&path, b"a.py\n\xff\xfe\0\0").unwrap();
    let notice = ModuleFlagsFile::new(&path).add(["b.py"]).unwrap();
    assert!(matches!(notice, Some(StoreNotice::MovedAside { .. })), "{notice:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "b.py\n");
    assert_eq!(
        fs::read(directory.path().join("roi.flags.corrupt-1")).unwrap(),
        b"a.py\n\xff\xfe\0\0"
    );
}
