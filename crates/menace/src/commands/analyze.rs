//! `menace analyze`: what a repository consists of, and where it is weak.

use std::path::PathBuf;

use clap::Args;
use globset::{Glob, GlobSet, GlobSetBuilder};

use menace_model::AnalyzedModule;
use menace_source::check::external::ScannerTool;
use menace_source::{Analysis, AnalysisOptions, AnalyzeError, ScannerChoice, analyze};

use crate::args::{GlobalArgs, OutputFormat};
use crate::cache;
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::render::analysis_json::AnalysisJson;
use crate::render::progress::DelayedProgressBar;
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
pub(crate) struct AnalyzeCommand {
    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// Only modules whose path or dotted name matches; may be given more than once.
    #[arg(long, value_name = "GLOB")]
    module: Vec<String>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,

    /// Show every module, not only those that are hardest to maintain.
    #[arg(long)]
    all: bool,

    /// The scanner for dangerous constructs. `auto`: ruff if installed, else bandit, else built-in.
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

impl AnalyzeCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let flags = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let context = CommandContext::new(global, flags.collect::<FlagValues>())?;
        let chosen = self.module_globs()?;
        if self.repo.as_deref() == Some("") {
            return Err(CommandError::Request(anyhow::anyhow!(
                "--repo is empty: give it a directory"
            )));
        }
        let analysis = self.analyze(&context)?;
        for warning in &analysis.warnings {
            tracing::warn!("{warning}");
        }
        if analysis.modules.is_empty() {
            let repo = context.settings.general.repo_path.display();
            tracing::warn!("no Python files below `{repo}` that .gitignore does not exclude");
        }
        let modules: Vec<&AnalyzedModule> = analysis
            .modules
            .iter()
            .filter(|module| {
                self.module.is_empty()
                    || chosen.is_match(&module.path)
                    || chosen.is_match(&module.name)
            })
            .collect();
        if modules.is_empty() && !self.module.is_empty() {
            return Err(CommandError::Request(anyhow::anyhow!(
                "no module matches {}; paths look like `package/module.py`, \
                 names like `package.module`",
                self.module.join(", ")
            )));
        }
        match self.format {
            OutputFormat::Json => output::print_json(&AnalysisJson::new(&analysis, &modules)?)?,
            OutputFormat::Table => {
                output::print(&analysis_table::render(&analysis, &modules, self.all))?;
            }
        }
        // Taking a large result apart takes longer than letting the system do it.
        std::mem::forget(analysis);
        Ok(())
    }

    fn module_globs(&self) -> Result<GlobSet, CommandError> {
        let mut globs = GlobSetBuilder::new();
        for glob in &self.module {
            globs.add(Glob::new(glob).map_err(CommandError::request)?);
        }
        globs.build().map_err(CommandError::request)
    }

    fn analyze(&self, context: &CommandContext) -> Result<Analysis, CommandError> {
        let repo: &PathBuf = &context.settings.general.repo_path;
        let options = AnalysisOptions {
            cache: if self.no_cache { None } else { cache::cache_dir(context) },
            scanner: match self.scanner {
                ScannerArg::Auto => ScannerChoice::Auto,
                ScannerArg::Ruff => ScannerChoice::Only(ScannerTool::Ruff),
                ScannerArg::Bandit => ScannerChoice::Only(ScannerTool::Bandit),
                ScannerArg::Builtin => ScannerChoice::Builtin,
            },
            search_path: context.search_path.clone().unwrap_or_default().into(),
            jobs: self.jobs.map_or(0, usize::from),
        };
        let progress = DelayedProgressBar::new("analysing");
        analyze(repo, &options, &|done, total| progress.report(done, total)).map_err(|error| {
            match error {
                AnalyzeError::Threads(_) => CommandError::from(error),
                AnalyzeError::Walk(error) => CommandError::request(error),
                AnalyzeError::Scanner { .. } => CommandError::request(error),
            }
        })
    }
}
