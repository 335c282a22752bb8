//! The macro that turns declarations into a typed struct, so that no part of a setting can be
//! missing.

/// Declares a group of settings.
///
/// Each line gives a field, its type, the variable's name, which places may set it (`.user()`,
/// `.repository()`, `.at_most(…)`, `.at_least(…)`, `.lower_only()`, `.path_inside()`,
/// `.preset_records()`), and what else is known about it; the doc comment is the meaning in the
/// reference. A type without a value for "not set" must have a default, or the crate does not
/// compile. A setting that no code reads yet ends in `.planned()`; the tests in `reader_tests.rs`
/// fail when a mark is missing, or is left after a reader was added.
macro_rules! group {
    (
        $(#[doc = $about:literal])+
        pub struct $group:ident = $title:literal {
            $(
                $(#[doc = $help:literal])+
                $field:ident: $kind:ty = $name:literal $(.$fact:ident($($with:expr),*))*;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $group {
            $(
                $(#[doc = $help])+
                #[doc = ""]
                #[doc = concat!("Variable: `", $name, "`.")]
                pub $field: $crate::SettingValue<$kind>,
            )+
        }

        impl $group {
            /// The declarations, in the order of the fields.
            pub const DECLARATIONS: &'static [$crate::SettingDeclaration] = &[$(
                $crate::declaration::UnauthorizedDeclaration::new::<$kind>(
                    $title, stringify!($field), $name, concat!($($help),+)
                )
                    $(.$fact($($with),*))*
            ),+];

            pub(crate) fn resolve(
                resolver: &mut $crate::resolve::SettingsResolver<'_>,
            ) -> Option<Self> {
                let mut declared = Self::DECLARATIONS.iter();
                // Every field is resolved before an error is returned, so that all errors are
                // reported at once.
                $(let $field = declared.next().and_then(|it| resolver.value::<$kind>(it));)+
                Some(Self { $($field: $field?,)+ })
            }

            pub(crate) fn entries(&self) -> Vec<$crate::SettingEntry> {
                let mut declared = Self::DECLARATIONS.iter();
                let mut entries = Vec::with_capacity(Self::DECLARATIONS.len());
                $(entries.extend(
                    declared.next().map(|it| $crate::SettingEntry::new(it, &self.$field)),
                );)+
                entries
            }
        }

        $(const _: () = {
            use $crate::declaration::UnauthorizedDeclaration;
            let declared = UnauthorizedDeclaration::new::<$kind>($title, "", $name, "")
                $(.$fact($($with),*))*;
            assert!(
                <$kind as $crate::SettingType>::OPTIONAL != declared.default.is_some(),
                concat!($name, " needs either a default or an optional type, not both"),
            );
        };)+
    };
}

pub(crate) use group;
