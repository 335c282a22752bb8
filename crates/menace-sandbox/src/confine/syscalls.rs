//! Every system call of the kernel by name, in groups.
//!
//! [`super::seccomp`] decides which groups a policy allows. Each call is in exactly one group. The
//! lists go up to Linux 6.18; a guest that makes a newer call gets `ENOSYS`.

/// A system call's name and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyscallEntry {
    pub(super) name: &'static str,
    pub(super) number: i64,
}

/// The kind of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ViolationKind {
    /// A socket that the policy forbids.
    Network,
    /// A signal, limit or priority for a process outside of the guest.
    Signal,
    /// Starting a process where the policy forbids it.
    Process,
    /// Executing a program where the policy forbids it.
    Program,
    /// Access to another process's memory or descriptors.
    Trace,
    /// Mounting, or changing the root directory.
    Mount,
    Namespace,
    /// Administration of the machine: modules, swap, clock, name, power.
    Machine,
    /// Kernel interfaces that are known for escapes: `bpf`, `io_uring` and the like.
    Kernel,
    /// Keyrings.
    Keys,
    /// Objects that would outlive the call: System V and POSIX message queues, shared memory.
    Ipc,
    /// Files by handle, leases, device nodes.
    File,
    /// A rarely needed call, closed from level 3 on.
    Rare,
    /// A call of another architecture.
    Foreign,
}

impl ViolationKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Signal => "signal",
            Self::Process => "process",
            Self::Program => "program",
            Self::Trace => "trace",
            Self::Mount => "mount",
            Self::Namespace => "namespace",
            Self::Machine => "machine",
            Self::Kernel => "kernel",
            Self::Keys => "keys",
            Self::Ipc => "ipc",
            Self::File => "file",
            Self::Rare => "rare",
            Self::Foreign => "foreign",
        }
    }
}

/// `calls![SYS_read SYS_write 451:cachestat]`: by libc's constant, or by number where libc has none
/// (from 424 on all architectures share their numbers).
macro_rules! calls {
    (@one $constant:ident) => {
        SyscallEntry { name: strip_sys_prefix(stringify!($constant)), number: libc::$constant }
    };
    ($($constant:ident)* $(; $($number:literal $name:ident)*)?) => {
        &[
            $(calls!(@one $constant),)*
            $($(SyscallEntry { name: stringify!($name), number: $number },)*)?
        ]
    };
}

