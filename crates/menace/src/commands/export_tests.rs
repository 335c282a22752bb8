//! `menace export-tests`: failures as pytest files.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use menace_files::{UntrustedDir, resolve_named_path};
use serde::Serialize;

use menace_loop::pytest::{TestExport, export};
use menace_model::{Failure as Broken, format_count};
use menace_source::ScannerChoice;
use menace_source::file_discovery::is_exported_test;

use crate::analysis;
use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;

/// Below the repository.
const DEFAULT_OUT: &str = "tests/menace";

/// Write pytest files that fail today, and pass once the failure is fixed.
///
/// They need nothing but the repository and pytest. Each test has a comment that says why it is
/// there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace export-tests
  menace export-tests f3a91c2e44 --repo . --out tests/menace")]
pub(crate) struct ExportTestsCommand {
    /// Only these failures, by their ids or the beginnings of them.
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// The repository [default: `SANDBOX_REPO_PATH`, else the one that the run had].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// The directory for the files; those that Menace wrote there before are written anew
    /// [default: `tests/menace` below the repository].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

#[derive(Debug, Default, Serialize)]
struct ExportTestsJson {
    files: Vec<ExportedFileJson>,
    not_exported: Vec<NotExportedFailureJson>,
}

#[derive(Debug, Serialize)]
struct ExportedFileJson {
    path: String,
    failures: Vec<String>,
}

#[derive(Debug, Serialize)]
struct NotExportedFailureJson {
    id: String,
    why: String,
}

impl ExportTestsCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let repo = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let first = CommandContext::new(global, repo.collect::<FlagValues>())?;
        let store = data_dir::open_existing_store(&first)?;
        let mut known = if self.ids.is_empty() {
            store.failures().map_err(CommandError::request)?
        } else {
            let ids = self.ids.iter();
            ids.map(|id| store.failure(id))
                .collect::<Result<_, _>>()
                .map_err(CommandError::request)?
        };
        let all = known.len();
        known.retain(|one| one.gone_ms.is_none() || !self.ids.is_empty());
        let Some(latest) = known.first() else {
            return self.print(&ExportTestsJson::default(), &nothing_to_export(all));
        };
        let repository = data_dir::failure_repository(&store, latest)?;
        let is_given = first.settings.general.repo_path.is_explicit();
        let context = data_dir::context_for_repository(first, global, repository.clone())?;
        let mut json = ExportTestsJson::default();
        let mut failures: Vec<Broken> = Vec::new();
        for one in known {
            let seen_in = data_dir::failure_repository(&store, &one)?;
            if is_given || seen_in == repository {
                let call = one.shrunk.unwrap_or(one.failure.call);
                failures.push(Broken { call, ..one.failure });
            } else {
                let id = one.failure.id.0;
                let why = format!("it was seen in `{seen_in}`; --repo names that repository");
                json.not_exported.push(NotExportedFailureJson { id, why });
            }
        }
        let analysis = analysis::analyze(&context, ScannerChoice::Builtin)?;
        let repository = &context.settings.general.repo_path;
        let out = self.out.clone().unwrap_or_else(|| repository.join(DEFAULT_OUT));
        let home = resolve_named_path(repository).unwrap_or_else(|_| repository.to_path_buf());
        let outside = (!is_inside(&out, &home)).then_some(home.as_path());
        let TestExport { files, not_exported } = export(&failures, &analysis, outside);
        let cannot =
            || format!("cannot write to `{}`; --out names another directory", out.display());
        let opened = if files.is_empty() { None } else { Some(self.open_directory(&home)) };
        let opened = opened.transpose().with_context(cannot).map_err(CommandError::Request)?;
        for (file, directory) in files.into_iter().zip(opened.iter().cycle()) {
            let (path, name) = (out.join(&file.name), Path::new(&file.name));
            if directory.has_entry(name) && !is_exported_test(&path) {
                let why = format!(
                    "`{}` is not as Menace writes it, so it is yours; \
                     --out names another directory",
                    path.display()
                );
                let left = file.failures.into_iter();
                let left = left.map(|id| NotExportedFailureJson { id: id.0, why: why.clone() });
                json.not_exported.extend(left);
                continue;
            }
            let written = directory.replace(name, file.text.as_bytes());
            written.with_context(cannot).map_err(CommandError::Request)?;
            let failures = file.failures.into_iter().map(|id| id.0).collect();
            json.files.push(ExportedFileJson { path: path.display().to_string(), failures });
        }
        let left = not_exported
            .into_iter()
            .map(|one| NotExportedFailureJson { id: one.id.0, why: one.why });
        json.not_exported.extend(left);
        let end = if json.files.is_empty() {
            "Nothing was written.\n".to_owned()
        } else {
            format!("\nNext:\n  python3 -m pytest {}\n", out.display())
        };
        self.print(&json, &end)
    }

    /// The directory for the files: the user's, or one in the repository that no link leads to.
    #[expect(clippy::disallowed_methods, reason = "the user names it with --out")]
    fn open_directory(&self, repository: &Path) -> io::Result<UntrustedDir> {
        match &self.out {
            Some(out) => {
                std::fs::create_dir_all(out)?;
                UntrustedDir::open(out)
            }
            None => UntrustedDir::open(repository)?.create_directories(Path::new(DEFAULT_OUT)),
        }
    }

    fn print(&self, json: &ExportTestsJson, end: &str) -> Result<(), CommandError> {
        match self.format {
            OutputFormat::Json => output::print_json(json)?,
            OutputFormat::Table => output::print(&(format_export(json) + end))?,
        }
        Ok(())
    }
}

/// Whether a directory that may not be there yet is, or will be, in another.
fn is_inside(path: &Path, home: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_default();
    let there = path.ancestors().find_map(|above| resolve_named_path(above).ok());
    there.is_some_and(|above| above.starts_with(home))
}

/// Explains why no file was written.
fn nothing_to_export(gone: usize) -> String {
    match gone {
        0 => "Nothing was written: no run has found a failure.\n".to_owned(),
        _ => format!(
            "Nothing was written: of {}, all are gone. Name one to write it all the same.\n",
            format_count(gone, "failure")
        ),
    }
}

fn format_export(json: &ExportTestsJson) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for file in &json.files {
        let _ = writeln!(out, "{}: {}", file.path, format_count(file.failures.len(), "test"));
    }
    for one in &json.not_exported {
        let _ = writeln!(out, "not written: {}: {}", one.id, one.why);
    }
    out
}
