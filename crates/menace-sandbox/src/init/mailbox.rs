//! The shared memory in which the harness leaves its report.
//!
//! Invariants: after [`ReportMailbox::take`] all of it is zero, wherever the guest has written; and
//! its size never changes, so that no access of init lies outside of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

use nix::fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::sys::SharedMemory;
use crate::wire::messages::{ReportState, StepProgress};

/// The size of the mailbox, which bounds reports.
pub(crate) const MAILBOX_BYTES: usize = 4 << 20;
const MAILBOX_MAGIC: &[u8; 4] = b"MNB1";
/// Offset of a byte with a [`ReportState`].
const REPORT_STATE_OFFSET: usize = 4;
const SHORT_REPORT_LENGTH_OFFSET: usize = 8;
const FULL_REPORT_LENGTH_OFFSET: usize = 12;
const REQUEST_NUMBER_OFFSET: usize = 16;
/// The end of what init writes before a call.
const WRITTEN_HEAD_BYTES: usize = 24;
// At offset 24, a byte by which calls request the coverage modules of the zygote.
const SHORT_REPORT_OFFSET: usize = 64;
/// Violations, which the harness writes as they happen: their number, and one slot for each.
const VIOLATION_COUNT_OFFSET: usize = 44;
const REFUSED_FORK_OFFSET: usize = 45;
const VIOLATIONS_OFFSET: usize = 1 << 15;
const VIOLATION_SLOT_BYTES: usize = 704;
const MAX_VIOLATIONS: usize = (FULL_REPORT_OFFSET - VIOLATIONS_OFFSET) / VIOLATION_SLOT_BYTES;
/// The number of violations for which there was no slot left.
const UNLISTED_OFFSET: usize = 56;
/// One while the harness does something of its own in a fault window.
const FAULTS_MASKED_OFFSET: usize = 5;
/// The number of the fault window that is open or was last, and the last end that init has seen.
const WINDOW_OFFSET: usize = 48;
const SEEN_WINDOW_END_OFFSET: usize = 52;
const FULL_REPORT_OFFSET: usize = 1 << 16;
/// The second half has the step reports of calls with steps; their number and length are in the
/// head.
const STEPS_OFFSET: usize = MAILBOX_BYTES / 2;
const STEPS_BEGUN_OFFSET: usize = 32;
const STEPS_LENGTH_OFFSET: usize = 36;
const RELEASING_OFFSET: usize = 40;
const PAGE_BYTES: usize = 4096;
/// Up to this many pages at the beginning of each part are zeroed and kept; more are returned to
/// the kernel. Usual reports need no more, and a new page costs more than zeroing one.
const MAX_CLEARED_PAGES: usize = 4;

#[derive(Debug)]
pub(crate) struct ReportMailbox {
    memory: SharedMemory,
    file: File,
    is_empty: bool,
    /// How many pages are allocated at the beginning of each part.
    short_pages: usize,
    full_pages: usize,
}

/// The content of the mailbox: untrusted.
#[derive(Debug, Default)]
pub(crate) struct MailboxContent {
    pub report_state: ReportState,
    pub request_number: u64,
    pub report: Vec<u8>,
    /// Violations, also of processes that ended before they could report.
    pub violations: Vec<Vec<u8>>,
    /// How many more of them there were than there is room for.
    pub unlisted: u32,
    /// Whether a fork failed because of the limit on processes.
    pub refused_fork: bool,
    pub steps: Option<StepProgress>,
}

/// Whether faults may be injected now; untrusted, since the guest can write all of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultWindow {
    /// Odd while the window is open.
    pub number: u32,
    /// As init has written it, unless the guest did.
    pub seen_end: u32,
    pub faults_masked: bool,
}

