//! The layer made of mounts: a size-limited file system in memory, overlayfs on the repository.
//!
//! Invariant: the repository itself is mounted read-only and only ever a lower layer.

use std::fs;
use std::path::{Path, PathBuf};

use menace_model::Limits;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{Statvfs, statvfs};

use super::layer::Used;
use super::touched::{Below, Walk};
use super::{During, InitError, paths};
use crate::sys;

/// What a call may write when nobody said otherwise.
const SIZE_WITHOUT_LIMIT: u64 = 1 << 30;
/// A file needs a block at least; this many more for directories and links of our own.
const BLOCK: u64 = 4096;
const SPARE_INODES: u64 = 64;

#[derive(Debug)]
pub(crate) struct Overlay {
    /// What the next layer will have.
    size: u64,
    /// What the layer in use has, and what the one made ahead has.
    mounted_size: u64,
    staged_size: u64,
    /// A layer is waiting at [`paths::NEXT`].
    staged: bool,
    /// A used layer is waiting at [`paths::USED`] to be thrown away.
    used_up: bool,
    imported: Imported,
    /// Inodes and blocks in use before the call starts.
    at_start: (u64, u64),
    writable_repo: bool,
}

/// What importing the module left, to be there for each call.
#[derive(Debug, Default)]
struct Imported {
    in_repo: bool,
    in_box: bool,
}

impl Overlay {
    pub(crate) fn new(writable_repo: bool) -> Self {
        Self {
            size: SIZE_WITHOUT_LIMIT,
            mounted_size: 0,
            staged_size: 0,
            staged: false,
            used_up: false,
            imported: Imported::default(),
            at_start: (0, 0),
            writable_repo,
        }
    }

