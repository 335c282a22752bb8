//! The backend of this machine: sandboxes made of namespaces or, without them, of Landlock.

use std::io;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use menace_model::{CallConfinement, SandboxSpec, SyscallInterposition};

use super::backend::{CallSession, SandboxBackend};
use super::canary::{self, HostCanary};
use super::leftovers;
use super::options::BackendOptions;
use super::owner_namespaces::OwnerNamespaces;
use super::pool::SandboxPool;
use super::sandbox::SandboxHandle;
use super::session::LocalSession;
use super::workspace::SandboxWorkspace;
use crate::cgroup::{self, AvailableCgroups, PurgedCgroups, SandboxCgroup};
use crate::harness::PackedHarness;
use crate::machine::MachineCapabilities;
use crate::wire::messages::{InitConfig, PythonProgram, UserIdentity};
use crate::{SandboxError, Tier};
use menace_model::format_error_chain;

/// The guest's user on the host when Menace is root: a user that owns no files.
const GUEST_IDENTITY: UserIdentity = UserIdentity { uid: 1_299_475_790, gid: 1_299_475_790 };

/// The most spares of one spec, however many processors there are: enough for sessions that start
/// together.
const MAX_SPARES: usize = 4;

/// Runs calls on this machine.
#[derive(Debug)]
pub struct LocalBackend {
    tier: Tier,
    pool: Arc<SandboxPool>,
}

/// Starts sandboxes.
#[derive(Debug)]
pub(crate) struct SandboxStarter {
    options: BackendOptions,
    tier: Tier,
    available_cgroups: AvailableCgroups,
    /// Set when Menace is root and the tier has namespaces.
    owners: Option<OwnerNamespaces>,
    harness: PackedHarness,
    /// Policies under which a sandbox has passed the escape probe.
    proven_policies: Mutex<Vec<(CallConfinement, SyscallInterposition)>>,
}

impl LocalBackend {
    /// Detects what the machine supports, and removes what a killed Menace left behind.
    pub fn new(options: BackendOptions) -> Result<Self, SandboxError> {
        let repo = menace_files::resolve_named_path(&options.repo)
            .map_err(|source| SandboxError::Repository { path: options.repo.clone(), source })?;
        let options = BackendOptions { repo, ..options };
        let machine = MachineCapabilities::detect(&options.init);
        let tier = match options.tier {
            Some(wanted) => machine.check_tier(wanted)?,
            None => machine.strongest_tier(options.unsafe_no_isolation)?,
        };
        if options.purge_leftovers {
            purge_leftovers(&options.workspace_parent);
        }
        let groups = cgroup::detect_cgroups();
        let has_owners = machine.root && tier.has_namespaces();
        let owners = has_owners
            .then(|| OwnerNamespaces::new(&options.repo, GUEST_IDENTITY))
            .transpose()
            .map_err(SandboxError::start_error)?;
        let harness =
            PackedHarness::new(&options.interpreter).map_err(SandboxError::start_error)?;
        let proved = Mutex::new(Vec::new());
        let starter = SandboxStarter {
            options,
            tier,
            available_cgroups: groups,
            owners,
            harness,
            proven_policies: proved,
        };
        // In the `landlock` tier each sandbox has a copy of the repository, which would become
        // outdated.
        let spares = if tier.has_namespaces() { available_processors().min(MAX_SPARES) } else { 0 };
        Ok(Self { tier, pool: Arc::new(SandboxPool::new(starter, spares)) })
    }

    pub fn options(&self) -> &BackendOptions {
        self.pool.options()
    }
}

impl SandboxStarter {
    pub(crate) fn options(&self) -> &BackendOptions {
        &self.options
    }

    /// Starts a sandbox with nothing imported.
    pub(crate) fn start(&self, spec: &SandboxSpec) -> Result<SandboxHandle, SandboxError> {
        let mut sandbox = self.start_without_import_path(spec)?;
        sandbox.set_import_path(&spec.import_roots)?;
        Ok(sandbox)
    }

    /// Starts a sandbox for any module: the import path is sent later.
    pub(crate) fn start_without_import_path(
        &self,
        spec: &SandboxSpec,
    ) -> Result<SandboxHandle, SandboxError> {
        // Each of these makes another seccomp filter, which needs its own proof.
        let policy = (spec.confinement, spec.interposition);
        // Held while the first sandbox of a policy is probed: others wait for the result.
        let mut proved = self.proven_policies.lock().unwrap_or_else(PoisonError::into_inner);
        if proved.contains(&policy) || self.tier == Tier::Unsafe {
            drop(proved);
            return self.start_with_canary(spec, None);
        }
        let canary =
            HostCanary::new(&self.options.workspace_parent).map_err(SandboxError::start_error)?;
        let sandbox = self.start_with_canary(spec, Some(&canary))?;
        if !canary.is_untouched().map_err(SandboxError::start_error)? {
            return Err(SandboxError::BuildFailed(
                "the sandbox does not hold: something came out of it".to_owned(),
            ));
        }
        proved.push(policy);
        Ok(sandbox)
    }

