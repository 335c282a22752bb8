//! Starts the Python interpreter that is forked for each call, confined from its first instruction.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::ForkResult;

use super::limits::LimitCeilings;
use super::mailbox::{self, ReportMailbox};
use super::stack_sampler::StackSampler;
use super::streams::OutputStream;
use super::{InitError, InitErrorContext};
use crate::cgroup::{CgroupAttachTask, CgroupFiles};
use crate::confine::{
    self, AllowedPaths, ConfinementPolicy, LandlockStatus, NotifyListener, PathAccessRecorder,
    SyscallSupervisor,
};
use crate::sys;
use crate::wire::{channel, harness};
use menace_model::format_error_chain;

/// Descriptors of the harness start here, above those that careless code closes ("everything up to
/// 100").
const CONTROL_FD: RawFd = 900;
const CALL_FD: RawFd = 901;
const MAILBOX_FD: RawFd = 902;
/// Carries errors until Python has started. Above 900 too, because the filter allows writing there
/// without a supervisor.
const STARTUP_FD: RawFd = 903;
const STACK_DUMP_FD: RawFd = 904;
/// The first byte that the confined process sends: an error message follows, or all is well.
pub(super) const ERROR_MARK: u8 = b'!';
const OK_MARK: u8 = b'.';
const BUNDLE_FD: RawFd = 905;

/// How a confined process is started.
#[derive(Debug)]
pub(crate) struct ProcessConfinement<'a> {
    pub policy: ConfinementPolicy,
    pub allowed_paths: &'a AllowedPaths,
    pub group: Option<&'a CgroupFiles>,
    pub open_files: u64,
    /// The limit on processes, where no control group counts them.
    pub processes: Option<u64>,
    /// Whether the user requested no confinement at all.
    pub unsafe_tier: bool,
}

