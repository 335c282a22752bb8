//! Calls of one module, whatever happens to the sandbox in between.
//!
//! A sandbox that a call has spoilt is replaced. When the import leaves something that a fork
//! cannot copy (a thread, a socket), each call gets a fresh import.

use menace_model::{Call, How, Outcome};

use super::backend::Warm;
use super::namespaced::LocalBackend;
use super::options::WarmSpec;
use super::report::{self, Context};
use super::sandbox::Sandbox;
use crate::SandboxError;
use crate::wire::messages::Report;

#[derive(Debug)]
pub(crate) struct Session<'a> {
    backend: &'a LocalBackend,
    spec: WarmSpec,
    /// With the module imported.
    warm: Option<Sandbox>,
    /// With nothing imported, for calls of a module's top level.
    blank: Option<Sandbox>,
    /// How the import failed; it would fail again.
    broken: Option<Box<(Report, String)>>,
    /// Why no two calls may share an import.
    keeps: Vec<String>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(backend: &'a LocalBackend, spec: WarmSpec) -> Self {
        Self { backend, spec, warm: None, blank: None, broken: None, keeps: Vec::new() }
    }

    /// Makes sure that there is a sandbox with the module imported; false when it cannot be.
    fn heat(&mut self) -> Result<bool, SandboxError> {
        if self.broken.is_some() {
            return Ok(false);
        }
        let Some(module) = &self.spec.module else { return Ok(true) };
        if self.warm.is_some() {
            return Ok(true);
        }
        let mut sandbox = self.backend.start(&self.spec)?;
        let mut report = sandbox.import(module, &self.spec.limits)?;
        if report.spent.is_some() {
            self.broken = Some(Box::new((report, sandbox.ready.repo.clone())));
            return Ok(false);
        }
        self.keeps = std::mem::take(&mut report.keeps);
        self.warm = Some(sandbox);
        Ok(true)
    }

    fn run_blank(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        let mut sandbox = match self.blank.take() {
            Some(sandbox) => sandbox,
            None => self.backend.start(&self.spec)?,
        };
        let report = sandbox.call(call)?;
        let context = Context::new(&sandbox.ready.repo, &self.backend.options().repo, call);
        let outcome = report::outcome(&report, &context);
        if report.spent.is_none() {
            self.blank = Some(sandbox);
        }
        Ok(outcome)
    }
}

impl Warm for Session<'_> {
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
        if call.target.how == How::Module || self.spec.module.is_none() {
            return self.run_blank(call);
        }
        if !self.heat()? {
            let Some(broken) = &self.broken else {
                return Err(SandboxError::Protocol("an import that neither worked nor failed"));
            };
            let (report, repo) = &**broken;
            let mut context = Context::new(repo, &self.backend.options().repo, call);
            context.during_import = true;
            return Ok(report::outcome(report, &context));
        }
        let Some(mut sandbox) = self.warm.take() else {
            return Err(SandboxError::Protocol("no sandbox after a successful import"));
        };
        let report = sandbox.call(call)?;
        let context = Context::new(&sandbox.ready.repo, &self.backend.options().repo, call);
        let mut outcome = report::outcome(&report, &context);
        if self.keeps.is_empty() {
            if report.spent.is_none() {
                self.warm = Some(sandbox);
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
