//! A session makes calls of one module.
//!
//! A sandbox that a call made unusable is replaced. When the import leaves state that a fork cannot
//! copy (a thread, a socket), each call gets a fresh import.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use menace_model::{Call, Outcome, SandboxSpec, TargetKind};

use super::backend::CallSession;
use super::import_usage::ImportUsage;
use super::pool::SandboxPool;
use super::report::{self, ReportContext};
use super::sandbox::SandboxHandle;
use crate::SandboxError;
use crate::wire::messages::InitReport;

/// From this many calls on a second sandbox pays: it prepares itself while the first one runs a
/// call.
const CALLS_BEFORE_SECOND: u32 = 8;

#[derive(Debug)]
pub(crate) struct LocalSession {
    pool: Arc<SandboxPool>,
    spec: SandboxSpec,
    sandboxes: ModuleSandboxes,
    second: SecondSandbox,
    /// Whether the sandboxes return to the pool when the session is dropped.
    is_pooled: bool,
    /// Whether this is the second attempt at a call, after its sandbox was lost.
    is_retry: bool,
}

/// The sandboxes of one module, and the result of importing it.
#[derive(Debug, Default)]
pub(crate) struct ModuleSandboxes {
    /// Sandboxes that have imported the module; they take turns.
    warm: VecDeque<SandboxHandle>,
    /// A sandbox that has imported nothing, for calls of a module's top level.
    unimported: Option<SandboxHandle>,
    /// The failure of the import, which is not tried again.
    import_failure: Option<Box<(InitReport, String)>>,
    /// State that the import left, because of which no two calls may share an import.
    unforkable_state: Vec<String>,
    /// Forbidden system calls that the import made and that did not end it.
    import_violations: Vec<String>,
    /// What the import used, which may exceed the limits of a call.
    import_usage: ImportUsage,
}

/// The state of the second sandbox, which takes turns with the first one.
#[derive(Debug)]
enum SecondSandbox {
    /// To be started after this many more calls.
    AfterCalls(u32),
    Starting(JoinHandle<Option<SandboxHandle>>),
    Done,
}

impl LocalSession {
    pub(crate) fn new(pool: Arc<SandboxPool>, spec: SandboxSpec) -> Self {
        Self {
            pool,
            spec,
            sandboxes: ModuleSandboxes::default(),
            second: SecondSandbox::AfterCalls(CALLS_BEFORE_SECOND),
            is_pooled: false,
            is_retry: false,
        }
    }

    /// Starts with the sandboxes that an ended session left in the pool. Uses no second sandbox.
    pub(crate) fn new_pooled(pool: Arc<SandboxPool>, spec: SandboxSpec) -> Self {
        let sandboxes = pool.take_idle(&spec).unwrap_or_default();
        let second = SecondSandbox::Done;
        Self { pool, spec, sandboxes, second, is_pooled: true, is_retry: false }
    }

    /// Makes sure that the first sandbox has imported the module; false when the import fails.
    fn ensure_imported(&mut self, call: &Call) -> Result<bool, SandboxError> {
        if self.sandboxes.import_failure.is_some() {
            return Ok(false);
        }
        let Some(module) = &self.spec.module else { return Ok(true) };
        if !self.sandboxes.warm.is_empty() {
            self.poll_second_sandbox();
            return Ok(true);
        }
        let mut sandbox = self.pool.take_or_start(&self.spec)?;
        let mut report = match sandbox.import(module, &self.spec.import_limits) {
            Err(error) if error.failed_before_import() => {
                tracing::debug!("a sandbox was gone before it was needed: {error}");
                sandbox = self.pool.starter().start(&self.spec)?;
                sandbox.import(module, &self.spec.import_limits)?
            }
            other => other?,
        };
        if report.unusable_reason.is_some() {
            self.sandboxes.import_failure =
                Some(Box::new((report, sandbox.ready_message.repo.clone())));
            return Ok(false);
        }
        self.sandboxes.unforkable_state = std::mem::take(&mut report.unforkable_state);
        let context =
            ReportContext::new(&sandbox.ready_message.repo, &self.pool.options().repo, call)
                .for_import(&self.spec.import_limits);
        let import = report::build_outcome(&report, &context);
        self.sandboxes.import_violations =
            import.violations.iter().map(|tried| tried.detail.clone()).collect();
        self.sandboxes.import_usage = ImportUsage::from_outcome(&import);
        self.sandboxes.warm.push_back(sandbox);
        Ok(true)
    }

