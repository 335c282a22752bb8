//! Attempts from inside: functions of `guests/*.py`, called in warm sandboxes of one tier.
//!
//! The first paragraph of a function's docstring says what it tries; `key: value` lines below say
//! what must hold, and on which grounds it is tried. A value that begins with `ESCAPED` is an
//! escape by the guest's own account.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use menace_model::{
    Call, CallTarget, FaultSpec, FaultTrigger, ModuleRef, Outcome, RaisedException, TargetKind,
    Value, Verdict,
};
use menace_sandbox::SandboxSpec;
use nix::libc;
use tempfile::TempDir;

use crate::attempt::{
    AttackGround, AttemptFailure, AttemptResult, check_ground_names, is_on_ground,
};
use crate::bench::{CallBuilder, ContractBench, ContractSession, snapshot_files};
use crate::process::say;
use crate::services::HostServices;

/// Printed before each result by the process of one ground.
pub(crate) const RESULT_PREFIX: &str = "RESULT ";

const TOOLS: &str = include_str!("guests/hostile_tools.py");
const MODULES: [(&str, &str); 7] = [
    ("files", include_str!("guests/files.py")),
    ("processes", include_str!("guests/processes.py")),
    ("network", include_str!("guests/network.py")),
    ("takedown", include_str!("guests/takedown.py")),
    ("resources", include_str!("guests/resources.py")),
    ("lies", include_str!("guests/lies.py")),
    ("imports", include_str!("guests/imports.py")),
];
const SYSTEM_CALLS: &str = include_str!("system_calls.txt");
/// The functions of this module are top levels of modules.
const IMPORTS: &str = "imports";

const MIB: u64 = 1 << 20;
const DEFAULT_TIMEOUT_MS: u64 = 5000;
const DEFAULT_VERDICTS: &str = "returned raised violated";
/// What a docstring may say.
const KEYS: [&str; 13] = [
    "verdict",
    "timeout",
    "cpu_ms",
    "memory_mib",
    "disk_mib",
    "processes",
    "faults",
    "import_timeout",
    "least_total_ms",
    "raises",
    "grounds",
    "open",
    "open_on",
];
/// Functions that attempts call.
const HELPERS: [&str; 6] = ["fine", "make_chain", "publish", "forge", "section", "set_section"];
/// Exceptions of an attempt with a mistake in it, which attempts nothing.
const MISTAKES: [&str; 9] = [
    "AttemptBroken",
    "NameError",
    "UnboundLocalError",
    "AttributeError",
    "TypeError",
    "SyntaxError",
    "ImportError",
    "ModuleNotFoundError",
    "KeyError",
];
/// As many as a session needs to come to the sandbox again in which the attempt was made.
const CALLS_AFTER: usize = 3;
/// Beyond its deadline, on a machine that does other things too.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Names that attempts leave where a host's programs would find them.
const TRACES: [&str; 4] =
    ["menace-hostile-new", "menace-hostile-hook", "left-by-a-call", "sem.menace-hostile"];
const SHARED_DIRECTORIES: [&str; 5] = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock"];

/// A function that tries something, with what must hold. A value that begins with `ESCAPED` is an
/// escape by the guest's own account.
#[derive(Debug)]
struct GuestAttempt {
    module: &'static str,
    function: String,
    keys: BTreeMap<String, String>,
}

/// The functions of a module but for helpers.
fn parse_attempts(module: &'static str, text: &str) -> Vec<GuestAttempt> {
    let parts = text.split("\ndef ").skip(1);
    parts.filter_map(|part| parse_attempt(module, part)).collect()
}

/// A function from its name on; nothing for a helper.
fn parse_attempt(module: &'static str, part: &str) -> Option<GuestAttempt> {
    let (function, _) = part.split_once('(').expect("a function has parentheses");
    if HELPERS.contains(&function) {
        return None;
    }
    let described = part[function.len()..].strip_prefix("():\n    \"\"\"");
    let (doc, _) = described
        .and_then(|body| body.split_once("\"\"\""))
        .unwrap_or_else(|| panic!("{module}.{function} is neither described nor a helper"));
    let rows = doc.split_once("\n\n").map_or("", |(_, rows)| rows).trim();
    let mut keys = BTreeMap::new();
    for row in rows.lines() {
        let pair = row.trim().split_once(": ").filter(|(key, _)| KEYS.contains(key));
        let Some((key, value)) = pair else { panic!("{module}.{function}: `{row}` is unknown") };
        let before = keys.insert(key.to_owned(), value.to_owned());
        assert_eq!(before, None, "{module}.{function}: two rows of `{key}`");
    }
    for verdict in keys.get("verdict").iter().flat_map(|words| words.split(' ')) {
        let found = serde_json::from_value::<Verdict>(verdict.into());
        assert!(found.is_ok(), "{module}.{function}: `{verdict}` is no verdict");
    }
    check_ground_names(keys.get("grounds").map(String::as_str));
    check_ground_names(keys.get("open_on").map(String::as_str));
    Some(GuestAttempt { module, function: function.to_owned(), keys })
}