    fn start_with_canary(
        &self,
        spec: &SandboxSpec,
        canary: Option<&HostCanary>,
    ) -> Result<SandboxHandle, SandboxError> {
        let name = cgroup::next_name()
            .map_err(|error| SandboxError::start_error(io::Error::other(error)))?;
        let group = match self.tier {
            Tier::Unsafe => None,
            _ => SandboxCgroup::create(&self.available_cgroups, &name)
                .inspect_err(|error| tracing::warn!("no control group: {error}"))
                .ok()
                .flatten(),
        };
        for (controller, why) in group.iter().flat_map(SandboxCgroup::missing_controllers) {
            tracing::debug!("no {} in the control group: {why}", controller.name());
        }
        let interpreter = &self.options.interpreter;
        let drop_to = nix::unistd::geteuid().is_root().then_some(GUEST_IDENTITY);
        let workspace = (!self.tier.has_namespaces())
            .then(|| {
                let BackendOptions { workspace_parent, cancel, .. } = &self.options;
                SandboxWorkspace::create(workspace_parent, &name, drop_to, cancel)
            })
            .transpose()
            .map_err(SandboxError::start_error)?;
        let path = |path: &Path| path.strip_prefix(&self.options.repo).unwrap_or(path).to_owned();
        let config = InitConfig {
            tier: self.tier,
            switch_to: drop_to,
            repo: self.options.repo.clone(),
            python: PythonProgram {
                program: path(&interpreter.program),
                sys_executable: path(&interpreter.executable),
                venv_dir: interpreter.environment().map(path),
                site_excludes_repository: interpreter.site_excludes_repository,
            },
            readable_paths: interpreter.readable_paths.clone(),
            harness: self.harness.contents.clone(),
            spec: spec.clone(),
            cgroup_files: group.as_ref().map(|group| group.files().inheritable()),
            workspace: workspace.as_ref().map(|workspace| workspace.path().to_owned()),
            escape_probe: canary
                .map(HostCanary::probe)
                .transpose()
                .map_err(SandboxError::start_error)?,
        };
        let BackendOptions { init, cancel, .. } = &self.options;
        let handed = std::iter::once(self.harness.descriptor())
            .chain(config.cgroup_files.iter().flatten().map(|handed| handed.fd))
            .chain(self.owners.as_ref().map(OwnerNamespaces::descriptors).into_iter().flatten());
        let handed: Vec<_> = handed.collect();
        SandboxHandle::start(init, &config, &handed, group, workspace, cancel)
    }
}

fn available_processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Removes groups, canaries, workspaces and processes that a killed Menace left behind.
fn purge_leftovers(workspace_parent: &Path) {
    let (groups, errors) = summarize_purge(cgroup::purge_leftovers());
    for error in errors {
        tracing::warn!("cannot remove what a run that was killed left behind: {error}");
    }
    let removed = groups
        + leftovers::purge_workspaces(workspace_parent, GUEST_IDENTITY.uid)
        + canary::purge_canaries(workspace_parent);
    if removed > 0 {
        tracing::info!("removed {removed} leftovers of runs that were killed");
    }
}

/// The number of removed groups, and the errors of the others.
fn summarize_purge(purged: cgroup::CgroupResult<PurgedCgroups>) -> (usize, Vec<String>) {
    match purged {
        Ok(PurgedCgroups { groups, failed }) => {
            (groups, failed.iter().map(|error| format_error_chain(error)).collect())
        }
        Err(error) => (0, vec![format_error_chain(&error)]),
    }
}

impl SandboxBackend for LocalBackend {
    fn tier(&self) -> Tier {
        self.tier
    }

    fn has_cheap_coverage(&self) -> bool {
        self.options().interpreter.has_monitoring()
    }

    fn prewarm(&self, spec: &SandboxSpec) {
        self.pool.prewarm(spec);
    }

    fn open_session(&self, spec: &SandboxSpec) -> Result<Box<dyn CallSession>, SandboxError> {
        Ok(Box::new(LocalSession::new(Arc::clone(&self.pool), spec.clone())))
    }

    fn open_pooled_session(
        &self,
        spec: &SandboxSpec,
    ) -> Result<Box<dyn CallSession>, SandboxError> {
        Ok(Box::new(LocalSession::new_pooled(Arc::clone(&self.pool), spec.clone())))
    }

    fn reserve_idle(&self, sessions: usize) {
        self.pool.reserve_idle(sessions);
    }

    fn release_idle(&self, sessions: usize) {
        self.pool.release_idle(sessions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_cannot_be_removed_is_reported_with_path_and_reason() {
        let denied = |path: &str| cgroup::CgroupError::Remove {
            path: path.into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        let failed = vec![denied("/groups/one"), denied("/groups/other")];
        let (groups, errors) = summarize_purge(Ok(PurgedCgroups { groups: 3, failed }));
        assert_eq!((groups, errors.len()), (3, 2));
        assert!(errors[1].contains("`/groups/other`"), "{errors:?}");
        assert!(errors[1].contains("permission denied"), "{errors:?}");
        let (groups, errors) = summarize_purge(Err(denied("/proc/self/mountinfo")));
        assert_eq!((groups, errors.len()), (0, 1));
    }
}
