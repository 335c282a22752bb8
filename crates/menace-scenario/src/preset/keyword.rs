//! Selects profiles by keywords in a module's path.

use menace_settings::KeywordProfiles;

/// Shorter stems are ambiguous: `user` is no form of `use`.
const MIN_STEM_CHARS: usize = 4;

/// Profiles for a path such as `shop/db/http_client.py`, each once, in the order of the words.
pub fn profiles_for<'a>(path: &str, keywords: &'a KeywordProfiles) -> Vec<&'a str> {
    let mut found = Vec::new();
    for word in split_path_words(path) {
        let stem = stem(&word);
        for (keyword, profiles) in keywords.iter() {
            if keyword == word || self::stem(keyword) == stem {
                for profile in profiles {
                    if !found.contains(&profile.as_str()) {
                        found.push(profile.as_str());
                    }
                }
            }
        }
    }
    found
}

/// The words of a path, in lower case: `HTTPServer2_api` has `http`, `server` and `api`.
pub fn split_path_words(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".py").unwrap_or(path);
    let letters: Vec<char> = path.chars().collect();
    let mut words = vec![String::new()];
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| letters[before]);
        let is_after_small = before.is_some_and(char::is_lowercase);
        let ends_capitals = before.is_some_and(char::is_uppercase)
            && letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if !letter.is_alphabetic() {
            words.push(String::new());
            continue;
        }
        if letter.is_uppercase() && (is_after_small || ends_capitals) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The common stem of the forms of a word: `parse`, `parser`, `parsers` and `parsing` have `pars`.
fn stem(word: &str) -> &str {
    let plural = word.strip_suffix('s').filter(|rest| rest.len() > 1 && !rest.ends_with('s'));
    let word = plural.unwrap_or(word);
    for ending in ["ing", "er", "e"] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= MIN_STEM_CHARS) {
            return rest;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_into_words() {
        assert_eq!(
            split_path_words("shop/db/HTTPServer2_apiV3.py"),
            ["shop", "db", "http", "server", "api", "v"]
        );
        assert_eq!(split_path_words("src.OAuth-login"), ["src", "o", "auth", "login"]);
        assert_eq!(split_path_words(""), [] as [&str; 0]);
    }

    #[test]
    fn forms_of_a_word_are_found_and_words_that_only_contain_it_are_not() {
        let keywords = KeywordProfiles::default();
        let has = |path: &str| !profiles_for(path, &keywords).is_empty();
        for path in [
            "app/parsers.py",
            "app/parsing.py",
            "app/parse.py",
            "app/apis.py",
            "dbs/x.py",
            "threading_/x.py",
            "uploads.py",
            "uploader.py",
            "caching.py",
            "HttpsClient.py",
        ] {
            assert!(has(path), "{path}");
        }
        for path in [
            "platform.py",
            "author.py",
            "format.py",
            "feedback.py",
            "users.py",
            "capital.py",
            "service.py",
            "process.py",
        ] {
            assert!(!has(path), "{path}: {:?}", profiles_for(path, &keywords));
        }
    }

    #[test]
    fn each_profile_is_suggested_once_in_the_order_of_the_words() {
        let keywords = KeywordProfiles::default();
        let found = profiles_for("api/db/form.py", &keywords);
        assert_eq!(
            found,
            ["high_latency_api", "hostile_input", "concurrency_spike", "user_misuse"]
        );
    }
}
