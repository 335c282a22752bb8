//! The interpreter of a repository, found with the settings in effect.

use std::ffi::OsString;
use std::path::Path;

use menace_sandbox::interpreter::{Error, Interpreter, Search, Source};

use crate::context::Context;

/// Finds it: `--python`, else the repository's virtual environment, else the PATH.
///
/// `cache` is the directory where answers are remembered.
pub(crate) fn find(
    context: &Context,
    flag: Option<&Path>,
    cache: Option<&Path>,
) -> Result<Interpreter, Error> {
    let sources: Vec<Source> = menace_sandbox::harness_sources()
        .iter()
        .map(|&(name, text)| Source { name: name.to_owned(), text: text.to_owned() })
        .collect();
    let path = OsString::from(context.search_path.clone().unwrap_or_default());
    Interpreter::find(&Search {
        python: flag,
        repository: &context.settings.general.repo_path,
        path: &path,
        home: context.home.as_deref(),
        sources: &sources,
        cache,
    })
}
