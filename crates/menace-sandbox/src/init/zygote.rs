//! Starts the Python interpreter that is forked for each call, confined from its first instruction.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::ForkResult;

use super::limits::Ceilings;
use super::mailbox::{self, Mailbox};
use super::streams::Stream;
use super::whereabouts::Whereabouts;
use super::{During, InitError};
use crate::cgroup::{Attaching, GroupFiles};
use crate::confine::{self, Landlocked, Listener, Places, Policy, Reach, Warden};
use crate::error::explain;
use crate::sys;
use crate::wire::{channel, harness};

/// Above what careless code closes ("everything up to 100").
const CONTROL: RawFd = 900;
const GO: RawFd = 901;
const MAILBOX: RawFd = 902;
/// Until Python has started. Up here, because nobody answers for it yet when it is first used.
const BOOT: RawFd = 903;
const FRAMES: RawFd = 904;
/// What the confined process begins with when something is wrong, and when nothing is.
pub(super) const COMPLAINT: u8 = b'!';
const FINE: u8 = b'.';
const BUNDLE: RawFd = 905;

/// How a confined process is started.
#[derive(Debug)]
pub(crate) struct Confinement<'a> {
    pub policy: Policy,
    pub places: &'a Places,
    pub group: Option<&'a GroupFiles>,
    pub open_files: u64,
    /// When no control group counts processes.
    pub processes: Option<u64>,
    /// No confinement at all was asked for.
    pub unsafe_tier: bool,
}

