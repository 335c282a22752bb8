//! Source files that a traceback names.
//!
//! The name came out of a guest. Invariant: nothing outside of the repository is ever read, whatever
//! the name is and wherever links lead.

use std::fs;
use std::path::{Component, Path};

/// Larger files are no source that somebody would read.
const LARGEST: u64 = 4 << 20;

/// The text of a file of the repository; none where it cannot or must not be read.
pub fn source(repository: &Path, file: &str) -> Option<String> {
    let relative = Path::new(file);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !is_plain {
        return None;
    }
    let home = repository.canonicalize().ok()?;
    let path = home.join(relative).canonicalize().ok()?;
    let metadata = fs::metadata(&path).ok()?;
    if !path.starts_with(&home) || !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_outside_of_the_repository_is_read() {
        let place = tempfile::tempdir().unwrap();
        let repository = place.path().join("repository");
        fs::create_dir(&repository).unwrap();
        fs::write(repository.join("desk.py"), "inside").unwrap();
        fs::write(place.path().join("secret"), "outside").unwrap();
        symlink(place.path().join("secret"), repository.join("link.py")).unwrap();
        let absolute = place.path().join("secret");
        assert_eq!(source(&repository, "desk.py").as_deref(), Some("inside"));
        for name in ["../secret", absolute.to_str().unwrap(), "link.py", "", ".", "missing.py"] {
            assert_eq!(source(&repository, name), None, "{name}");
        }
    }
}
