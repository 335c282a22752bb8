//! The macros behind settings that take one of a few words.

use menace_model::suggest_names;

use crate::ParseRefusal;

/// Defines an enum whose variants have words: the first word is the variant's name, the others are
/// also accepted.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {
            $($variant:ident = $word:literal $(| $other:literal)*,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`")] $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ParseRefusal;

            fn from_str(text: &str) -> Result<Self, $crate::ParseRefusal> {
                let typed = $crate::kinds::normalize_word(text);
                match typed.as_str() {
                    $($word $(| $other)* => Ok(Self::$variant),)+
                    _ => Err($crate::kinds::refuse_word(&typed, [$($word),+])),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl $crate::SettingType for $name {
            fn kind() -> String {
                [$(concat!("`", $word, "`")),+].join(", ")
            }

            fn expected() -> String {
                format!("one of {}", Self::kind())
            }

            fn parse(text: &str, _: &$crate::ParseContext) -> Result<Self, $crate::ParseRefusal> {
                text.parse()
            }

            fn show(&self) -> Option<String> {
                Some(self.as_str().into())
            }
        }
    };
}

/// Makes an enum of the model a type of settings: `$all` are the values that users may write, each
/// by its `as_str`.
macro_rules! word_setting {
    ($name:ty, $all:expr) => {
        impl $crate::SettingType for $name {
            fn kind() -> String {
                $all.map(|known| format!("`{known}`")).join(", ")
            }

            fn expected() -> String {
                format!("one of {}", Self::kind())
            }

            fn parse(text: &str, _: &$crate::ParseContext) -> Result<Self, $crate::ParseRefusal> {
                let typed = $crate::kinds::normalize_word(text);
                let known = $all.into_iter().find(|known| known.as_str() == typed);
                known.ok_or_else(|| {
                    $crate::kinds::refuse_word(&typed, $all.map(|known| known.as_str()))
                })
            }

            fn show(&self) -> Option<String> {
                Some(self.as_str().into())
            }
        }
    };
}

pub(crate) use choice;
pub(crate) use word_setting;

/// Words are read in any case, and `-` is as good as `_`.
pub(crate) fn normalize_word(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('-', "_")
}

/// The refusal of an unknown word, with the closest known one if there is one.
pub(crate) fn refuse_word(
    typed: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> ParseRefusal {
    ParseRefusal { reason: suggest_names(typed, known) }
}
