//! The macro behind settings that take one of a few words.

/// Defines an enum whose variants are words: the first names the variant, the others are accepted.
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
            type Err = $crate::Refusal;

            fn from_str(text: &str) -> Result<Self, $crate::Refusal> {
                let typed = text.trim().to_ascii_lowercase().replace('-', "_");
                match typed.as_str() {
                    $($word $(| $other)* => Ok(Self::$variant),)+
                    _ => Err(match $crate::suggest::closest(&typed, [$($word),+]) {
                        Some(known) => {
                            $crate::Refusal::because(format!("did you mean `{known}`?"))
                        }
                        None => $crate::Refusal::default(),
                    }),
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

        impl $crate::Setting for $name {
            fn kind() -> String {
                [$(concat!("`", $word, "`")),+].join(", ")
            }

            fn expected() -> String {
                format!("one of {}", Self::kind())
            }

            fn parse(text: &str, _: &$crate::Surroundings) -> Result<Self, $crate::Refusal> {
                text.parse()
            }

            fn show(&self) -> Option<String> {
                Some(self.as_str().into())
            }
        }
    };
}

pub(crate) use choice;