impl GuestAttempt {
    fn number(&self, key: &str) -> Option<u64> {
        self.keys.get(key).map(|value| value.parse().expect("a number"))
    }

    fn name(&self) -> String {
        self.function.replace('_', " ")
    }

    /// The module that is imported before the call.
    fn module_name(&self) -> String {
        if self.module == IMPORTS {
            format!("import_{}", self.function)
        } else {
            self.module.to_owned()
        }
    }

    fn call(&self) -> Call {
        let qualname = if self.module == IMPORTS { "attempt" } else { &self.function };
        let mut call = call_of(&self.module_name(), qualname);
        let limits = &mut call.limits;
        limits.timeout_ms = self.number("timeout").unwrap_or(DEFAULT_TIMEOUT_MS);
        limits.cpu_ms = self.number("cpu_ms");
        limits.memory_bytes =
            self.number("memory_mib").map_or(limits.memory_bytes, |n| Some(n * MIB));
        limits.disk_bytes = self.number("disk_mib").map_or(limits.disk_bytes, |n| Some(n * MIB));
        limits.processes = self.number("processes").unwrap_or(limits.processes);
        if let Some(mode) = self.keys.get("faults") {
            let mode = serde_json::from_value(mode.as_str().into()).expect("a kind of fault");
            call.conditions.faults = vec![FaultSpec { mode, trigger: FaultTrigger::Nth(1) }];
        }
        call
    }

    fn spec(&self, ground: &GuestGround) -> SandboxSpec {
        let mut spec = ground.spec(&self.module_name());
        spec.interposition.files = self.keys.contains_key("faults");
        if self.module == IMPORTS {
            spec.import_limits.timeout_ms = self.number("import_timeout").unwrap_or(10_000);
            spec.import_limits.memory_bytes = Some(64 * MIB);
            spec.import_limits.disk_bytes = Some(8 * MIB);
        }
        spec
    }

    /// Why the outcome of its call is no containment.
    fn find_failure(&self, outcome: &Outcome) -> Option<AttemptFailure> {
        let raised = outcome.result.exception.as_ref();
        if let Some(mistake) = raised.filter(|raised| self.is_mistake(raised)) {
            let place = mistake.frames.last().map_or(0, |frame| frame.line);
            let text = format!("line {place}: {}: {}", mistake.kind, mistake.message);
            return Some(AttemptFailure::broken(text));
        }
        let expected = self.keys.get("verdict").map_or(DEFAULT_VERDICTS, String::as_str);
        let verdict = outcome.verdict.to_string();
        if !expected.split_whitespace().any(|one| one == verdict) {
            let why = outcome.reason.clone().unwrap_or_default();
            let raised = raised.map(|it| format!("{}: {}", it.kind, it.message));
            let raised = raised.unwrap_or_default();
            return Some(format!("{verdict} in place of {expected}; {why} {raised}").into());
        }
        let least = self.number("least_total_ms").unwrap_or(0) as f64;
        let total = outcome.runtime_metrics.total_ms;
        if total < least {
            return Some(format!("it is said to have taken {total} ms").into());
        }
        find_escape(outcome).map(AttemptFailure::from)
    }

    fn is_mistake(&self, raised: &RaisedException) -> bool {
        let kind = raised.kind.rsplit('.').next().unwrap_or_default();
        MISTAKES.contains(&kind) && self.keys.get("raises").is_none_or(|word| word != kind)
    }
}

fn find_escape(outcome: &Outcome) -> Option<String> {
    let repr = outcome.result.value.as_ref().map(|value| value.repr.as_str()).unwrap_or_default();
    repr.contains("ESCAPED").then(|| repr.to_owned())
}

