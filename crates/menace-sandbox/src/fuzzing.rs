//! What reads bytes that a guest or a checkout wrote, for the targets of `fuzz/` and for
//! properties.
//!
//! Each function takes anything and ends without a panic, or finds a promise broken.

use std::ffi::OsStr;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use menace_model::{
    Call, CallStep, CallTarget, ConcurrencyBurst, FaultMode, FaultSpec, FaultTrigger, FixtureFile,
    InputIntent, ModuleRef, Outcome, TargetKind, UpstreamConfig, Value, Verdict,
};

use crate::host::{ReportContext, build_outcome};
use crate::init::ReportMailbox;
use crate::interpreter::{InterpreterSearch, find_base_of};
use crate::network::PacketFlow;
use crate::wire::channel;
use crate::wire::harness;
use crate::wire::marshal::{MarshalValue, MarshalWriter};
use crate::wire::messages::{CapturedStream, FromInitMessage, InitReport, KillReason};
use crate::wire::values;

/// Longer messages would wait for the reader.
const MAX_MESSAGE_BYTES: usize = 1 << 16;
const NONCE: u64 = 7;
/// Where the parts of a mailbox are that its head tells the lengths of: the short report, the
/// violations, the full report, the reports of steps.
const MAILBOX_PARTS: [usize; 4] = [64, 1 << 15, 1 << 16, 2 << 20];

/// A value in Python's `marshal` format.
pub fn read_marshal(bytes: &[u8]) {
    let Ok(item) = MarshalValue::parse(bytes) else { return };
    if let Some(value) = values::parse_value(&item) {
        // What a guest returned can be an argument of the next call.
        let mut out = MarshalWriter::default();
        values::write_value(&mut out, &value);
        let text = serde_json::to_string(&value).expect("a value can be written");
        serde_json::from_str::<Value>(&text).expect("a value that was written can be read");
    }
}

/// Messages of the harness to init, and of init to the host.
pub fn read_frame(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MAX_MESSAGE_BYTES)];
    let (ours, mut theirs) = UnixStream::pair().expect("sockets can be made");
    theirs.write_all(bytes).expect("it fits into the socket");
    theirs.shutdown(Shutdown::Write).expect("it is open");
    while harness::receive(&ours).is_ok() {}
    let (ours, mut theirs) = UnixStream::pair().expect("sockets can be made");
    theirs.write_all(bytes).expect("it fits into the socket");
    theirs.shutdown(Shutdown::Write).expect("it is open");
    let _ = channel::receive::<FromInitMessage>(&ours);
}

/// What a guest left in the memory that it shares with init, and how its process ended.
///
/// The first byte has marks, the next four are the wait status. Then follow pieces, each after its
/// length in two bytes: the head of the mailbox, its four parts, a dump of stacks, and output.
pub fn read_mailbox(bytes: &[u8]) {
    let Some((marks, rest)) = bytes.split_first() else { return };
    let Some((status, mut rest)) = rest.split_first_chunk::<4>() else { return };
    let mut piece = || {
        let Some((length, after)) = rest.split_first_chunk::<2>() else { return &[][..] };
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (piece, after) = after.split_at(length);
        rest = after;
        piece
    };
    let mut mailbox = ReportMailbox::new().expect("memory can be shared");
    mailbox.mark_running(NONCE);
    let head = piece();
    // Else most would end at the magic bytes.
    mailbox.overwrite(4, &head[..head.len().min(MAILBOX_PARTS[0] - 4)]);
    for offset in MAILBOX_PARTS {
        mailbox.overwrite(offset, piece());
    }
    let _ = mailbox.fault_window();
    let content = mailbox.take();
    let kills = [
        None,
        None,
        None,
        Some(KillReason::Deadline),
        Some(KillReason::Cpu),
        Some(KillReason::Memory),
        Some(KillReason::Disk),
        Some(KillReason::EarlyKill),
    ];
    let has = |bit: u8| marks & 1 << bit != 0;
    let status = has(0).then(|| i32::from_le_bytes(*status));
    let report = InitReport {
        report_state: content.report_state,
        mailbox_request_number: content.request_number,
        mailbox: content.report,
        reported_violations: content.violations,
        unlisted_reported_violations: u64::from(content.unlisted),
        process_limit_hits: u64::from(content.refused_fork),
        steps: content.steps,
        status,
        ended_irregularly: status != Some(0),
        killed: kills[usize::from(marks >> 5)],
        oom_kills: u64::from(has(1)),
        total_ns: 1_000_000_000,
        user_ns: u64::from(has(2)) * 500_000_000,
        stack_dumps: piece().to_vec(),
        stdout: CapturedStream { bytes: piece().to_vec(), total_bytes: 1 << 20 },
        ..InitReport::default()
    };
    for call in sample_calls() {
        check_outcome(&report, &call, has(3));
    }
}

