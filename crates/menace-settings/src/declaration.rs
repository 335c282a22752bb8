//! What is known about a setting before any value is read.

use crate::{ParseContext, ParseRefusal, SettingAuthority, SettingType};

/// One setting, declared once. Built by the `group!` macro and the `const fn`s below.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a declaration")]
pub struct SettingDeclaration {
    /// The name in the environment and in `.env`; the YAML key when `yaml_only`.
    pub name: &'static str,
    /// The field of its group's struct: code reads the setting as `settings.<group>.<field>`.
    pub field: &'static str,
    /// The title of its group.
    pub group: &'static str,
    help: &'static str,
    /// Which places may set it.
    pub authority: SettingAuthority,
    /// The default, as a user would type it.
    pub default: Option<&'static str>,
    /// Whether the default is a file below `SANDBOX_DATA_DIR` and moves with it.
    pub in_data_dir: bool,
    /// The value that a fresh `.env` sets.
    pub recommended: Option<&'static str>,
    /// Flags that set it, the main one first.
    pub flags: &'static [&'static str],
    /// Flags that switch it off (or on, for a setting whose name starts with a negation).
    pub inverse_flags: &'static [&'static str],
    /// Other names that are equivalent to `name`.
    pub synonyms: &'static [&'static str],
    /// Old names, accepted with a warning.
    pub legacy: &'static [&'static str],
    /// Keys in the YAML file beyond those derived from `name`.
    pub yaml_keys: &'static [&'static str],
    /// Whether only the YAML file can set it.
    pub yaml_only: bool,
    /// The setting that decides this one when no place sets it.
    pub implied: Option<SettingImplication>,
    /// Whether the value is never printed.
    pub secret: bool,
    /// Whether it is declared ahead of the code that will read it. Its value is checked, and
    /// changes nothing.
    pub planned: bool,
    kind: fn() -> String,
    expected: fn() -> String,
    canonical: fn(&str, &ParseContext) -> Result<Option<String>, ParseRefusal>,
    magnitude: fn(&str, &ParseContext) -> Option<f64>,
}

/// A declaration that does not have its authority yet. Only with one it is a
/// [`SettingDeclaration`], so that no setting is without an authority.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnauthorizedDeclaration(SettingDeclaration);

impl UnauthorizedDeclaration {
    pub(crate) const fn new<T: SettingType>(
        group: &'static str,
        field: &'static str,
        name: &'static str,
        help: &'static str,
    ) -> Self {
        Self(SettingDeclaration {
            name,
            field,
            group,
            help,
            authority: SettingAuthority::User,
            default: None,
            in_data_dir: false,
            recommended: None,
            flags: &[],
            inverse_flags: &[],
            synonyms: &[],
            legacy: &[],
            yaml_keys: &[],
            yaml_only: false,
            implied: None,
            secret: T::SECRET,
            planned: false,
            kind: T::kind,
            expected: T::expected,
            canonical: |text, around| T::parse(text, around).map(|value| value.show()),
            magnitude: |text, around| T::parse(text, around).ok()?.magnitude(),
        })
    }

    pub(crate) const fn user(self) -> SettingDeclaration {
        self.authorize(SettingAuthority::User)
    }

    pub(crate) const fn repository(self) -> SettingDeclaration {
        self.authorize(SettingAuthority::Repository)
    }

    pub(crate) const fn at_most(self, bound: &'static str) -> SettingDeclaration {
        self.authorize(SettingAuthority::AtMost(bound))
    }

    pub(crate) const fn at_least(self, bound: &'static str) -> SettingDeclaration {
        self.authorize(SettingAuthority::AtLeast(bound))
    }

    pub(crate) const fn lower_only(self) -> SettingDeclaration {
        self.authorize(SettingAuthority::LowerOnly)
    }

    pub(crate) const fn path_inside(self) -> SettingDeclaration {
        self.authorize(SettingAuthority::PathInside)
    }

    pub(crate) const fn preset_records(self) -> SettingDeclaration {
        self.authorize(SettingAuthority::PresetRecords)
    }

