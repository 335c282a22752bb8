//! Puts a sandbox together and hands it to [`Sandbox::serve`].

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::copied::Copied;
use super::layer::Layer;
use super::limits::Keeper;
use super::mailbox::Mailbox;
use super::overlay::Overlay;
use super::processes::{self, Census};
use super::streams::Stream;
use super::supervise::Sandbox;
use super::whereabouts::Whereabouts;
use super::zygote::{Confinement, Program, Zygote};
use super::{During, InitError, paths, probe, root};
use crate::Tier;
use crate::cgroup::{Controller, GroupFiles};
use crate::confine::{Home, Interpose, Level, Places, Policy, Reach};
use crate::fault::Faults;
use crate::network::Link;
use crate::wire::harness::Setup;
use crate::wire::messages::{InitConfig, Ready};
use crate::{harness, sys};

/// Room for what a call's limit does not count: the init, its parent, its thread for a bad network,
/// the zygote, and the call's first process.
const OWN_PROCESSES: u64 = 5;

/// As PID 1 of fresh namespaces.
pub(crate) fn serve_namespaced(
    host: &UnixStream,
    config: &InitConfig,
    trees: &root::Trees,
    packed: &File,
    group: Option<GroupFiles>,
) -> Result<(), InitError> {
    nix::unistd::sethostname("sandbox").during(|| "cannot set the host name".to_owned())?;
    let mut policy = policy(config)?;
    let root = root::enter(config, trees, packed, policy.network())?;
    policy.host_lets_in = root.lets_in;
    let proc_path = PathBuf::from(format!("/proc/self/fd/{}", root.proc.as_raw_fd()));
    let layer = Layer::Overlay(Overlay::new(config.level < 5));
    let read = paths::SYSTEM
        .iter()
        .chain(&["/etc", "/proc", paths::HARNESS])
        .map(PathBuf::from)
        .chain(config.needs.iter().cloned());
    let places = Places {
        read: read.collect(),
        write: layer.write_places(),
        devices: paths::DEVICES.iter().map(PathBuf::from).collect(),
    };
    let boot = Boot {
        host,
        config,
        policy,
        packed,
        group,
        layer,
        places,
        census: Census::Namespace,
        proc: proc_path,
    };
    boot.serve(Path::new(paths::HARNESS), trees.remarks.clone())
}

/// Without namespaces, around a copy of the repository.
pub(crate) fn serve_copied(
    host: &UnixStream,
    config: &InitConfig,
    layer: Copied,
    packed: &File,
    group: Option<GroupFiles>,
) -> Result<(), InitError> {
    let workspace = config
        .workspace
        .as_ref()
        .ok_or_else(|| InitError::Refused("no workspace was given".to_owned()))?;
    let harness = workspace.join("menace");
    std::fs::create_dir_all(&harness).during(|| "cannot create the harness".to_owned())?;
    harness::unpack(packed, &config.harness, &harness)
        .during(|| "cannot write the harness".to_owned())?;
    let layer = Layer::Copied(layer);
    let system = paths::SYSTEM.iter().chain(&paths::ETC).map(PathBuf::from);
    // At the strictest level the repository can be read only.
    let (repo, write) = if config.level < 5 {
        (None, layer.write_places())
    } else {
        (Some(layer.repo().to_owned()), vec![layer.room().to_owned()])
    };
    let system = system.chain([harness.clone()]).chain(repo);
    let places = Places {
        read: system.chain(config.needs.iter().cloned()).collect(),
        write,
        devices: paths::DEVICES.iter().map(PathBuf::from).collect(),
    };
    let boot = Boot {
        host,
        config,
        policy: policy(config)?,
        packed,
        group,
        layer,
        places,
        census: Census::Descendants,
        proc: PathBuf::from("/proc"),
    };
    boot.serve(&harness, Vec::new())
}

fn policy(config: &InitConfig) -> Result<Policy, InitError> {
    let level =
        Level::try_from(config.level).map_err(|error| InitError::Refused(error.to_string()))?;
    Ok(Policy {
        level,
        safe_mode: config.safe_mode,
        namespaces: config.tier.has_namespaces(),
        host_lets_in: false,
        watches_files: config.tier != Tier::Unsafe,
        interpose: config.interpose,
    })
}

