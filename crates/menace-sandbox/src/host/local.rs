//! The backend of this machine: sandboxes made of namespaces or, without them, of Landlock.

use std::io;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::backend::{Backend, Warm};
use super::canary::{self, Canary};
use super::leftovers;
use super::nursery::Nursery;
use super::options::{Options, WarmSpec};
use super::owners::Owners;
use super::sandbox::Sandbox;
use super::session::Session;
use super::workspace::Workspace;
use crate::cgroup::{self, Available, Group, Purged};
use crate::confine::Interpose;
use crate::error::explain;
use crate::harness::Packed;
use crate::machine::Machine;
use crate::wire::messages::{Identity, InitConfig};
use crate::{SandboxError, Tier};

/// Who the guest is outside of the sandbox when Menace is root: nobody that owns anything.
const GUEST: Identity = Identity { uid: 1_299_475_790, gid: 1_299_475_790 };

/// However many processors there are: a few have made up for those that start together.
const MOST_SPARES: usize = 4;

/// Runs calls on this machine.
#[derive(Debug)]
pub struct LocalBackend {
    source: Arc<Source>,
}

/// Where sandboxes come from.
#[derive(Debug)]
pub(crate) struct Source {
    starter: Arc<Starter>,
    nursery: Nursery,
}

/// Makes sandboxes.
#[derive(Debug)]
pub(crate) struct Starter {
    options: Options,
    tier: Tier,
    groups: Available,
    /// When Menace is root and there are mounts.
    owners: Option<Owners>,
    harness: Packed,
    /// Policies whose sandbox has proved itself.
    proved: Mutex<Vec<(u8, bool, Interpose)>>,
}

impl LocalBackend {
    /// Finds out what the machine can do and removes what an earlier Menace left behind.
    pub fn new(options: Options) -> Result<Self, SandboxError> {
        let repo = options
            .repo
            .canonicalize()
            .map_err(|source| SandboxError::Repository { path: options.repo.clone(), source })?;
        let options = Options { repo, ..options };
        let machine = Machine::look(&options.init);
        let tier = match options.tier {
            Some(wanted) => machine.check(wanted)?,
            None => machine.best(options.unsafe_no_isolation)?,
        };
        if options.purge {
            purge(&options.workspaces);
        }
        let groups = cgroup::available();
        let has_owners = machine.root && tier.has_namespaces();
        let owners = has_owners
            .then(|| Owners::new(&options.repo, GUEST))
            .transpose()
            .map_err(SandboxError::start)?;
        let harness = Packed::new(&options.interpreter).map_err(SandboxError::start)?;
        let proved = Mutex::new(Vec::new());
        let starter = Starter { options, tier, groups, owners, harness, proved };
        // Where there are no mounts, each has a copy of the repository, which grows old.
        let spares = if tier.has_namespaces() { processors().min(MOST_SPARES) } else { 0 };
        let source = Source { starter: Arc::new(starter), nursery: Nursery::new(spares) };
        Ok(Self { source: Arc::new(source) })
    }

    pub fn options(&self) -> &Options {
        self.source.options()
    }
}

impl Source {
    pub(crate) fn options(&self) -> &Options {
        &self.starter.options
    }

    pub(crate) fn starter(&self) -> Arc<Starter> {
        Arc::clone(&self.starter)
    }

    /// A sandbox with nothing imported: one that was started ahead, or a new one.
    pub(crate) fn start(&self, spec: &WarmSpec) -> Result<Sandbox, SandboxError> {
        let waiting = self.nursery.take(spec).and_then(|mut sandbox| {
            // One that something ended while it was waiting is as good as none.
            sandbox.lead(&spec.import_roots).is_ok().then_some(sandbox)
        });
        let sandbox = waiting.map_or_else(|| self.starter.start(spec), Ok)?;
        self.nursery.refill(&self.starter, spec);
        Ok(sandbox)
    }
}

impl Starter {
    /// Starts a sandbox with nothing imported.
    pub(crate) fn start(&self, spec: &WarmSpec) -> Result<Sandbox, SandboxError> {
        let mut sandbox = self.start_blank(spec)?;
        sandbox.lead(&spec.import_roots)?;
        Ok(sandbox)
    }

    /// The same, for any module: what there is to import is still to be told.
    pub(crate) fn start_blank(&self, spec: &WarmSpec) -> Result<Sandbox, SandboxError> {
        // Each of these makes another filter.
        let policy = (spec.security_level, spec.safe_mode, spec.interpose);
        // Held while the first sandbox of a policy proves itself: the others wait for the proof.
        let mut proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        if proved.contains(&policy) || self.tier == Tier::Unsafe {
            drop(proved);
            return self.start_with(spec, None);
        }
        let canary = Canary::new(&self.options.workspaces).map_err(SandboxError::start)?;
        let sandbox = self.start_with(spec, Some(&canary))?;
        if !canary.is_untouched().map_err(SandboxError::start)? {
            return Err(SandboxError::Refused(
                "the sandbox does not hold: something came out of it".to_owned(),
            ));
        }
        proved.push(policy);
        Ok(sandbox)
    }

