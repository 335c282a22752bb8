//! The interpreter of a repository, found with the settings in effect.

use std::ffi::OsString;
use std::path::Path;

use menace_sandbox::interpreter::{
    HarnessSource, InterpreterError, InterpreterSearch, PythonInterpreter,
};

use crate::context::CommandContext;

/// Finds the interpreter: that of `--python`, else of the repository's virtual environment, else on
/// the PATH.
///
/// `cache` is the directory of cached answers.
pub(crate) fn find_interpreter(
    context: &CommandContext,
    flag: Option<&Path>,
    cache: Option<&Path>,
) -> Result<PythonInterpreter, InterpreterError> {
    let sources: Vec<HarnessSource> = menace_sandbox::harness_sources()
        .iter()
        .map(|&(name, text)| HarnessSource { name: name.to_owned(), text: text.to_owned() })
        .collect();
    let path = OsString::from(context.search_path.clone().unwrap_or_default());
    PythonInterpreter::find(&InterpreterSearch {
        python: flag,
        repository: &context.settings.general.repo_path,
        path: &path,
        home: context.home.as_deref(),
        sources: &sources,
        cache,
    })
}
