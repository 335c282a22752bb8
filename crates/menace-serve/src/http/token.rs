//! The access token of a dashboard, and the session cookie after the login.
//!
//! The cookie contains its time and is signed with the token: the server stores no sessions, and
//! another token ends all of them. Invariant: tokens are compared in constant time.

use crate::error::{ServeError, ServeResult};

pub(super) const SESSION_COOKIE: &str = "menace_session";
/// How long a session lasts.
pub(super) const SESSION_LIFETIME_S: i64 = 12 * 3600;
/// Shorter tokens could be guessed.
const MIN_TOKEN_CHARS: usize = 16;

#[derive(Clone)]
pub struct AccessToken {
    /// Hash of the token: hashes are compared in constant time, whatever the lengths of the tokens.
    digest: blake3::Hash,
    key: [u8; 32],
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(********)")
    }
}

impl AccessToken {
    pub fn new(secret: &str) -> ServeResult<Self> {
        if secret.chars().count() < MIN_TOKEN_CHARS {
            return Err(ServeError::ShortToken { least: MIN_TOKEN_CHARS });
        }
        Ok(Self {
            digest: blake3::hash(secret.as_bytes()),
            key: blake3::derive_key("menace dashboard 2026 session cookie", secret.as_bytes()),
        })
    }

    pub(super) fn matches(&self, candidate: &str) -> bool {
        self.digest == blake3::hash(candidate.as_bytes())
    }

    /// The value of a cookie that is given now.
    pub(super) fn create_session(&self, now_s: i64) -> String {
        format!("{now_s}.{}", self.sign_session(now_s).to_hex())
    }

    pub(super) fn is_valid_session(&self, value: &str, now_s: i64) -> bool {
        let Some((given, signature)) = value.split_once('.') else { return false };
        let (Ok(given), Ok(signature)) = (given.parse::<i64>(), blake3::Hash::from_hex(signature))
        else {
            return false;
        };
        // A cookie from tomorrow is as bad as one from last week.
        self.sign_session(given) == signature
            && (0..SESSION_LIFETIME_S).contains(&now_s.saturating_sub(given))
    }

    fn sign_session(&self, issued_s: i64) -> blake3::Hash {
        blake3::keyed_hash(&self.key, &issued_s.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_good_for_its_secret_and_its_time() {
        let token = AccessToken::new("a secret of some length").unwrap();
        let other = AccessToken::new("another of the same size").unwrap();
        assert!(
            token.matches("a secret of some length") && !token.matches("a secret of some lengtH")
        );
        let cookie = token.create_session(1000);
        assert!(token.is_valid_session(&cookie, 1000 + SESSION_LIFETIME_S - 1));
        assert!(!token.is_valid_session(&cookie, 1000 + SESSION_LIFETIME_S));
        assert!(!token.is_valid_session(&cookie, 999));
        assert!(!other.is_valid_session(&cookie, 1000));
        let forged = cookie.replacen("1000", "2000", 1);
        assert!(!token.is_valid_session(&forged, 2000));
        for bad in ["", ".", "1000.", "x.y", "9223372036854775807.00"] {
            assert!(!token.is_valid_session(bad, 1000), "{bad}");
        }
        assert!(!cookie.contains("secret"));
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_printed() {
        assert!(matches!(AccessToken::new("short"), Err(ServeError::ShortToken { .. })));
        assert_eq!(
            format!("{:?}", AccessToken::new("a secret of some length").unwrap()),
            "Token(********)"
        );
    }
}
