//! How the inputs of calls are made.

use std::path::PathBuf;

use menace_model::InputStrategy;

use crate::JsonRecords;
use crate::group::group;

group! {
    /// How the inputs of calls are made.
    pub struct StubSettings = "Inputs" {
        /// Inputs given directly, as a JSON list of argument objects; nothing else is then tried.
        input_stubs: Option<JsonRecords> = "SANDBOX_INPUT_STUBS".repository();

        /// The ways to make inputs, taken in turns. Unset, all are used in their usual order.
        strategy: Option<Vec<InputStrategy>> = "SANDBOX_STUB_STRATEGY"
            .repository().flags(&["--strategy"]);

        /// Inputs that were worth keeping, one JSON object per line.
        history: PathBuf = "SANDBOX_INPUT_HISTORY".path_inside()
            .default_in_data_dir("sandbox_data/input_history.jsonl");

        /// Values to try, as a JSON object from sections or parameter names to lists.
        templates: PathBuf = "SANDBOX_INPUT_TEMPLATES".path_inside()
            .default_in_data_dir("sandbox_data/input_templates.json");

        /// Python files or directories with plugins that add to or replace inputs.
        plugins: Option<Vec<PathBuf>> = "SANDBOX_STUB_PLUGINS".user();

        /// The language model that writes inputs. Unset, fixed rules do.
        model: Option<String> = "SANDBOX_STUB_MODEL".user();

        /// Where inputs are kept between runs.
        cache: PathBuf = "SANDBOX_STUB_CACHE"
            .path_inside().default_in_data_dir("sandbox_data/stub_cache");
    }
}
