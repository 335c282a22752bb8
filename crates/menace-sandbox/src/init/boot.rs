//! Assembles a sandbox and hands it to [`SandboxInit::serve`].

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::copied_layer::CopiedLayer;
use super::layer::WritableLayer;
use super::limits::LimitEnforcer;
use super::mailbox::ReportMailbox;
use super::overlay::OverlayLayer;
use super::processes::{self, ProcessScope};
use super::stack_sampler::StackSampler;
use super::streams::OutputStream;
use super::supervise::{GuestOutput, RunningCall, SandboxInit};
use super::zygote::{ProcessConfinement, Zygote, ZygoteProgram};
use super::{InitError, InitErrorContext, paths, probe, root};
use crate::Tier;
use crate::cgroup::{CgroupController, CgroupFiles};
use crate::confine::{AllowedPaths, ConfinementPolicy, PathAccessRecorder, UnrecordedPaths};
use crate::fault::FaultInjector;
use crate::network::NetworkLink;
use crate::wire::harness::HarnessSetup;
use crate::wire::messages::{InitConfig, SandboxReady};
use crate::{harness, sys};

/// Processes and threads that a call's limit does not count: init, its parent, its thread that
/// shapes the network, the zygote, and the call's first process.
const RESERVED_PROCESSES: u64 = 5;

/// Builds the sandbox as PID 1 of fresh namespaces.
pub(crate) fn serve_namespaced(
    host: &UnixStream,
    config: &InitConfig,
    host_mounts: &root::HostMounts,
    packed_harness: &File,
    group: Option<CgroupFiles>,
) -> Result<(), InitError> {
    nix::unistd::sethostname("sandbox").with_context(|| "cannot set the host name".to_owned())?;
    let mut policy = build_policy(config);
    let root = root::enter_new_root(config, host_mounts, packed_harness, policy.allows_network())?;
    policy.host_sockets_visible = root.exposes_sockets;
    let proc_path = PathBuf::from(format!("/proc/self/fd/{}", root.proc.as_raw_fd()));
    let layer = WritableLayer::Overlay(OverlayLayer::new(
        config.spec.confinement.security_level.allows_repository_writes(),
    ));
    let read = paths::SYSTEM_DIRS
        .iter()
        .chain(&["/etc", "/proc", paths::HARNESS_DIR])
        .map(PathBuf::from)
        .chain(config.readable_paths.iter().cloned());
    let allowed_paths = AllowedPaths {
        read: read.collect(),
        write: layer.landlock_write_dirs(),
        devices: paths::DEVICE_PATHS.iter().map(PathBuf::from).collect(),
    };
    let boot = SandboxBoot {
        host,
        config,
        policy,
        packed_harness,
        group,
        layer,
        allowed_paths,
        process_scope: ProcessScope::Namespace,
        proc: proc_path,
    };
    boot.serve(Path::new(paths::HARNESS_DIR), host_mounts.notes.clone())
}

/// Builds the sandbox without namespaces, around a copy of the repository.
#[expect(clippy::disallowed_methods, reason = "the workspace, before a guest runs")]
pub(crate) fn serve_copied(
    host: &UnixStream,
    config: &InitConfig,
    layer: CopiedLayer,
    packed_harness: &File,
    group: Option<CgroupFiles>,
) -> Result<(), InitError> {
    let workspace = config
        .workspace
        .as_ref()
        .ok_or_else(|| InitError::Failed("no workspace was given".to_owned()))?;
    let harness = workspace.join("menace");
    std::fs::create_dir_all(&harness).with_context(|| "cannot create the harness".to_owned())?;
    harness::unpack_files(packed_harness, &config.harness, &harness)
        .with_context(|| "cannot write the harness".to_owned())?;
    let layer = WritableLayer::Copied(layer);
    let system = paths::SYSTEM_DIRS.iter().chain(&paths::ETC_PATHS).map(PathBuf::from);
    // At level 5 the repository is read-only.
    let (repo, write) = if config.spec.confinement.security_level.allows_repository_writes() {
        (None, layer.landlock_write_dirs())
    } else {
        (Some(layer.repo().to_owned()), vec![layer.scratch_dir().to_owned()])
    };
    let system = system.chain([harness.clone()]).chain(repo);
    let allowed_paths = AllowedPaths {
        read: system.chain(config.readable_paths.iter().cloned()).collect(),
        write,
        devices: paths::DEVICE_PATHS.iter().map(PathBuf::from).collect(),
    };
    let boot = SandboxBoot {
        host,
        config,
        policy: build_policy(config),
        packed_harness,
        group,
        layer,
        allowed_paths,
        process_scope: ProcessScope::Descendants,
        proc: PathBuf::from("/proc"),
    };
    boot.serve(&harness, Vec::new())
}

fn build_policy(config: &InitConfig) -> ConfinementPolicy {
    ConfinementPolicy {
        confinement: config.spec.confinement,
        namespaces: config.tier.has_namespaces(),
        host_sockets_visible: false,
        records_path_access: config.tier != Tier::Unsafe,
        interposition: config.spec.interposition,
    }
}

