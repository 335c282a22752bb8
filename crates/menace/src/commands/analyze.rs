//! `menace analyze`: what a repository consists of, and where it is weak.

use std::path::PathBuf;

use clap::Args;
use globset::{Glob, GlobSet, GlobSetBuilder};

use menace_model::ModuleReport;
use menace_source::check::external::Tool;
use menace_source::{Analysis, AnalyzeError, Options, ScannerChoice, analyze};

use crate::args::{Format, Global};
use crate::cache;
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::render::analysis_json::AnalysisJson;
use crate::render::progress::Progress;
use crate::render::{analysis_table, output};

/// Read every Python file of a repository: sections, imports, complexity, dangerous constructs.
///
/// Nothing of the repository is executed and none of its files is changed. What was read is
/// remembered in your cache directory (`~/.cache/menace`); --no-cache does without.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace analyze --repo ~/src/shop
  menace analyze --repo . --module 'shop/api/**'
  menace analyze --repo . --format json | jq '.modules[] | select(.imported_by == []) | .path'

A file that cannot be parsed is reported and does not fail the command. A repository that does not
exist or cannot be read does (exit code 2).")]
pub(crate) struct Analyze {
    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// Only modules whose path or dotted name matches; may be given more than once.
    #[arg(long, value_name = "GLOB")]
    module: Vec<String>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Show every module, not only those that are hardest to maintain.
    #[arg(long)]
    all: bool,

    /// Who looks for dangerous constructs: ruff if installed, else bandit, else the built-in check.
    #[arg(long, value_enum, default_value_t = ScannerArg::Auto)]
    scanner: ScannerArg,

    /// Neither read nor write the cache.
    #[arg(long)]
    no_cache: bool,

    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ScannerArg {
    Auto,
    Ruff,
    Bandit,
    Builtin,
}

impl Analyze {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let flags = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let context = Context::new(global, flags.collect::<Flags>())?;
        let chosen = self.chosen()?;
        if self.repo.as_deref() == Some("") {
            return Err(Failure::Request(anyhow::anyhow!("--repo is empty: give it a directory")));
        }
        let analysis = self.analyze(&context)?;
        for warning in &analysis.warnings {
            tracing::warn!("{warning}");
        }
        if analysis.modules.is_empty() {
            let repo = context.settings.general.repo_path.display();
            tracing::warn!("no Python files below `{repo}` that .gitignore does not exclude");
        }
        let modules: Vec<&ModuleReport> = analysis
            .modules
            .iter()
            .filter(|module| {
                self.module.is_empty()
                    || chosen.is_match(&module.path)
                    || chosen.is_match(&module.name)
            })
            .collect();
        if modules.is_empty() && !self.module.is_empty() {
            return Err(Failure::Request(anyhow::anyhow!(
                "no module matches {}; paths look like `package/module.py`, names like `package.module`",
                self.module.join(", ")
            )));
        }
        match self.format {
            Format::Json => output::print_json(&AnalysisJson::new(&analysis, &modules)?)?,
            Format::Table => output::print(&analysis_table::render(&analysis, &modules, self.all))?,
        }
        // Taking a large result apart takes longer than letting the system do it.
        std::mem::forget(analysis);
        Ok(())
    }

    fn chosen(&self) -> Result<GlobSet, Failure> {
        let mut globs = GlobSetBuilder::new();
        for glob in &self.module {
            globs.add(Glob::new(glob).map_err(Failure::request)?);
        }
        globs.build().map_err(Failure::request)
    }

    fn analyze(&self, context: &Context) -> Result<Analysis, Failure> {
        let repo: &PathBuf = &context.settings.general.repo_path;
        let options = Options {
            cache: if self.no_cache { None } else { cache::directory(context) },
            scanner: match self.scanner {
                ScannerArg::Auto => ScannerChoice::Auto,
                ScannerArg::Ruff => ScannerChoice::Only(Tool::Ruff),
                ScannerArg::Bandit => ScannerChoice::Only(Tool::Bandit),
                ScannerArg::Builtin => ScannerChoice::Builtin,
            },
            search_path: context.search_path.clone().unwrap_or_default().into(),
            jobs: self.jobs.map_or(0, usize::from),
        };
        let progress = Progress::new("analysing");
        analyze(repo, &options, &|done, total| progress.report(done, total)).map_err(|error| {
            match error {
                AnalyzeError::Threads(_) => Failure::from(error),
                AnalyzeError::Walk(error) => Failure::request(error),
                AnalyzeError::Scanner { .. } => Failure::request(error),
            }
        })
    }
}
