//! The macro behind enums whose variants have names.

/// Defines an enum with `ALL`, its variants in their order, and the name of each: `as_str`,
/// `Display` and `FromStr`.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $name {
            $($(#[$variant_attribute])* $variant,)+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl ::std::str::FromStr for $name {
            /// There is no variant of this name.
            type Err = ();

            fn from_str(name: &str) -> ::std::result::Result<Self, ()> {
                Self::ALL.into_iter().find(|known| known.as_str() == name).ok_or(())
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