impl ProcessConfinement<'_> {
    /// The requested limits, lowered to the hard limits of this process.
    pub(crate) fn compute_ceilings(&self) -> LimitCeilings {
        let at_most = |wanted: u64, resource| wanted.min(hard_limit(resource));
        LimitCeilings {
            open_files: at_most(self.open_files, Resource::RLIMIT_NOFILE),
            processes: self.processes.map(|most| at_most(most, Resource::RLIMIT_NPROC)),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Zygote {
    pub pid: i32,
    pub pidfd: OwnedFd,
    pub control: UnixStream,
    /// The socket to the process that was forked for the next call.
    pub call_socket: UnixStream,
    pub notify_handler: Option<NotifyHandler>,
    pub landlock_status: LandlockStatus,
    /// Whether a fork for the next call was requested.
    pub fork_requested: bool,
    /// Start addresses of mappings that [`super::mappings`] has given a private page.
    pub private_code_mappings: BTreeSet<u64>,
    attaching: Option<CgroupAttachTask>,
}

/// Receives notified system calls and has the syscall supervisor decide on them.
#[derive(Debug)]
pub(crate) struct NotifyHandler {
    pub listener: NotifyListener,
    pub supervisor: SyscallSupervisor,
}

/// The interpreter, its arguments, and the descriptors that it inherits.
#[derive(Debug)]
pub(crate) struct ZygoteProgram<'a> {
    pub python: PathBuf,
    pub harness: PathBuf,
    /// The modules of the harness that are not files of their own, packed into one file.
    pub bundle: &'a File,
    pub environment: Vec<(String, String)>,
    pub directory: PathBuf,
    pub mailbox: &'a ReportMailbox,
    pub out: &'a OutputStream,
    pub err: &'a OutputStream,
    pub stack_sampler: &'a StackSampler,
}

impl Zygote {
    pub(crate) fn start(
        program: &ZygoteProgram<'_>,
        confinement: &ProcessConfinement<'_>,
        path_recorder: PathAccessRecorder,
    ) -> Result<Self, InitError> {
        let (control, theirs) =
            UnixStream::pair().with_context(|| "cannot make a socket".to_owned())?;
        let (call_socket, call_socket_theirs) =
            UnixStream::pair().with_context(|| "cannot make a socket".to_owned())?;
        let (startup_socket, startup_theirs) =
            UnixStream::pair().with_context(|| "cannot make a socket".to_owned())?;
        let arguments = program.build_arguments()?;
        let environment = program.build_environment()?;
        match sys::fork().with_context(|| "cannot fork".to_owned())? {
            ForkResult::Child => {
                let startup_theirs = match sys::dup_to_cloexec(startup_theirs.as_fd(), STARTUP_FD) {
                    Ok(()) => UnixStream::from(sys::own_descriptor(STARTUP_FD)),
                    Err(_) => startup_theirs,
                };
                let Err(error) = (|| -> Result<std::convert::Infallible, InitError> {
                    program.place_descriptors(&theirs, &call_socket_theirs)?;
                    if !confinement.policy.namespaces {
                        sys::die_with_parent()
                            .with_context(|| "cannot tie Python to the init".to_owned())?;
                    }
                    sys::disable_aslr();
                    confine_self(confinement, &startup_theirs)?;
                    nix::unistd::execve(&arguments[0], &arguments, &environment)
                        .with_context(|| format!("cannot start `{}`", program.python.display()))
                })();
                let error_message = [&[ERROR_MARK], error.to_string().as_bytes()].concat();
                let _ = (&startup_theirs).write_all(&error_message);
                sys::exit_now(127);
            }
            ForkResult::Parent { child } => {
                drop((theirs, call_socket_theirs, startup_theirs));
                let pid = child.as_raw();
                let attaching = confinement
                    .group
                    .map(|group| group.attach_in_background(pid.cast_unsigned()))
                    .transpose()
                    .with_context(|| "cannot take over the control group".to_owned())?;
                let pidfd =
                    sys::pidfd_open(pid).with_context(|| "cannot watch Python".to_owned())?;
                let (listener, landlock_status) = receive_listener(&startup_socket)?;
                for stream in [&control, &call_socket] {
                    let timeout = Some(harness::MESSAGE_TIMEOUT);
                    stream
                        .set_read_timeout(timeout)
                        .and_then(|()| stream.set_write_timeout(timeout))
                        .with_context(|| "cannot set a timeout".to_owned())?;
                }
                let policy = confinement.policy;
                let notify_handler = listener.map(|listener| NotifyHandler {
                    listener: NotifyListener::new(listener),
                    supervisor: SyscallSupervisor::new(
                        policy,
                        &landlock_status,
                        pid.cast_unsigned(),
                        path_recorder,
                    ),
                });
                let mut zygote = Self {
                    pid,
                    pidfd,
                    control,
                    call_socket,
                    notify_handler,
                    landlock_status,
                    fork_requested: false,
                    private_code_mappings: BTreeSet::new(),
                    attaching,
                };
                zygote.wait_for_exec(&startup_socket)?;
                Ok(zygote)
            }
        }
    }

    /// Waits until the zygote is in its control group. To be called before untrusted code runs; so
    /// far only the interpreter and the harness have run.
    pub(crate) fn join_group(&mut self) -> Result<(), InitError> {
        let attached = self.attaching.take().map_or(Ok(()), CgroupAttachTask::wait);
        attached.map_err(|error| InitError::Failed(format_error_chain(&error)))
    }

    /// Waits until Python has been executed. The `execve` itself may notify the supervisor, so
    /// notifications are answered meanwhile.
    fn wait_for_exec(&mut self, startup_socket: &UnixStream) -> Result<(), InitError> {
        loop {
            let mut fds = vec![PollFd::new(startup_socket.as_fd(), PollFlags::POLLIN)];
            if let Some(handler) = &self.notify_handler {
                fds.push(PollFd::new(handler.listener.as_fd(), PollFlags::POLLIN));
            }
            poll(&mut fds, PollTimeout::NONE)
                .with_context(|| "cannot wait for Python".to_owned())?;
            if fds[0].any() == Some(true) {
                // The kernel closes the socket at a successful exec; otherwise an error message
                // comes.
                let mut text = String::new();
                let _ = startup_socket.take(4096).read_to_string(&mut text);
                return match text.strip_prefix(char::from(ERROR_MARK)) {
                    Some(error) => Err(InitError::Failed(error.to_owned())),
                    None => Ok(()),
                };
            }
            if let Some(handler) = &mut self.notify_handler {
                handler
                    .listener
                    .answer_next(&mut handler.supervisor)
                    .with_context(|| "cannot let Python start".to_owned())?;
            }
        }
    }
}

/// Readable, not merely hung up: the listener hangs up when no confined process is left.
pub(crate) fn is_readable(fd: &PollFd<'_>) -> bool {
    fd.revents().is_some_and(|events| events.contains(PollFlags::POLLIN))
}

/// Runs in the child: applies limits, Landlock and the filter, in an order in which none prevents
/// the next.
pub(crate) fn confine_self(
    confinement: &ProcessConfinement<'_>,
    startup_socket: &UnixStream,
) -> Result<(), InitError> {
    let limit = |resource, value| {
        setrlimit(resource, value, value).with_context(|| format!("cannot limit {resource:?}"))
    };
    limit(Resource::RLIMIT_CORE, 0)?;
    let ceilings = confinement.compute_ceilings();
    limit(Resource::RLIMIT_NOFILE, ceilings.open_files)?;
    if let Some(processes) = ceilings.processes {
        limit(Resource::RLIMIT_NPROC, processes)?;
    }
    let refused = |error| InitError::Failed(format_error_chain(&error));
    let send_ok = || (&*startup_socket).write_all(&[OK_MARK]);
    let report = |landlock_status: &LandlockStatus| {
        send_ok()
            .and_then(|()| channel::send(startup_socket, landlock_status))
            .with_context(|| "cannot report".to_owned())
    };
    if confinement.unsafe_tier {
        report(&LandlockStatus::default())?;
        return send_ok().with_context(|| "cannot report".to_owned());
    }
    let landlock_status =
        confine::confine(confinement.policy, confinement.allowed_paths).map_err(refused)?;
    report(&landlock_status)?;
    let listener =
        confine::install_filter(confinement.policy, &landlock_status).map_err(refused)?;
    if sys::send_descriptor(startup_socket.as_fd(), OK_MARK, listener.as_fd()).is_err() {
        // Allocating an error message might notify the listener, and no process answers.
        sys::exit_now(127);
    }
    Ok(())
}

/// The hard limit of this process, which neither it nor its children can exceed.
fn hard_limit(resource: Resource) -> u64 {
    nix::sys::resource::getrlimit(resource).map_or(u64::MAX, |(_, hard)| hard)
}

/// Receives the seccomp listener, and what Landlock restricts.
pub(crate) fn receive_listener(
    startup_socket: &UnixStream,
) -> Result<(Option<OwnedFd>, LandlockStatus), InitError> {
    let mut mark = [0_u8];
    (&*startup_socket)
        .read_exact(&mut mark)
        .with_context(|| "the confined process said nothing".to_owned())?;
    check_error_mark(startup_socket, mark[0])?;
    let landlock_status = channel::receive(startup_socket)
        .with_context(|| "the confined process said nonsense".to_owned())?;
    let (_, mut descriptors) = channel::receive_descriptors(startup_socket, &mut mark)
        .with_context(|| "the confined process handed nothing over".to_owned())?;
    check_error_mark(startup_socket, mark[0])?;
    Ok((descriptors.pop(), landlock_status))
}

/// If the mark announces an error, reads and returns it.
fn check_error_mark(startup_socket: &UnixStream, mark: u8) -> Result<(), InitError> {
    if mark != ERROR_MARK {
        return Ok(());
    }
    let mut text = String::new();
    let _ = startup_socket.take(4096).read_to_string(&mut text);
    Err(InitError::Failed(text))
}

impl ZygoteProgram<'_> {
    fn build_arguments(&self) -> Result<Vec<CString>, InitError> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        // Not `-I`: it would ignore PYTHONHASHSEED. Init sets the environment, and the harness
        // takes its own directory off the path. With `-S`, no `.pth` file runs before the harness.
        [
            text(&self.python),
            "-s".to_owned(),
            "-S".to_owned(),
            "-B".to_owned(),
            text(&self.harness),
            CONTROL_FD.to_string(),
            CALL_FD.to_string(),
            MAILBOX_FD.to_string(),
            mailbox::MAILBOX_BYTES.to_string(),
            STACK_DUMP_FD.to_string(),
            BUNDLE_FD.to_string(),
        ]
        .into_iter()
        .map(to_c_string)
        .collect()
    }

    fn build_environment(&self) -> Result<Vec<CString>, InitError> {
        self.environment
            .iter()
            .map(|(name, value)| to_c_string(format!("{name}={value}")))
            .collect()
    }

    /// Moves the descriptors to the numbers that the harness expects.
    #[expect(clippy::disallowed_methods, reason = "a device that init has mounted")]
    fn place_descriptors(
        &self,
        control: &UnixStream,
        call_socket: &UnixStream,
    ) -> Result<(), InitError> {
        let null = File::open("/dev/null").with_context(|| "cannot open /dev/null".to_owned())?;
        for (from, to) in [
            (null.as_fd(), 0),
            (self.out.writer(), 1),
            (self.err.writer(), 2),
            (control.as_fd(), CONTROL_FD),
            (call_socket.as_fd(), CALL_FD),
            (self.mailbox.as_fd(), MAILBOX_FD),
            (self.stack_sampler.writer(), STACK_DUMP_FD),
            (self.bundle.as_fd(), BUNDLE_FD),
        ] {
            sys::dup_to(from, to).with_context(|| format!("cannot place descriptor {to}"))?;
        }
        nix::unistd::chdir(&self.directory)
            .with_context(|| "cannot enter the repository".to_owned())?;
        nix::unistd::setsid().with_context(|| "cannot start a session".to_owned()).map(drop)
    }
}

fn to_c_string(text: String) -> Result<CString, InitError> {
    CString::new(text).map_err(|_| InitError::Failed("an argument has a null byte".to_owned()))
}
