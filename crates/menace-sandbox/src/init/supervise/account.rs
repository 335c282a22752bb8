//! What a report says: what holds each limit, before; what was used, said and tried, afterwards.

use menace_model::{FaultMode, Limit, Limits};

use super::Sandbox;
use crate::fault;
use crate::init::InitError;
use crate::wire::messages::{Report, Request};

impl Sandbox<'_> {
    pub(super) fn begin(&mut self, request: &Request) -> Result<Report, InitError> {
        let limits = &request.limits;
        self.attempts.clear();
        if let Some(keeper) = &mut self.zygote.keeper {
            // What the interpreter itself looked for is nobody's attempt.
            keeper.warden.take_reached();
        }
        self.mailbox.take();
        self.mailbox.begin(request.nonce);
        self.begin_streams(limits.output_bytes);
        self.whereabouts.begin();
        self.stands_still = false;
        self.layer.limit(limits)?;
        let mut enforced_by = self.keeper.account(limits, &self.layer);
        // No backend here can pass any on.
        let mut unenforced: Vec<Limit> =
            (limits.gpus > 0).then_some(Limit::Gpu).into_iter().collect();
        let faults = &request.conditions.faults;
        for (limit, by) in fault::account(faults, self.means()) {
            match by {
                Some(mechanism) => drop(enforced_by.insert(limit, vec![mechanism])),
                None => unenforced.push(limit),
            }
        }
        if faults.iter().any(|fault| fault.mode == FaultMode::Cpu) {
            // It is a share of the processor that the limits have to name.
            match enforced_by.get(&Limit::CpuShare).cloned() {
                Some(by) => drop(enforced_by.insert(Limit::FaultCpu, by)),
                None => unenforced.push(Limit::FaultCpu),
            }
        }
        Ok(Report { enforced_by, unenforced, ..Report::default() })
    }

    pub(super) fn finish(
        &mut self,
        report: &mut Report,
        limits: &Limits,
        max_rss_kib: Option<i64>,
    ) {
        report.stdout = self.out.take();
        report.stderr = self.err.take();
        report.whereabouts = self.whereabouts.take();
        if report.is_late {
            self.mailbox.withdraw();
        }
        let mail = self.mailbox.take();
        (report.phase, report.mailbox_nonce, report.mailbox) =
            (mail.phase, mail.nonce, mail.report);
        report.told_attempts = mail.attempts;
        report.steps = mail.steps;
        let used = self.layer.used();
        report.disk_full = used.full && limits.disk_bytes.is_some();
        let over = self.keeper.finish(report, limits, &used, max_rss_kib);
        if mail.refused_fork {
            report.process_limit_hits = report.process_limit_hits.max(1);
        }
        report.killed = report.killed.or(over).or(self.layer.over(limits, &used));
        report.files = used.files;
        report.attempts = std::mem::take(&mut self.attempts);
        if let Some(keeper) = &mut self.zygote.keeper {
            report.pretended = keeper.warden.take_pretended();
            report.reached = keeper.warden.take_reached();
        }
    }
}
