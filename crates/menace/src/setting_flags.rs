//! The flags that set settings, for commands that accept all of them.
//!
//! They are made from the declarations, so a new setting has its flag automatically.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

use crate::context::FlagValues;

/// The setting flags that were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingFlags(pub FlagValues);

/// Flags that [`crate::args::GlobalArgs`] declares itself.
const GLOBAL_FLAGS: &[&str] =
    &["--log-level", "--verbose", "--log-file", "--settings-yaml", "--sandbox-data-dir"];

fn flag_names() -> impl Iterator<Item = (menace_settings::SettingFlag, &'static str)> {
    menace_settings::flags()
        .filter(|flag| !GLOBAL_FLAGS.contains(&flag.name))
        .filter_map(|flag| Some((flag, flag.name.strip_prefix("--")?)))
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut values = FlagValues::new();
        for (flag, id) in flag_names() {
            if flag.takes_value() {
                if let Some(value) = matches.get_one::<String>(id) {
                    values.insert(flag.name.to_owned(), value.clone());
                }
            } else if matches.get_flag(id) {
                values.insert(flag.name.to_owned(), "1".to_owned());
            }
        }
        Ok(Self(values))
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Err(Error::raw(ErrorKind::InvalidSubcommand, "flags are read once"))
    }
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        flag_names().fold(command, |command, (flag, id)| {
            let opposite = if flag.inverse { "The opposite of: " } else { "" };
            let arg = Arg::new(id)
                .long(id)
                .help(format!(
                    "{opposite}{} [{}]",
                    flag.setting.help_with_status(),
                    flag.setting.name
                ))
                .help_heading("Setting flags")
                .hide_short_help(true);
            command.arg(if flag.takes_value() {
                arg.action(ArgAction::Set).value_name("VALUE")
            } else {
                arg.action(ArgAction::SetTrue)
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