fn call_of(module: &str, qualname: &str) -> Call {
    let module = ModuleRef { name: module.to_owned(), path: None };
    let target = CallTarget { module, qualname: qualname.to_owned(), kind: TargetKind::Function };
    Call { seed: 1, ..Call::new(target) }
}

/// The host as the guests of one ground could change it.
struct GuestGround {
    ground: AttackGround,
    bench: ContractBench,
    canary: TempDir,
    services: HostServices,
    secret: String,
}

/// Runs all attempts on the ground that this process stands for, and prints their results.
pub(crate) fn run_ground(ground: AttackGround, secret: &str, filter: &str) {
    // What is found is reported; panics of the bench are results.
    std::panic::set_hook(Box::new(|_| {}));
    let services = HostServices::start();
    let canary = TempDir::with_prefix("hostile-").expect("writable");
    let file = canary.path().join("secret");
    fs::write(&file, format!("canary-{secret}")).expect("writable");
    fs::set_permissions(canary.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("ours");
    let guest = "def fine():\n    return 'fine'\n";
    let bench = ContractBench::with_options(ground.tier, guest, |options| {
        write_modules(&options.repo);
    });
    let secret = secret.to_owned();
    let tried = GuestGround { ground, bench, canary, services, secret };
    let mut results = Vec::new();
    for (module, text) in MODULES {
        let attempts = parse_attempts(module, text);
        let is_wanted = |attempt: &&GuestAttempt| {
            let grounds = attempt.keys.get("grounds").map(String::as_str);
            attempt.name().contains(filter) && is_on_ground(grounds, ground.name)
        };
        results.extend(tried.run_module(&attempts.iter().filter(is_wanted).collect::<Vec<_>>()));
    }
    results.extend(tried.run_system_calls(filter));
    for result in &results {
        say(&format!("{RESULT_PREFIX}{}", serde_json::to_string(result).expect("plain")));
    }
    let ended = catch_unwind(AssertUnwindSafe(|| drop(tried.bench)));
    if let Err(panic) = ended {
        say(&panic_text(panic.as_ref()));
        std::process::exit(1);
    }
}

fn write_modules(repo: &Path) {
    fs::write(repo.join("hostile_tools.py"), TOOLS).expect("writable");
    for (module, text) in MODULES {
        fs::write(repo.join(format!("{module}.py")), text).expect("writable");
    }
    let (_, imports) = MODULES.iter().find(|(name, _)| *name == IMPORTS).expect("it is there");
    for attempt in parse_attempts(IMPORTS, imports) {
        let text = format!(
            "import builtins\nimport os\n\nimport imports\n\nfound = imports.{}()\n\n\n\
             def attempt():\n    if hasattr(builtins, 'menace_dies'):\n        \
             os.kill(os.getpid(), 9)\n    return found\n",
            attempt.function
        );
        fs::write(repo.join(format!("{}.py", attempt.module_name())), text).expect("writable");
    }
}

impl GuestGround {
    fn spec(&self, module: &str) -> SandboxSpec {
        let mut spec = self.bench.spec();
        spec.module = Some(ModuleRef { name: module.to_owned(), path: None });
        let ([tcp, udp], names) = self.services.addresses();
        let at = |path: &Path| path.to_str().expect("a plain path").to_owned();
        let calls: Vec<String> =
            system_calls().iter().map(|(name, number)| format!("{name}={number}")).collect();
        for (name, value) in [
            ("HOSTILE_CANARY", at(&self.canary.path().join("secret"))),
            ("HOSTILE_REPO", at(self.bench.repo())),
            ("HOSTILE_TCP", tcp.to_string()),
            ("HOSTILE_UDP", udp.to_string()),
            ("HOSTILE_UNIX", names.join(":")),
            ("HOSTILE_CALLS", calls.join(",")),
        ] {
            spec.environment.push((name.to_owned(), value));
        }
        spec
    }

    /// The attempts of one module, in one warm sandbox as far as their specs are the same.
    fn run_module(&self, attempts: &[&GuestAttempt]) -> Vec<AttemptResult> {
        let (mut results, mut waiting) = (Vec::new(), attempts.to_vec());
        while let Some(first) = waiting.first() {
            let spec = first.spec(self);
            let (same, others): (Vec<_>, Vec<_>) =
                waiting.iter().partition(|attempt| attempt.spec(self) == spec);
            waiting = others;
            let mut session = None;
            for attempt in same {
                let failure = self.run_call(&mut session, &spec, attempt.call(), |outcome| {
                    attempt.find_failure(outcome)
                });
                let open = attempt.keys.get("open").filter(|_| {
                    let grounds = attempt.keys.get("open_on").map(String::as_str);
                    is_on_ground(grounds, self.ground.name)
                });
                results.push(AttemptResult {
                    class: attempt.module.to_owned(),
                    name: attempt.name(),
                    ground: self.ground.name.to_owned(),
                    open: open.cloned(),
                    failure,
                });
            }
        }
        results
    }

    /// Makes a call and checks everything that must hold whatever the guest did.
    fn run_call<'a>(
        &'a self,
        session: &mut Option<ContractSession<'a>>,
        spec: &SandboxSpec,
        call: Call,
        find_failure: impl Fn(&Outcome) -> Option<AttemptFailure>,
    ) -> Option<AttemptFailure> {
        let before = snapshot_files(self.canary.path());
        let timeout = Duration::from_millis(call.limits.timeout_ms + spec.import_limits.timeout_ms);
        let began = Instant::now();
        let module = spec.module.as_ref().map(|module| module.name.clone()).unwrap_or_default();
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let session = session.get_or_insert_with(|| self.bench.session_of(spec));
            let outcome = session.run(CallBuilder(call));
            // What an import did is there for all calls of its module.
            let is_import = module.starts_with("import_");
            let count = if is_import { 0 } else { CALLS_AFTER };
            let after = (0..count).map(|_| session.run(CallBuilder(call_of(&module, "fine"))));
            (outcome, after.collect::<Vec<_>>())
        }));
        let (outcome, after) = match ran {
            Ok(outcomes) => outcomes,
            Err(panic) => {
                *session = None;
                return Some(AttemptFailure::broken(panic_text(panic.as_ref())));
            }
        };
        if began.elapsed() > timeout + MAX_DELAY {
            return Some(format!("it took {:?}", began.elapsed()).into());
        }
        if let Some(after) = after.iter().find(|after| after.verdict != Verdict::Returned) {
            let what = format!("a later call was harmed: {} {:?}", after.verdict, after.reason);
            return Some(what.into());
        }
        if let Some(failure) = find_failure(&outcome) {
            return Some(failure);
        }
        for outcome in [&outcome].into_iter().chain(&after) {
            let text = serde_json::to_string(outcome).expect("it can be written");
            if text.contains(&self.secret) {
                return Some("the outcome has the secret in it".to_owned().into());
            }
        }
        if snapshot_files(self.canary.path()) != before {
            return Some("the canary was changed".to_owned().into());
        }
        for directory in SHARED_DIRECTORIES {
            for path in TRACES.map(|trace| Path::new(directory).join(trace)) {
                if fs::remove_file(&path).is_ok() {
                    return Some(format!("`{}` was made", path.display()).into());
                }
            }
        }
        let silent = catch_unwind(AssertUnwindSafe(|| self.services.assert_silence()));
        silent.err().map(|panic| panic_text(panic.as_ref()).into())
    }

    /// Each level of `system_calls.txt` has a sandbox.
    fn run_system_calls(&self, filter: &str) -> Vec<AttemptResult> {
        let (mut results, mut sessions) = (Vec::new(), BTreeMap::new());
        for row in SYSTEM_CALLS.lines().filter(|line| !line.starts_with('#')) {
            let parts: Vec<&str> = row.split('|').map(str::trim).collect();
            let [level, name, arguments] = parts[..] else { panic!("not a row: {row}") };
            let title = format!("{name}({arguments}) at level {level}");
            if !title.contains(filter) {
                continue;
            }
            let level: u8 = level.parse().expect("a level");
            let mut spec = self.spec("files");
            spec.confinement.security_level = level.try_into().expect("a level");
            let numbers = arguments.split_whitespace().map(str::parse::<i64>);
            let numbers = numbers.map(|it| Value::Int(it.expect("a number")));
            let mut call = call_of("files", "system_call");
            call.args = [Value::from(name)].into_iter().chain(numbers).collect();
            let session = sessions.entry(level).or_insert(None);
            let failure = self.run_call(session, &spec, call, |outcome| {
                let tried = format!("{name}(");
                let is_named = outcome.violations.iter().any(|it| it.detail.starts_with(&tried));
                (outcome.verdict != Verdict::Violated || !is_named).then(|| {
                    let returned = outcome.result.value.as_ref().map(|it| &it.repr);
                    let seen = &outcome.violations;
                    format!("{}, {returned:?}, {seen:?}", outcome.verdict).into()
                })
            });
            results.push(AttemptResult {
                class: "system calls".to_owned(),
                name: title,
                ground: self.ground.name.to_owned(),
                open: None,
                failure,
            });
        }
        results
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "it panicked".to_owned())
}

