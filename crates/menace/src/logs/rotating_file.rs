//! A log file that starts anew when it is full and keeps the last few.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAX_LOG_FILE_BYTES: u64 = 1_000_000;
const MAX_OLD_FILES: u32 = 3;

/// `x.log`, and `x.log.1` (the youngest) to `x.log.3` beside it.
#[derive(Debug)]
pub(crate) struct RotatingLogFile {
    path: PathBuf,
    file: File,
    written_bytes: u64,
}

impl RotatingLogFile {
    #[expect(clippy::disallowed_methods, reason = "only the user can name a log file")]
    /// Appends to the file, creating it and its directory when missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let written = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, written_bytes: written })
    }

    #[expect(clippy::disallowed_methods, reason = "only the user can name a log file")]
    fn rotate(&mut self) -> io::Result<()> {
        let older = |age: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{age}"));
            PathBuf::from(name)
        };
        for age in (1..MAX_OLD_FILES).rev() {
            match fs::rename(older(age), older(age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, older(1))?;
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

impl Write for RotatingLogFile {
    /// Each call writes one message, which is never split over two files.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        if self.written_bytes > 0 && self.written_bytes + message.len() as u64 > MAX_LOG_FILE_BYTES
        {
            self.rotate()?;
        }
        self.file.write_all(message)?;
        self.written_bytes += message.len() as u64;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_full_files_are_kept_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/menace.log");
        let mut log = RotatingLogFile::open(&path).unwrap();
        for number in 0..60_000 {
            writeln!(log, "message {number:06} {}", "x".repeat(80)).unwrap();
        }
        let mut files: Vec<_> =
            fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap()).collect();
        files.sort_by_key(fs::DirEntry::file_name);
        let names: Vec<_> = files.iter().map(fs::DirEntry::file_name).collect();
        assert_eq!(names, ["menace.log", "menace.log.1", "menace.log.2", "menace.log.3"]);
        for file in files {
            let size = file.metadata().unwrap().len();
            assert!(size <= MAX_LOG_FILE_BYTES, "{size}");
        }
        let newest = fs::read_to_string(&path).unwrap();
        assert!(newest.trim_end().lines().last().unwrap().starts_with("message 059999"));
    }

    #[test]
    fn an_existing_log_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("menace.log");
        writeln!(RotatingLogFile::open(&path).unwrap(), "one").unwrap();
        writeln!(RotatingLogFile::open(&path).unwrap(), "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }
}
