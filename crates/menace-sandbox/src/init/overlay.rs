//! The layer made of mounts: a size-limited file system in memory, overlayfs on the repository.
//!
//! What the import left is a lower layer like the repository, so that no call pays for how much it
//! is. Each layer is one tree of mounts, made and thrown away out of the guest's sight.
//!
//! Invariant: the repository and what the import left are only ever lower layers, and the guest
//! sees what its layer amounts to, never the layer itself.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use menace_model::Limits;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{Statvfs, statvfs};

use super::layer::{BLOCK, SPARE_ENTRIES, Used, WITHOUT_LIMIT, Written, in_blocks};
use super::paths::{self, IMPORTED, SLOTS, Slot};
use super::touched::{Shown, Upper, Walk};
use super::{During, InitError};
use crate::directory::{Directory, Shut};
use crate::sys;

/// In this time nobody can look at so many files that forgetting them takes long.
const SHORT: Duration = Duration::from_millis(50);
/// The most directories that a layer is made of, with what overlayfs adds.
const OWN_ENTRIES: u64 = 16;
const FLAGS: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);

#[derive(Debug)]
pub(crate) struct Overlay {
    /// What the next layer will have.
    size: u64,
    /// In the guest's sight.
    current: Option<Made>,
    /// Made ahead, for the next call.
    staged: Option<Made>,
    /// To be thrown away.
    used_up: Option<Made>,
    imported: Imported,
    /// Inodes and blocks in use before the call starts.
    at_start: (u64, u64),
    /// When the call began.
    began: Instant,
    /// The layer in use can be thrown away in no time.
    is_light: bool,
    writable_repo: bool,
}

/// A layer that is mounted.
#[derive(Debug)]
struct Made {
    slot: &'static Slot,
    /// What may be written, in bytes.
    size: u64,
}

/// Where importing the module left something, to be there for each call.
#[derive(Debug, Default)]
struct Imported {
    in_repo: bool,
    in_room: bool,
}

impl Overlay {
    pub(crate) fn new(writable_repo: bool) -> Self {
        Self {
            size: WITHOUT_LIMIT,
            current: None,
            staged: None,
            used_up: None,
            imported: Imported::default(),
            at_start: (0, 0),
            began: Instant::now(),
            is_light: false,
            writable_repo,
        }
    }