/// Builds the outcome of a report, and checks what holds whatever the guest wrote.
fn check_outcome(report: &InitReport, call: &Call, is_import: bool) -> Outcome {
    let context = ReportContext::new("/repo", Path::new("/nowhere/shop"), call);
    let context = if is_import { context.for_import(&call.limits) } else { context };
    let outcome = build_outcome(report, &context);
    let believes = [Verdict::Returned, Verdict::Raised, Verdict::Refused, Verdict::Unreachable];
    let ended_well = report.status == Some(0) && !report.ended_irregularly;
    assert!(
        ended_well || !believes.contains(&outcome.verdict),
        "{:?} of a process that ended with {:?}",
        outcome.verdict,
        report.status
    );
    assert!(ended_well || outcome.value.is_none() && outcome.exception.is_none());
    assert!(outcome.steps.len() <= call.steps().len());
    assert!(outcome.runtime_metrics.wall_ms <= report.total_ns as f64 / 1e6);
    let text = serde_json::to_string(&outcome).expect("an outcome can be written");
    serde_json::from_str::<Outcome>(&text).expect("an outcome that was written can be read");
    outcome
}

/// One that asks for nothing, one that asks for everything, and one with steps.
fn sample_calls() -> [Call; 3] {
    let target = || {
        let module = ModuleRef { name: "shop".to_owned(), path: None };
        CallTarget { module, qualname: "total".to_owned(), kind: TargetKind::Function }
    };
    let plain = Call::new(target());
    let mut full = Call::new(target());
    full.step.intent = InputIntent::Misuse;
    full.coverage = true;
    full.conditions.burst = Some(ConcurrencyBurst { threads: 8, tasks: 8 });
    full.conditions.upstream = Some(UpstreamConfig::default());
    full.conditions.network.latency_ms = 5.0;
    let always = |mode| FaultSpec { mode, trigger: FaultTrigger::Rate(1.0) };
    full.conditions.faults = FaultMode::ALL.into_iter().map(always).collect();
    full.limits.memory_bytes = Some(1 << 20);
    full.limits.disk_bytes = Some(1 << 20);
    let file = |path: &str| FixtureFile { path: path.to_owned(), content: b"a,b\n".to_vec() };
    full.fixtures.files = vec![file("a.txt"), file("in/data.json")];
    let mut steps = full.clone();
    steps.shared_steps = vec![CallStep::new(target()), CallStep::new(target())];
    [plain, full, steps]
}

/// The environment of a checkout, whose `.venv/bin/python` and `pyvenv.cfg` are already there.
pub fn read_environment(checkout: &Path) {
    let search = InterpreterSearch {
        python: None,
        repository: checkout,
        path: OsStr::new("/usr/bin:/bin"),
        home: None,
        sources: &[],
        cache: None,
    };
    let _ = find_base_of(&search, &checkout.join(".venv/bin/python"));
}

/// A packet of the network between sandbox and host.
pub fn read_packet(bytes: &[u8]) {
    if let Some(flow) = PacketFlow::parse(bytes) {
        let _ = flow.to_string();
    }
}

/// Inputs for [`read_mailbox`] to begin with: reports as the harness writes them.
pub fn sample_mailboxes() -> Vec<Vec<u8>> {
    let report = sample_report();
    let length = |bytes: &[u8]| (bytes.len() as u16).to_le_bytes();
    let mut step = length(&report).to_vec();
    step.extend([0, 0]);
    step.extend(&report);
    let frame = "Stack (most recent call first):\n  File \"/repo/shop.py\", line 7 in total\n";
    let mut samples = Vec::new();
    for (marks, state) in [(1, 3), (1, 2), (9, 3), (0x61, 3), (0x81, 2), (0, 1)] {
        let mut head = [0_u8; 60];
        head[0] = state;
        for at in [4, 8] {
            head[at..at + 2].copy_from_slice(&length(&report));
        }
        head[12] = NONCE as u8;
        head[28] = 1;
        head[32..34].copy_from_slice(&length(&step));
        head[40] = 1;
        let violation = b"\x10\0[\x02\0\0\0u\x04\0\0\0readu\x01\0\0\0/";
        let mut sample = vec![marks, 0, 0, 0, 0];
        for piece in [&head[..], &report, violation, &report, &step, frame.as_bytes(), b"out"] {
            sample.extend(length(piece));
            sample.extend(piece);
        }
        samples.push(sample);
    }
    samples
}

