//! `menace trust`: lets the `.env` and the YAML file of a checkout set what is the user's.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use menace_model::escape_for_terminal;
use menace_settings::trusted_files::TrustedFiles;
use menace_settings::{FileTrust, SettingsSources, TrustReview, UntrustedSetting};
use serde::Serialize;

use crate::args::{GlobalArgs, OutputFormat};
use crate::exit::CommandError;
use crate::render::output;

/// Let the settings files of a directory set all that you can set: addresses, keys, limits.
///
/// A `.env` or a YAML file may have come with the checkout. Until you trust it, it can choose
/// scenarios and make calls stricter, and nothing else. Trust is bound to the contents: after a
/// change the file is not trusted any longer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace trust                 shows what the files here would set, and asks
  menace trust ../shop --yes   the same for a directory, without a question
  menace trust --list          every trusted file
  menace trust --revoke        forgets the files here")]
pub(crate) struct TrustCommand {
    /// The directory that commands are started in.
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,

    /// Trust without asking.
    #[arg(long)]
    yes: bool,

    /// List trusted files, and whether they have changed since.
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    list: bool,

    /// Trust the files of the directory no longer.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table, requires = "list")]
    format: OutputFormat,
}

#[derive(Debug, Serialize)]
struct TrustedFileJson {
    path: PathBuf,
    state: TrustedFileState,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum TrustedFileState {
    Unchanged,
    /// Its content has changed since it was trusted.
    Changed,
    Missing,
}

impl TrustCommand {
    /// Does not load the settings, which the files in question may break.
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let named = global.settings_yaml.iter();
        let flags = named.map(|file| ("--settings-yaml".to_owned(), file.clone())).collect();
        let user = SettingsSources::load_user(flags);
        let directory = menace_files::resolve_named_path(&self.directory)
            .with_context(|| format!("cannot open the directory `{}`", self.directory.display()));
        let directory = directory.map_err(CommandError::Request)?;
        let trusted = TrustedFiles::read(user.data_home(), &directory);
        let trusted = trusted.map_err(CommandError::request)?;
        if self.list {
            return list(&trusted, self.format);
        }
        if self.revoke {
            revoke(trusted, &directory)
        } else {
            self.trust(&user, trusted, &directory)
        }
    }

    fn trust(
        &self,
        user: &SettingsSources,
        mut trusted: TrustedFiles,
        directory: &Path,
    ) -> Result<(), CommandError> {
        let review = TrustReview::read(user, directory).map_err(CommandError::request)?;
        if review.files.is_empty() {
            let shown = directory.display();
            return Err(CommandError::Request(anyhow!(
                "`{shown}` has neither a `.env` nor a YAML file with settings: nothing to trust"
            )));
        }
        output::print(&render_review(&review))?;
        if !self.yes && !confirm()? {
            output::print("nothing was changed\n")?;
            return Ok(());
        }
        for file in &review.files {
            trusted.add(&file.path, file.contents.as_bytes());
        }
        trusted.write().map_err(CommandError::request)?;
        output::print("trusted until they change; `menace trust --revoke` takes it back\n")?;
        Ok(())
    }
}

fn render_review(review: &TrustReview) -> String {
    use std::fmt::Write;

    let mut text = String::new();
    for file in &review.files {
        let _ = writeln!(text, "{}", shown_path(&file.path));
    }
    if review.settings.is_empty() {
        text.push_str("  sets nothing that needs trust\n");
    }
    for UntrustedSetting { name, origin, value, reason, .. } in &review.settings {
        let [value, origin, reason] =
            [value, &origin.to_string(), reason].map(|text| escape_for_terminal(text));
        let _ = writeln!(text, "  {name} = {value}\n    {origin}: {reason}");
    }
    text
}

/// Escapes a path: names in a checkout are untrusted, and could overwrite the list on a terminal.
fn shown_path(path: &Path) -> String {
    escape_for_terminal(&path.display().to_string())
}

/// Requests confirmation on the terminal.
fn confirm() -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::Request(anyhow!(
            "not trusted: there is no terminal to ask on; read the list and give `--yes`"
        )));
    }
    output::print("Let these files set all of it? [y/N] ")?;
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn revoke(mut trusted: TrustedFiles, directory: &Path) -> Result<(), CommandError> {
    let removed = trusted.remove(directory);
    if removed.is_empty() {
        output::print(&format!("no file of `{}` was trusted\n", shown_path(directory)))?;
        return Ok(());
    }
    trusted.write().map_err(CommandError::request)?;
    for path in removed {
        output::print(&format!("not trusted any longer: {}\n", shown_path(&path)))?;
    }
    Ok(())
}

fn list(trusted: &TrustedFiles, format: OutputFormat) -> Result<(), CommandError> {
    let files: Vec<TrustedFileJson> = trusted
        .paths()
        .map(|path| TrustedFileJson { path: path.to_owned(), state: state_of(trusted, path) })
        .collect();
    match format {
        OutputFormat::Json => output::print_json(&files)?,
        OutputFormat::Table if files.is_empty() => output::print("no file is trusted\n")?,
        OutputFormat::Table => {
            for TrustedFileJson { path, state } in files {
                output::print(&format!("{:<10} {}\n", state.word(), shown_path(&path)))?;
            }
        }
    }
    Ok(())
}

fn state_of(trusted: &TrustedFiles, path: &Path) -> TrustedFileState {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return TrustedFileState::Missing;
    };
    let contents = menace_files::UntrustedDir::open(parent)
        .and_then(|dir| dir.read(Path::new(name), menace_settings::MAX_FILE_BYTES));
    match contents {
        Ok(contents) if trusted.trust_of(path, &contents) == FileTrust::Trusted => {
            TrustedFileState::Unchanged
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => TrustedFileState::Missing,
        _ => TrustedFileState::Changed,
    }
}

impl TrustedFileState {
    fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Missing => "missing",
        }
    }
}
