//! Ignore files of a checkout, and the files of git that lead to others.

use std::fs;
use std::path::Path;

use menace_source::file_discovery::find_python_files;

/// Lists the modules of a checkout with these texts as `.gitignore`, `.git` and exclude file.
pub fn read_all(bytes: &[u8], checkout: &Path) {
    let mut pieces = bytes.splitn(3, |byte| *byte == 0);
    let mut piece = || pieces.next().unwrap_or_default();
    for name in ["a/b", "common/info", ".git"] {
        let _ = fs::remove_file(checkout.join(name));
        let _ = fs::remove_dir_all(checkout.join(name));
    }
    fs::create_dir_all(checkout.join("a/b")).expect("the directory is ours");
    fs::create_dir_all(checkout.join("common/info")).expect("the directory is ours");
    for name in ["top.py", "a/one.py", "a/b/two.py"] {
        fs::write(checkout.join(name), "").expect("the directory is ours");
    }
    fs::write(checkout.join(".gitignore"), piece()).expect("the directory is ours");
    let git = piece();
    if git.is_empty() {
        fs::create_dir_all(checkout.join(".git/info")).expect("the directory is ours");
        fs::write(checkout.join(".git/info/exclude"), piece()).expect("the directory is ours");
    } else {
        fs::write(checkout.join(".git"), git).expect("the directory is ours");
        fs::write(checkout.join("commondir"), piece()).expect("the directory is ours");
    }
    let _ = find_python_files(checkout);
}