/// Every field of a report, well formed.
pub fn sample_report() -> Vec<u8> {
    let mut out = MarshalWriter::default();
    let texts = |out: &mut MarshalWriter, key: &str, texts: &[&str]| {
        out.write_str(key);
        out.open_list(texts.len());
        for text in texts {
            out.write_str(text);
        }
    };
    out.open_dict();
    for (key, text) in [("kind", "raised"), ("stage", "call")] {
        out.write_str(key);
        out.write_str(text);
    }
    for key in ["wall_ns", "user_ns", "system_ns", "items", "step", "held_bytes"] {
        out.write_str(key);
        out.write_int(0);
    }
    out.write_str("value");
    out.open_dict();
    for (key, text) in [("type", "list"), ("repr", "[1]"), ("hash", "f00")] {
        out.write_str(key);
        out.write_str(text);
    }
    out.write_str("value");
    out.open_tuple(2);
    out.write_str("l");
    out.open_list(1);
    out.write_int(1);
    out.close_dict();
    out.write_str("exception");
    out.open_dict();
    for (key, text) in [("type", "ValueError"), ("message", "no")] {
        out.write_str(key);
        out.write_str(text);
    }
    texts(&mut out, "bases", &["Exception"]);
    out.write_str("explicit");
    out.write_bool(true);
    out.write_str("errno");
    out.write_int(28);
    out.write_str("frames");
    out.open_list(1);
    out.open_dict();
    out.write_str("file");
    out.write_str("/repo/shop.py");
    out.write_str("line");
    out.write_int(7);
    out.write_str("function");
    out.write_str("total");
    out.close_dict();
    out.close_dict();
    texts(&mut out, "notes", &["a note"]);
    texts(&mut out, "leaked_threads", &["Thread-1"]);
    for (key, first, second) in [
        ("leaked_descriptors", None, "a pipe"),
        ("violations", Some("read"), "/etc/shadow"),
        ("fixture_files", Some("a.txt"), "changed"),
    ] {
        out.write_str(key);
        out.open_list(1);
        out.open_list(2);
        match first {
            Some(text) => out.write_str(text),
            None => out.write_int(5),
        }
        out.write_str(second);
    }
    out.write_str("state_changes");
    out.open_dict();
    texts(&mut out, "environ", &["HOME"]);
    out.write_str("modules");
    out.write_int(3);
    out.close_dict();
    out.write_str("fault_stats");
    out.open_list(1);
    out.open_list(5);
    out.write_str("schema_drift");
    out.write_int(4);
    out.write_int(2);
    out.write_str("data.json");
    out.write_float(5e6);
    out.write_str("stopped_at");
    out.open_list(3);
    out.write_str("/repo/shop.py");
    out.write_int(7);
    out.write_str("total");
    out.write_str("coverage");
    out.open_list(1);
    out.open_list(3);
    out.write_str("shop.py");
    out.open_list(2);
    out.write_int(1);
    out.write_int(2);
    out.open_list(2);
    out.write_int(1);
    out.write_int(2);
    out.write_str("burst");
    out.open_dict();
    out.write_str("finished");
    out.write_int(8);
    out.close_dict();
    out.write_str("upstream");
    out.open_dict();
    out.write_str("without_timeout");
    out.write_int(1);
    out.close_dict();
    out.close_dict();
    out.0
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::wire::messages::{ReportState, StepProgress};

    /// Names that mean something somewhere in a report.
    const NAMES: [&str; 62] = [
        "kind",
        "stage",
        "value",
        "exception",
        "notes",
        "violations",
        "leaked_threads",
        "leaked_descriptors",
        "state_changes",
        "coverage",
        "burst",
        "upstream",
        "fault_stats",
        "wall_ns",
        "user_ns",
        "system_ns",
        "items",
        "more",
        "stopped_at",
        "fixture_files",
        "step",
        "held_bytes",
        "type",
        "repr",
        "truncated",
        "length",
        "hash",
        "message",
        "bases",
        "frames",
        "file",
        "line",
        "function",
        "explicit",
        "errno",
        "cause",
        "context",
        "group",
        "own_class",
        "code",
        "environ",
        "cwd",
        "modules",
        "signals",
        "recursion_limit",
        "defaults",
        "requests",
        "without_timeout",
        "threads_spawned",
        "tasks_spawned",
        "finished",
        "deadlocked",
        "waits_at",
        "raised",
        "distinct_results",
        "differs",
        "op",
        "pid",
        "status",
        "utime",
        "stime",
        "maxrss",
    ];
    const WORDS: [&str; 28] = [
        "returned",
        "raised",
        "exited",
        "unreachable",
        "import",
        "resolve",
        "construct",
        "arguments",
        "consume",
        "call",
        "MemoryError",
        "ValueError",
        "Exception",
        "NoneType",
        "read",
        "write",
        "connect",
        "patched_harness",
        "forged_report",
        "disk",
        "schema_drift",
        "same",
        "changed",
        "gone",
        "a.txt",
        "/repo/shop.py",
        "l",
        "d",
    ];

    fn any_value() -> impl Strategy<Value = MarshalValue> {
        let text = prop_oneof![
            4 => proptest::sample::select(WORDS.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..12),
            1 => any::<String>().prop_map(String::into_bytes),
        ];
        let edge = [i64::MIN, -1, 0, 1, 28, 1 << 31, 1 << 32, i64::MAX];
        let leaf = prop_oneof![
            1 => Just(MarshalValue::None),
            1 => any::<bool>().prop_map(MarshalValue::Bool),
            3 => proptest::sample::select(edge.to_vec()).prop_map(MarshalValue::Int),
            1 => any::<i64>().prop_map(MarshalValue::Int),
            1 => any::<f64>().prop_map(MarshalValue::Float),
            4 => text.prop_map(MarshalValue::Str),
            1 => proptest::collection::vec(any::<u8>(), 0..12).prop_map(MarshalValue::Bytes),
            1 => Just(MarshalValue::Ellipsis),
            1 => (any::<f64>(), any::<f64>()).prop_map(|(re, im)| MarshalValue::Complex(re, im)),
            1 => (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..40))
                .prop_map(|(negative, magnitude)| MarshalValue::BigInt { negative, magnitude }),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                2 => proptest::collection::vec(inner.clone(), 0..6).prop_map(MarshalValue::List),
                1 => proptest::collection::vec(inner.clone(), 0..6).prop_map(MarshalValue::Tuple),
                4 => any_dict(inner, 8),
            ]
        })
    }

    fn any_dict(
        inner: impl Strategy<Value = MarshalValue> + 'static,
        most: usize,
    ) -> impl Strategy<Value = MarshalValue> {
        let name = proptest::sample::select(NAMES.to_vec());
        let name = name.prop_map(|name| MarshalValue::Str(name.as_bytes().to_vec()));
        proptest::collection::vec((name, inner), 0..most).prop_map(MarshalValue::Dict)
    }

    /// The bytes of a value, as Python writes them.
    fn encode(out: &mut MarshalWriter, item: &MarshalValue) {
        match item {
            MarshalValue::None => out.write_none(),
            MarshalValue::Bool(value) => out.write_bool(*value),
            MarshalValue::Int(value) => out.write_int(*value),
            MarshalValue::Float(value) => out.write_float(*value),
            MarshalValue::Str(text) => out.write_wtf8(text),
            MarshalValue::Bytes(bytes) => out.write_bytes(bytes),
            MarshalValue::List(items) => {
                out.open_list(items.len());
                for item in items {
                    encode(out, item);
                }
            }
            MarshalValue::Tuple(items) => {
                out.open_tuple(items.len());
                for item in items {
                    encode(out, item);
                }
            }
            MarshalValue::Dict(pairs) => {
                out.open_dict();
                for (key, value) in pairs {
                    encode(out, key);
                    encode(out, value);
                }
                out.close_dict();
            }
            MarshalValue::Complex(re, im) => {
                out.0.push(b'y');
                out.0.extend(re.to_le_bytes());
                out.0.extend(im.to_le_bytes());
            }
            MarshalValue::Ellipsis => out.0.push(b'.'),
            MarshalValue::BigInt { negative, magnitude } => {
                let digits = i32::try_from(magnitude.len()).expect("few digits");
                out.0.push(b'l');
                out.0.extend((if *negative { -digits } else { digits }).to_le_bytes());
                for byte in magnitude {
                    out.0.extend([*byte, 0x7f]);
                }
            }
        }
    }

    fn encoded(item: &MarshalValue) -> Vec<u8> {
        let mut out = MarshalWriter::default();
        encode(&mut out, item);
        out.0
    }

    fn any_state() -> impl Strategy<Value = ReportState> {
        any::<u8>().prop_map(|byte| ReportState::from_byte(byte % 5))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn every_report_of_a_guest_has_an_outcome(
            report in any_dict(any_value(), 24),
            step in any_dict(any_value(), 12),
            violations in proptest::collection::vec(any_value(), 0..4),
            report_state in any_state(),
            status in proptest::option::of(prop_oneof![Just(0), any::<i32>()]),
            begun in 0_u32..4,
            stack_dumps in "(\\(most recent call first\\):\n|  File \"/repo/a.py\", line 7 in f\n|\
                            [ -~\n]{0,8}|\\\\x..|\\\\u....|  \\.\\.\\.\n){0,8}",
            is_import in any::<bool>(),
        ) {
            let step = encoded(&step);
            let mut entries = (step.len() as u32).to_le_bytes().to_vec();
            entries.extend(step);
            let report = InitReport {
                report_state,
                mailbox: encoded(&report),
                reported_violations: violations.iter().map(encoded).collect(),
                steps: Some(StepProgress { begun, releasing_result: true, entries }),
                status,
                ended_irregularly: status != Some(0),
                stack_dumps: stack_dumps.into_bytes(),
                total_ns: 1_000_000,
                ..InitReport::default()
            };
            for call in sample_calls() {
                check_outcome(&report, &call, is_import);
            }
        }

        #[test]
        fn every_mailbox_has_an_outcome(
            marks in any::<u8>(),
            sample in any::<prop::sample::Index>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            end in any::<prop::sample::Index>(),
        ) {
            let samples = sample_mailboxes();
            let mut bytes = samples[sample.index(samples.len())].clone();
            bytes[0] = marks;
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[at.index(length)] = byte;
            }
            read_mailbox(&bytes);
            read_mailbox(&bytes[..end.index(bytes.len())]);
        }

        #[test]
        fn every_head_of_a_mailbox_has_an_outcome(
            marks in any::<u8>(),
            head in proptest::collection::vec(
                prop_oneof![Just(0_u8), Just(1), Just(2), Just(3), Just(0xff), any::<u8>()], 60,
            ),
        ) {
            let mut bytes = vec![marks, 0, 0, 0, 0, 60, 0];
            bytes.extend(head);
            read_mailbox(&bytes);
        }

        #[test]
        fn every_frame_is_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            message in any_dict(any_value(), 8),
        ) {
            read_frame(&bytes);
            let body = encoded(&message);
            let length = (body.len() as u32).to_le_bytes();
            read_frame(&[&b"MNC1"[..], &length, &body].concat());
        }

        #[test]
        fn every_value_is_read_or_refused(item in any_value()) {
            let bytes = encoded(&item);
            read_marshal(&bytes);
            read_marshal(&bytes[..bytes.len() / 2]);
        }

        #[test]
        fn every_packet_is_read_or_refused(
            version in prop_oneof![Just(0x45_u8), Just(0x4f), Just(0x60), any::<u8>()],
            next in prop_oneof![Just(0_u8), Just(6), Just(17), Just(43), Just(60), any::<u8>()],
            rest in proptest::collection::vec(any::<u8>(), 0..140),
        ) {
            let mut packet = [&[version][..], &rest].concat();
            for at in [6, 9] {
                if let Some(byte) = packet.get_mut(at) {
                    *byte = next;
                }
            }
            read_packet(&packet);
        }

        #[test]
        fn every_environment_of_a_checkout_is_found_or_refused(
            lines in proptest::collection::vec(
                (
                    prop_oneof![
                        Just("home"), Just("HOME "), Just("version"), Just("version_info"),
                        Just("include-system-site-packages"), Just(""), Just("="),
                    ],
                    prop_oneof![
                        Just("/usr/bin".to_owned()), Just("/".to_owned()), Just("..".to_owned()),
                        Just("3.11.7".to_owned()), Just("../../..".to_owned()),
                        Just("true".to_owned()), any::<String>(),
                    ],
                ),
                0..5,
            ),
        ) {
            let checkout = tempfile::tempdir().unwrap();
            let bin = checkout.path().join(".venv/bin");
            fs::create_dir_all(&bin).unwrap();
            symlink("/usr/bin/python3", bin.join("python")).unwrap();
            let lines: Vec<String> =
                lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
            fs::write(checkout.path().join(".venv/pyvenv.cfg"), lines.concat()).unwrap();
            read_environment(checkout.path());
        }
    }

    #[test]
    fn samples_are_what_is_read() {
        let report = MarshalValue::parse(&sample_report()).unwrap();
        for name in ["kind", "value", "exception", "coverage", "burst", "fault_stats", "step"] {
            assert!(report.get(name).is_some(), "{name}");
        }
        for sample in sample_mailboxes() {
            read_mailbox(&sample);
        }
    }
}
