//! The analysis of the repository that a command works on, with a progress bar and a cache.

use menace_source::{Analysis, AnalysisOptions, AnalyzeError, ScannerChoice};

use crate::cache;
use crate::context::CommandContext;
use crate::exit::CommandError;
use crate::render::progress::DelayedProgressBar;

/// Logs the warnings of the analysis.
pub(crate) fn analyze(
    context: &CommandContext,
    scanner: ScannerChoice,
) -> Result<Analysis, CommandError> {
    let options = AnalysisOptions {
        cache: cache::cache_dir(context),
        scanner,
        search_path: context.search_path.clone().unwrap_or_default().into(),
        ..AnalysisOptions::default()
    };
    let progress = DelayedProgressBar::new("analysing");
    let repo = &context.settings.general.repo_path;
    let analysis =
        menace_source::analyze(repo, &options, &|done, total| progress.report(done, total))
            .map_err(|error| match error {
                AnalyzeError::Walk(error) => CommandError::request(error),
                other => CommandError::from(other),
            })?;
    for warning in &analysis.warnings {
        tracing::warn!("{warning}");
    }
    Ok(analysis)
}
