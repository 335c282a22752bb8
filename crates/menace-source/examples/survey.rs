//! Prints what a survey tells about the modules of a repository, and how long it took.
//!
//! `cargo run --release --example survey -- REPOSITORY [MODULE PREFIX]`

use std::path::Path;
use std::time::Instant;

use menace_source::{AnalysisOptions, ScannerChoice, analyze};

#[expect(clippy::print_stdout, reason = "this is what the example is for")]
#[expect(clippy::print_stderr, reason = "times are not part of the result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().ok_or("which repository?")?;
    let prefix = arguments.next().unwrap_or_default();
    let options = AnalysisOptions { scanner: ScannerChoice::Builtin, ..AnalysisOptions::default() };
    let mut started = Instant::now();
    let mut lap = |what: &str| {
        eprintln!("{what}: {:?}", started.elapsed());
        started = Instant::now();
    };
    let analysis = analyze(Path::new(&root), &options, &|_, _| {})?;
    lap("analysis");
    let survey = analysis.survey()?;
    lap("survey");
    let classes = survey.classes();
    lap("classes");
    let chosen = |name: &str| name == prefix || name.starts_with(&format!("{prefix}."));
    let mut hints = Vec::new();
    for module in analysis.modules.iter().filter(|each| prefix.is_empty() || chosen(&each.name)) {
        hints.push((module, survey.hints(module)?));
    }
    lap("hints");
    for (name, class) in classes.0.iter().filter(|(name, _)| chosen(name)) {
        println!("{name}: {}", serde_json::to_string(class)?);
    }
    for (module, hints) in hints.iter().filter(|_| !prefix.is_empty()) {
        for (section, hints) in module.sections.iter().zip(hints) {
            println!("{}: {}", section.id, serde_json::to_string_pretty(hints)?);
        }
    }
    Ok(())
}
