//! The text of a fresh `.env`.

use crate::{Declaration, declarations};

const WIDTH: usize = 78;

const HEADER: &str = "\
# Settings for Menace. Flags and the process environment win over this file.
# Lines that begin with `#` show defaults or blanks: remove the `#` to set them.
# `menace settings` shows what is in effect and where each value came from.
";

/// A commented `.env`: recommended values are set, everything else shows its default.
pub fn env_template() -> String {
    let mut text = String::from(HEADER);
    let mut group = "";
    for declared in declarations().filter(|declared| !declared.yaml_only) {
        if declared.group != group {
            group = declared.group;
            text.extend(["\n# ---- ", group, " ----\n"]);
        }
        text.push('\n');
        for line in wrapped(declared.help()) {
            text.extend(["# ", &line, "\n"]);
        }
        text.push_str(&assignment(declared));
        text.push('\n');
    }
    text
}

fn assignment(declared: &Declaration) -> String {
    let name = declared.name;
    match (declared.recommended, declared.default) {
        (Some(value), _) => format!("{name}={value}"),
        (None, Some(default)) => format!("#{name}={default}"),
        (None, None) => format!("#{name}="),
    }
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WIDTH => {
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
    use crate::{DotEnv, Settings, Sources};

    fn resolved(text: &str) -> Settings {
        let dotenv = DotEnv::parse(".env", text, &BTreeMap::new()).unwrap();
        Settings::resolve(&Sources { dotenv: Some(dotenv), ..Sources::default() }).unwrap()
    }

    #[test]
    fn the_template_is_accepted_without_a_warning() {
        assert_eq!(resolved(&env_template()).warnings, []);
    }

    #[test]
    fn the_template_sets_the_recommended_values() {
        let text = env_template();
        for line in [
            "AUTO_SANDBOX=1",
            "SANDBOX_CYCLES=5",
            "SANDBOX_ROI_TOLERANCE=0.01",
            "RUN_CYCLES=0",
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
        assert_eq!(resolved(&uncommented).warnings, []);
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        assert_eq!(env_template().lines().find(|line| line.chars().count() > 80), None);
    }
}
