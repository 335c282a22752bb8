//! The secret that lets somebody in, and the cookie that stands for it afterwards.
//!
//! The cookie says when it was given and is signed with the secret: nothing is kept here, and another
//! secret ends every session. Invariant: secrets are compared in constant time.

use crate::error::{Error, Result};

pub(super) const COOKIE: &str = "menace_session";
/// How long a session lasts.
pub(super) const LASTS_S: i64 = 12 * 3600;
/// What can be guessed is no secret.
const LEAST: usize = 16;

#[derive(Clone)]
pub struct Token {
    /// Of the secret: hashes compare in constant time, whatever their lengths were.
    digest: blake3::Hash,
    key: [u8; 32],
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(********)")
    }
}

impl Token {
    pub fn new(secret: &str) -> Result<Self> {
        if secret.chars().count() < LEAST {
            return Err(Error::ShortToken { least: LEAST });
        }
        Ok(Self {
            digest: blake3::hash(secret.as_bytes()),
            key: blake3::derive_key("menace dashboard 2026 session cookie", secret.as_bytes()),
        })
    }

    pub(super) fn is(&self, given: &str) -> bool {
        self.digest == blake3::hash(given.as_bytes())
    }

    /// The value of a cookie that is given now.
    pub(super) fn session(&self, now_s: i64) -> String {
        format!("{now_s}.{}", self.signature(now_s).to_hex())
    }

    pub(super) fn is_session(&self, value: &str, now_s: i64) -> bool {
        let Some((given, signature)) = value.split_once('.') else { return false };
        let (Ok(given), Ok(signature)) = (given.parse::<i64>(), blake3::Hash::from_hex(signature))
        else {
            return false;
        };
        // A cookie from tomorrow is as bad as one from last week.
        self.signature(given) == signature && (0..LASTS_S).contains(&now_s.saturating_sub(given))
    }

    fn signature(&self, given_s: i64) -> blake3::Hash {
        blake3::keyed_hash(&self.key, &given_s.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_good_for_its_secret_and_its_time() {
        let token = Token::new("a secret of some length").unwrap();
        let other = Token::new("another of the same size").unwrap();
        assert!(token.is("a secret of some length") && !token.is("a secret of some lengtH"));
        let cookie = token.session(1000);
        assert!(token.is_session(&cookie, 1000 + LASTS_S - 1));
        assert!(!token.is_session(&cookie, 1000 + LASTS_S));
        assert!(!token.is_session(&cookie, 999));
        assert!(!other.is_session(&cookie, 1000));
        let forged = cookie.replacen("1000", "2000", 1);
        assert!(!token.is_session(&forged, 2000));
        for bad in ["", ".", "1000.", "x.y", "9223372036854775807.00"] {
            assert!(!token.is_session(bad, 1000), "{bad}");
        }
        assert!(!cookie.contains("secret"));
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_printed() {
        assert!(matches!(Token::new("short"), Err(Error::ShortToken { .. })));
        assert_eq!(
            format!("{:?}", Token::new("a secret of some length").unwrap()),
            "Token(********)"
        );
    }
}