struct SandboxBoot<'a> {
    host: &'a UnixStream,
    config: &'a InitConfig,
    policy: ConfinementPolicy,
    packed_harness: &'a File,
    group: Option<CgroupFiles>,
    layer: WritableLayer,
    allowed_paths: AllowedPaths,
    process_scope: ProcessScope,
    /// A `/proc` that is mounted writable.
    proc: PathBuf,
}

impl SandboxBoot<'_> {
    fn serve(mut self, harness: &Path, mut notes: Vec<String>) -> Result<(), InitError> {
        let (config, policy) = (self.config, self.policy);
        self.layer.prepare()?;
        if self.process_scope == ProcessScope::Descendants {
            // From here on there are other processes, which must be ended before init. The signal
            // at the parent's death is cleared because it is sent when the host's *thread* ends
            // that started this process.
            sys::clear_parent_death_signal()
                .with_context(|| "cannot untie the init from its host".to_owned())?;
        }
        // Both may be inside of the repository, where strict levels execute nothing else.
        let python = &config.python;
        self.allowed_paths
            .read
            .extend([&python.program, &python.sys_executable].map(|it| self.resolve(it)));
        let is_probed = config.escape_probe.is_some();
        if is_probed {
            notes.extend(self.set_up_network()?);
        }
        let foreign = self.count_foreign_processes();
        if let Some(wanted) = &config.escape_probe
            && config.tier != Tier::Unsafe
        {
            self.limit_group_processes(Some(probe::PROBE_PROCESS_LIMIT))?;
            // The probe reports for itself: it needs neither interposed nor recorded calls.
            let plain = ConfinementPolicy {
                interposition: menace_model::SyscallInterposition::default(),
                records_path_access: false,
                ..policy
            };
            probe::run(
                wanted,
                &self.build_confinement(plain, probe::PROBE_PROCESS_LIMIT + foreign),
            )?;
            self.layer.discard()?;
            self.layer.prepare()?;
        }
        self.limit_group_processes(Some(config.spec.import_limits.processes + RESERVED_PROCESSES))?;
        let mailbox = ReportMailbox::new().with_context(|| "cannot make the mailbox".to_owned())?;
        let out = OutputStream::new().with_context(|| "cannot make a pipe".to_owned())?;
        let err = OutputStream::new().with_context(|| "cannot make a pipe".to_owned())?;
        let stack_sampler = StackSampler::new().with_context(|| "cannot make a pipe".to_owned())?;
        let bundle = harness::copy_bundle(self.packed_harness, &config.harness)
            .with_context(|| "cannot copy the harness".to_owned())?;
        let program = ZygoteProgram {
            python: self.resolve(&config.python.program),
            harness: config.harness.main_file(harness),
            bundle: &bundle,
            environment: self.build_environment(),
            directory: self.layer.repo().to_owned(),
            mailbox: &mailbox,
            out: &out,
            err: &err,
            stack_sampler: &stack_sampler,
        };
        let processes = config.spec.import_limits.processes + RESERVED_PROCESSES + foreign;
        let confinement = self.build_confinement(policy, processes);
        let ceilings = confinement.compute_ceilings();
        let (setup, unrecorded_paths) = self.build_setup();
        let zygote =
            Zygote::start(&program, &confinement, PathAccessRecorder::new(unrecorded_paths))?;
        // Python has read the bundle.
        drop(bundle);
        if !is_probed {
            // Starting Python takes a while and needs no network, so the network is set up
            // meanwhile.
            notes.extend(self.set_up_network()?);
        }
        let missing = zygote.landlock_status.unenforced.iter();
        notes.extend(missing.map(|what| format!("Landlock does not restrict here: {what}")));
        let ready = SandboxReady { repo: self.layer.repo().to_string_lossy().into_owned(), notes };
        let limit_enforcer =
            LimitEnforcer::new(self.group.take(), self.process_scope, zygote.pid, ceilings);
        let guest_dirs = ["/tmp", "/var/tmp", "/dev/shm"].iter().map(PathBuf::from);
        let guest_dirs =
            guest_dirs.chain([self.layer.layer_root(), self.layer.repo().to_owned()]).collect();
        let mut sandbox = SandboxInit {
            host: self.host,
            zygote,
            layer: self.layer,
            link: NetworkLink::new(policy.allows_network(), self.proc.clone()),
            limit_enforcer,
            faults: FaultInjector::new(guest_dirs),
            interposition: config.spec.interposition,
            process_scope: self.process_scope,
            proc: self.proc,
            output: GuestOutput { mailbox, out, err, stack_sampler },
            running: RunningCall::default(),
        };
        sandbox.start_harness(&setup, ready)?;
        sandbox.serve()
    }

    /// Brings the loopback interface up. Returns a remark when ports cannot be released at once.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel, below `/proc`")]
    fn set_up_network(&self) -> Result<Option<String>, InitError> {
        if self.process_scope != ProcessScope::Namespace {
            return Ok(None);
        }
        sys::bring_loopback_up()
            .with_context(|| "cannot bring the loopback interface up".to_owned())?;
        // Otherwise the kernel would keep ports in `TIME_WAIT`, and the next call could not use
        // them.
        let forget = std::fs::write(self.proc.join("sys/net/ipv4/tcp_max_tw_buckets"), "0");
        Ok(forget
            .err()
            .map(|error| format!("a port that a call used stays taken for a minute: {error}")))
    }

    fn build_confinement(
        &self,
        policy: ConfinementPolicy,
        processes: u64,
    ) -> ProcessConfinement<'_> {
        let counts = |group: &CgroupFiles| group.version(CgroupController::Pids).is_some();
        let group_counts = self.group.as_ref().is_some_and(counts);
        ProcessConfinement {
            policy,
            allowed_paths: &self.allowed_paths,
            group: self.group.as_ref(),
            open_files: self.config.spec.import_limits.open_files,
            processes: (!group_counts).then_some(processes),
            unsafe_tier: self.config.tier == Tier::Unsafe,
        }
    }

    fn limit_group_processes(&mut self, processes: Option<u64>) -> Result<(), InitError> {
        match &mut self.group {
            Some(group) if group.version(CgroupController::Pids).is_some() => group
                .set_pids_limit(processes)
                .map_err(|error| InitError::Failed(error.to_string())),
            _ => Ok(()),
        }
    }

    /// Threads of the user that are not the sandbox's: without a user namespace the limit counts
    /// them too.
    fn count_foreign_processes(&self) -> u64 {
        if self.process_scope == ProcessScope::Namespace {
            return 0;
        }
        processes::count_threads_of_user(nix::unistd::getuid().as_raw())
    }

    /// The setup message for the harness, and the paths whose use is not recorded.
    fn build_setup(&self) -> (Vec<u8>, UnrecordedPaths) {
        // Files below these may be secrets of the host or not: the host decides.
        let undecided = [Path::new("/proc"), Path::new("/etc")];
        let AllowedPaths { read, devices, .. } = &self.allowed_paths;
        let mut read = read.clone();
        read.retain(|path| !undecided.contains(&path.as_path()));
        let mut write = devices.clone();
        write.push(self.layer.layer_root());
        write.extend(["/dev/fd", "/dev/std", "/proc/self"].map(PathBuf::from));
        if self.process_scope == ProcessScope::Namespace {
            // With namespaces these lead to the call's own layer, and so does the repository's path
            // on the host.
            write.extend(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
            write.push(self.config.repo.clone());
        }
        read.extend(write.iter().chain([&self.config.repo]).cloned());
        let unrecorded_paths = UnrecordedPaths { read, write };
        let venv_dir = self.config.python.venv_dir.as_ref();
        let venv_dir = venv_dir.map(|directory| self.resolve(directory));
        let setup = HarnessSetup {
            repo: self.layer.repo(),
            unrecorded_paths: &unrecorded_paths,
            seed: self.config.spec.seed,
            freeze_time: self.config.spec.freeze_time,
            sys_executable: &self.resolve(&self.config.python.sys_executable),
            venv_dir: venv_dir.as_deref(),
            site_excludes_repository: self.config.python.site_excludes_repository,
        };
        (setup.encode(), unrecorded_paths)
    }

    /// The interpreter's path as the guest sees it; an absolute path stays as it is.
    fn resolve(&self, path: &Path) -> PathBuf {
        self.layer.repo().join(path)
    }

    /// The guest's environment, built from scratch: no variable of the host is passed on.
    fn build_environment(&self) -> Vec<(String, String)> {
        let scratch_dir = self.layer.scratch_dir();
        let inside = |inner: &str| scratch_dir.join(inner).to_string_lossy().into_owned();
        let data = inside(paths::DATA_SUBDIR);
        let tmp = if self.process_scope == ProcessScope::Namespace {
            "/tmp".to_owned()
        } else {
            inside(paths::TMP_SUBDIR)
        };
        let python = self.resolve(&self.config.python.sys_executable);
        let bin = python.parent().unwrap_or(Path::new("/usr/bin")).display();
        let mut variables: Vec<(String, String)> = [
            ("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin")),
            ("HOME", inside(paths::HOME_SUBDIR)),
            ("TMPDIR", tmp),
            ("USER", "sandbox".to_owned()),
            ("LOGNAME", "sandbox".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("PYTHONHASHSEED", self.config.spec.hash_seed.to_string()),
            // Variables that name databases point to the scratch directory.
            ("DATABASE_URL", format!("sqlite:///{data}/database.db")),
            ("BOT_DB_PATH", format!("{data}/bot.db")),
            ("BOT_PERFORMANCE_DB", format!("{data}/bot_performance.db")),
            ("MAINTENANCE_DB", format!("{data}/maintenance.db")),
            // Threads of numerical libraries do not survive a fork, and make times vary.
            ("OMP_NUM_THREADS", "1".to_owned()),
            ("OPENBLAS_NUM_THREADS", "1".to_owned()),
            ("MKL_NUM_THREADS", "1".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        variables.extend(self.config.spec.environment.iter().cloned());
        variables
    }
}
