//! Language models: access, prompts, memory, patches.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use crate::group::group;
use crate::{HttpUrl, NamedCounts, ScoreUrl, SecretText};

group! {
    /// Language models: access, prompts, memory, patches.
    pub struct ModelSettings = "Language models and patches" {
        /// The key for the model service, which writes inputs when `SANDBOX_STUB_MODEL` is set.
        openai_api_key: Option<SecretText> = "OPENAI_API_KEY".user();

        /// The address of the service; any that speaks the same protocol will do.
        openai_base_url: HttpUrl = "OPENAI_BASE_URL".user().default("https://api.openai.com/v1");

        /// The model that writes patches and ideas.
        openai_model: String = "OPENAI_MODEL".user().default("gpt-4").planned();

        /// Attempts at one patch before it is given up.
        patch_retries: u64 = "SANDBOX_PATCH_RETRIES".user().default("3").planned();

        /// Cycles between two rounds of brainstorming; `0` for none.
        brainstorm_interval: u64 = "SANDBOX_BRAINSTORM_INTERVAL".user().default("0").planned();

        /// Cycles in a row with little gain before an extra round.
        brainstorm_retries: NonZeroU64 = "SANDBOX_BRAINSTORM_RETRIES".user().default("3").planned();

        /// A remote place for patch scores. Unset or unreachable, they stay local.
        patch_score_backend_url: Option<ScoreUrl> = "PATCH_SCORE_BACKEND_URL".user().planned();

        /// How many interactions to keep for each tag. Unset, all.
        memory_retention: Option<NamedCounts> = "GPT_MEMORY_RETENTION".user().planned();

        /// Time between two compactions of the memory. Unset, none are scheduled.
        memory_compact_interval: Option<Duration> = "GPT_MEMORY_COMPACT_INTERVAL".user().planned();

        /// A Jinja template for section prompts, in place of the one that the metrics suggest.
        section_template: Option<PathBuf> = "GPT_SECTION_TEMPLATE".user().planned();

        /// The longest section prompt, in characters; code and metrics are cut to fit.
        section_prompt_max_length: Option<NonZeroU64> = "GPT_SECTION_PROMPT_MAX_LENGTH"
            .user().planned();

        /// The template of the visual agent's prompt: a path, or the text itself.
        va_prompt_template: Option<String> = "VA_PROMPT_TEMPLATE".user().planned();

        /// Text in front of the visual agent's prompt.
        va_prompt_prefix: Option<String> = "VA_PROMPT_PREFIX".user().planned();

        /// How many lines of the repository's layout that prompt shows.
        va_repo_layout_lines: u64 = "VA_REPO_LAYOUT_LINES".user().default("200").planned();
    }
}
