//! Keeps a database open until its file is replaced, since opening checks every page.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::ServeResult;

#[derive(Debug)]
pub(crate) struct ReopenOnReplace<T> {
    path: PathBuf,
    /// The opened value, with device and inode of its file.
    open_file: Mutex<Option<((u64, u64), T)>>,
}

impl<T> ReopenOnReplace<T> {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, open_file: Mutex::new(None) }
    }

    /// Queries the value; `None` when there is no file yet, or it is empty.
    pub(crate) fn query<A>(
        &self,
        open: impl FnOnce(&Path) -> ServeResult<Option<T>>,
        run_query: impl FnOnce(&T) -> ServeResult<A>,
    ) -> ServeResult<Option<A>> {
        let Ok(metadata) = fs::symlink_metadata(&self.path) else { return Ok(None) };
        let file = (metadata.dev(), metadata.ino());
        let mut kept = self.open_file.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(known, _)| *known != file) {
            // The opened value belongs to a file that was replaced.
            *kept = None;
            *kept = open(&self.path)?.map(|opened| (file, opened));
        }
        kept.as_ref().map(|(_, opened)| run_query(opened)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_again_when_another_one_takes_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let opened = ReopenOnReplace::new(path.clone());
        let ask = || {
            let open = |path: &Path| Ok(fs::read_to_string(path).ok());
            opened.query(open, |text| Ok(text.clone())).unwrap()
        };
        assert_eq!(ask(), None);
        fs::write(&path, "one").unwrap();
        assert_eq!(ask().as_deref(), Some("one"));
        let other = directory.path().join("other");
        fs::write(&other, "two").unwrap();
        assert_eq!(ask().as_deref(), Some("one"), "it is still open");
        fs::rename(&other, &path).unwrap();
        assert_eq!(ask().as_deref(), Some("two"));
    }
}
