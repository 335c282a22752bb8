//! The shared memory in which the harness leaves its report.
//!
//! Invariant: after [`Mailbox::take`] it holds nothing but zeros, wherever in it the guest wrote.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::sys::SharedMemory;
use crate::wire::messages::Steps;

/// Room for the longest report.
pub(crate) const SIZE: usize = 4 << 20;
const MAGIC: &[u8; 4] = b"MNB1";
/// How far the call has come: it runs, or there is a report.
const PHASE_AT: usize = 4;
const RUNNING: u8 = 1;
const SHORT_AT: usize = 64;
/// Attempts at forbidden things, told as they happen: how many there are, and a slot for each.
const ATTEMPTS: usize = 44;
const REFUSED_FORK: usize = 45;
const ATTEMPTS_AT: usize = 1 << 15;
const ATTEMPT_SLOT: usize = 1 << 10;
const MOST_ATTEMPTS: usize = (FULL_AT - ATTEMPTS_AT) / ATTEMPT_SLOT;
/// One while the section itself runs, for calls with faults.
const ACTIVE_AT: usize = 5;
const FULL_AT: usize = 1 << 16;
/// Calls with steps have the reports of those here, and the numbers of them in the head.
const STEPS_AT: usize = SIZE / 2;
const BEGUN_AT: usize = 32;
const STEPS_LENGTH_AT: usize = 36;
const LEAVING_AT: usize = 40;
const PAGE: usize = 4096;
/// The most pages at the beginning of each part that are cleared rather than given back: usual
/// reports take no more, and a fresh page costs a call more than a cleared one.
const KEPT: usize = 4;

#[derive(Debug)]
pub(crate) struct Mailbox {
    memory: SharedMemory,
    file: File,
    is_empty: bool,
    /// The pages that are there, at the beginning of each part.
    short_pages: usize,
    full_pages: usize,
}

