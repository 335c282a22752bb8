//! A directory whose contents other parties control.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType as RawFileType, Mode, OFlags, fstat, mkdirat, renameat};
use rustix::fs::{readlinkat, statat, unlinkat};
use rustix::io::Errno;

use crate::open::{is_plain_relative, open_below, open_named_directory};
use crate::{FileRefusal, FileType};

/// Permissions of new files, before the process's mask.
const NEW_FILE_MODE: u32 = 0o644;
const PRIVATE_FILE_MODE: u32 = 0o600;
pub(crate) const NEW_DIRECTORY_MODE: u32 = 0o755;

/// An open directory; everything below it is opened relative to its handle, through no link.
#[derive(Debug)]
pub struct UntrustedDir {
    handle: OwnedFd,
    /// For messages only.
    path: PathBuf,
}

/// An open regular file. Reading it fails beyond the limit that the caller states.
#[derive(Debug)]
pub struct UntrustedFile {
    file: File,
    path: PathBuf,
}

impl UntrustedDir {
    /// Opens a directory that the user named; its path may contain links.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: open_named_directory(path)?, path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory below it.
    pub fn subdirectory(&self, relative: &Path) -> io::Result<Self> {
        let handle =
            self.open_at(relative, OFlags::RDONLY | OFlags::DIRECTORY, NEW_DIRECTORY_MODE)?;
        Ok(Self { handle, path: self.path.join(relative) })
    }