    /// Puts a fresh layer in place of the last one.
    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        if self.current.is_some() {
            self.discard()?;
        }
        self.stage()?;
        if let Some(made) = self.staged.take() {
            let slot = made.slot;
            relocate([(slot.parked_room, paths::BOX), (slot.parked_repo, paths::REPO)])?;
            self.current = Some(made);
        }
        let now = self.statistics()?;
        self.at_start = (inodes(&now), blocks(&now));
        self.is_light = false;
        Ok(())
    }

    /// While a call runs there is time: throws the last layer away and makes the next one. Neither
    /// takes longer for anything that a guest did.
    pub(crate) fn work_ahead(&mut self) -> Result<(), InitError> {
        self.throw_away()?;
        self.stage()
    }

    fn throw_away(&mut self) -> Result<(), InitError> {
        self.used_up.take().map_or(Ok(()), |made| unmount(made.slot))
    }

    fn stage(&mut self) -> Result<(), InitError> {
        if self.staged.is_some() {
            return Ok(());
        }
        let taken = [&self.current, &self.used_up].map(|made| made.as_ref().map(|made| made.slot));
        let Some(slot) = SLOTS.iter().find(|slot| !taken.contains(&Some(*slot))) else {
            return Err(InitError::Refused("no place is left for a layer".to_owned()));
        };
        let options = format!("mode=0755,{}", sized(self.size));
        mount(Some("box"), slot.top, Some("tmpfs"), FLAGS, Some(options.as_str()))
            .during(|| "cannot mount the writable layer".to_owned())?;
        self.staged = Some(Made { slot, size: self.size });
        for directory in [slot.upper, slot.work, slot.room, slot.parked_repo, slot.parked_room] {
            create(Path::new(directory))?;
        }
        self.mount_room(slot)?;
        let lower = if self.imported.in_repo {
            format!("{}:{}", IMPORTED.upper, paths::LOWER)
        } else {
            paths::LOWER.to_owned()
        };
        // Always an overlay: through a plain bind, sockets of the host could be connected to.
        let flags = if self.writable_repo { FLAGS } else { FLAGS | MsFlags::MS_RDONLY };
        let options =
            format!("lowerdir={lower},upperdir={},workdir={},userxattr", slot.upper, slot.work);
        mount(Some("repo"), slot.parked_repo, Some("overlay"), flags, Some(options.as_str()))
            .during(|| "cannot mount the repository's layer".to_owned())
    }

    fn mount_room(&self, slot: &Slot) -> Result<(), InitError> {
        let mounted = if self.imported.in_room {
            create(Path::new(slot.room_work))?;
            let options = format!(
                "lowerdir={},upperdir={},workdir={},userxattr",
                IMPORTED.room, slot.room, slot.room_work
            );
            mount(Some("box"), slot.parked_room, Some("overlay"), FLAGS, Some(options.as_str()))
        } else {
            for name in paths::IN_BOX {
                create(&Path::new(slot.room).join(name))?;
            }
            let bind = MsFlags::MS_BIND;
            mount(Some(slot.room), slot.parked_room, None::<&str>, bind, None::<&str>)
        };
        mounted.during(|| "cannot mount home and temporary directories".to_owned())
    }

    pub(crate) fn limit(&mut self, limits: &Limits) -> Result<(), InitError> {
        self.began = Instant::now();
        self.size = in_blocks(limits.disk_bytes.unwrap_or(WITHOUT_LIMIT));
        let Some(made) = &mut self.current else { return Ok(()) };
        if made.size == self.size {
            return Ok(());
        }
        let options = sized(self.size);
        let flags = MsFlags::MS_REMOUNT | FLAGS;
        mount(None::<&str>, made.slot.top, None::<&str>, flags, Some(options.as_str()))
            .during(|| format!("cannot limit the writable layer to {} bytes", self.size))?;
        made.size = self.size;
        Ok(())
    }

    pub(crate) fn used(&mut self) -> Used {
        let (Some(made), Ok(now)) = (&self.current, self.statistics()) else {
            return Used::default();
        };
        let written = self.written(&now);
        let full = written.exceeds(made.size);
        self.is_light = written == Written::default() && self.began.elapsed() < SHORT;
        if self.is_untouched(made.slot, &now) {
            return Used { full, written, ..Used::default() };
        }
        let mut walk = Walk::default();
        walk.upper(&Upper {
            top: Path::new(made.slot.upper),
            // With what the import left on top, as it is mounted still.
            before: Path::new(if self.imported.in_repo {
                IMPORTED.parked_repo
            } else {
                paths::LOWER
            }),
            opaque: false,
            shown: Shown::Repo,
        });
        walk.upper(&Upper {
            top: Path::new(made.slot.room),
            before: Path::new(if self.imported.in_room { IMPORTED.room } else { paths::EMPTY_BOX }),
            opaque: !self.imported.in_room,
            shown: Shown::Room,
        });
        Used { files: walk.finish(), full, written }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.statistics().map_or(0, |now| self.written(&now).bytes)
    }

    fn written(&self, now: &Statvfs) -> Written {
        Written {
            entries: inodes(now).saturating_sub(self.at_start.0),
            bytes: blocks(now).saturating_sub(self.at_start.1) * BLOCK,
        }
    }

    /// In an upper layer, whatever is done makes something; but directories that were made with the
    /// layer can be taken away for it.
    fn is_untouched(&self, slot: &Slot, now: &Statvfs) -> bool {
        let is_there = |name: &&str| {
            let found = fs::symlink_metadata(Path::new(slot.room).join(name));
            found.is_ok_and(|found| found.is_dir())
        };
        (inodes(now), blocks(now)) == self.at_start
            && (self.imported.in_room || paths::IN_BOX.iter().all(is_there))
    }

    /// From now on, every layer starts from what the import left in this one.
    pub(crate) fn keep_import(&mut self) -> Result<(), InitError> {
        let now = self.statistics()?;
        let Some(made) = self.park()? else { return Ok(()) };
        let slot = made.slot;
        for place in [slot.parked_repo, slot.parked_room] {
            seal(place)?;
        }
        if self.is_untouched(slot, &now) {
            // Thrown away while the first call runs.
            self.used_up = Some(made);
            return Ok(());
        }
        // What was made ahead does not have what the import left.
        if let Some(made) = self.staged.take() {
            unmount(made.slot)?;
        }
        self.imported = (|| {
            let upper = Directory::at(Path::new(slot.upper))?;
            Ok::<_, io::Error>(Imported {
                in_repo: !is_empty(&upper),
                in_room: !is_empty_room(slot)?,
            })
        })()
        .during(|| "cannot look at what the import wrote".to_owned())?;
        relocate([(slot.top, IMPORTED.top)])
    }

    /// Takes the layer out of the guest's sight.
    fn park(&mut self) -> Result<Option<Made>, InitError> {
        self.throw_away()?;
        let made = self.current.take();
        if let Some(Made { slot, .. }) = &made {
            relocate([(paths::BOX, slot.parked_room), (paths::REPO, slot.parked_repo)])?;
        }
        Ok(made)
    }

    /// Takes the layer out of the guest's sight, to be thrown away when there is time.
    pub(crate) fn discard(&mut self) -> Result<(), InitError> {
        self.used_up = self.park()?;
        // What was written takes time to throw away, and so does what the kernel remembers of files
        // that were looked at; while a call runs nobody has any. And its memory would be the next
        // call's.
        if self.is_light { Ok(()) } else { self.throw_away() }
    }

    fn statistics(&self) -> Result<Statvfs, InitError> {
        let Some(made) = &self.current else {
            return Err(InitError::Refused("no layer is in place".to_owned()));
        };
        statvfs(made.slot.top).during(|| "cannot look at the writable layer".to_owned())
    }
}

