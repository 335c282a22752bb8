//! A directory of the guest's that can be put right, since it is known what it should be like.

use std::ffi::OsStr;
use std::io;
use std::time::Instant;

use menace_model::FileChange;

use super::content::Content;
use super::copying::{copy, copy_all};
use super::layer::Written;
use super::scan::{self, Difference, Scan, TOP};
use super::touched::{Shown, Walk};
use crate::directory::{Directory, Shut};
use crate::discard::discard_in;

/// How often a walk looks at the clock.
const LOOK_AT_CLOCK: u64 = 256;

#[derive(Debug)]
pub(super) struct Tree {
    /// Open since before the guest was there: its name may lead elsewhere by now.
    live: Directory,
    /// The pristine state, out of the guest's reach.
    original: Directory,
    /// What the live one looks like when it is right.
    known: Option<Scan>,
}

impl Tree {
    pub(super) fn new(live: Directory, original: Directory) -> Self {
        Self { live, original, known: None }
    }

    pub(super) fn live(&self) -> &Directory {
        &self.live
    }

    /// Makes the live directory equal to the original. It stays the same directory, which the
    /// guest's rights are tied to. An error when that is not sure, because somebody else is at work
    /// in it.
    pub(super) fn mend(&mut self) -> io::Result<()> {
        self.mend_content()?;
        let mode = self.original.found()?.permissions();
        if self.live.found()?.permissions() == mode { Ok(()) } else { self.live.set_mode(mode) }
    }

    fn mend_content(&mut self) -> io::Result<()> {
        let Some(known) = &self.known else { return self.fill() };
        let live = self.live.again(Shut::OpenUp)?;
        let Ok(now) = Scan::of(&live, Some(known)) else {
            // Too deep to be looked at: what cannot be compared is made anew.
            live.names()?.iter().try_for_each(|name| discard_in(&live, name))?;
            return self.fill().and_then(|()| self.check());
        };
        let differences = now.since(known);
        if differences.is_empty() {
            return Ok(());
        }
        self.go_through(&differences, known, mend_one)?;
        let mended = Scan::of(&live, Some(known))?;
        if !mended.is_mended(known, &differences) {
            return Err(unsure());
        }
        self.known = Some(mended);
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        copy_all(&self.original, &self.live, None, Shut::OpenUp)?;
        self.known = Some(Scan::of(&self.live, None)?);
        Ok(())
    }

    /// Whether all of it is a copy of the original.
    fn check(&self) -> io::Result<()> {
        let Some(known) = &self.known else { return Err(unsure()) };
        let original = Scan::of(&self.original, Some(known))?;
        let differences = original.since(known);
        if original.is_mended(known, &differences) { Ok(()) } else { Err(unsure()) }
    }

    /// What the live directory looks like is right from now on. An error when it does not stay like
    /// that while it is copied.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        let now = Scan::of(&self.live, self.known.as_ref())?;
        let differences = self.known.as_ref().map(|known| now.since(known)).unwrap_or_default();
        self.go_through(&differences, &now, keep_one)?;
        let after = Scan::of(&self.live, Some(&now))?;
        if !after.is_still(&now) {
            return Err(unsure());
        }
        self.original.set_mode(self.live.found()?.permissions())?;
        self.known = Some(after);
        Ok(())
    }

    /// Only from here on it is told what is done to the live directory; it is never mended again.
    pub(super) fn take_as_it_is(&mut self) -> io::Result<()> {
        self.known = Some(Scan::of(&self.live, self.known.as_ref())?);
        Ok(())
    }

    fn go_through(
        &self,
        differences: &[Difference<'_>],
        scan: &Scan,
        settle: fn(&Difference<'_>, &Directory, &Directory) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut live = Cursor::at(&self.live, scan, Shut::OpenUp)?;
        let mut original = Cursor::at(&self.original, scan, Shut::OpenUp)?;
        differences
            .iter()
            .filter(|one| one.topmost)
            .try_for_each(|one| settle(one, live.enter(one.parent)?, original.enter(one.parent)?))
    }

    /// Notes what was done to the live directory, and says how much is new in it.
    pub(super) fn changes(&self, shown: Shown, walk: &mut Walk) -> Written {
        let Some(known) = &self.known else { return Written::default() };
        let Ok(now) = Scan::of(&self.live, Some(known)) else { return Written::UNKNOWN };
        // What cannot be reached has no hash.
        let mut live = Cursor::at(&self.live, &now, Shut::PassBy).ok();
        let mut original = Cursor::at(&self.original, known, Shut::PassBy).ok();
        for one in now.since(known).iter().filter(|one| !one.only_mode) {
            let from = if one.what == FileChange::Deleted { known } else { &now };
            let enter = |cursor: &mut Option<Cursor<'_>>| {
                cursor.as_mut()?.enter(one.parent).ok()?.again(Shut::PassBy).ok()
            };
            let is_new = one.what != FileChange::Deleted && one.entry.is_file();
            let hash = if is_new && walk.would_hash(one.entry.size()) {
                let before =
                    if one.what == FileChange::Changed { enter(&mut original) } else { None };
                enter(&mut live).and_then(|now| {
                    let content = Content { now: &now, before: before.as_ref(), name: one.name };
                    walk.hash(content, one.entry.size())
                })
            } else {
                None
            };
            walk.note(shown, &from.path(one.parent, one.name), one.what, one.entry.size(), hash);
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

fn unsure() -> io::Error {
    io::Error::other("somebody changes it meanwhile")
}

fn mend_one(one: &Difference<'_>, live: &Directory, original: &Directory) -> io::Result<()> {
    if one.only_mode {
        return set_mode(live, one.name, original.look_at(one.name)?.permissions());
    }
    discard_in(live, one.name)?;
    if one.what == FileChange::Created {
        return Ok(());
    }
    match copy(original, live, one.name) {
        // Something that could not be copied when it was kept, such as a socket.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn keep_one(one: &Difference<'_>, live: &Directory, original: &Directory) -> io::Result<()> {
    if one.only_mode {
        return set_mode(original, one.name, one.entry.mode() & 0o7777);
    }
    discard_in(original, one.name)?;
    if one.what == FileChange::Deleted {
        return Ok(());
    }
    copy(live, original, one.name)
}

fn set_mode(above: &Directory, name: &OsStr, mode: u32) -> io::Result<()> {
    let mut directory = above.open(name, Shut::OpenUp)?;
    directory.keep_mode();
    directory.set_mode(mode)
}

/// Goes from directory to directory of a tree, each time from the nearest one that is open.
struct Cursor<'a> {
    scan: &'a Scan,
    shut: Shut,
    open: Vec<(u32, Directory)>,
}

impl<'a> Cursor<'a> {
    fn at(top: &Directory, scan: &'a Scan, shut: Shut) -> io::Result<Self> {
        Ok(Self { scan, shut, open: vec![(TOP, top.again(shut)?)] })
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
            let opened = above.open(name, self.shut)?;
            self.open.push((number, opened));
        }
        Ok(&self.open[self.open.len() - 1].1)
    }
}
