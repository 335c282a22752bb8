//! The text of a fresh `.env`.

use crate::{SettingDeclaration, declarations};

const MAX_COMMENT_COLUMNS: usize = 78;

const ENV_TEMPLATE_HEADER: &str = "\
# Settings for Menace. Flags and the process environment win over this file.
# Lines that begin with `#` show defaults or blanks: remove the `#` to set them.
# `menace settings` shows what is in effect and where each value came from.
";

/// A commented `.env`: recommended values are set, all others are shown with their default. Planned
/// settings are never set.
pub fn env_template() -> String {
    let mut text = String::from(ENV_TEMPLATE_HEADER);
    let mut group = "";
    for declared in declarations().filter(|declared| !declared.yaml_only) {
        if declared.group != group {
            group = declared.group;
            text.extend(["\n# ---- ", group, " ----\n"]);
        }
        text.push('\n');
        for line in wrap_words(&declared.help_with_status()) {
            text.extend(["# ", &line, "\n"]);
        }
        text.push_str(&render_assignment(declared));
        text.push('\n');
    }
    text
}

fn render_assignment(declared: &SettingDeclaration) -> String {
    let name = declared.name;
    let recommended = declared.recommended.filter(|_| !declared.planned);
    match (recommended, declared.default) {
        (Some(value), _) => format!("{name}={value}"),
        (None, Some(default)) => format!("#{name}={default}"),
        (None, None) => format!("#{name}="),
    }
}

fn wrap_words(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < MAX_COMMENT_COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::FileTrust;
    use crate::{DotEnvFile, Settings, SettingsSources, SettingsWarning};

    fn resolve_dotenv(text: &str) -> Settings {
        let dotenv = DotEnvFile::parse(".env", text, &BTreeMap::new(), FileTrust::Trusted).unwrap();
        Settings::resolve(&SettingsSources { dotenv: Some(dotenv), ..SettingsSources::default() })
            .unwrap()
    }

    #[test]
    fn the_template_is_accepted_without_a_warning() {
        assert_eq!(resolve_dotenv(&env_template()).warnings, []);
    }

    #[test]
    fn the_template_sets_the_recommended_values() {
        let text = env_template();
        for line in [
            "SANDBOX_CYCLES=5",
            "SANDBOX_ROI_TOLERANCE=0.01",
            "#AUTO_SANDBOX=1",
            "#RUN_CYCLES=0",
            "AUTO_DASHBOARD_PORT=8001",
            "#OPENAI_API_KEY=",
            "#VISUAL_AGENT_TOKEN=",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
    }

    #[test]
    fn every_shown_default_can_be_uncommented() {
        let uncommented: String = env_template()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let warnings = resolve_dotenv(&uncommented).warnings;
        let is_planned = |it: &_| matches!(it, SettingsWarning::NotImplemented { .. });
        assert!(warnings.len() == 1 && warnings.iter().all(is_planned), "{warnings:?}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        assert_eq!(env_template().lines().find(|line| line.chars().count() > 80), None);
    }
}
