//! Addresses of services. A password in one is masked wherever the address is shown.

use crate::setting::quoted;
use crate::{ParseContext, ParseRefusal, SettingType};

/// Defines an address type with the schemes that it takes.
macro_rules! url_type {
    (
        $(#[doc = $doc:literal])+
        $name:ident, schemes: [$($scheme:literal),*], example: $example:literal
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            const SCHEMES: &'static [&'static str] = &[$($scheme),*];

            /// The address as written, password included.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&masked(&self.0))
            }
        }

        impl SettingType for $name {
            fn kind() -> String {
                "URL".into()
            }

            fn expected() -> String {
                let schemes: Vec<String> =
                    Self::SCHEMES.iter().map(|s| format!("`{s}:`")).collect();
                let start = if schemes.is_empty() { "" } else { " that starts with " };
                format!(concat!("a URL such as `", $example, "`{}{}"), start, schemes.join(", "))
            }

            fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
                let (scheme, rest) = text.split_once(':').ok_or_else(ParseRefusal::default)?;
                // Python writes the driver into the scheme: `postgresql+psycopg://`.
                let (scheme, _driver) = scheme.split_once('+').unwrap_or((scheme, ""));
                let known = Self::SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
                    || (Self::SCHEMES.is_empty() && !scheme.is_empty());
                let clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
                // `sqlite::memory:` is the one address without slashes.
                let placed = rest.strip_prefix("//").is_some_and(|place| !place.is_empty())
                    || (scheme == "sqlite" && rest == ":memory:");
                if known && clean && placed {
                    Ok(Self(text.into()))
                } else {
                    Err(ParseRefusal::default())
                }
            }

            fn show(&self) -> Option<String> {
                Some(masked(&self.0))
            }

            fn quote(text: &str) -> String {
                quoted(&masked(text))
            }
        }
    };
}

url_type!(
    /// A database. Any kind is taken here: projects have a `DATABASE_URL` of their own, which must
    /// not keep commands that need no database from working. The store says what it cannot open.
    DatabaseUrl,
    schemes: [],
    example: "sqlite:///menace.db"
);

url_type!(
    /// A service that speaks HTTP.
    HttpUrl,
    schemes: ["http", "https"],
    example: "https://host/v1"
);

url_type!(
    /// A place for patch scores: a web service or an S3 bucket.
    ScoreUrl,
    schemes: ["http", "https", "s3"],
    example: "s3://bucket/prefix"
);

/// `text` with the part between the user name and the last `@` hidden.
fn masked(text: &str) -> String {
    let start = text.find("//").map_or(0, |slashes| slashes + 2);
    let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |length| start + length);
    // A password may hold an unescaped slash; then the `@` is further on, and hiding more is safe.
    let end = if text[start..end].contains('@') { end } else { text.len() };
    let Some(at) = text[start..end].rfind('@').map(|at| start + at) else {
        return text.into();
    };
    match text[start..at].find(':') {
        Some(colon) => format!("{}:****{}", &text[..start + colon], &text[at..]),
        None => format!("{}****{}", &text[..start], &text[at..]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse_setting<T: SettingType>(text: &str) -> Result<T, ParseRefusal> {
        T::parse(text, &ParseContext::default())
    }

    #[test]
    fn only_schemes_that_work_are_taken() {
        for text in [
            "sqlite:///menace.db",
            "postgresql+psycopg://u:p@h/db",
            "sqlite::memory:",
            "mysql://h/db",
        ] {
            assert!(parse_setting::<DatabaseUrl>(text).is_ok(), "{text}");
        }
        for text in ["://h/db", "menace.db", "sqlite:", "postgres://", "postgres://a b"] {
            assert!(parse_setting::<DatabaseUrl>(text).is_err(), "{text}");
        }
        assert!(parse_setting::<ScoreUrl>("s3://bucket/prefix").is_ok());
        assert!(parse_setting::<HttpUrl>("ftp://h").is_err());
    }

    #[test]
    fn a_password_is_in_no_output() {
        for (text, shown) in [
            ("postgres://ada:hunter2@db:5432/x", "postgres://ada:****@db:5432/x"),
            ("postgres://ada:a/b@c@db/x", "postgres://ada:****@db/x"),
            ("https://token@host/v1", "https://****@host/v1"),
            ("https://host/v1?mail=a:b", "https://host/v1?mail=a:b"),
        ] {
            assert_eq!(masked(text), shown);
        }
        let url = parse_setting::<DatabaseUrl>("postgres://ada:hunter2@db/x").unwrap();
        assert!(!format!("{url:?}{:?}", url.show()).contains("hunter2"));
        assert!(url.as_str().contains("hunter2"));
        assert!(!DatabaseUrl::quote("postgre://ada:hunter2@db/x").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = parse_setting::<DatabaseUrl>(&text);
            masked(&text);
        }

        #[test]
        fn masking_leaves_no_password(password in "[^:@\\s]{8,20}") {
            let shown = masked(&format!("postgres://ada:{password}@db/x"));
            prop_assert!(!shown.contains(&password));
        }
    }
}
