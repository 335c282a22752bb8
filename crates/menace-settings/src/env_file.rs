//! Writes a fresh `.env`, never over an existing one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use menace_files::UntrustedDir;
use thiserror::Error;

use crate::env_template;

#[derive(Debug, Error)]
pub enum EnvFileError {
    #[error(
        "`{}` exists already and was left as it is: edit it, or move it away and run again",
        .path.display()
    )]
    Exists { path: PathBuf },
    #[error("failed to write `{}`", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Creates `.env` in `dir`, and returns its path. Only the owner may read it, since it will contain
/// keys.
pub fn create_env_file(dir: &Path) -> Result<PathBuf, EnvFileError> {
    let path = dir.join(".env");
    let name = Path::new(".env");
    let opened = UntrustedDir::open(dir).and_then(|dir| Ok((dir.create_new(name, 0o600)?, dir)));
    let (mut file, dir) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(EnvFileError::Exists { path });
        }
        Err(source) => return Err(EnvFileError::Write { path, source }),
    };
    match file.write_all(env_template().as_bytes()).and_then(|()| file.sync_all()) {
        Ok(()) => Ok(path),
        Err(source) => {
            // A partial file would be taken for the user's own the next time.
            let _ = dir.remove_file(name);
            Err(EnvFileError::Write { path, source })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_fresh_file_holds_the_template() {
        let dir = tempdir().unwrap();
        let path = create_env_file(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), env_template());
    }

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join(".env"), "MINE=1\n").unwrap();
        let message = create_env_file(dir.path()).unwrap_err().to_string();
        assert!(message.contains("exists already"), "{message}");
        assert_eq!(fs::read_to_string(dir.path().join(".env")).unwrap(), "MINE=1\n");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempdir().unwrap();
        let path = create_env_file(dir.path()).unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_dangling_link_is_not_followed() {
        let dir = tempdir().unwrap();
        let target = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, dir.path().join(".env")).unwrap();
        assert!(create_env_file(dir.path()).is_err());
        assert!(!target.exists());
    }

    #[test]
    fn a_missing_directory_is_an_error_with_the_path() {
        let dir = tempdir().unwrap();
        let message = create_env_file(&dir.path().join("gone")).unwrap_err().to_string();
        assert!(message.contains("gone"), "{message}");
    }
}