const fn strip_sys_prefix(constant: &'static str) -> &'static str {
    match constant.as_bytes() {
        [b'S', b'Y', b'S', b'_', ..] => constant.split_at(4).1,
        _ => constant,
    }
}

/// Needed by ordinary programs; harmless inside the sandbox whatever the arguments.
pub(super) const ORDINARY_SYSCALLS: &[&[SyscallEntry]] = &[
    // Reading, writing, polling.
    calls![
        SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev
        SYS_preadv2 SYS_pwritev2 SYS_lseek SYS_close SYS_close_range SYS_dup SYS_dup3 SYS_pipe2
        SYS_sendfile SYS_splice SYS_tee SYS_copy_file_range SYS_fsync SYS_fdatasync SYS_fadvise64
        SYS_readahead SYS_ftruncate SYS_fallocate SYS_ppoll SYS_pselect6
        SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2
        SYS_signalfd4 SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime
        SYS_inotify_init1 SYS_inotify_rm_watch SYS_memfd_create; 451 cachestat
    ],
    // Files and directories; mounts and Landlock restrict which.
    calls![
        SYS_openat SYS_openat2 SYS_faccessat SYS_faccessat2 SYS_newfstatat SYS_fstat SYS_statx
        SYS_statfs SYS_fstatfs SYS_getdents64 SYS_getcwd SYS_chdir SYS_fchdir SYS_mkdirat
        SYS_unlinkat SYS_symlinkat SYS_linkat SYS_renameat2 SYS_readlinkat SYS_umask
        SYS_getxattr SYS_lgetxattr SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr;
        464 getxattrat 465 listxattrat
    ],
    // Memory.
    calls![
        SYS_brk SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_msync SYS_mincore
        SYS_mlock SYS_mlock2 SYS_munlock SYS_mlockall SYS_munlockall SYS_membarrier
        SYS_pkey_mprotect SYS_pkey_alloc SYS_pkey_free; 453 map_shadow_stack 462 mseal
    ],
    // Threads, signals to the own process, exit.
    calls![
        SYS_futex SYS_futex_waitv SYS_set_robust_list SYS_get_robust_list SYS_set_tid_address
        SYS_rseq SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_pidfd_open SYS_restart_syscall
        SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigpending SYS_rt_sigreturn SYS_rt_sigsuspend
        SYS_rt_sigtimedwait SYS_sigaltstack SYS_sched_yield SYS_sched_getaffinity
        SYS_sched_getparam SYS_sched_getscheduler SYS_sched_getattr SYS_sched_get_priority_max
        SYS_sched_get_priority_min SYS_sched_rr_get_interval SYS_getpriority SYS_ioprio_get
        SYS_getcpu; 454 futex_wake 455 futex_wait 456 futex_requeue
    ],
    // Identity, usage and time.
    calls![
        SYS_getpid SYS_gettid SYS_getppid SYS_getpgid SYS_getsid SYS_setpgid SYS_setsid
        SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getresuid SYS_getresgid SYS_getgroups
        SYS_uname SYS_sysinfo SYS_times SYS_getrusage SYS_gettimeofday SYS_clock_gettime
        SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_getitimer SYS_setitimer
        SYS_timer_create SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun
        SYS_timer_delete SYS_getrandom SYS_capget
    ],
    // Without capabilities, changing identity gains nothing; restricting oneself further is
    // harmless.
    calls![
        SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid SYS_setfsuid
        SYS_setfsgid SYS_setgroups SYS_capset SYS_landlock_create_ruleset SYS_landlock_add_rule
        SYS_landlock_restrict_self
    ],
    // Operations on existing sockets; creating one is what is checked.
    calls![
        SYS_accept SYS_accept4 SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg
        SYS_recvmmsg SYS_shutdown SYS_getsockname SYS_getpeername SYS_setsockopt SYS_getsockopt
        SYS_listen
    ],
    ARCH_ORDINARY_SYSCALLS,
];

#[cfg(target_arch = "x86_64")]
const ARCH_ORDINARY_SYSCALLS: &[SyscallEntry] = calls![
    SYS_open SYS_creat SYS_access SYS_stat SYS_lstat SYS_getdents SYS_mkdir SYS_rmdir SYS_unlink
    SYS_symlink SYS_link SYS_rename SYS_renameat SYS_readlink SYS_dup2 SYS_pipe SYS_poll SYS_select
    SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_signalfd SYS_inotify_init SYS_alarm SYS_pause
    SYS_time SYS_getpgrp SYS_getrlimit SYS_setrlimit SYS_arch_prctl SYS_sync_file_range
];
#[cfg(target_arch = "aarch64")]
const ARCH_ORDINARY_SYSCALLS: &[SyscallEntry] =
    calls![; 38 renameat 84 sync_file_range 163 getrlimit 164 setrlimit];

/// Changes of owner, mode, times and attributes. Landlock does not cover them, so without a mount
/// namespace they are answered with success and not made.
pub(super) const METADATA_SYSCALLS: &[&[SyscallEntry]] = &[
    calls![
        SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_setxattr SYS_lsetxattr
        SYS_fsetxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr;
        452 fchmodat2 463 setxattrat 466 removexattrat 469 file_setattr
    ],
    ARCH_METADATA_SYSCALLS,
];

#[cfg(target_arch = "x86_64")]
const ARCH_METADATA_SYSCALLS: &[SyscallEntry] =
    calls![SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat];
#[cfg(target_arch = "aarch64")]
const ARCH_METADATA_SYSCALLS: &[SyscallEntry] = &[];

/// Writing back all file systems of the machine. The guest has nothing to save, the host would slow
/// down, and a process that waits in it cannot be killed. Answered with success and not made.
pub(super) const SYNC_SYSCALLS: &[SyscallEntry] = calls![SYS_sync SYS_syncfs];

/// Harmless, but used by few programs: refused from level 3 on, to expose less of the kernel.
pub(super) const RARE_SYSCALLS: &[&[SyscallEntry]] = &[
    calls![
        SYS_io_setup SYS_io_destroy SYS_io_submit SYS_io_cancel SYS_io_getevents
        SYS_remap_file_pages SYS_vmsplice; 457 statmount 458 listmount 459 lsm_get_self_attr
        461 lsm_list_modules 468 file_getattr
    ],
    ARCH_RARE_SYSCALLS,
];

#[cfg(target_arch = "x86_64")]
const ARCH_RARE_SYSCALLS: &[SyscallEntry] =
    calls![SYS_get_thread_area SYS_set_thread_area SYS_ustat SYS_sysfs; 333 io_pgetevents];
#[cfg(target_arch = "aarch64")]
const ARCH_RARE_SYSCALLS: &[SyscallEntry] = calls![; 292 io_pgetevents];

/// Made by ordinary programs that can do without them: answered with `ENOSYS`, not recorded.
/// `clone3` has its flags in memory, where no filter can read them; the C library then uses
/// `clone`.
pub(super) const ABSENT_SYSCALLS: &[SyscallEntry] = calls![
    SYS_clone3 SYS_get_mempolicy SYS_set_mempolicy SYS_mbind SYS_migrate_pages SYS_move_pages
    SYS_set_mempolicy_home_node
];

/// Starting a program.
pub(super) const EXEC_SYSCALLS: &[SyscallEntry] = calls![SYS_execve SYS_execveat];

/// Starting a process; `clone` can start threads as well and is checked.
#[cfg(target_arch = "x86_64")]
pub(super) const FORK_SYSCALLS: &[SyscallEntry] = calls![SYS_fork SYS_vfork];
#[cfg(target_arch = "aarch64")]
pub(super) const FORK_SYSCALLS: &[SyscallEntry] = &[];

/// Calls that reach outside of the sandbox where there are no namespaces.
pub(super) const CONNECT_SYSCALL: SyscallEntry = calls!(@one SYS_connect);
pub(super) const BIND_SYSCALL: SyscallEntry = calls!(@one SYS_bind);
pub(super) const INOTIFY_ADD_WATCH_SYSCALL: SyscallEntry = calls!(@one SYS_inotify_add_watch);
pub(super) const TRUNCATE_SYSCALL: SyscallEntry = calls!(@one SYS_truncate);
/// Locks the file for all processes that can open it.
pub(super) const FLOCK_SYSCALL: SyscallEntry = calls!(@one SYS_flock);

/// Allowed depending on the arguments or on the policy; the conditions are in [`super::rules`].
pub(super) const CHECKED_SYSCALLS: &[(ViolationKind, &[SyscallEntry])] = &[
    (ViolationKind::Process, calls![SYS_clone]),
    (ViolationKind::Process, FORK_SYSCALLS),
    (ViolationKind::Program, EXEC_SYSCALLS),
    (
        ViolationKind::Network,
        &[calls!(@one SYS_socket), calls!(@one SYS_socketpair), CONNECT_SYSCALL, BIND_SYSCALL],
    ),
    (
        ViolationKind::Signal,
        calls![
            SYS_kill SYS_tkill SYS_tgkill SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo
            SYS_pidfd_send_signal SYS_prlimit64 SYS_sched_setaffinity SYS_sched_setscheduler
            SYS_sched_setparam SYS_sched_setattr SYS_setpriority SYS_ioprio_set
        ],
    ),
    (ViolationKind::Kernel, calls![SYS_ioctl SYS_prctl SYS_personality SYS_seccomp]),
    (ViolationKind::File, calls![SYS_fcntl SYS_mknodat]),
    (ViolationKind::File, &[TRUNCATE_SYSCALL, INOTIFY_ADD_WATCH_SYSCALL, FLOCK_SYSCALL]),
    (ViolationKind::File, CHECKED_FILE_SYSCALLS),
];

#[cfg(target_arch = "x86_64")]
const CHECKED_FILE_SYSCALLS: &[SyscallEntry] = calls![SYS_mknod];
#[cfg(target_arch = "aarch64")]
const CHECKED_FILE_SYSCALLS: &[SyscallEntry] = &[];

/// Denied at every security level. `uprobe` and `uretprobe` are missing: they bypass filters, and
/// the kernel kills a process that calls them.
pub(super) const FORBIDDEN_SYSCALLS: &[(ViolationKind, &[SyscallEntry])] = &[
    (
        ViolationKind::Trace,
        calls![
            SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise
            SYS_process_mrelease SYS_pidfd_getfd SYS_kcmp
        ],
    ),
    (
        ViolationKind::Mount,
        calls![
            SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_open_tree SYS_move_mount
            SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr; 467 open_tree_attr
        ],
    ),
    (ViolationKind::Namespace, calls![SYS_unshare SYS_setns]),
    (
        ViolationKind::Machine,
        calls![
            SYS_reboot SYS_kexec_load SYS_kexec_file_load SYS_init_module SYS_finit_module
            SYS_delete_module SYS_swapon SYS_swapoff SYS_acct SYS_quotactl SYS_quotactl_fd
            SYS_sethostname SYS_setdomainname SYS_settimeofday SYS_clock_settime
            SYS_clock_adjtime SYS_adjtimex SYS_syslog SYS_vhangup SYS_nfsservctl
        ],
    ),
    (
        ViolationKind::Kernel,
        calls![
            SYS_bpf SYS_perf_event_open SYS_io_uring_setup SYS_io_uring_enter
            SYS_io_uring_register SYS_userfaultfd SYS_memfd_secret SYS_lookup_dcookie;
            460 lsm_set_self_attr
        ],
    ),
    (ViolationKind::Keys, calls![SYS_add_key SYS_request_key SYS_keyctl]),
    (
        ViolationKind::Ipc,
        calls![
            SYS_shmget SYS_shmat SYS_shmdt SYS_shmctl SYS_semget SYS_semop SYS_semtimedop
            SYS_semctl SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink
            SYS_mq_timedsend SYS_mq_timedreceive SYS_mq_notify SYS_mq_getsetattr
        ],
    ),
    (
        ViolationKind::File,
        calls![SYS_open_by_handle_at SYS_name_to_handle_at SYS_fanotify_init SYS_fanotify_mark],
    ),
    (ViolationKind::Kernel, ARCH_FORBIDDEN_SYSCALLS),
];

#[cfg(target_arch = "x86_64")]
const ARCH_FORBIDDEN_SYSCALLS: &[SyscallEntry] = calls![
    SYS_iopl SYS_ioperm SYS_modify_ldt SYS_uselib SYS__sysctl
    SYS_getpmsg SYS_putpmsg SYS_afs_syscall SYS_tuxcall
    SYS_security SYS_vserver SYS_epoll_ctl_old SYS_epoll_wait_old; 174 create_module
    177 get_kernel_syms 178 query_module
];
#[cfg(target_arch = "aarch64")]
const ARCH_FORBIDDEN_SYSCALLS: &[SyscallEntry] = &[];

/// A call's name, and the kind of violation when it is refused; nothing for unknown numbers.
pub(super) fn look_up(number: i64) -> Option<(&'static str, ViolationKind)> {
    all_syscalls().find(|(call, _)| call.number == number).map(|(call, kind)| (call.name, kind))
}

/// All calls, each with its kind.
pub(super) fn all_syscalls() -> impl Iterator<Item = (SyscallEntry, ViolationKind)> {
    let kinds = FORBIDDEN_SYSCALLS.iter().chain(CHECKED_SYSCALLS);
    let sorted = kinds.flat_map(|(kind, calls)| calls.iter().map(|call| (*call, *kind)));
    let rare = RARE_SYSCALLS.iter().copied().flatten().map(|call| (*call, ViolationKind::Rare));
    let files = METADATA_SYSCALLS
        .iter()
        .copied()
        .flatten()
        .chain(SYNC_SYSCALLS)
        .map(|call| (*call, ViolationKind::File));
    let absent = ABSENT_SYSCALLS.iter().map(|call| (*call, ViolationKind::Rare));
    // These calls are never refused, so the kind does not matter.
    let ordinary =
        ORDINARY_SYSCALLS.iter().copied().flatten().map(|call| (*call, ViolationKind::Rare));
    sorted.chain(rare).chain(files).chain(absent).chain(ordinary)
}