    /// Opens a directory below it, creating it and its parents if necessary.
    pub fn create_directories(&self, relative: &Path) -> io::Result<Self> {
        self.check_relative(relative)?;
        let mut way = PathBuf::new();
        for part in relative.components() {
            way.push(part);
            let (parent, name) = self.open_parent(&way)?;
            match mkdirat(&parent, &name, Mode::from_raw_mode(NEW_DIRECTORY_MODE)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.subdirectory(relative)
    }

    /// Opens a regular file for reading.
    pub fn open_file(&self, relative: &Path) -> io::Result<UntrustedFile> {
        self.open_regular(relative, OFlags::RDONLY)
    }

    /// Reads a regular file of at most `limit` bytes.
    pub fn read(&self, relative: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.open_file(relative)?.read(limit)
    }

    /// Like [`UntrustedDir::read`], for text.
    pub fn read_to_string(&self, relative: &Path, limit: u64) -> io::Result<String> {
        let bytes = self.read(relative, limit)?;
        String::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    }

    /// Opens a regular file for reading and writing; creates it if it is missing.
    pub fn open_or_create(&self, relative: &Path) -> io::Result<File> {
        Ok(self.open_regular(relative, OFlags::RDWR | OFlags::CREATE)?.file)
    }

    /// Opens a regular file for appending; creates it if it is missing.
    pub fn open_to_append(&self, relative: &Path) -> io::Result<File> {
        Ok(self.open_regular(relative, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?.file)
    }

    /// Creates a file; an error if it exists, even as a link.
    pub fn create_new(&self, relative: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        Ok(File::from(self.open_at(relative, flags, mode)?))
    }

    /// Replaces a file atomically: readers see the old contents or the new ones, also after a
    /// crash. A link of this name is replaced, not followed.
    pub fn replace(&self, relative: &Path, contents: &[u8]) -> io::Result<()> {
        self.replace_with(relative, contents, NEW_FILE_MODE, File::sync_all)
    }

    /// Like [`UntrustedDir::replace`]; only the owner may read the file.
    pub fn replace_private(&self, relative: &Path, contents: &[u8]) -> io::Result<()> {
        self.replace_with(relative, contents, PRIVATE_FILE_MODE, File::sync_all)
    }

    /// As [`UntrustedDir::replace_private`], without waiting for the disk: for what has a checksum
    /// and can be made again.
    pub fn replace_cache(&self, relative: &Path, contents: &[u8]) -> io::Result<()> {
        self.replace_with(relative, contents, PRIVATE_FILE_MODE, |_| Ok(()))
    }

    fn replace_with(
        &self,
        relative: &Path,
        contents: &[u8],
        mode: u32,
        sync: impl Fn(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (parent, name) = self.open_parent(relative)?;
        let temporary = temporary_name(&name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let handle = open_below(parent.as_fd(), &temporary, flags, Mode::from_raw_mode(mode))?;
        let mut file = File::from(handle);
        let written = file.write_all(contents).and_then(|()| sync(&file));
        let replaced = written.and_then(|()| Ok(renameat(&parent, &temporary, &parent, &name)?));
        if replaced.is_err() {
            let _ = unlinkat(&parent, &temporary, AtFlags::empty());
        }
        replaced?;
        // The rename is durable once the directory has been synced.
        let _ = sync(&File::from(parent));
        Ok(())
    }

    /// Makes the names in it safe from a crash.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    pub fn remove_file(&self, relative: &Path) -> io::Result<()> {
        let (parent, name) = self.open_parent(relative)?;
        Ok(unlinkat(&parent, &name, AtFlags::empty())?)
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_parent, from_name) = self.open_parent(from)?;
        let (to_parent, to_name) = self.open_parent(to)?;
        Ok(renameat(&from_parent, &from_name, &to_parent, &to_name)?)
    }

    /// Whether there is an entry of this name, of any type.
    pub fn has_entry(&self, relative: &Path) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        if let Some(name) = single_name(relative) {
            return statat(&self.handle, name, flags).is_ok();
        }
        self.open_parent(relative).is_ok_and(|(parent, name)| statat(&parent, &name, flags).is_ok())
    }

    /// Where a link leads to, as it is written.
    pub fn read_link(&self, relative: &Path) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let (parent, name) = self.open_parent(relative)?;
        let target = readlinkat(&parent, &name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// The names of the entries, sorted.
    pub fn entry_names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStringExt;
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The first entry below this directory that is neither a regular file nor a directory; at most
    /// `max_entries` are checked.
    pub fn find_irregular(&self, max_entries: usize) -> io::Result<Option<FileRefusal>> {
        let mut left = max_entries;
        self.find_irregular_within(&mut left)
    }

    fn find_irregular_within(&self, left: &mut usize) -> io::Result<Option<FileRefusal>> {
        for name in self.entry_names()? {
            if *left == 0 {
                return Ok(None);
            }
            *left -= 1;
            let path = self.path.join(&name);
            let name = Path::new(&name);
            let mode = match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(status) => status.st_mode,
                // Another process has removed it.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            let found = match (RawFileType::from_raw_mode(mode), irregular_type(mode)) {
                (RawFileType::Symlink, _) => Some(FileRefusal::Link { path }),
                (RawFileType::Directory, _) => match self.subdirectory(name) {
                    Ok(directory) => directory.find_irregular_within(left)?,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                },
                (_, Some(found)) => Some(FileRefusal::NotRegular { path, found }),
                (_, None) => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn open_regular(&self, relative: &Path, flags: OFlags) -> io::Result<UntrustedFile> {
        let path = self.path.join(relative);
        let handle = match self.open_at(relative, flags, NEW_FILE_MODE) {
            // Opening returns ENXIO for a FIFO without a reader, and for a socket.
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                let found = self.file_type(relative).unwrap_or(FileType::Other);
                return Err(FileRefusal::NotRegular { path, found }.into());
            }
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Err(FileRefusal::NotRegular { path, found: FileType::Directory }.into());
            }
            opened => opened?,
        };
        if let Some(found) = irregular_type(fstat(&handle)?.st_mode) {
            return Err(FileRefusal::NotRegular { path, found }.into());
        }
        Ok(UntrustedFile { file: File::from(handle), path })
    }

    fn open_at(&self, relative: &Path, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        self.check_relative(relative)?;
        open_below(self.handle.as_fd(), relative, flags, Mode::from_raw_mode(mode))
            .map_err(|error| self.explain(relative, error))
    }

    fn check_relative(&self, relative: &Path) -> io::Result<()> {
        if is_plain_relative(relative) {
            return Ok(());
        }
        Err(FileRefusal::Outside { path: self.path.join(relative) }.into())
    }

    fn explain(&self, relative: &Path, error: Errno) -> io::Error {
        match error {
            Errno::LOOP => FileRefusal::Link { path: self.path.join(relative) }.into(),
            error => error.into(),
        }
    }

    fn open_parent(&self, relative: &Path) -> io::Result<(OwnedFd, PathBuf)> {
        self.check_relative(relative)?;
        let Some(name) = relative.file_name() else {
            return Err(FileRefusal::Outside { path: self.path.join(relative) }.into());
        };
        let parent = relative.parent().unwrap_or(Path::new(""));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok((self.open_at(parent, flags, NEW_DIRECTORY_MODE)?, PathBuf::from(name)))
    }

    fn file_type(&self, relative: &Path) -> Option<FileType> {
        let (parent, name) = self.open_parent(relative).ok()?;
        irregular_type(statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mode)
    }
}

impl AsFd for UntrustedDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl UntrustedFile {
    /// Reads everything; an error if it is longer than `limit`.
    pub fn read(self, limit: u64) -> io::Result<Vec<u8>> {
        let mut contents = Vec::new();
        // One byte more than the limit detects a growing file, and a file of `/proc` without a
        // size.
        self.file.take(limit.saturating_add(1)).read_to_end(&mut contents)?;
        if contents.len() as u64 > limit {
            return Err(FileRefusal::TooLarge { path: self.path, limit }.into());
        }
        Ok(contents)
    }

    pub fn into_file(self) -> File {
        self.file
    }
}

/// The type of a file, unless it is a regular one.
fn irregular_type(mode: u32) -> Option<FileType> {
    Some(match RawFileType::from_raw_mode(mode) {
        RawFileType::RegularFile => return None,
        RawFileType::Directory => FileType::Directory,
        RawFileType::Fifo => FileType::Fifo,
        RawFileType::Socket => FileType::Socket,
        RawFileType::CharacterDevice => FileType::CharacterDevice,
        RawFileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::Other,
    })
}

/// The name, if the path is that of an entry of the directory itself. Without the slash at its end,
/// behind which a link would be followed.
fn single_name(relative: &Path) -> Option<&Path> {
    let mut parts = relative.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => Some(Path::new(name)),
        _ => None,
    }
}

/// A name that no other process or thread uses at the same time.
fn temporary_name(name: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = OsString::from(".");
    temporary.push(name.as_os_str());
    temporary.push(format!(".{}.{number}.tmp", std::process::id()));
    temporary.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const LIMIT: u64 = 1_000;

    struct Checkout {
        outside: tempfile::TempDir,
        inside: tempfile::TempDir,
    }

    impl Checkout {
        /// A secret outside, and a checkout with links to it and to its directory.
        fn new() -> Self {
            let (outside, inside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            std::fs::write(outside.path().join("secret"), "s3cret").unwrap();
            symlink(outside.path().join("secret"), inside.path().join("file_link")).unwrap();
            symlink(outside.path(), inside.path().join("dir_link")).unwrap();
            std::fs::create_dir(inside.path().join("plain")).unwrap();
            std::fs::write(inside.path().join("plain/file"), "text").unwrap();
            Self { outside, inside }
        }

        fn dir(&self) -> UntrustedDir {
            UntrustedDir::open(self.inside.path()).unwrap()
        }

        fn secret(&self) -> String {
            std::fs::read_to_string(self.outside.path().join("secret")).unwrap()
        }
    }

    fn refusal(result: io::Result<impl std::fmt::Debug>) -> FileRefusal {
        let error = result.unwrap_err();
        crate::refusal_of(&error).cloned().unwrap_or_else(|| panic!("no refusal: {error}"))
    }

    #[test]
    fn plain_files_are_read_up_to_the_limit() {
        let checkout = Checkout::new();
        let file = Path::new("plain/file");
        assert_eq!(checkout.dir().read_to_string(file, 4).unwrap(), "text");
        assert!(matches!(
            refusal(checkout.dir().read(file, 3)),
            FileRefusal::TooLarge { limit: 3, .. }
        ));
        let missing = checkout.dir().read(Path::new("plain/gone"), 3).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_link_is_followed_at_any_component() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        for path in ["file_link", "dir_link/secret", "dir_link/new"].map(Path::new) {
            assert!(matches!(refusal(dir.read(path, LIMIT)), FileRefusal::Link { .. }), "{path:?}");
            assert!(matches!(refusal(dir.open_to_append(path)), FileRefusal::Link { .. }));
            assert!(matches!(refusal(dir.open_or_create(path)), FileRefusal::Link { .. }));
        }
        assert!(dir.create_new(Path::new("file_link"), 0o600).is_err());
        assert!(dir.create_directories(Path::new("dir_link/more")).is_err());
        assert!(dir.replace(Path::new("dir_link/new"), b"x").is_err());
        assert!(dir.remove_file(Path::new("dir_link/secret")).is_err());
        assert_eq!(checkout.secret(), "s3cret");
        assert!(!checkout.outside.path().join("new").exists());
        assert!(!checkout.outside.path().join("more").exists());
    }

    #[test]
    fn the_fallback_follows_no_link_either() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        let open = |path: &str| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            crate::open::open_by_component(dir.as_fd(), Path::new(path), flags, Mode::empty())
        };
        assert!(open("plain/file").is_ok());
        assert_eq!(open("file_link").unwrap_err(), Errno::LOOP);
        assert_eq!(open("dir_link/secret").unwrap_err(), Errno::LOOP);
        assert_eq!(open("plain/../plain/file").unwrap_err(), Errno::XDEV);
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        for path in ["../x", "/etc/passwd", "plain/../../x"].map(Path::new) {
            assert!(matches!(refusal(dir.read(path, LIMIT)), FileRefusal::Outside { .. }));
            assert!(matches!(refusal(dir.replace(path, b"")), FileRefusal::Outside { .. }));
        }
    }

    #[test]
    fn pipes_sockets_devices_and_directories_are_refused_at_once() {
        let checkout = Checkout::new();
        let inside = checkout.inside.path();
        nix::unistd::mkfifo(&inside.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
        for (name, expected) in
            [("fifo", FileType::Fifo), ("socket", FileType::Socket), ("plain", FileType::Directory)]
        {
            let refused = refusal(checkout.dir().read(Path::new(name), LIMIT));
            let path = checkout.inside.path().join(name);
            assert_eq!(refused, FileRefusal::NotRegular { path, found: expected });
            let result = checkout.dir().open_to_append(Path::new(name));
            assert!(matches!(refusal(result), FileRefusal::NotRegular { .. }), "{name}");
        }
        let devices = UntrustedDir::open(Path::new("/dev")).unwrap();
        assert!(matches!(
            refusal(devices.read(Path::new("zero"), LIMIT)),
            FileRefusal::NotRegular { found: FileType::CharacterDevice, .. }
        ));
    }

    #[test]
    fn links_and_pipes_anywhere_below_are_found() {
        let checkout = Checkout::new();
        let inside = checkout.inside.path();
        let found = checkout.dir().find_irregular(100).unwrap();
        assert_eq!(found, Some(FileRefusal::Link { path: inside.join("dir_link") }));
        for name in ["dir_link", "file_link"] {
            checkout.dir().remove_file(Path::new(name)).unwrap();
        }
        assert_eq!(checkout.dir().find_irregular(100).unwrap(), None);
        let deep = inside.join("plain/deep");
        std::fs::create_dir(&deep).unwrap();
        nix::unistd::mkfifo(&deep.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let found = checkout.dir().find_irregular(100).unwrap();
        let path = deep.join("pipe");
        assert_eq!(found, Some(FileRefusal::NotRegular { path, found: FileType::Fifo }));
    }

    #[test]
    fn a_replaced_link_is_replaced_and_not_written_to() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        dir.replace(Path::new("file_link"), b"mine").unwrap();
        assert_eq!(dir.read(Path::new("file_link"), LIMIT).unwrap(), b"mine");
        assert_eq!(checkout.secret(), "s3cret");
        let names = dir.entry_names().unwrap();
        assert_eq!(names, ["dir_link", "file_link", "plain"], "no temporary file is left");
    }

    #[test]
    fn entries_are_found_without_being_followed() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        symlink("nowhere", checkout.inside.path().join("dangling")).unwrap();
        for name in
            ["plain", "plain/", "plain/file", "file_link", "dir_link", "dangling", "dangling/"]
        {
            assert!(dir.has_entry(Path::new(name)), "{name}");
        }
        for name in ["none", "plain/none", "dir_link/secret", "..", "../x", "/etc", ""] {
            assert!(!dir.has_entry(Path::new(name)), "{name}");
        }
        assert_eq!(dir.read_link(Path::new("dangling")).unwrap(), Path::new("nowhere"));
        assert!(dir.read_link(Path::new("plain")).is_err());
        assert!(dir.read_link(Path::new("dir_link/secret")).is_err());
    }

    #[test]
    fn a_failed_replacement_leaves_nothing() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        assert!(dir.replace(Path::new("plain"), b"x").is_err());
        assert_eq!(dir.entry_names().unwrap().len(), 3);
    }

    #[test]
    fn files_are_created_appended_renamed_and_removed() {
        let checkout = Checkout::new();
        let dir = checkout.dir();
        dir.create_directories(Path::new("a/b")).unwrap().replace(Path::new("c"), b"1").unwrap();
        let path = Path::new("a/b/c");
        dir.open_to_append(path).unwrap().write_all(b"2").unwrap();
        assert_eq!(dir.read(path, LIMIT).unwrap(), b"12");
        drop(dir.open_or_create(path).unwrap());
        assert_eq!(dir.read(path, LIMIT).unwrap(), b"12", "opening must not truncate");
        dir.rename(path, Path::new("d")).unwrap();
        assert!(dir.has_entry(Path::new("d")) && !dir.has_entry(path));
        dir.remove_file(Path::new("d")).unwrap();
        assert!(!dir.has_entry(Path::new("d")));
    }
}