impl Confinement<'_> {
    /// What there is of what was asked for.
    pub(crate) fn ceilings(&self) -> Ceilings {
        let at_most = |wanted: u64, resource| wanted.min(hard_limit(resource));
        Ceilings {
            open_files: at_most(self.open_files, Resource::RLIMIT_NOFILE),
            processes: self.processes.map(|most| at_most(most, Resource::RLIMIT_NPROC)),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Zygote {
    pub pid: i32,
    pub end: OwnedFd,
    pub control: UnixStream,
    /// To the process that was forked for the next call.
    pub go: UnixStream,
    pub keeper: Option<DoorKeeper>,
    pub landlocked: Landlocked,
    attaching: Option<Attaching>,
}

/// Where denied system calls arrive, and who decides about them.
#[derive(Debug)]
pub(crate) struct DoorKeeper {
    pub listener: Listener,
    pub warden: Warden,
}

/// What is started.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub python: PathBuf,
    pub harness: PathBuf,
    /// What of the harness is not in a file of its own.
    pub bundle: &'a File,
    pub environment: Vec<(String, String)>,
    pub directory: PathBuf,
    pub mailbox: &'a Mailbox,
    pub out: &'a Stream,
    pub err: &'a Stream,
    pub whereabouts: &'a Whereabouts,
}

impl Zygote {
    pub(crate) fn start(
        program: &Program<'_>,
        confinement: &Confinement<'_>,
        reach: Reach,
    ) -> Result<Self, InitError> {
        let (control, theirs) = UnixStream::pair().during(|| "cannot make a socket".to_owned())?;
        let (go, go_theirs) = UnixStream::pair().during(|| "cannot make a socket".to_owned())?;
        let (boot, boot_theirs) =
            UnixStream::pair().during(|| "cannot make a socket".to_owned())?;
        let arguments = program.arguments()?;
        let environment = program.environment()?;
        match sys::fork().during(|| "cannot fork".to_owned())? {
            ForkResult::Child => {
                let boot_theirs = match sys::place_privately(boot_theirs.as_fd(), BOOT) {
                    Ok(()) => UnixStream::from(sys::adopt(BOOT)),
                    Err(_) => boot_theirs,
                };
                let Err(error) = (|| -> Result<std::convert::Infallible, InitError> {
                    program.take_places(&theirs, &go_theirs)?;
                    if !confinement.policy.namespaces {
                        sys::die_with_parent()
                            .during(|| "cannot tie Python to the init".to_owned())?;
                    }
                    sys::lie_where_others_lie();
                    confine_self(confinement, &boot_theirs)?;
                    nix::unistd::execve(&arguments[0], &arguments, &environment)
                        .during(|| format!("cannot start `{}`", program.python.display()))
                })();
                let complaint = [&[COMPLAINT], error.to_string().as_bytes()].concat();
                let _ = (&boot_theirs).write_all(&complaint);
                sys::exit_now(127);
            }
            ForkResult::Parent { child } => {
                drop((theirs, go_theirs, boot_theirs));
                let pid = child.as_raw();
                let attaching = confinement
                    .group
                    .map(|group| group.begin_to_attach(pid.cast_unsigned()))
                    .transpose()
                    .during(|| "cannot take over the control group".to_owned())?;
                let end = sys::pidfd_open(pid).during(|| "cannot watch Python".to_owned())?;
                let (listener, landlocked) = receive_listener(&boot)?;
                for stream in [&control, &go] {
                    let patience = Some(harness::PATIENCE);
                    stream
                        .set_read_timeout(patience)
                        .and_then(|()| stream.set_write_timeout(patience))
                        .during(|| "cannot set a timeout".to_owned())?;
                }
                let policy = confinement.policy;
                let keeper = listener.map(|listener| DoorKeeper {
                    listener: Listener::new(listener),
                    warden: Warden::new(policy, &landlocked, pid.cast_unsigned(), reach),
                });
                let mut zygote = Self { pid, end, control, go, keeper, landlocked, attaching };
                zygote.wait_for_exec(&boot)?;
                Ok(zygote)
            }
        }
    }

    /// Nothing untrusted may run before: until then, only the interpreter and the harness did.
    pub(crate) fn join_group(&mut self) -> Result<(), InitError> {
        let attached = self.attaching.take().map_or(Ok(()), Attaching::finish);
        attached.map_err(|error| InitError::Refused(explain(&error)))
    }

    /// Starting Python may itself be a question to the warden.
    fn wait_for_exec(&mut self, boot: &UnixStream) -> Result<(), InitError> {
        loop {
            let mut fds = vec![PollFd::new(boot.as_fd(), PollFlags::POLLIN)];
            if let Some(keeper) = &self.keeper {
                fds.push(PollFd::new(keeper.listener.as_fd(), PollFlags::POLLIN));
            }
            poll(&mut fds, PollTimeout::NONE).during(|| "cannot wait for Python".to_owned())?;
            if fds[0].any() == Some(true) {
                // Closed by a successful exec; otherwise it says what failed.
                let mut text = String::new();
                let _ = boot.take(4096).read_to_string(&mut text);
                return match text.strip_prefix(char::from(COMPLAINT)) {
                    Some(error) => Err(InitError::Refused(error.to_owned())),
                    None => Ok(()),
                };
            }
            if let Some(keeper) = &mut self.keeper {
                keeper
                    .listener
                    .attend(&mut keeper.warden)
                    .during(|| "cannot let Python start".to_owned())?;
            }
        }
    }
}

/// Readable, and not merely hung up: a listener hangs up when nobody is left to ask it.
pub(crate) fn is_readable(fd: &PollFd<'_>) -> bool {
    fd.revents().is_some_and(|events| events.contains(PollFlags::POLLIN))
}

/// The child's side: everything that cannot be taken back, in the order that still allows the next.
pub(crate) fn confine_self(
    confinement: &Confinement<'_>,
    boot: &UnixStream,
) -> Result<(), InitError> {
    let limit = |resource, value| {
        setrlimit(resource, value, value).during(|| format!("cannot limit {resource:?}"))
    };
    limit(Resource::RLIMIT_CORE, 0)?;
    let ceilings = confinement.ceilings();
    limit(Resource::RLIMIT_NOFILE, ceilings.open_files)?;
    if let Some(processes) = ceilings.processes {
        limit(Resource::RLIMIT_NPROC, processes)?;
    }
    let refused = |error| InitError::Refused(explain(&error));
    let fine = || (&*boot).write_all(&[FINE]);
    let report = |landlocked: &Landlocked| {
        fine().and_then(|()| channel::send(boot, landlocked)).during(|| "cannot report".to_owned())
    };
    if confinement.unsafe_tier {
        report(&Landlocked::default())?;
        return fine().during(|| "cannot report".to_owned());
    }
    let landlocked = confine::confine(confinement.policy, confinement.places).map_err(refused)?;
    report(&landlocked)?;
    let listener = confine::filter(confinement.policy, &landlocked).map_err(refused)?;
    if sys::hand_over(boot.as_fd(), FINE, listener.as_fd()).is_err() {
        // To say so takes memory, and nobody would answer.
        sys::exit_now(127);
    }
    Ok(())
}

/// The most that this process may give itself or others.
fn hard_limit(resource: Resource) -> u64 {
    nix::sys::resource::getrlimit(resource).map_or(u64::MAX, |(_, hard)| hard)
}

/// The listener for denied system calls, and what Landlock holds.
pub(crate) fn receive_listener(
    boot: &UnixStream,
) -> Result<(Option<OwnedFd>, Landlocked), InitError> {
    let mut mark = [0_u8];
    (&*boot).read_exact(&mut mark).during(|| "the confined process said nothing".to_owned())?;
    complaint(boot, mark[0])?;
    let landlocked =
        channel::receive(boot).during(|| "the confined process said nonsense".to_owned())?;
    let (_, mut descriptors) = channel::receive_descriptors(boot, &mut mark)
        .during(|| "the confined process handed nothing over".to_owned())?;
    complaint(boot, mark[0])?;
    Ok((descriptors.pop(), landlocked))
}

/// What went wrong over there, if that is what comes.
fn complaint(boot: &UnixStream, mark: u8) -> Result<(), InitError> {
    if mark != COMPLAINT {
        return Ok(());
    }
    let mut text = String::new();
    let _ = boot.take(4096).read_to_string(&mut text);
    Err(InitError::Refused(text))
}

impl Program<'_> {
    fn arguments(&self) -> Result<Vec<CString>, InitError> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        // Not `-I`: it would ignore PYTHONHASHSEED. The environment is ours anyway, and the harness
        // takes its own directory off the path.
        [
            text(&self.python),
            "-s".to_owned(),
            "-B".to_owned(),
            text(&self.harness),
            CONTROL.to_string(),
            GO.to_string(),
            MAILBOX.to_string(),
            mailbox::SIZE.to_string(),
            FRAMES.to_string(),
            BUNDLE.to_string(),
        ]
        .into_iter()
        .map(c_string)
        .collect()
    }

    fn environment(&self) -> Result<Vec<CString>, InitError> {
        self.environment.iter().map(|(name, value)| c_string(format!("{name}={value}"))).collect()
    }

    /// Puts every descriptor where the harness expects it.
    fn take_places(&self, control: &UnixStream, go: &UnixStream) -> Result<(), InitError> {
        let null = File::open("/dev/null").during(|| "cannot open /dev/null".to_owned())?;
        for (from, to) in [
            (null.as_fd(), 0),
            (self.out.writer(), 1),
            (self.err.writer(), 2),
            (control.as_fd(), CONTROL),
            (go.as_fd(), GO),
            (self.mailbox.as_fd(), MAILBOX),
            (self.whereabouts.writer(), FRAMES),
            (self.bundle.as_fd(), BUNDLE),
        ] {
            sys::place(from, to).during(|| format!("cannot place descriptor {to}"))?;
        }
        nix::unistd::chdir(&self.directory).during(|| "cannot enter the repository".to_owned())?;
        nix::unistd::setsid().during(|| "cannot start a session".to_owned()).map(drop)
    }
}

fn c_string(text: String) -> Result<CString, InitError> {
    CString::new(text).map_err(|_| InitError::Refused("an argument has a null byte".to_owned()))
}
