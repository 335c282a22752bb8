//! What lies around a call: files and variables, written as JSON.
//!
//! Either for this call, `{"files": {…}, "env": {…}}`, or by module, `{"shop.db": {"files": …}}`.

use serde_json::Value as Json;

use menace_model::{FixtureFile, Fixtures};

use crate::notation::{Pairs, bytes_of, parse};
use crate::problem::{did_you_mean, quoted};
use crate::{Problem, Problems};

const FILES: &str = "files";
const ENVIRONMENT: &str = "env";
/// Where a call may find files beside the repository.
const TEMPORARY: &str = "/tmp/";

/// Reads what is meant for a call of this module; `from` is the file.
pub fn read(text: &str, from: &str, module: &str) -> Result<Fixtures, Problems> {
    let shape: Json = parse(text, from)?;
    let Json::Object(map) = &shape else {
        let reason = "expected an object such as `{\"files\": {\"a.txt\": \"text\"}, \"env\": {}}`";
        return Err(Problem::new(from, reason).into());
    };
    let is_direct = map.keys().any(|name| name == FILES || name == ENVIRONMENT);
    let is_by_module = !map.is_empty() && !is_direct && map.values().all(Json::is_object);
    if is_by_module {
        let modules: Pairs<Pairs<Json>> = parse(text, from)?;
        let own = modules.0.into_iter().find(|(name, _)| name == module);
        return match own {
            Some((name, pairs)) => fixtures(&pairs, &format!("{from}[{name}]")),
            None => Ok(Fixtures::default()),
        };
    }
    fixtures(&parse(text, from)?, from)
}

fn fixtures(pairs: &Pairs<Json>, at: &str) -> Result<Fixtures, Problems> {
    let mut problems = Problems::default();
    let mut fixtures = Fixtures::default();
    for (name, json) in &pairs.0 {
        match (name.as_str(), json) {
            (FILES, Json::Object(files)) => {
                for (path, content) in files {
                    fixtures.files.extend(problems.keep(file(path, content, at)));
                }
            }
            (ENVIRONMENT, Json::Object(variables)) => {
                for (name, value) in variables {
                    fixtures.environment.extend(problems.keep(variable(name, value, at)));
                }
            }
            (FILES | ENVIRONMENT, other) => {
                let found = quoted(&other.to_string());
                problems.add(Problem::of(at, name, format!("expected an object, found {found}")));
            }
            (other, _) => {
                let hint = did_you_mean(other, [FILES, ENVIRONMENT], "known are files and env");
                problems.add(Problem::of(at, name, format!("unknown key{hint}")));
            }
        }
    }
    problems.or(fixtures)
}

fn file(path: &str, content: &Json, at: &str) -> Result<FixtureFile, Problems> {
    let key = format!("{FILES}.{path}");
    let parts = path.strip_prefix(TEMPORARY).unwrap_or(path).split('/');
    let is_sound = !path.contains('\0')
        && parts.into_iter().all(|part| !part.is_empty() && part != "." && part != "..");
    if !is_sound {
        let reason = "expected a path within the repository such as `data/a.txt`, or below `/tmp`";
        return Err(Problem::of(at, &key, reason).into());
    }
    let content = match content {
        Json::String(text) => Some(text.clone().into_bytes()),
        Json::Object(map) if map.len() == 1 => {
            map.get("$bytes").and_then(Json::as_str).and_then(bytes_of)
        }
        _ => None,
    };
    let expected = "expected text, or `{\"$bytes\": \"…\"}` in base64";
    let content = content.ok_or_else(|| Problem::of(at, &key, expected))?;
    Ok(FixtureFile { path: path.to_owned(), content })
}

fn variable(name: &str, value: &Json, at: &str) -> Result<(String, String), Problems> {
    let key = format!("{ENVIRONMENT}.{name}");
    let text = match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let text = text.ok_or_else(|| Problem::of(at, &key, "expected text"))?;
    if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
        return Err(Problem::of(at, &key, "no environment can hold this").into());
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
        let found = read(text, "f.json", "shop.db").unwrap();
        let file = |path: &str, content: &[u8]| FixtureFile {
            path: path.to_owned(),
            content: content.to_vec(),
        };
        assert_eq!(found.files, [file("/tmp/b", &[255]), file("data/a.txt", b"hi")]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.environment, [pair("MODE", "x"), pair("N", "3")]);
    }

    #[test]
    fn only_those_of_the_module_count() {
        let text = r#"{"shop.db": {"env": {"A": "1"}}, "shop.web": {"env": {"B": "2"}}}"#;
        let names = |module: &str| {
            let found = read(text, "f.json", module).unwrap();
            found.environment.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(
            (names("shop.db"), names("shop.web")),
            (vec!["A".to_owned()], vec!["B".to_owned()])
        );
        assert!(read(text, "f.json", "other").unwrap().is_empty());
    }

    #[test]
    fn what_leads_outside_or_cannot_be_is_refused() {
        let text = r#"{"files": {"../a": "x", "/etc/passwd": "x", "a//b": "x", "/tmp/../b": "x", "c": 1},
                       "env": {"A=B": "x", "C": [1]}, "fiels": {}}"#;
        insta::assert_snapshot!(read(text, "f.json", "m").unwrap_err(), @r#"
        f.json: files.../a: expected a path within the repository such as `data/a.txt`, or below `/tmp`
        f.json: files./etc/passwd: expected a path within the repository such as `data/a.txt`, or below `/tmp`
        f.json: files./tmp/../b: expected a path within the repository such as `data/a.txt`, or below `/tmp`
        f.json: files.a//b: expected a path within the repository such as `data/a.txt`, or below `/tmp`
        f.json: files.c: expected text, or `{"$bytes": "…"}` in base64
        f.json: env.A=B: no environment can hold this
        f.json: env.C: expected text
        f.json: fiels: unknown key; did you mean `files`?
        "#);
        assert!(
            read("[]", "f.json", "m")
                .unwrap_err()
                .to_string()
                .starts_with("f.json: expected an object")
        );
    }
}