    /// Puts a fresh layer in place, the one that was made ahead if there is one.
    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        self.stage()?;
        self.staged = false;
        self.mounted_size = self.staged_size;
        relocate(&paths::NEXT, &paths::CURRENT)?;
        let now = self.statistics()?;
        self.at_start = (inodes(&now), blocks(&now));
        Ok(())
    }

    /// While a call runs there is time: throws the last layer away and makes the next one.
    pub(crate) fn work_ahead(&mut self) -> Result<(), InitError> {
        self.throw_away()?;
        self.stage()
    }

    fn throw_away(&mut self) -> Result<(), InitError> {
        if std::mem::take(&mut self.used_up) {
            for place in [paths::USED.repo, paths::USED.room] {
                umount2(place, MntFlags::MNT_DETACH)
                    .during(|| format!("cannot unmount `{place}`"))?;
            }
        }
        Ok(())
    }

    fn stage(&mut self) -> Result<(), InitError> {
        if self.staged {
            return Ok(());
        }
        let place = &paths::NEXT;
        let options = format!("mode=0755,{}", sized(self.size));
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("box"), place.room, Some("tmpfs"), flags, Some(options.as_str()))
            .during(|| "cannot mount the writable layer".to_owned())?;
        let room = Path::new(place.room);
        for directory in [paths::LAYER, paths::UPPER, paths::WORK].iter().chain(&paths::IN_BOX) {
            fs::create_dir(room.join(directory))
                .during(|| format!("cannot create `{directory}`"))?;
        }
        if self.imported.in_box {
            for directory in paths::IN_BOX {
                let from = Path::new(paths::IMPORTED).join(directory);
                copy_tree(&from, &room.join(directory))
                    .during(|| format!("cannot copy `{}`", from.display()))?;
            }
        }
        let lower = if self.imported.in_repo {
            format!("{}/{}:{}", paths::IMPORTED, paths::UPPER, paths::LOWER)
        } else {
            paths::LOWER.to_owned()
        };
        let options = format!(
            "lowerdir={lower},upperdir={0}/{1},workdir={0}/{2},userxattr",
            place.room,
            paths::UPPER,
            paths::WORK
        );
        // Always an overlay: through a plain bind, sockets of the host could be connected to.
        let flags = if self.writable_repo { flags } else { flags | MsFlags::MS_RDONLY };
        mount(Some("repo"), place.repo, Some("overlay"), flags, Some(options.as_str()))
            .during(|| "cannot mount the repository's layer".to_owned())?;
        self.staged = true;
        self.staged_size = self.size;
        Ok(())
    }

    pub(crate) fn limit(&mut self, limits: &Limits) -> Result<(), InitError> {
        // What the import left is there already and does not count.
        let limit = limits.disk_bytes.unwrap_or(SIZE_WITHOUT_LIMIT).max(BLOCK * 16);
        let size = limit + self.at_start.1 * BLOCK;
        if size == self.mounted_size {
            return Ok(());
        }
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let options = sized(size);
        mount(None::<&str>, paths::BOX, None::<&str>, flags, Some(options.as_str()))
            .during(|| format!("cannot limit the writable layer to {size} bytes"))?;
        self.size = size;
        self.mounted_size = size;
        Ok(())
    }

    pub(crate) fn used(&self) -> Used {
        let Ok(now) = self.statistics() else { return Used::default() };
        let full = now.blocks_available() == 0 || now.files_free() == 0;
        if (inodes(&now), blocks(&now)) == self.at_start {
            return Used { full, ..Used::default() };
        }
        let mut walk = Walk::default();
        let room = Path::new(paths::BOX);
        let lowers: Vec<PathBuf> = if self.imported.in_repo {
            vec![Path::new(paths::IMPORTED).join(paths::UPPER), PathBuf::from(paths::LOWER)]
        } else {
            vec![PathBuf::from(paths::LOWER)]
        };
        walk.upper(&room.join(paths::UPPER), &Below { shown_as: String::new(), lowers });
        walk.strays(room, &[paths::LAYER, paths::TMP, paths::HOME, paths::SHM, paths::DATA]);
        for (directory, shown_as) in [
            (paths::TMP, "/tmp"),
            (paths::HOME, "~"),
            (paths::SHM, "/dev/shm"),
            (paths::DATA, "data:"),
        ] {
            let lowers = if self.imported.in_box {
                vec![Path::new(paths::IMPORTED).join(directory)]
            } else {
                Vec::new()
            };
            walk.upper(&room.join(directory), &Below { shown_as: shown_as.to_owned(), lowers });
        }
        Used { files: walk.finish(), full }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.statistics().map_or(0, |now| blocks(&now).saturating_sub(self.at_start.1) * BLOCK)
    }

    pub(crate) fn keep_import(&mut self) -> Result<(), InitError> {
        let now = self.statistics()?;
        if (inodes(&now), blocks(&now)) == self.at_start {
            return self.discard();
        }
        // What was made ahead does not have what the import left.
        if std::mem::take(&mut self.staged) {
            for place in [paths::NEXT.repo, paths::NEXT.room] {
                umount2(place, MntFlags::MNT_DETACH)
                    .during(|| format!("cannot unmount `{place}`"))?;
            }
        }
        let room = Path::new(paths::BOX);
        let holds = |directory: &str| {
            fs::read_dir(room.join(directory)).is_ok_and(|mut entries| entries.next().is_some())
        };
        self.imported = Imported {
            in_repo: holds(paths::UPPER),
            in_box: paths::IN_BOX.iter().any(|directory| holds(directory)),
        };
        umount2(paths::REPO, MntFlags::MNT_DETACH)
            .during(|| "cannot unmount the repository's layer".to_owned())?;
        sys::move_mount(room, Path::new(paths::IMPORTED))
            .during(|| "cannot keep what the import wrote".to_owned())
    }

    /// Takes the layer out of the guest's sight; it is thrown away when there is time.
    pub(crate) fn discard(&mut self) -> Result<(), InitError> {
        self.throw_away()?;
        self.used_up = true;
        relocate(&paths::CURRENT, &paths::USED)
    }

    #[expect(clippy::unused_self, reason = "there is something to measure only once mounted")]
    fn statistics(&self) -> Result<Statvfs, InitError> {
        statvfs(paths::BOX).during(|| "cannot look at the writable layer".to_owned())
    }
}

/// Moves both mounts of a layer. Cheap, unlike making or unmaking them.
fn relocate(from: &paths::Place, to: &paths::Place) -> Result<(), InitError> {
    for (from, to) in [(from.room, to.room), (from.repo, to.repo)] {
        sys::move_mount(Path::new(from), Path::new(to))
            .during(|| format!("cannot move the layer from `{from}` to `{to}`"))?;
    }
    Ok(())
}

fn sized(bytes: u64) -> String {
    format!("size={bytes},nr_inodes={}", bytes / BLOCK + SPARE_INODES)
}

fn inodes(now: &Statvfs) -> u64 {
    now.files() - now.files_free()
}

fn blocks(now: &Statvfs) -> u64 {
    now.blocks() - now.blocks_free()
}

/// Copies what an import left in its home or temporary directory, links as links.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    // The import may have removed it, or put something else in its place.
    if !fs::symlink_metadata(from).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