impl ReportMailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create(c"mailbox", flags)?);
        file.set_len(MAILBOX_BYTES as u64)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let memory = SharedMemory::map(file.as_fd(), MAILBOX_BYTES)?;
        Ok(Self { memory, file, is_empty: true, short_pages: 0, full_pages: 0 })
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes as the guest may: anything, anywhere.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes);
    }

    /// The inode by which the mailbox is found in a list of mappings.
    pub(crate) fn inode(&self) -> u64 {
        self.file.metadata().map_or(0, |found| found.ino())
    }

    /// Marks the mailbox as that of a running call.
    pub(crate) fn mark_running(&mut self, request_number: u64) {
        self.is_empty = false;
        let mut head = [0_u8; WRITTEN_HEAD_BYTES];
        head[..4].copy_from_slice(MAILBOX_MAGIC);
        head[REPORT_STATE_OFFSET] = ReportState::Running as u8;
        head[REQUEST_NUMBER_OFFSET..].copy_from_slice(&request_number.to_le_bytes());
        self.memory.write(0, &head);
    }

    pub(crate) fn fault_window(&self) -> FaultWindow {
        let head = self.memory.read(0, SHORT_REPORT_OFFSET);
        FaultWindow {
            number: read_number(&head, WINDOW_OFFSET),
            seen_end: read_number(&head, SEEN_WINDOW_END_OFFSET),
            faults_masked: head[FAULTS_MASKED_OFFSET] != 0,
        }
    }

    /// Tells the harness which end of a window was seen: it would know of no other.
    pub(crate) fn mark_end_seen(&mut self, number: u32) {
        self.memory.write(SEEN_WINDOW_END_OFFSET, &number.to_le_bytes());
    }

    /// Whether the call has written its report.
    pub(crate) fn has_report(&self) -> bool {
        self.memory.read(REPORT_STATE_OFFSET, 1) != [ReportState::Running as u8]
    }

    /// Discards what the call has written after its deadline, by marking it as still running.
    pub(crate) fn discard_report(&mut self) {
        let mut head = self.memory.read(0, REPORT_STATE_OFFSET + 1);
        head[REPORT_STATE_OFFSET] = ReportState::Running as u8;
        self.memory.write(0, &head);
    }

    /// Takes the content out and zeroes the mailbox.
    pub(crate) fn take(&mut self) -> MailboxContent {
        if self.is_empty {
            return MailboxContent::default();
        }
        let head = self.memory.read(0, SHORT_REPORT_OFFSET);
        let number = |at: usize| read_number(&head, at) as usize;
        let (short, full) = (
            number(SHORT_REPORT_LENGTH_OFFSET).min(VIOLATIONS_OFFSET - SHORT_REPORT_OFFSET),
            number(FULL_REPORT_LENGTH_OFFSET).min(MAILBOX_BYTES - FULL_REPORT_OFFSET),
        );
        let has_magic = &head[..4] == MAILBOX_MAGIC;
        let report_state =
            ReportState::from_byte(if has_magic { head[REPORT_STATE_OFFSET] } else { 0 });
        let report = match report_state {
            ReportState::ShortReport => self.memory.read(SHORT_REPORT_OFFSET, short),
            ReportState::FullReport => self.memory.read(FULL_REPORT_OFFSET, full),
            _ => Vec::new(),
        };
        let request_number = head[REQUEST_NUMBER_OFFSET..WRITTEN_HEAD_BYTES]
            .try_into()
            .map_or(0, u64::from_le_bytes);
        let steps = (number(STEPS_BEGUN_OFFSET) > 0).then(|| StepProgress {
            begun: number(STEPS_BEGUN_OFFSET) as u32,
            releasing_result: head[RELEASING_OFFSET] != 0,
            entries: self
                .memory
                .read(STEPS_OFFSET, number(STEPS_LENGTH_OFFSET).min(MAILBOX_BYTES - STEPS_OFFSET)),
        });
        let violation_count = if has_magic { usize::from(head[VIOLATION_COUNT_OFFSET]) } else { 0 };
        let violations = self.read_violations(violation_count.min(MAX_VIOLATIONS));
        let unlisted = if has_magic { read_number(&head, UNLISTED_OFFSET) } else { 0 };
        let refused_fork = has_magic && head[REFUSED_FORK_OFFSET] == 1;
        self.clear(SHORT_REPORT_OFFSET + short, full);
        MailboxContent {
            report_state,
            request_number,
            report,
            violations,
            unlisted,
            refused_fork,
            steps,
        }
    }

    fn read_violations(&self, count: usize) -> Vec<Vec<u8>> {
        let slot = |number: usize| {
            let slot = self
                .memory
                .read(VIOLATIONS_OFFSET + number * VIOLATION_SLOT_BYTES, VIOLATION_SLOT_BYTES);
            let length = usize::from(u16::from_le_bytes([slot[0], slot[1]]));
            slot.get(2..2 + length).unwrap_or_default().to_vec()
        };
        (0..count).map(slot).collect()
    }

    /// `short` and `full`: how many bytes of each part the guest claims to have used.
    fn clear(&mut self, short: usize, full: usize) {
        self.is_empty = true;
        self.short_pages = self.short_pages.max(short.div_ceil(PAGE_BYTES));
        self.full_pages = self.full_pages.max(full.div_ceil(PAGE_BYTES));
        if self.short_pages.max(self.full_pages) <= MAX_CLEARED_PAGES {
            self.memory.clear(0, self.short_pages * PAGE_BYTES);
            self.memory.clear(FULL_REPORT_OFFSET, self.full_pages * PAGE_BYTES);
            // More allocated pages mean that the guest wrote elsewhere.
            let there = self.file.metadata().map(|found| found.blocks() * 512);
            let cleared = (self.short_pages + self.full_pages) * PAGE_BYTES;
            if there.is_ok_and(|bytes| bytes == cleared as u64) {
                return;
            }
        }
        let whole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        if fallocate(&self.file, whole, 0, MAILBOX_BYTES.cast_signed() as libc::off_t).is_err() {
            self.memory.clear(0, MAILBOX_BYTES);
        }
        (self.short_pages, self.full_pages) = (0, 0);
    }
}

