//! The diagnosis of a machine for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color};

use menace_model::Limit;
use menace_sandbox::interpreter::{Interpreter, Origin};

use crate::commands::doctor::{Diagnosis, Proof, PythonFound, missing};

use super::sheet::Sheet;
use super::table::{printable, row, table};
use super::units::millis;

pub(crate) fn render(found: &Diagnosis) -> String {
    let colour = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
    let (green, red) = (colour(AnsiColor::Green), colour(AnsiColor::Red));
    let mut sheet = Sheet::default();
    match found.tier {
        Some(tier) => sheet.styled("tier", green, &format!("{tier}: {}", tier.description())),
        None => sheet.styled("tier", red, "none: calls are refused unless --unsafe-no-isolation"),
    }
    sheet.list("", &found.why);
    match &found.sandbox {
        Proof::Proved { total_ms } => {
            sheet.styled("sandbox", green, &format!("proved; a call took {}", millis(*total_ms)));
        }
        Proof::Refused { why } => sheet.styled("sandbox", red, &format!("refused: {why}")),
        Proof::NotTried { why } => sheet.styled("sandbox", red, &format!("not tried: {why}")),
    }
    let user = if found.machine.root { "root" } else { "an ordinary user" };
    let kernel = &found.machine.kernel;
    sheet.add("machine", &format!("Linux {kernel}, {} cores, running as {user}", found.cores));
    match &found.python {
        PythonFound::Found(interpreter) => python(&mut sheet, interpreter),
        PythonFound::Missing { error } => sheet.styled("python", red, error),
    }
    let mut out = sheet.into_text();
    let _ = writeln!(out, "\n{}", mechanisms(found));
    let advice: Vec<String> = missing(&found.machine)
        .filter_map(|one| Some(format!("  {}: {}", one.name, printable(one.advice.as_ref()?))))
        .collect();
    if !advice.is_empty() {
        let _ = writeln!(out, "\nWhat to do:\n{}", advice.join("\n"));
    }
    if let Some(limits) = limits(found) {
        let _ = writeln!(out, "\n{limits}");
    }
    out
}

fn python(sheet: &mut Sheet, interpreter: &Interpreter) {
    let (major, minor, micro) = interpreter.version;
    let origin = match interpreter.origin {
        Origin::Flag => "named with --python",
        Origin::Venv => "the repository's virtual environment",
        Origin::Path => "found on the PATH",
    };
    let executable = interpreter.executable.display();
    let implementation = &interpreter.implementation;
    sheet.add(
        "python",
        &format!("{implementation} {major}.{minor}.{micro}, {executable}, {origin}"),
    );
    let needs = interpreter.needs.iter().map(|path| path.display().to_string());
    sheet.list("  needs", needs);
    sheet.list("  warning", &interpreter.warnings);
}

fn mechanisms(found: &Diagnosis) -> String {
    let mut table = table(&["Mechanism", "", "Detail"]);
    for one in &found.machine.mechanisms {
        let (word, colour) = if one.available { ("yes", Color::Green) } else { ("no", Color::Red) };
        let cells = [Cell::new(one.name), Cell::new(word).fg(colour)];
        table.add_row(cells.into_iter().chain([Cell::new(printable(&one.detail))]));
    }
    table.to_string()
}

fn limits(found: &Diagnosis) -> Option<String> {
    let held = found.limits.as_ref()?;
    let mut table = table(&["Limit", "Preset key", "Held by"]);
    for (limit, by) in held {
        let by: Vec<&str> = by.iter().map(|one| one.as_str()).collect();
        let cells = [limit.as_str(), key(*limit), &by.join(", ")].map(Cell::new);
        table.add_row(row(cells));
    }
    for limit in &found.unenforced {
        let nothing = Cell::new("nothing").fg(Color::Red);
        let cells = [Cell::new(limit.as_str()), Cell::new(key(*limit)), nothing];
        table.add_row(row(cells));
    }
    Some(table.to_string())
}

fn key(limit: Limit) -> &'static str {
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