/// What was in it: untrusted.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub phase: u8,
    pub nonce: u64,
    pub report: Vec<u8>,
    /// Of whoever did not live to report them, too.
    pub attempts: Vec<Vec<u8>>,
    /// There was no room for one more process.
    pub refused_fork: bool,
    pub steps: Option<Steps>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let file = memfd_create(c"mailbox", MFdFlags::MFD_CLOEXEC)?;
        let file = File::from(file);
        file.set_len(SIZE as u64)?;
        let memory = SharedMemory::map(file.as_fd(), SIZE)?;
        Ok(Self { memory, file, is_empty: true, short_pages: 0, full_pages: 0 })
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// By which a list of mappings knows it.
    pub(crate) fn inode(&self) -> u64 {
        self.file.metadata().map_or(0, |found| found.ino())
    }

    /// Marks a call as running.
    pub(crate) fn begin(&mut self, nonce: u64) {
        self.is_empty = false;
        let mut head = [0_u8; 24];
        head[..4].copy_from_slice(MAGIC);
        head[PHASE_AT] = RUNNING;
        head[16..].copy_from_slice(&nonce.to_le_bytes());
        self.memory.write(&head);
    }

    /// Whether the section itself runs, as the harness says.
    pub(crate) fn is_active(&self) -> bool {
        self.memory.read(ACTIVE_AT, 1) == [1]
    }

    /// Whether the call has said what came of it.
    pub(crate) fn has_report(&self) -> bool {
        self.memory.read(PHASE_AT, 1) != [RUNNING]
    }

    /// What the call says of itself does not count: it is still running.
    pub(crate) fn withdraw(&mut self) {
        let mut head = self.memory.read(0, PHASE_AT + 1);
        head[PHASE_AT] = RUNNING;
        self.memory.write(&head);
    }

    /// Takes what is in it out, and leaves it empty.
    pub(crate) fn take(&mut self) -> Mail {
        if self.is_empty {
            return Mail::default();
        }
        let head = self.memory.read(0, SHORT_AT);
        let number = |at: usize| {
            u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
        };
        let (short, full) = (number(8).min(ATTEMPTS_AT - SHORT_AT), number(12).min(SIZE - FULL_AT));
        let is_whole = &head[..4] == MAGIC;
        let phase = if is_whole { head[PHASE_AT] } else { 0 };
        let report = match phase {
            2 => self.memory.read(SHORT_AT, short),
            3 => self.memory.read(FULL_AT, full),
            _ => Vec::new(),
        };
        let nonce = head[16..24].try_into().map_or(0, u64::from_le_bytes);
        let steps = (number(BEGUN_AT) > 0).then(|| Steps {
            begun: number(BEGUN_AT) as u32,
            leaving: head[LEAVING_AT] != 0,
            told: self.memory.read(STEPS_AT, number(STEPS_LENGTH_AT).min(SIZE - STEPS_AT)),
        });
        let told = if is_whole { usize::from(head[ATTEMPTS]) } else { 0 };
        let attempts = self.attempts(told.min(MOST_ATTEMPTS));
        let refused_fork = is_whole && head[REFUSED_FORK] == 1;
        self.empty(SHORT_AT + short, full);
        Mail { phase, nonce, report, attempts, refused_fork, steps }
    }

    fn attempts(&self, count: usize) -> Vec<Vec<u8>> {
        let slot = |number: usize| {
            let slot = self.memory.read(ATTEMPTS_AT + number * ATTEMPT_SLOT, ATTEMPT_SLOT);
            let length = usize::from(u16::from_le_bytes([slot[0], slot[1]]));
            slot.get(2..2 + length).unwrap_or_default().to_vec()
        };
        (0..count).map(slot).collect()
    }

    /// `short` and `full` are how much of each part the guest says that it used.
    fn empty(&mut self, short: usize, full: usize) {
        self.is_empty = true;
        self.short_pages = self.short_pages.max(short.div_ceil(PAGE));
        self.full_pages = self.full_pages.max(full.div_ceil(PAGE));
        if self.short_pages.max(self.full_pages) <= KEPT {
            self.memory.clear(0, self.short_pages * PAGE);
            self.memory.clear(FULL_AT, self.full_pages * PAGE);
            // Any other page is there only because the guest was at it.
            let there = self.file.metadata().map(|found| found.blocks() * 512);
            let cleared = (self.short_pages + self.full_pages) * PAGE;
            if there.is_ok_and(|bytes| bytes == cleared as u64) {
                return;
            }
        }
        let whole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        if fallocate(&self.file, whole, 0, SIZE.cast_signed() as libc::off_t).is_err() {
            self.memory.clear(0, SIZE);
        }
        (self.short_pages, self.full_pages) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn write(mailbox: &Mailbox, at: usize, bytes: &[u8]) {
        mailbox.file.write_all_at(bytes, at as u64).unwrap();
    }

    fn report(mailbox: &mut Mailbox, bytes: &[u8]) {
        mailbox.begin(7);
        write(mailbox, FULL_AT, bytes);
        write(mailbox, 12, &(bytes.len() as u32).to_le_bytes());
        write(mailbox, 4, &[3]);
    }

    fn pages(mailbox: &Mailbox) -> u64 {
        mailbox.file.metadata().unwrap().blocks() * 512 / PAGE as u64
    }

    #[test]
    fn nothing_is_left_wherever_it_was_written() {
        let mut mailbox = Mailbox::new().unwrap();
        for _ in 0..2 {
            for at in [30, 100, 4000, 5000, 60_000, FULL_AT + 4, FULL_AT + 4000, SIZE - 9] {
                report(&mut mailbox, b"some");
                write(&mailbox, at, b"secret");
                assert_eq!(mailbox.take().report, b"some");
                assert!(mailbox.memory.read(0, SIZE).iter().all(|byte| *byte == 0), "{at}");
                // Having looked, all pages are there.
                report(&mut mailbox, b"some");
                mailbox.take();
            }
        }
    }

    #[test]
    fn long_reports_are_taken_and_their_pages_given_back() {
        let mut mailbox = Mailbox::new().unwrap();
        let long = vec![b'x'; SIZE - FULL_AT];
        report(&mut mailbox, &long);
        assert_eq!(mailbox.take().report, long);
        assert_eq!(pages(&mailbox), 0);
    }

    #[test]
    fn what_steps_told_is_taken_even_if_there_is_no_report() {
        let mut mailbox = Mailbox::new().unwrap();
        mailbox.begin(7);
        assert_eq!(mailbox.take().steps, None);
        mailbox.begin(7);
        write(&mailbox, STEPS_AT, b"told");
        write(&mailbox, BEGUN_AT, &[2, 0, 0, 0, 4, 0, 0, 0, 1]);
        let mail = mailbox.take();
        assert_eq!(mail.phase, 1);
        let steps = Steps { begun: 2, leaving: true, told: b"told".to_vec() };
        assert_eq!(mail.steps, Some(steps));
        assert!(mailbox.memory.read(0, SIZE).iter().all(|byte| *byte == 0));
        // Who lies about the length gets no more than there is.
        mailbox.begin(7);
        write(&mailbox, BEGUN_AT, &[255; 8]);
        assert_eq!(mailbox.take().steps.map(|steps| steps.told.len()), Some(SIZE - STEPS_AT));
    }

    #[test]
    fn attempts_are_taken_even_if_there_is_no_report() {
        let mut mailbox = Mailbox::new().unwrap();
        mailbox.begin(7);
        write(&mailbox, ATTEMPTS_AT, b"\x03\0one");
        write(&mailbox, ATTEMPTS_AT + ATTEMPT_SLOT, b"\xff\xfflies about its length");
        write(&mailbox, ATTEMPTS, &[2]);
        assert_eq!(mailbox.take().attempts, [b"one".to_vec(), Vec::new()]);
        assert_eq!(pages(&mailbox), 0);
        mailbox.begin(8);
        assert_eq!(mailbox.take().attempts.len(), 0);
        // There are no more than there is room for.
        write(&mailbox, ATTEMPTS, &[255]);
        mailbox.begin(9);
        assert_eq!(mailbox.take().attempts.len(), MOST_ATTEMPTS);
    }

    #[test]
    fn the_pages_of_usual_reports_stay() {
        let mut mailbox = Mailbox::new().unwrap();
        for length in [100, 5000, 100] {
            report(&mut mailbox, &vec![b'x'; length]);
            let before = pages(&mailbox);
            assert_eq!(mailbox.take().report.len(), length);
            assert_eq!(pages(&mailbox), before);
        }
    }
}
