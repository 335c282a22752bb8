//! Calls of one module, whatever happens to the sandbox in between.
//!
//! A sandbox that a call has spoilt is replaced. When the import leaves something that a fork
//! cannot copy (a thread, a socket), each call gets a fresh import.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use menace_model::{Call, How, Outcome};

use super::backend::Warm;
use super::local::Source;
use super::options::WarmSpec;
use super::report::{self, Context};
use super::sandbox::Sandbox;
use super::widened::Took;
use crate::SandboxError;
use crate::wire::messages::Report;

/// From this many calls on a second sandbox pays: it makes itself ready while the first one works.
const CALLS_BEFORE_SECOND: u32 = 8;

#[derive(Debug)]
pub(crate) struct Session {
    source: Arc<Source>,
    spec: WarmSpec,
    /// With the module imported; they take turns.
    warm: VecDeque<Sandbox>,
    second: Second,
    /// With nothing imported, for calls of a module's top level.
    blank: Option<Sandbox>,
    /// How the import failed; it would fail again.
    broken: Option<Box<(Report, String)>>,
    /// Why no two calls may share an import.
    keeps: Vec<String>,
    /// What the import tried that is forbidden, and survived.
    tried: Vec<String>,
    /// What the import took, which may be more than a call may.
    took: Took,
    /// A sandbox was lost, and this is the second try.
    lost: bool,
}

/// The sandbox that takes turns with the first one.
#[derive(Debug)]
enum Second {
    /// After so many more calls.
    Later(u32),
    OnItsWay(JoinHandle<Option<Sandbox>>),
    Tried,
}

impl Session {
    /// `alone`: with one sandbox, whatever comes.
    pub(crate) fn new(source: Arc<Source>, spec: WarmSpec, alone: bool) -> Self {
        Self {
            source,
            spec,
            warm: VecDeque::new(),
            second: if alone { Second::Tried } else { Second::Later(CALLS_BEFORE_SECOND) },
            blank: None,
            broken: None,
            keeps: Vec::new(),
            tried: Vec::new(),
            took: Took::default(),
            lost: false,
        }
    }

    /// Makes sure that there is a sandbox with the module imported; false when it cannot be.
    fn heat(&mut self, call: &Call) -> Result<bool, SandboxError> {
        if self.broken.is_some() {
            return Ok(false);
        }
        let Some(module) = &self.spec.module else { return Ok(true) };
        if !self.warm.is_empty() {
            self.think_of_second();
            return Ok(true);
        }
        let mut sandbox = self.source.start(&self.spec)?;
        let mut report = match sandbox.import(module, &self.spec.limits) {
            Err(error) if error.is_before_the_import() => {
                tracing::debug!("a sandbox was gone before it was needed: {error}");
                sandbox = self.source.starter().start(&self.spec)?;
                sandbox.import(module, &self.spec.limits)?
            }
            other => other?,
        };
        if report.spent.is_some() {
            self.broken = Some(Box::new((report, sandbox.ready.repo.clone())));
            return Ok(false);
        }
        self.keeps = std::mem::take(&mut report.keeps);
        let context = Context::new(&sandbox.ready.repo, &self.source.options().repo, call)
            .of_import(&self.spec.limits);
        let import = report::outcome(&report, &context);
        self.tried = import.violations.iter().map(|tried| tried.detail.clone()).collect();
        self.took = Took::of(&import);
        self.warm.push_back(sandbox);
        Ok(true)
    }

    /// Starts a second sandbox in the background once it pays, and takes it in once it is there.
    fn think_of_second(&mut self) {
        self.second = match std::mem::replace(&mut self.second, Second::Tried) {
            Second::Later(0) => {
                let (starter, spec) = (self.source.starter(), self.spec.clone());
                Second::OnItsWay(std::thread::spawn(move || {
                    let mut sandbox = starter.start(&spec).ok()?;
                    let report = sandbox.import(spec.module.as_ref()?, &spec.limits).ok()?;
                    (report.spent.is_none() && report.keeps.is_empty()).then_some(sandbox)
                }))
            }
            Second::Later(calls) => Second::Later(calls - 1),
            Second::OnItsWay(start) if start.is_finished() => {
                self.warm.extend(start.join().ok().flatten());
                Second::Tried
            }
            other => other,
        };
    }

    fn run_blank(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        let mut sandbox = match self.blank.take() {
            Some(sandbox) => sandbox,
            None => self.source.start(&self.spec)?,
        };
        let report = match sandbox.call(call, false) {
            Err(error) if error.is_before_the_call() => {
                tracing::debug!("a sandbox was gone before it was needed: {error}");
                sandbox = self.source.starter().start(&self.spec)?;
                sandbox.call(call, false)?
            }
            other => other?,
        };
        let context = Context::new(&sandbox.ready.repo, &self.source.options().repo, call);
        let outcome = report::outcome(&report, &context);
        if report.spent.is_none() {
            self.blank = Some(sandbox);
        }
        Ok(outcome)
    }
}

impl Warm for Session {
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        if call.target.how == How::Module || self.spec.module.is_none() {
            return self.run_blank(call);
        }
        if !self.heat(call)? {
            let Some(broken) = &self.broken else {
                return Err(SandboxError::Protocol("an import that neither worked nor failed"));
            };
            let (report, repo) = &**broken;
            let context =
                Context::new(repo, &self.source.options().repo, call).of_import(&self.spec.limits);
            let mut outcome = report::outcome(report, &context);
            Took::of(&outcome).tell(&mut outcome, &self.spec.limits, &call.limits);
            for limit in &outcome.unenforced {
                outcome.enforced_by.remove(limit);
            }
            return Ok(outcome);
        }
        let Some(mut sandbox) = self.warm.pop_front() else {
            return Err(SandboxError::Protocol("no sandbox after a successful import"));
        };
        let takes_turns = !self.warm.is_empty();
        let report = match sandbox.call(call, takes_turns) {
            Ok(report) => report,
            Err(error) if self.lost || !error.is_before_the_call() => return Err(error),
            Err(error) => {
                // What the import or an earlier call left made it fail: once is no reason to give up.
                tracing::debug!("a sandbox was lost and is replaced: {error}");
                self.lost = true;
                let again = self.run(call);
                self.lost = false;
                return again;
            }
        };
        let context = Context::new(&sandbox.ready.repo, &self.source.options().repo, call);
        let mut outcome = report::outcome(&report, &context);
        let tried =
            self.tried.iter().map(|what| format!("its import tried what is forbidden: {what}"));
        outcome.notes.extend(tried);
        self.took.tell(&mut outcome, &self.spec.limits, &call.limits);
        outcome.notes.extend(sandbox.ready.remarks.iter().cloned());
        if self.keeps.is_empty() {
            if report.spent.is_none() {
                self.warm.push_back(sandbox);
            }
        } else {
            outcome.notes.push(format!(
                "imported anew for each call, because the import keeps {}",
                self.keeps.join(", ")
            ));
        }
        Ok(outcome)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Second::OnItsWay(start) = std::mem::replace(&mut self.second, Second::Tried) {
            drop(start.join());
        }
    }
}
