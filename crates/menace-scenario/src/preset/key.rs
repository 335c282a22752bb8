//! One key of a preset, and the macro that turns the table of them into a typed struct.

use serde_json::Value as Json;

use menace_settings::{
    Bandwidth, Declaration, DurationFrom, JsonRecords, Millis, OsType, Percent, Positive,
    Processors, Refusal, ScenarioSeverity, Setting, Size, SizeUpTo, VmSettings, Within,
    declarations,
};

use super::Values;

/// What is known about a key beside what the setting of the same name says.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// What holds for a call when nobody says anything.
    pub default: &'static str,
    /// What the generator chooses from.
    pub generated: &'static str,
    /// What makes it come true, in the words of an outcome's `enforced_by` where it is in there.
    pub held_by: &'static str,
    pub(super) read: fn(&mut Values, &str) -> Result<(), Refusal>,
    pub(super) write: fn(&Values) -> Option<Json>,
}

impl Key {
    /// The setting of the same name, which overrides the preset and says what the key means.
    pub fn setting(&self) -> Option<&'static Declaration> {
        declarations().find(|declared| declared.name == self.name)
    }

    /// The value as a preset is written, if it has one.
    pub fn json(&self, values: &Values) -> Option<Json> {
        (self.write)(values)
    }

    /// The value in a word or a few, for tables.
    pub fn text(&self, values: &Values) -> Option<String> {
        Some(match self.json(values)? {
            Json::String(text) => text,
            Json::Array(items) if items.iter().all(Json::is_string) => {
                items.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        })
    }
}

/// How a value stands in a preset: plain things as text, lists as lists.
pub(super) trait Written {
    fn json(&self) -> Json;
}

macro_rules! written_as_text {
    ($($kind:ty),+ $(,)?) => {
        $(impl Written for $kind {
            fn json(&self) -> Json {
                self.show().map_or(Json::Null, Json::String)
            }
        })+
    };
}

written_as_text! {
    Positive<Size>, Positive<Bandwidth>, Processors, Millis, OsType, ScenarioSeverity, String, bool,
}

impl<const LOW: u64, const HIGH: u64> Written for Within<LOW, HIGH> {
    fn json(&self) -> Json {
        Json::String(self.get().to_string())
    }
}

impl<const BYTES: u64> Written for SizeUpTo<BYTES> {
    fn json(&self) -> Json {
        Json::String(self.get().to_string())
    }
}

/// In seconds without a unit: other readers of presets know no other.
impl Written for Positive<std::time::Duration> {
    fn json(&self) -> Json {
        in_seconds(self.get())
    }
}

impl<const MILLIS: u64> Written for DurationFrom<MILLIS> {
    fn json(&self) -> Json {
        in_seconds(self.get())
    }
}

fn in_seconds(duration: std::time::Duration) -> Json {
    let text = format!("{}.{:09}", duration.as_secs(), duration.subsec_nanos());
    Json::String(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

impl Written for Percent {
    fn json(&self) -> Json {
        Json::String(self.percent().to_string())
    }
}

impl<T: Setting> Written for Vec<T> {
    fn json(&self) -> Json {
        self.iter().filter_map(T::show).collect()
    }
}

impl Written for VmSettings {
    fn json(&self) -> Json {
        VmSettings::json(self)
    }
}

impl Written for JsonRecords {
    fn json(&self) -> Json {
        self.0.clone()
    }
}

/// Declares the keys. Each line gives a field, its type, the key, where the setting of that name is,
/// and what the table says about it.
macro_rules! keys {
    ($(
        $field:ident: $kind:ty = $name:literal in $group:ident.$setting:ident {
            default: $default:literal,
            generated: $generated:literal,
            held_by: $held_by:literal,
        }
    )+) => {
        /// What a preset says, key by key; each value is fine by itself.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct Values {
            $(#[doc = concat!("`", $name, "`")] pub $field: Option<$kind>,)+
        }

        impl Values {
            /// What the settings say about calls.
            pub fn of_settings(settings: &menace_settings::Settings) -> Self {
                Self { $($field: settings.$group.$setting.value.clone(),)+ }
            }

            /// Each value of these, and where there is none, the other's.
            pub(super) fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)+ }
            }
        }

        /// Every key of a preset, in the order in which they are written.
        pub static KEYS: &[$crate::preset::Key] = &[$($crate::preset::Key {
            name: $name,
            default: $default,
            generated: $generated,
            held_by: $held_by,
            read: |values, text| {
                let around = menace_settings::Surroundings::default();
                values.$field = Some(<$kind as menace_settings::Setting>::parse(text, &around)?);
                Ok(())
            },
            write: |values| values.$field.as_ref().map($crate::preset::key::Written::json),
        }),+];
    };
}

pub(super) use keys;