    fn start_with(
        &self,
        spec: &WarmSpec,
        canary: Option<&Canary>,
    ) -> Result<Sandbox, SandboxError> {
        let name =
            cgroup::next_name().map_err(|error| SandboxError::start(io::Error::other(error)))?;
        let group = match self.tier {
            Tier::Unsafe => None,
            _ => Group::create(&self.groups, &name)
                .inspect_err(|error| tracing::warn!("no control group: {error}"))
                .ok()
                .flatten(),
        };
        for (controller, why) in group.iter().flat_map(Group::missing) {
            tracing::debug!("no {} in the control group: {why}", controller.name());
        }
        let interpreter = &self.options.interpreter;
        let drop_to = nix::unistd::geteuid().is_root().then_some(GUEST);
        let workspace = (!self.tier.has_namespaces())
            .then(|| {
                let Options { workspaces, cancel, .. } = &self.options;
                Workspace::make(workspaces, &name, drop_to, cancel)
            })
            .transpose()
            .map_err(SandboxError::start)?;
        let executable = &interpreter.executable;
        let config = InitConfig {
            tier: self.tier,
            drop_to,
            repo: self.options.repo.clone(),
            python: executable.strip_prefix(&self.options.repo).unwrap_or(executable).to_owned(),
            needs: interpreter.needs.clone(),
            harness: self.harness.contents.clone(),
            level: spec.security_level,
            safe_mode: spec.safe_mode,
            seed: spec.seed,
            hash_seed: spec.hash_seed,
            freeze_time: spec.freeze_time,
            extra_env: spec.environment.clone(),
            group: group.as_ref().map(|group| group.files().handed()),
            workspace: workspace.as_ref().map(|workspace| workspace.path().to_owned()),
            probe: canary.map(Canary::probe).transpose().map_err(SandboxError::start)?,
            open_files: spec.limits.open_files,
            processes: spec.limits.processes,
            interpose: spec.interpose,
        };
        let Options { init, cancel, .. } = &self.options;
        let handed = std::iter::once(self.harness.descriptor())
            .chain(config.group.iter().flatten().map(|handed| handed.fd))
            .chain(self.owners.as_ref().map(Owners::descriptors).into_iter().flatten());
        let handed: Vec<_> = handed.collect();
        Sandbox::start(init, &config, &handed, group, workspace, cancel)
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Removes what a Menace that was killed could not.
fn purge(workspaces: &Path) {
    let (groups, complaints) = told(cgroup::purge_leftovers());
    for complaint in complaints {
        tracing::warn!("cannot remove what a run that was killed left behind: {complaint}");
    }
    let removed =
        groups + leftovers::purge_workspaces(workspaces, GUEST.uid) + canary::purge(workspaces);
    if removed > 0 {
        tracing::info!("removed {removed} leftovers of runs that were killed");
    }
}

/// How many groups are gone, and what went wrong with the others.
fn told(purged: cgroup::Result<Purged>) -> (usize, Vec<String>) {
    match purged {
        Ok(Purged { groups, failed }) => {
            (groups, failed.iter().map(|error| explain(error)).collect())
        }
        Err(error) => (0, vec![explain(&error)]),
    }
}

impl Backend for LocalBackend {
    fn tier(&self) -> Tier {
        self.source.starter.tier
    }

    fn watches_for_free(&self) -> bool {
        self.options().interpreter.has_monitoring()
    }

    fn anticipate(&self, spec: &WarmSpec) {
        self.source.nursery.raise(&self.source.starter, spec);
    }

    fn warm(&self, spec: &WarmSpec) -> Result<Box<dyn Warm>, SandboxError> {
        Ok(Box::new(Session::new(Arc::clone(&self.source), spec.clone(), false)))
    }

    fn warm_alone(&self, spec: &WarmSpec) -> Result<Box<dyn Warm>, SandboxError> {
        Ok(Box::new(Session::new(Arc::clone(&self.source), spec.clone(), true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_cannot_be_removed_is_told_with_its_place_and_reason() {
        let denied = |path: &str| cgroup::Error::Remove {
            path: path.into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        let failed = vec![denied("/groups/one"), denied("/groups/other")];
        let (groups, complaints) = told(Ok(Purged { groups: 3, failed }));
        assert_eq!((groups, complaints.len()), (3, 2));
        assert!(complaints[1].contains("`/groups/other`"), "{complaints:?}");
        assert!(complaints[1].contains("permission denied"), "{complaints:?}");
        let (groups, complaints) = told(Err(denied("/proc/self/mountinfo")));
        assert_eq!((groups, complaints.len()), (0, 1));
    }
}
