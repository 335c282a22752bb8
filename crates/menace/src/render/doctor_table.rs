//! The diagnosis of a machine for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color};

use menace_model::{Limit, LimitEnforcement, format_millis};
use menace_sandbox::Tier;
use menace_sandbox::interpreter::{InterpreterOrigin, PythonInterpreter};
use menace_sandbox::machine::MachineCapabilities;
use serde::Serialize;

use super::labelled_lines::LabelledLines;
use super::table::{escape_for_terminal, new_row, new_table};

/// Everything that was found out.
#[derive(Debug, Serialize)]
pub(crate) struct MachineDiagnosis {
    pub version: u32,
    /// The strongest that can be had.
    pub tier: Option<Tier>,
    /// Why no stronger one, or none at all.
    pub why: Vec<String>,
    pub sandbox: SandboxProof,
    pub cores: usize,
    #[serde(flatten)]
    pub machine: MachineCapabilities,
    pub python: PythonDiagnosis,
    /// The mechanisms that enforce each limit here; `None` when no sandbox could be started.
    pub limits: Option<LimitEnforcement>,
    pub unenforced: Vec<Limit>,
    /// What the sandbox lacks here, and what its limits do not count.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum SandboxProof {
    /// A sandbox was started, could not be left, and made a call.
    Proved {
        total_ms: f64,
    },
    Refused {
        why: String,
    },
    NotTried {
        why: String,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum PythonDiagnosis {
    Found(Box<PythonInterpreter>),
    Missing { error: String },
}

pub(crate) fn render(found: &MachineDiagnosis) -> String {
    let colour = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
    let (green, red) = (colour(AnsiColor::Green), colour(AnsiColor::Red));
    let mut sheet = LabelledLines::default();
    match found.tier {
        Some(tier) => sheet.add_styled("tier", green, &format!("{tier}: {}", tier.description())),
        None => {
            sheet.add_styled("tier", red, "none: calls are refused unless --unsafe-no-isolation");
        }
    }
    sheet.add_list("", &found.why);
    match &found.sandbox {
        SandboxProof::Proved { total_ms } => {
            sheet.add_styled(
                "sandbox",
                green,
                &format!("proved; a call took {}", format_millis(*total_ms)),
            );
        }
        SandboxProof::Refused { why } => {
            sheet.add_styled("sandbox", red, &format!("refused: {why}"));
        }
        SandboxProof::NotTried { why } => {
            sheet.add_styled("sandbox", red, &format!("not tried: {why}"));
        }
    }
    let user = if found.machine.root { "root" } else { "an ordinary user" };
    let kernel = &found.machine.kernel;
    sheet.add("machine", &format!("Linux {kernel}, {} cores, running as {user}", found.cores));
    match &found.python {
        PythonDiagnosis::Found(interpreter) => add_python(&mut sheet, interpreter),
        PythonDiagnosis::Missing { error } => sheet.add_styled("python", red, error),
    }
    let mut out = sheet.into_text();
    let _ = writeln!(out, "\n{}", mechanisms_table(found));
    let advice: Vec<String> = found
        .machine
        .mechanisms
        .iter()
        .filter(|one| !one.available)
        .filter_map(|one| {
            Some(format!("  {}: {}", one.name, escape_for_terminal(one.advice.as_ref()?)))
        })
        .collect();
    if !advice.is_empty() {
        let _ = writeln!(out, "\nWhat to do:\n{}", advice.join("\n"));
    }
    if let Some(limits) = limits_table(found) {
        let _ = writeln!(out, "\n{limits}");
    }
    for note in &found.notes {
        let _ = writeln!(out, "Note: {}", escape_for_terminal(note));
    }
    out
}

fn add_python(sheet: &mut LabelledLines, interpreter: &PythonInterpreter) {
    let (major, minor, micro) = interpreter.version;
    let origin = match interpreter.origin {
        InterpreterOrigin::Flag => "named with --python",
        InterpreterOrigin::Venv => "the repository's virtual environment",
        InterpreterOrigin::Path => "found on the PATH",
    };
    let executable = interpreter.executable.display();
    let implementation = &interpreter.implementation;
    sheet.add(
        "python",
        &format!("{implementation} {major}.{minor}.{micro}, {executable}, {origin}"),
    );
    let needs = interpreter.readable_paths.iter().map(|path| path.display().to_string());
    sheet.add_list("  needs", needs);
    sheet.add_list("  warning", &interpreter.warnings);
}

fn mechanisms_table(found: &MachineDiagnosis) -> String {
    let mut table = new_table(&["Mechanism", "", "Detail"]);
    for one in &found.machine.mechanisms {
        let (word, colour) = if one.available { ("yes", Color::Green) } else { ("no", Color::Red) };
        let cells = [Cell::new(one.name), Cell::new(word).fg(colour)];
        table.add_row(cells.into_iter().chain([Cell::new(escape_for_terminal(&one.detail))]));
    }
    table.to_string()
}

fn limits_table(found: &MachineDiagnosis) -> Option<String> {
    let held = found.limits.as_ref()?;
    let mut table = new_table(&["Limit", "Preset key", "Enforced by"]);
    for (limit, by) in held {
        let by: Vec<&str> = by.iter().map(|one| one.as_str()).collect();
        let cells = [limit.as_str(), limit_key(*limit), &by.join(", ")].map(Cell::new);
        table.add_row(new_row(cells));
    }
    for limit in &found.unenforced {
        let nothing = Cell::new("nothing").fg(Color::Red);
        let cells = [Cell::new(limit.as_str()), Cell::new(limit_key(*limit)), nothing];
        table.add_row(new_row(cells));
    }
    Some(table.to_string())
}

fn limit_key(limit: Limit) -> &'static str {
    match limit {
        Limit::Timeout => "TIMEOUT",
        Limit::Cpu => "CPU_LIMIT",
        Limit::CpuShare => "CPU_SHARE",
        Limit::Memory => "MEMORY_LIMIT",
        Limit::Disk => "DISK_LIMIT",
        Limit::NetworkLatency => "NETWORK_LATENCY_MS",
        Limit::NetworkJitter => "NETWORK_JITTER_MS",
        Limit::PacketLoss => "PACKET_LOSS",
        Limit::PacketDuplication => "PACKET_DUPLICATION",
        Limit::Bandwidth => "BANDWIDTH_LIMIT",
        Limit::Partition => "NETWORK_PARTITION",
        Limit::Burst => "THREAD_BURST",
        Limit::Upstream => "NETWORK_MOCKS",
        Limit::Processes => "PROCESS_LIMIT",
        Limit::OpenFiles => "OPEN_FILES_LIMIT",
        Limit::Output => "OUTPUT_LIMIT",
        Limit::Gpu => "GPU_LIMIT",
        Limit::FaultDisk
        | Limit::FaultDiskCorruption
        | Limit::FaultNetwork
        | Limit::FaultNetworkPartition
        | Limit::FaultCpu
        | Limit::FaultCpuSpike
        | Limit::FaultMemory
        | Limit::FaultTimeout
        | Limit::FaultSchemaDrift
        | Limit::FaultFlakyUpstream => "FAILURE_MODES",
    }
}
