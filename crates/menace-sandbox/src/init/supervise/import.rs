//! The import, in the interpreter that is forked for each call afterwards.

use std::time::Instant;

use super::wait::Event;
use super::{ANSWERING, NAMED, Sandbox, deadline, nanos, reap};
use crate::init::processes::{self, Census};
use crate::init::{During, InitError, mapped};
use crate::wire::harness::{self, FromHarness};
use crate::wire::messages::{Report, Request};

impl Sandbox<'_> {
    /// The zygote itself imports the module: what goes wrong there ends the sandbox.
    pub(super) fn import(&mut self, request: &Request) -> Result<Report, InitError> {
        let limits = &request.limits;
        let arrived = Instant::now();
        let mut report = self.begin(request)?;
        self.keeper.watch_zygote(true);
        self.keeper.begin(limits).during(|| "cannot set the limits".to_owned())?;
        let mut imported = false;
        if harness::send(&self.zygote.control, &request.body).is_err() {
            report.spent = Some("the interpreter does not listen".to_owned());
        } else {
            let zygote = self.zygote.pid;
            match self.watch(limits, deadline(arrived, limits), zygote, &mut report)? {
                Event::Said(FromHarness::Imported { ok, keeps }) => {
                    imported = ok;
                    report.keeps = keeps;
                }
                Event::ZygoteDied => {
                    report.status = reap(zygote);
                    report.spent = Some("the import ended the interpreter".to_owned());
                }
                Event::TimeUp => report.spent = Some("the import was stopped".to_owned()),
                event => report.spent = Some(format!("the import broke the protocol: {event:?}")),
            }
        }
        report.total_ns = nanos(arrived.elapsed());
        self.keeper.take_stock(&self.layer, Instant::now() + ANSWERING);
        self.finish(&mut report, limits, None);
        self.keeper.watch_zygote(false);
        if imported {
            // Beside its own children, it may have left orphans.
            let others = self.census.others(self.zygote.pid);
            let named = others.into_iter().take(NAMED).filter_map(processes::look_at);
            for process in named.filter(|process| !process.zombie) {
                let kept = format!("process {}", process.name);
                if !report.keeps.contains(&kept) {
                    report.keeps.push(kept);
                }
            }
            if self.census == Census::Descendants {
                // The harness cannot look at its own mappings there.
                let (mailbox, copy) = (self.mailbox.inode(), self.layer.writable());
                report.keeps.extend(mapped::shared(&self.proc, self.zygote.pid, mailbox, &copy));
            }
            mapped::keep_mapped(&self.proc, self.zygote.pid, &mut self.kept_mapped);
            self.keeper.weigh_zygote();
        } else if report.spent.is_none() {
            report.spent = Some("the import failed".to_owned());
        }
        if report.killed.is_some() && report.spent.is_none() {
            report.spent = Some("the import took more than it may".to_owned());
        }
        let in_company = !report.keeps.is_empty();
        if report.spent.is_none()
            && let Some(why) = self.with_guest_stopped(|layer| layer.keep_import(in_company))?
        {
            report.spent = Some(format!("what the import wrote cannot be kept: {why}"));
        }
        if report.spent.is_none() && !in_company && self.census == Census::Namespace {
            // It takes the interpreter as long as it takes the host to ask for the first call.
            self.ask_for_fork(false);
        }
        Ok(report)
    }
}
