//! Files and environment variables of a call, read from JSON.
//!
//! Either for one call, `{"files": {…}, "env": {…}}`, or by module, `{"shop.db": {"files": …}}`.

use serde_json::Value as Json;

use menace_model::{CallFixtures, FixtureFile, decode_base64, suggest_names_or};

use crate::config::{ConfigError, ConfigProblem, OrderedPairs, parse_json, quote_shortened};

const FILES_KEY: &str = "files";
const ENVIRONMENT_KEY: &str = "env";
/// The directory for files outside of the repository.
const TEMPORARY_DIRECTORY: &str = "/tmp/";

/// Reads the fixtures for a call of this module; `from` is the file.
pub fn read_fixtures(text: &str, from: &str, module: &str) -> Result<CallFixtures, ConfigError> {
    let shape: Json = parse_json(text, from)?;
    let Json::Object(map) = &shape else {
        let reason = "expected an object such as `{\"files\": {\"a.txt\": \"text\"}, \"env\": {}}`";
        return Err(ConfigProblem::new(from, reason).into());
    };
    let is_direct = map.keys().any(|name| name == FILES_KEY || name == ENVIRONMENT_KEY);
    let is_by_module = !map.is_empty() && !is_direct && map.values().all(Json::is_object);
    if is_by_module {
        let modules: OrderedPairs<OrderedPairs<Json>> = parse_json(text, from)?;
        let own = modules.0.into_iter().find(|(name, _)| name == module);
        return match own {
            Some((name, pairs)) => parse_fixtures(&pairs, &format!("{from}[{name}]")),
            None => Ok(CallFixtures::default()),
        };
    }
    parse_fixtures(&parse_json(text, from)?, from)
}

fn parse_fixtures(pairs: &OrderedPairs<Json>, at: &str) -> Result<CallFixtures, ConfigError> {
    let mut problems = ConfigError::default();
    let mut fixtures = CallFixtures::default();
    for (name, json) in &pairs.0 {
        match (name.as_str(), json) {
            (FILES_KEY, Json::Object(files)) => {
                for (path, content) in files {
                    fixtures.files.extend(problems.collect_ok(parse_file(path, content, at)));
                }
            }
            (ENVIRONMENT_KEY, Json::Object(variables)) => {
                for (name, value) in variables {
                    fixtures
                        .environment
                        .extend(problems.collect_ok(parse_variable(name, value, at)));
                }
            }
            (FILES_KEY | ENVIRONMENT_KEY, other) => {
                let found = quote_shortened(&other.to_string());
                problems.add(ConfigProblem::for_key(
                    at,
                    name,
                    format!("expected an object, found {found}"),
                ));
            }
            (other, _) => {
                let hint = suggest_names_or(
                    other,
                    [FILES_KEY, ENVIRONMENT_KEY],
                    "known are files and env",
                );
                problems.add(ConfigProblem::for_key(at, name, format!("unknown key{hint}")));
            }
        }
    }
    problems.into_result(fixtures)
}

fn parse_file(path: &str, content: &Json, at: &str) -> Result<FixtureFile, ConfigError> {
    let key = format!("{FILES_KEY}.{path}");
    let parts = path.strip_prefix(TEMPORARY_DIRECTORY).unwrap_or(path).split('/');
    let is_sound = !path.contains('\0')
        && parts.into_iter().all(|part| !part.is_empty() && part != "." && part != "..");
    if !is_sound {
        let reason = "expected a path within the repository such as `data/a.txt`, or below `/tmp`";
        return Err(ConfigProblem::for_key(at, &key, reason).into());
    }
    let content = match content {
        Json::String(text) => Some(text.clone().into_bytes()),
        Json::Object(map) if map.len() == 1 => {
            map.get("$bytes").and_then(Json::as_str).and_then(decode_base64)
        }
        _ => None,
    };
    let expected = "expected text, or `{\"$bytes\": \"…\"}` in base64";
    let content = content.ok_or_else(|| ConfigProblem::for_key(at, &key, expected))?;
    Ok(FixtureFile { path: path.to_owned(), content })
}

fn parse_variable(name: &str, value: &Json, at: &str) -> Result<(String, String), ConfigError> {
    let key = format!("{ENVIRONMENT_KEY}.{name}");
    let text = match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let text = text.ok_or_else(|| ConfigProblem::for_key(at, &key, "expected text"))?;
    if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
        return Err(ConfigProblem::for_key(at, &key, "no environment can hold this").into());
    }
    Ok((name.to_owned(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_variables_are_read() {
        let text = r#"{"files": {"data/a.txt": "hi", "/tmp/b": {"$bytes": "/w=="}},
                       "env": {"MODE": "x", "N": 3}}"#;
        let found = read_fixtures(text, "f.json", "shop.db").unwrap();
        let file = |path: &str, content: &[u8]| FixtureFile {
            path: path.to_owned(),
            content: content.to_vec(),
        };
        assert_eq!(found.files, [file("/tmp/b", &[255]), file("data/a.txt", b"hi")]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.environment, [pair("MODE", "x"), pair("N", "3")]);
    }

    #[test]
    fn fixtures_of_other_modules_are_left_out() {
        let text = r#"{"shop.db": {"env": {"A": "1"}}, "shop.web": {"env": {"B": "2"}}}"#;
        let names = |module: &str| {
            let found = read_fixtures(text, "f.json", module).unwrap();
            found.environment.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(
            (names("shop.db"), names("shop.web")),
            (vec!["A".to_owned()], vec!["B".to_owned()])
        );
        assert!(read_fixtures(text, "f.json", "other").unwrap().is_empty());
    }

    #[test]
    fn paths_outside_of_the_repository_and_invalid_values_are_refused() {
        let text = r#"{"files": {"../a": "x", "/etc/passwd": "x", "a//b": "x", "/tmp/../b": "x",
                                 "c": 1},
                       "env": {"A=B": "x", "C": [1]}, "fiels": {}}"#;
        let problems = read_fixtures(text, "f.json", "m").unwrap_err().to_string();
        let outside = "expected a path within the repository such as `data/a.txt`, or below `/tmp`";
        insta::assert_snapshot!(problems.replace(outside, "[outside]"), @r#"
        f.json: files.../a: [outside]
        f.json: files./etc/passwd: [outside]
        f.json: files./tmp/../b: [outside]
        f.json: files.a//b: [outside]
        f.json: files.c: expected text, or `{"$bytes": "…"}` in base64
        f.json: env.A=B: no environment can hold this
        f.json: env.C: expected text
        f.json: fiels: unknown key; did you mean `files`?
        "#);
        assert!(
            read_fixtures("[]", "f.json", "m")
                .unwrap_err()
                .to_string()
                .starts_with("f.json: expected an object")
        );
    }
}