struct Boot<'a> {
    host: &'a UnixStream,
    config: &'a InitConfig,
    policy: Policy,
    packed: &'a File,
    group: Option<GroupFiles>,
    layer: Layer,
    places: Places,
    census: Census,
    /// A `/proc` that can be written to.
    proc: PathBuf,
}

impl Boot<'_> {
    fn serve(mut self, harness: &Path, mut remarks: Vec<String>) -> Result<(), InitError> {
        let (config, policy) = (self.config, self.policy);
        self.layer.prepare()?;
        if self.census == Census::Descendants {
            // From here on there are others, who must be ended first. The host's thread that waits
            // for this sandbox does not live as long as the sandbox, either.
            sys::outlive_parent().during(|| "cannot untie the init from its host".to_owned())?;
        }
        // It may be a program of the repository, where strict levels start nothing else.
        self.places.read.push(self.python());
        let proves_itself = config.probe.is_some();
        if proves_itself {
            remarks.extend(self.connect()?);
        }
        let foreign = self.foreign_processes();
        if let Some(wanted) = &config.probe
            && config.tier != Tier::Unsafe
        {
            self.limit_group(Some(probe::PROCESSES))?;
            // It answers for itself, and is asked about nothing but what is forbidden.
            let plain = Policy { interpose: Interpose::default(), watches_files: false, ..policy };
            probe::run(wanted, &self.confinement(plain, probe::PROCESSES + foreign))?;
            self.layer.discard()?;
            self.layer.prepare()?;
        }
        self.limit_group(Some(config.processes + OWN_PROCESSES))?;
        let mailbox = Mailbox::new().during(|| "cannot make the mailbox".to_owned())?;
        let out = Stream::new().during(|| "cannot make a pipe".to_owned())?;
        let err = Stream::new().during(|| "cannot make a pipe".to_owned())?;
        let whereabouts = Whereabouts::new().during(|| "cannot make a pipe".to_owned())?;
        let bundle = harness::bundle_of(self.packed, &config.harness)
            .during(|| "cannot copy the harness".to_owned())?;
        let program = Program {
            python: self.python(),
            harness: config.harness.main_file(harness),
            bundle: &bundle,
            environment: self.environment(),
            directory: self.layer.repo().to_owned(),
            mailbox: &mailbox,
            out: &out,
            err: &err,
            whereabouts: &whereabouts,
        };
        let processes = config.processes + OWN_PROCESSES + foreign;
        let confinement = self.confinement(policy, processes);
        let ceilings = confinement.ceilings();
        let (setup, home) = self.setup();
        let zygote = Zygote::start(&program, &confinement, Reach::new(home))?;
        // Once it is read, nobody holds it any more.
        drop(bundle);
        if !proves_itself {
            // Python does not need it while it starts, which takes it a while.
            remarks.extend(self.connect()?);
        }
        let missing = zygote.landlocked.unenforced.iter();
        remarks.extend(missing.map(|what| format!("Landlock does not restrict here: {what}")));
        let ready = Ready { repo: self.layer.repo().to_string_lossy().into_owned(), remarks };
        let keeper = Keeper::new(self.group.take(), self.census, zygote.pid, ceilings);
        let own_places = ["/tmp", "/var/tmp", "/dev/shm"].iter().map(PathBuf::from);
        let own_places =
            own_places.chain([self.layer.writable(), self.layer.repo().to_owned()]).collect();
        let mut sandbox = Sandbox {
            host: self.host,
            keeper,
            layer: self.layer,
            zygote,
            mailbox,
            out,
            err,
            whereabouts,
            stands_still: false,
            census: self.census,
            attempts: Vec::new(),
            link: Link::new(policy.network(), self.proc.clone()),
            proc: self.proc,
            kept_mapped: BTreeSet::new(),
            asked_for_fork: false,
            faults: Faults::new(own_places),
            interpose: config.interpose,
            delayed: Vec::new(),
            unsent: VecDeque::new(),
            running: None,
            stopped_early: false,
        };
        sandbox.greet(&setup, ready)?;
        sandbox.serve()
    }

    /// The network that a sandbox has of its own. Answers with what is not as it should be.
    fn connect(&self) -> Result<Option<String>, InitError> {
        if self.census != Census::Namespace {
            return Ok(None);
        }
        sys::loopback_up().during(|| "cannot bring the loopback interface up".to_owned())?;
        // Of the connections that a call closed, the kernel would remember the ports, for the next call to
        // run into.
        let forget = std::fs::write(self.proc.join("sys/net/ipv4/tcp_max_tw_buckets"), "0");
        Ok(forget
            .err()
            .map(|error| format!("a port that a call used stays taken for a minute: {error}")))
    }

    fn confinement(&self, policy: Policy, processes: u64) -> Confinement<'_> {
        let counts = |group: &GroupFiles| group.version(Controller::Pids).is_some();
        let group_counts = self.group.as_ref().is_some_and(counts);
        Confinement {
            policy,
            places: &self.places,
            group: self.group.as_ref(),
            open_files: self.config.open_files,
            processes: (!group_counts).then_some(processes),
            unsafe_tier: self.config.tier == Tier::Unsafe,
        }
    }

    fn limit_group(&mut self, processes: Option<u64>) -> Result<(), InitError> {
        match &mut self.group {
            Some(group) if group.version(Controller::Pids).is_some() => group
                .set_pids_limit(processes)
                .map_err(|error| InitError::Refused(error.to_string())),
            _ => Ok(()),
        }
    }

    /// Without a user namespace, the limit counts every process of the user.
    fn foreign_processes(&self) -> u64 {
        if self.census == Census::Namespace {
            return 0;
        }
        processes::threads_of(nix::unistd::getuid().as_raw())
    }

    /// What the harness has to know, and where the guest is at home.
    fn setup(&self) -> (Vec<u8>, Home) {
        let repo = self.layer.repo().to_string_lossy().into_owned();
        let room = self.layer.writable().to_string_lossy().into_owned();
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        // What is read there may be a secret of the host or none: the host decides.
        let undecided = [Path::new("/proc"), Path::new("/etc")];
        let read = self.places.read.iter().filter(|path| !undecided.contains(&path.as_path()));
        let mut roots: Vec<String> = read.map(text).collect();
        let mut write_roots: Vec<String> = self.places.devices.iter().map(text).collect();
        write_roots.extend([room, "/dev/fd".into(), "/dev/std".into(), "/proc/self".into()]);
        if self.census == Census::Namespace {
            // There, these lead to the call's own layer, and so does the repository's path outside.
            write_roots.extend(["/tmp".into(), "/var/tmp".into(), "/dev/shm".into()]);
            write_roots.push(text(&self.config.repo));
        }
        roots.extend(write_roots.iter().cloned());
        roots.push(text(&self.config.repo));
        let places = |texts: &[String]| texts.iter().map(PathBuf::from).collect();
        let home = Home { read: places(&roots), write: places(&write_roots) };
        let setup = Setup {
            repo: &repo,
            roots: &roots,
            write_roots: &write_roots,
            seed: self.config.seed,
            freeze_time: self.config.freeze_time,
        };
        (setup.body(), home)
    }

    /// As seen from inside; an absolute path stays what it is.
    fn python(&self) -> PathBuf {
        self.layer.repo().join(&self.config.python)
    }

    /// Built from scratch: nothing of the host's comes in.
    fn environment(&self) -> Vec<(String, String)> {
        let room = self.layer.room();
        let inside = |inner: &str| room.join(inner).to_string_lossy().into_owned();
        let data = inside(paths::DATA);
        let tmp =
            if self.census == Census::Namespace { "/tmp".to_owned() } else { inside(paths::TMP) };
        let python = self.python();
        let bin = python.parent().unwrap_or(Path::new("/usr/bin")).display();
        let mut variables: Vec<(String, String)> = [
            ("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin")),
            ("HOME", inside(paths::HOME)),
            ("TMPDIR", tmp),
            ("USER", "sandbox".to_owned()),
            ("LOGNAME", "sandbox".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("PYTHONHASHSEED", self.config.hash_seed.to_string()),
            ("DATABASE_URL", format!("sqlite:///{data}/database.db")),
            ("BOT_DB_PATH", format!("{data}/bot.db")),
            ("BOT_PERFORMANCE_DB", format!("{data}/bot_performance.db")),
            ("MAINTENANCE_DB", format!("{data}/maintenance.db")),
            // Threads of numerical libraries do not survive a fork, and make timing a lottery.
            ("OMP_NUM_THREADS", "1".to_owned()),
            ("OPENBLAS_NUM_THREADS", "1".to_owned()),
            ("MKL_NUM_THREADS", "1".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        variables.extend(self.config.extra_env.iter().cloned());
        variables
    }
}
