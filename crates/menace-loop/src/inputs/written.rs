//! Inputs that a language model wrote, asked once per section and source.

use std::path::{Path, PathBuf};

use menace_model::Section;
use menace_scenario::input::records::{Record, RecordError};
use menace_scenario::input::synthetic::{self, StubModel};

/// Asks a model and keeps what it answered.
#[expect(missing_debug_implementations, reason = "a model need not have one")]
pub struct Written<'a> {
    model: &'a dyn StubModel,
    cache: &'a Path,
}

impl<'a> Written<'a> {
    pub fn new(model: &'a dyn StubModel, cache: &'a Path) -> Self {
        Self { model, cache }
    }

    /// Inputs for a section whose source this is: kept ones, else new ones.
    pub fn records(&self, section: &Section, source: &str) -> Result<Vec<Record>, RecordError> {
        let file = self.file(section, source);
        if let Ok(text) = std::fs::read_to_string(&file)
            && let Ok(records) = synthetic::answer(&text)
        {
            return Ok(records);
        }
        let prompt = synthetic::prompt(section, source);
        let text = self
            .model
            .complete(&prompt)
            .map_err(|reason| RecordError { place: self.model.name().to_owned(), reason })?;
        // What cannot be read is asked for again the next time.
        let records = synthetic::answer(&text)?;
        if let Err(error) = keep(&file, &text) {
            tracing::warn!("{}: {error}; the model will be asked again", file.display());
        }
        Ok(records)
    }

    fn file(&self, section: &Section, source: &str) -> PathBuf {
        let prompt = synthetic::prompt(section, source);
        self.cache.join(format!("{}.json", synthetic::cache_key(self.model.name(), &prompt)))
    }
}

/// All of it or nothing, whoever else writes the same.
fn keep(file: &Path, text: &str) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let other = file.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&other, text)?;
    std::fs::rename(&other, file)
}