fn create(directory: &Path) -> Result<(), InitError> {
    fs::create_dir(directory).during(|| format!("cannot create `{}`", directory.display()))
}

/// Moves mounts. Cheap, unlike making or unmaking them.
fn relocate<const N: usize>(moves: [(&str, &str); N]) -> Result<(), InitError> {
    moves.into_iter().try_for_each(|(from, to)| {
        sys::move_mount(Path::new(from), Path::new(to))
            .during(|| format!("cannot move the layer from `{from}` to `{to}`"))
    })
}

/// With all that is mounted in it.
fn unmount(slot: &Slot) -> Result<(), InitError> {
    umount2(slot.top, MntFlags::MNT_DETACH).during(|| format!("cannot unmount `{}`", slot.top))
}

/// The interpreter has its working directory, and maybe descriptors, in what the import saw: no call
/// may leave a message in there for the next one.
fn seal(place: &str) -> Result<(), InitError> {
    match sys::make_mount_read_only(Path::new(place)) {
        // The import keeps a file open for writing; the harness gives each call one of its own.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(()),
        result => result.during(|| "cannot seal what the import wrote".to_owned()),
    }
}

fn is_empty(directory: &Directory) -> bool {
    directory.names().is_ok_and(|names| names.is_empty())
}

/// Nothing is in it but what was made with the layer.
fn is_empty_room(slot: &Slot) -> io::Result<bool> {
    let room = Directory::at(Path::new(slot.room))?;
    let is_empty_inside =
        |name: &&str| room.open(OsStr::new(name), Shut::PassBy).is_ok_and(|inner| is_empty(&inner));
    let count = room.names()?.len();
    Ok(count == paths::IN_BOX.len() && paths::IN_BOX.iter().all(is_empty_inside))
}

/// With room for a little more than may be written: whoever has it asked for more.
fn sized(bytes: u64) -> String {
    let entries = bytes / BLOCK + SPARE_ENTRIES;
    format!("size={},nr_inodes={}", bytes + BLOCK, entries + OWN_ENTRIES + 1)
}

fn inodes(now: &Statvfs) -> u64 {
    now.files() - now.files_free()
}

fn blocks(now: &Statvfs) -> u64 {
    now.blocks() - now.blocks_free()
}