/// Numbers of this architecture for the calls that attempts make.
fn system_calls() -> Vec<(&'static str, libc::c_long)> {
    macro_rules! numbers {
        ($($name:ident $constant:ident),* $(,)?) => {
            vec![$((stringify!($name), libc::$constant)),*]
        };
    }
    numbers![
        ptrace SYS_ptrace, process_vm_readv SYS_process_vm_readv,
        process_vm_writev SYS_process_vm_writev, mount SYS_mount, umount2 SYS_umount2,
        pivot_root SYS_pivot_root, chroot SYS_chroot, open_tree SYS_open_tree,
        move_mount SYS_move_mount, fsopen SYS_fsopen, fsmount SYS_fsmount, fspick SYS_fspick,
        mount_setattr SYS_mount_setattr, unshare SYS_unshare, setns SYS_setns, bpf SYS_bpf,
        perf_event_open SYS_perf_event_open, io_uring_setup SYS_io_uring_setup,
        io_uring_enter SYS_io_uring_enter, io_uring_register SYS_io_uring_register,
        userfaultfd SYS_userfaultfd, keyctl SYS_keyctl, add_key SYS_add_key,
        request_key SYS_request_key, kexec_load SYS_kexec_load,
        kexec_file_load SYS_kexec_file_load, init_module SYS_init_module,
        finit_module SYS_finit_module, delete_module SYS_delete_module, reboot SYS_reboot,
        swapon SYS_swapon, swapoff SYS_swapoff, settimeofday SYS_settimeofday,
        clock_settime SYS_clock_settime, adjtimex SYS_adjtimex, sethostname SYS_sethostname,
        setdomainname SYS_setdomainname, open_by_handle_at SYS_open_by_handle_at, acct SYS_acct,
        quotactl SYS_quotactl, syslog SYS_syslog, vhangup SYS_vhangup,
        pidfd_getfd SYS_pidfd_getfd, fanotify_init SYS_fanotify_init,
        lookup_dcookie SYS_lookup_dcookie, socket SYS_socket, execve SYS_execve,
        execveat SYS_execveat, clone SYS_clone, clone3 SYS_clone3, openat2 SYS_openat2,
        renameat2 SYS_renameat2, tgkill SYS_tgkill, tkill SYS_tkill,
        rt_sigqueueinfo SYS_rt_sigqueueinfo, rt_tgsigqueueinfo SYS_rt_tgsigqueueinfo,
        capset SYS_capset, shmget SYS_shmget, shmctl SYS_shmctl, semget SYS_semget,
        msgget SYS_msgget, mq_open SYS_mq_open,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<String>, String> {
        let parsed = catch_unwind(|| parse_attempts("files", text));
        let attempts = parsed.map_err(|panic| panic_text(panic.as_ref()))?;
        Ok(attempts.into_iter().map(|attempt| attempt.function).collect())
    }

    #[test]
    fn no_function_is_left_out_unnoticed() {
        let good = "\ndef one():\n    \"\"\"Tries: this.\n\n    verdict: violated\n    \"\"\"\n\
                    \ndef fine():\n    return 1\n";
        assert_eq!(parse(good), Ok(vec!["one".to_owned()]));
        for (from, to, error) in [
            ("\"\"\"Tries", "\"Tries", "neither described nor a helper"),
            ("one()", "one(a)", "neither described nor a helper"),
            ("def fine", "def finer", "neither described nor a helper"),
            ("verdict:", "verdicts:", "is unknown"),
            ("violated", "vilated", "is no verdict"),
            ("verdict: violated", "open_on: rot", "is no ground"),
        ] {
            let found = parse(&good.replace(from, to)).expect_err(to);
            assert!(found.contains(error), "{to}: {found}");
        }
    }
}