    /// Starts a second sandbox in the background once it pays, and adds it once it is ready.
    fn poll_second_sandbox(&mut self) {
        self.second = match std::mem::replace(&mut self.second, SecondSandbox::Done) {
            SecondSandbox::AfterCalls(0) => {
                let (starter, spec) = (self.pool.starter(), self.spec.clone());
                SecondSandbox::Starting(std::thread::spawn(move || {
                    let mut sandbox = starter.start(&spec).ok()?;
                    let report = sandbox.import(spec.module.as_ref()?, &spec.import_limits).ok()?;
                    (report.unusable_reason.is_none() && report.unforkable_state.is_empty())
                        .then_some(sandbox)
                }))
            }
            SecondSandbox::AfterCalls(calls) => SecondSandbox::AfterCalls(calls - 1),
            SecondSandbox::Starting(start) if start.is_finished() => {
                self.sandboxes.warm.extend(start.join().ok().flatten());
                SecondSandbox::Done
            }
            other => other,
        };
    }

    fn run_without_import(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        let mut sandbox = match self.sandboxes.unimported.take() {
            Some(sandbox) => sandbox,
            None => self.pool.take_or_start(&self.spec)?,
        };
        let report = match sandbox.call(call, false) {
            Err(error) if error.failed_before_call() => {
                tracing::debug!("a sandbox was gone before it was needed: {error}");
                sandbox = self.pool.starter().start(&self.spec)?;
                sandbox.call(call, false)?
            }
            other => other?,
        };
        let context =
            ReportContext::new(&sandbox.ready_message.repo, &self.pool.options().repo, call);
        let outcome = report::build_outcome(&report, &context);
        if report.unusable_reason.is_none() {
            self.sandboxes.unimported = Some(sandbox);
        }
        Ok(outcome)
    }
}

impl CallSession for LocalSession {
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        let result = self.run_call(call);
        // After an error the state of the sandboxes is unknown, so they do not return to the pool.
        self.is_pooled &= result.is_ok();
        result
    }
}

impl LocalSession {
    fn run_call(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        if call.target.kind == TargetKind::Module || self.spec.module.is_none() {
            return self.run_without_import(call);
        }
        if !self.ensure_imported(call)? {
            let Some(broken) = &self.sandboxes.import_failure else {
                return Err(SandboxError::Protocol("an import that neither worked nor failed"));
            };
            let (report, repo) = &**broken;
            let context = ReportContext::new(repo, &self.pool.options().repo, call)
                .for_import(&self.spec.import_limits);
            let mut outcome = report::build_outcome(report, &context);
            ImportUsage::from_outcome(&outcome).add_to_outcome(
                &mut outcome,
                &self.spec.import_limits,
                &call.limits,
            );
            for limit in &outcome.unenforced {
                outcome.enforced_by.remove(limit);
            }
            return Ok(outcome);
        }
        let Some(mut sandbox) = self.sandboxes.warm.pop_front() else {
            return Err(SandboxError::Protocol("no sandbox after a successful import"));
        };
        let warms_fork = !self.sandboxes.warm.is_empty();
        let report = match sandbox.call(call, warms_fork) {
            Ok(report) => report,
            Err(error) if self.is_retry || !error.failed_before_call() => return Err(error),
            Err(error) => {
                // State that the import or an earlier call left may have caused the failure, so the
                // call is tried once more in a new sandbox.
                tracing::debug!("a sandbox was lost and is replaced: {error}");
                self.is_retry = true;
                let outcome = self.run_call(call);
                self.is_retry = false;
                return outcome;
            }
        };
        let context =
            ReportContext::new(&sandbox.ready_message.repo, &self.pool.options().repo, call);
        let mut outcome = report::build_outcome(&report, &context);
        let tried = self
            .sandboxes
            .import_violations
            .iter()
            .map(|what| format!("its import tried what is forbidden: {what}"));
        outcome.notes.extend(tried);
        let limits = &self.spec.import_limits;
        self.sandboxes.import_usage.add_to_outcome(&mut outcome, limits, &call.limits);
        outcome.notes.extend(sandbox.ready_message.notes.iter().cloned());
        if self.sandboxes.unforkable_state.is_empty() {
            if report.unusable_reason.is_none() {
                self.sandboxes.warm.push_back(sandbox);
            }
        } else {
            outcome.notes.push(format!(
                "imported anew for each call, because the import keeps {}",
                self.sandboxes.unforkable_state.join(", ")
            ));
        }
        Ok(outcome)
    }
}

impl Drop for LocalSession {
    fn drop(&mut self) {
        if let SecondSandbox::Starting(start) =
            std::mem::replace(&mut self.second, SecondSandbox::Done)
        {
            drop(start.join());
        }
        if self.is_pooled {
            self.pool.put_idle(self.spec.clone(), std::mem::take(&mut self.sandboxes));
        }
    }
}