    const fn authorize(self, authority: SettingAuthority) -> SettingDeclaration {
        SettingDeclaration { authority, ..self.0 }
    }
}

/// How another setting decides this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingImplication {
    /// It takes the value of the other setting if that one was set, unless it is set itself in the
    /// same or a stronger place.
    Mirrors(&'static str),
    /// It is on if the other setting is on.
    EnabledBy(&'static str),
}

impl SettingImplication {
    /// The setting that decides.
    pub const fn source_name(self) -> &'static str {
        match self {
            Self::Mirrors(by) | Self::EnabledBy(by) => by,
        }
    }
}

/// A flag of the command line that sets a declared setting.
#[derive(Debug, Clone, Copy)]
pub struct SettingFlag {
    /// The flag as typed: `--entropy-threshold`.
    pub name: &'static str,
    /// Whether giving it means the opposite: `--no-recursive-isolated`.
    pub inverse: bool,
    pub setting: &'static SettingDeclaration,
}

impl SettingFlag {
    /// Whether a value follows it. Flags of switches stand alone.
    pub fn takes_value(&self) -> bool {
        !self.setting.is_switch()
    }
}

impl SettingDeclaration {
    pub(crate) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    /// A default below the data directory, written with its usual place: `sandbox_data/x.json`.
    pub(crate) const fn default_in_data_dir(mut self, text: &'static str) -> Self {
        self.in_data_dir = true;
        self.default(text)
    }

    pub(crate) const fn recommended(mut self, text: &'static str) -> Self {
        self.recommended = Some(text);
        self
    }

    pub(crate) const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    pub(crate) const fn inverse_flags(mut self, flags: &'static [&'static str]) -> Self {
        self.inverse_flags = flags;
        self
    }

    pub(crate) const fn synonyms(mut self, names: &'static [&'static str]) -> Self {
        self.synonyms = names;
        self
    }

    pub(crate) const fn legacy(mut self, names: &'static [&'static str]) -> Self {
        self.legacy = names;
        self
    }

    pub(crate) const fn yaml_keys(mut self, keys: &'static [&'static str]) -> Self {
        self.yaml_keys = keys;
        self
    }

    pub(crate) const fn yaml_only(mut self) -> Self {
        self.yaml_only = true;
        self
    }

    pub(crate) const fn mirrors(mut self, name: &'static str) -> Self {
        self.implied = Some(SettingImplication::Mirrors(name));
        self
    }

    pub(crate) const fn enabled_by(mut self, name: &'static str) -> Self {
        self.implied = Some(SettingImplication::EnabledBy(name));
        self
    }

    pub(crate) const fn planned(mut self) -> Self {
        self.planned = true;
        self
    }

    /// The meaning, in a sentence or two.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// The help, behind "Not implemented yet." for a planned setting.
    pub fn help_with_status(&self) -> String {
        let status = if self.planned { "Not implemented yet. " } else { "" };
        format!("{status}{}", self.help())
    }

    /// The type in a word or two.
    pub fn kind(&self) -> String {
        (self.kind)()
    }

    /// A description of valid values, continuing "expected …".
    pub fn expected(&self) -> String {
        (self.expected)()
    }

    /// Whether it is a switch with the values on and off.
    pub fn is_switch(&self) -> bool {
        self.kind() == bool::kind()
    }

    /// Checks a value and gives it back as the listing would show it.
    pub fn check(&self, text: &str, around: &ParseContext) -> Result<Option<String>, ParseRefusal> {
        (self.canonical)(text, around)
    }

    /// The value as a number, where it is well-formed and has an order.
    pub(crate) fn magnitude(&self, text: &str, around: &ParseContext) -> Option<f64> {
        (self.magnitude)(text, around)
    }

    /// All names under which the environment and `.env` may have it, the main one first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let own = (!self.yaml_only).then_some(self.name);
        own.into_iter().chain(self.synonyms.iter().copied()).chain(self.legacy.iter().copied())
    }
}