fn read_number(head: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn write(mailbox: &ReportMailbox, at: usize, bytes: &[u8]) {
        mailbox.file.write_all_at(bytes, at as u64).unwrap();
    }

    fn write_report(mailbox: &mut ReportMailbox, bytes: &[u8]) {
        mailbox.mark_running(7);
        write(mailbox, FULL_REPORT_OFFSET, bytes);
        write(mailbox, FULL_REPORT_LENGTH_OFFSET, &(bytes.len() as u32).to_le_bytes());
        write(mailbox, REPORT_STATE_OFFSET, &[ReportState::FullReport as u8]);
    }

    fn count_pages(mailbox: &ReportMailbox) -> u64 {
        mailbox.file.metadata().unwrap().blocks() * 512 / PAGE_BYTES as u64
    }

    #[test]
    fn nothing_is_left_wherever_it_was_written() {
        let mut mailbox = ReportMailbox::new().unwrap();
        for _ in 0..2 {
            for at in [
                30,
                100,
                4000,
                5000,
                60_000,
                FULL_REPORT_OFFSET + 4,
                FULL_REPORT_OFFSET + 4000,
                MAILBOX_BYTES - 9,
            ] {
                write_report(&mut mailbox, b"some");
                write(&mailbox, at, b"secret");
                assert_eq!(mailbox.take().report, b"some");
                assert!(
                    mailbox.memory.read(0, MAILBOX_BYTES).iter().all(|byte| *byte == 0),
                    "{at}"
                );
                // Reading has allocated all pages.
                write_report(&mut mailbox, b"some");
                mailbox.take();
            }
        }
    }

    /// A shorter one would kill init with `SIGBUS`; a write seal would leave the guest no mailbox.
    #[test]
    fn no_descriptor_can_change_its_size_or_seal_it_further() {
        let mailbox = ReportMailbox::new().unwrap();
        for length in [0, MAILBOX_BYTES as u64 - 1, MAILBOX_BYTES as u64 + 1] {
            let refused = mailbox.file.set_len(length).map_err(|error| error.raw_os_error());
            assert_eq!(refused, Err(Some(libc::EPERM)), "{length}");
        }
        let sealed = fcntl(&mailbox.file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_FUTURE_WRITE));
        assert_eq!(sealed, Err(nix::Error::EPERM));
        assert_eq!(mailbox.memory.read(MAILBOX_BYTES - 1, 1), [0]);
    }

    #[test]
    fn long_reports_are_taken_and_their_pages_given_back() {
        let mut mailbox = ReportMailbox::new().unwrap();
        let long = vec![b'x'; MAILBOX_BYTES - FULL_REPORT_OFFSET];
        write_report(&mut mailbox, &long);
        assert_eq!(mailbox.take().report, long);
        assert_eq!(count_pages(&mailbox), 0);
    }

    #[test]
    fn step_entries_are_taken_even_without_a_report() {
        let mut mailbox = ReportMailbox::new().unwrap();
        mailbox.mark_running(7);
        assert_eq!(mailbox.take().steps, None);
        mailbox.mark_running(7);
        write(&mailbox, STEPS_OFFSET, b"step");
        write(&mailbox, STEPS_BEGUN_OFFSET, &[2, 0, 0, 0, 4, 0, 0, 0, 1]);
        let mail = mailbox.take();
        assert_eq!(mail.report_state, ReportState::Running);
        let steps = StepProgress { begun: 2, releasing_result: true, entries: b"step".to_vec() };
        assert_eq!(mail.steps, Some(steps));
        assert!(mailbox.memory.read(0, MAILBOX_BYTES).iter().all(|byte| *byte == 0));
        // A false length in the head reads no more than the mailbox holds.
        mailbox.mark_running(7);
        write(&mailbox, STEPS_BEGUN_OFFSET, &[255; 8]);
        assert_eq!(
            mailbox.take().steps.map(|steps| steps.entries.len()),
            Some(MAILBOX_BYTES - STEPS_OFFSET)
        );
    }

    #[test]
    fn violations_are_taken_even_if_there_is_no_report() {
        let mut mailbox = ReportMailbox::new().unwrap();
        mailbox.mark_running(7);
        write(&mailbox, VIOLATIONS_OFFSET, b"\x03\0one");
        write(&mailbox, VIOLATIONS_OFFSET + VIOLATION_SLOT_BYTES, b"\xff\xfflies about its length");
        write(&mailbox, VIOLATION_COUNT_OFFSET, &[2]);
        assert_eq!(mailbox.take().violations, [b"one".to_vec(), Vec::new()]);
        assert_eq!(count_pages(&mailbox), 0);
        mailbox.mark_running(8);
        assert_eq!(mailbox.take().violations.len(), 0);
        // A false count reads no more violations than there are slots.
        write(&mailbox, VIOLATION_COUNT_OFFSET, &[255]);
        mailbox.mark_running(9);
        assert_eq!(mailbox.take().violations.len(), MAX_VIOLATIONS);
    }

    #[test]
    fn the_pages_of_usual_reports_stay() {
        let mut mailbox = ReportMailbox::new().unwrap();
        for length in [100, 5000, 100] {
            write_report(&mut mailbox, &vec![b'x'; length]);
            let before = count_pages(&mailbox);
            assert_eq!(mailbox.take().report.len(), length);
            assert_eq!(count_pages(&mailbox), before);
        }
    }
}
