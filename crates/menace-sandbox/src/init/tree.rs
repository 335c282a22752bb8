//! A directory of the guest's that can be put right, since it is known what it should be like.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use menace_model::FileChange;

use super::copying::copy;
use super::layer::Written;
use super::scan::{self, Difference, Directory, Scan, Shut, TOP};
use super::touched::{Shown, Walk};
use crate::discard::discard;

/// How often a walk looks at the clock.
const LOOK_AT_CLOCK: u64 = 256;

#[derive(Debug)]
pub(super) struct Tree {
    live: PathBuf,
    /// The pristine state, out of the guest's reach.
    original: PathBuf,
    /// What the live one looks like when it is right.
    known: Option<Scan>,
}

impl Tree {
    pub(super) fn new(live: PathBuf, original: PathBuf) -> Self {
        Self { live, original, known: None }
    }

    pub(super) fn live(&self) -> &Path {
        &self.live
    }

    pub(super) fn original(&self) -> &Path {
        &self.original
    }

    /// Makes the live directory equal to the original. It stays the same directory, which the
    /// guest's rights are tied to.
    pub(super) fn mend(&mut self) -> io::Result<()> {
        let Some(known) = &self.known else {
            copy(&self.original, &self.live, None, Shut::OpenUp)?;
            self.known = Some(Scan::of(&self.live, None)?);
            return Ok(());
        };
        fs::set_permissions(&self.live, fs::Permissions::from_mode(0o700))?;
        let Ok(now) = Scan::of(&self.live, Some(known)) else {
            // Too deep to be looked at: what cannot be compared is made anew.
            for name in Directory::open(&self.live, Shut::OpenUp)?.names()? {
                discard(&self.live.join(name))?;
            }
            self.known = None;
            return self.mend();
        };
        let differences = now.since(known);
        if differences.is_empty() {
            return Ok(());
        }
        self.go_through(&differences, known, mend_one)?;
        self.known = Some(Scan::of(&self.live, Some(known))?);
        Ok(())
    }

    /// What the live directory looks like is right from now on.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        let now = Scan::of(&self.live, self.known.as_ref())?;
        let differences = self.known.as_ref().map(|known| now.since(known)).unwrap_or_default();
        self.go_through(&differences, &now, keep_one)?;
        self.known = Some(Scan::of(&self.live, Some(&now))?);
        Ok(())
    }

    fn go_through(
        &self,
        differences: &[Difference<'_>],
        scan: &Scan,
        settle: fn(&Difference<'_>, &Directory, &Directory) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut live = Cursor::at(&self.live, scan)?;
        let mut original = Cursor::at(&self.original, scan)?;
        differences
            .iter()
            .filter(|one| one.topmost)
            .try_for_each(|one| settle(one, live.enter(one.parent)?, original.enter(one.parent)?))
    }

    /// Notes what was done to the live directory, and says how much is new in it.
    pub(super) fn changes(&self, shown: Shown, walk: &mut Walk) -> Written {
        let Some(known) = &self.known else { return Written::default() };
        let Ok(now) = Scan::of(&self.live, Some(known)) else { return Written::UNKNOWN };
        for one in now.since(known).iter().filter(|one| !one.only_mode) {
            let from = if one.what == FileChange::Deleted { known } else { &now };
            walk.note(shown, &from.path(one.parent, one.name), one.what, one.entry.size());
        }
        now.written.beyond(known.written)
    }

    /// How much is new in the live directory, while somebody may be at work in it. Given up at the
    /// end of the time: then there is something else to do.
    pub(super) fn written(&self, until: Instant) -> Written {
        let Some(known) = &self.known else { return Written::default() };
        let mut visited = 0_u64;
        let go_on = || {
            visited += 1;
            !visited.is_multiple_of(LOOK_AT_CLOCK) || Instant::now() < until
        };
        // Deeper than anybody can look.
        let now = scan::weigh(&self.live, go_on).unwrap_or(Written::UNKNOWN);
        now.beyond(known.written)
    }
}

fn mend_one(one: &Difference<'_>, live: &Directory, original: &Directory) -> io::Result<()> {
    let (from, to) = (original.at(one.name), live.at(one.name));
    if one.only_mode {
        return fs::set_permissions(to, fs::metadata(from)?.permissions());
    }
    discard(&to)?;
    if one.what == FileChange::Created {
        return Ok(());
    }
    match copy(&from, &to, None, Shut::OpenUp) {
        // Something that could not be copied when it was kept, such as a socket.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn keep_one(one: &Difference<'_>, live: &Directory, original: &Directory) -> io::Result<()> {
    let (from, to) = (live.at(one.name), original.at(one.name));
    if one.only_mode {
        return fs::set_permissions(to, fs::Permissions::from_mode(one.entry.mode() & 0o7777));
    }
    discard(&to)?;
    if one.what == FileChange::Deleted {
        return Ok(());
    }
    copy(&from, &to, None, Shut::OpenUp)
}

/// Goes from directory to directory of a tree, each time from the nearest one that is open.
struct Cursor<'a> {
    scan: &'a Scan,
    open: Vec<(u32, Directory)>,
}

impl<'a> Cursor<'a> {
    fn at(top: &Path, scan: &'a Scan) -> io::Result<Self> {
        Ok(Self { scan, open: vec![(TOP, Directory::open(top, Shut::OpenUp)?)] })
    }

    fn enter(&mut self, number: u32) -> io::Result<&Directory> {
        let mut names: Vec<(u32, &OsStr)> = Vec::new();
        let mut at = number;
        let depth = loop {
            // Numbers grow with depth.
            if let Ok(depth) = self.open.binary_search_by_key(&at, |(open, _)| *open) {
                break depth;
            }
            let Some((above, name)) = self.scan.place(at) else {
                return Err(io::Error::other("a directory that nobody has seen"));
            };
            names.push((at, name));
            at = above;
        };
        self.open.truncate(depth + 1);
        for (number, name) in names.into_iter().rev() {
            let above = &self.open[self.open.len() - 1].1;
            let opened = Directory::open(&above.at(name), Shut::OpenUp)?;
            self.open.push((number, opened));
        }
        Ok(&self.open[self.open.len() - 1].1)
    }
}
