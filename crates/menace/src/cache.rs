//! The cache directory: in the user's home, never in the repository.
//!
//! Cached answers determine what an analysis reports, and what guests can see. Invariant: only the
//! user can have written them, neither the repository nor another user.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, ensure};
use menace_files::resolve_named_path;

use crate::context::CommandContext;

/// The directory, made when it is missing; none where there is no place to trust.
pub(crate) fn cache_dir(context: &CommandContext) -> Option<PathBuf> {
    let Some(home) = &context.cache_home else {
        tracing::debug!("nothing is remembered: neither XDG_CACHE_HOME nor HOME names a directory");
        return None;
    };
    ensure_private_dir(&home.join("menace"), &context.settings.general.repo_path)
        .inspect_err(|error| tracing::warn!("nothing is remembered between runs: {error:#}"))
        .ok()
}

#[expect(clippy::disallowed_methods, reason = "the user's own directory, with links resolved")]
fn ensure_private_dir(directory: &Path, repository: &Path) -> Result<PathBuf, Error> {
    let shown = directory.display();
    let real = resolve_links(directory);
    let repository = resolve_named_path(repository).unwrap_or_else(|_| repository.to_owned());
    ensure!(
        !real.starts_with(&repository),
        "the cache `{shown}` lies in the repository, which could have written it; \
         set XDG_CACHE_HOME to another place"
    );
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&real)
        .with_context(|| format!("cannot make the cache `{shown}`"))?;
    let found = fs::metadata(&real).with_context(|| format!("cannot look at `{shown}`"))?;
    let own = nix::unistd::geteuid().as_raw();
    ensure!(
        found.uid() == own && found.mode() & 0o022 == 0,
        "the cache `{shown}` can be written by others than you; \
         make it yours (mode 700), or set XDG_CACHE_HOME to another place"
    );
    Ok(real)
}

/// Resolves links, also in a path whose end does not exist yet.
fn resolve_links(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(resolve_named_path(above).ok()?.join(rest))
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A home and a repository.
    fn make_home_and_repository() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(place.path()).unwrap().join(name);
        let (home, repository) = (at("home"), at("repository"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&repository).unwrap();
        (place, home, repository)
    }

    fn refusal_message(directory: &Path, repository: &Path) -> String {
        ensure_private_dir(directory, repository).unwrap_err().to_string()
    }

    #[test]
    fn the_directory_is_made_for_the_user_alone() {
        let (_room, home, repository) = make_home_and_repository();
        let cache = home.join(".cache/menace");
        assert_eq!(ensure_private_dir(&cache, &repository).unwrap(), cache);
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
        assert_eq!(ensure_private_dir(&cache, &repository).unwrap(), cache);
    }

    #[test]
    fn a_cache_in_the_repository_is_not_used_and_not_made() {
        let (_room, home, repository) = make_home_and_repository();
        symlink(&repository, home.join(".cache")).unwrap();
        for cache in [repository.join("cache/menace"), home.join(".cache/menace")] {
            assert!(refusal_message(&cache, &repository).contains("lies in the repository"));
        }
        assert!(refusal_message(&home.join("menace"), &home).contains("lies in the repository"));
        assert_eq!(fs::read_dir(&repository).unwrap().count(), 0);
        // Under another name it is the same repository.
        let link = home.join("link");
        symlink(&repository, &link).unwrap();
        assert!(
            refusal_message(&repository.join("cache"), &link).contains("lies in the repository")
        );
        // A link to a directory that does not exist yet.
        symlink(repository.join("later"), home.join("menace")).unwrap();
        assert!(ensure_private_dir(&home.join("menace"), &repository).is_err());
    }

    #[test]
    fn a_cache_that_others_can_write_is_not_used() {
        let (_room, home, repository) = make_home_and_repository();
        let cache = home.join("menace");
        fs::create_dir(&cache).unwrap();
        for mode in [0o777, 0o770, 0o1777] {
            fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
            assert!(refusal_message(&cache, &repository).contains("written by others"), "{mode:o}");
        }
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(ensure_private_dir(&cache, &repository).unwrap(), cache);
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&cache, Some(65534), None).unwrap();
            assert!(refusal_message(&cache, &repository).contains("written by others"));
        }
    }
}
