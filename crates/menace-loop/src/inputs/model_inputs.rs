//! Inputs from a language model, which is asked once per section and source.

use std::path::{Path, PathBuf};

use menace_model::Section;
use menace_scenario::input::records::{InputRecord, InputRecordError};
use menace_scenario::input::synthetic::{self, InputModel};
use menace_store::files::write_atomic;

use super::files::MAX_INPUT_FILE_BYTES;

/// Queries a model, and caches its answers.
#[expect(missing_debug_implementations, reason = "a model need not have one")]
pub struct ModelInputCache<'a> {
    model: &'a dyn InputModel,
    directory: &'a Path,
}

impl<'a> ModelInputCache<'a> {
    pub fn new(model: &'a dyn InputModel, directory: &'a Path) -> Self {
        Self { model, directory }
    }

    /// Inputs for a section: from the cache, if its source is the same, else from the model.
    pub fn records(
        &self,
        section: &Section,
        source: &str,
    ) -> Result<Vec<InputRecord>, InputRecordError> {
        let file = self.file(section, source);
        menace_files::check_named_file(&file).map_err(|error| InputRecordError {
            place: "SANDBOX_STUB_CACHE".to_owned(),
            reason: error.to_string(),
        })?;
        if let Ok(bytes) = menace_files::read_file(&file, MAX_INPUT_FILE_BYTES)
            && let Ok(records) = synthetic::parse_answer(&String::from_utf8_lossy(&bytes))
        {
            return Ok(records);
        }
        let prompt = synthetic::build_prompt(section, source);
        let text = self
            .model
            .complete(&prompt)
            .map_err(|reason| InputRecordError { place: self.model.name().to_owned(), reason })?;
        // An answer that cannot be parsed is not cached, so that the model is queried again the
        // next time.
        let records = synthetic::parse_answer(&text)?;
        if let Err(error) = write_atomic(&file, text.as_bytes()) {
            tracing::warn!("{error}; the model will be asked again");
        }
        Ok(records)
    }

    fn file(&self, section: &Section, source: &str) -> PathBuf {
        let prompt = synthetic::build_prompt(section, source);
        self.directory.join(format!("{}.json", synthetic::cache_key(self.model.name(), &prompt)))
    }
}
