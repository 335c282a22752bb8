//! Data whose schema has changed since the code was written: keys renamed, dropped, of another
//! type; columns gone. For arguments, and for the text of files and responses.

use serde_json::Value as Json;

use menace_model::{Random, Value};

/// How much has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// One key of each object.
    One,
    /// Half of the keys.
    Half,
}

impl Drift {
    fn count(self, keys: usize) -> usize {
        match self {
            Self::One => 1.min(keys),
            Self::Half => keys.div_ceil(2),
        }
    }
}

/// The value as it would come from somebody who changed the schema; none when it has none.
pub fn value(value: &Value, drift: Drift, random: &mut Random) -> Option<Value> {
    match value {
        Value::Dict(pairs) if !pairs.is_empty() => Some(Value::Dict(dict(pairs, drift, random))),
        Value::List(items) => rows(items, drift, random).map(Value::List),
        Value::Tuple(items) => rows(items, drift, random).map(Value::Tuple),
        Value::Str(text) => text_as_written(text.as_str()?, drift, random).map(Value::from),
        Value::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?;
            text_as_written(text, drift, random).map(|text| Value::Bytes(text.into_bytes()))
        }
        Value::New { class, args, kwargs } => {
            let mut changed = false;
            let args = args.iter().map(|arg| match self::value(arg, drift, random) {
                Some(new) => {
                    changed = true;
                    new
                }
                None => arg.clone(),
            });
            let args = args.collect();
            changed.then(|| Value::New { class: class.clone(), args, kwargs: kwargs.clone() })
        }
        _ => None,
    }
}

fn dict(pairs: &[(Value, Value)], drift: Drift, random: &mut Random) -> Vec<(Value, Value)> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    random.shuffle(&mut order);
    let chosen = &order[..drift.count(pairs.len())];
    let mut changed = Vec::new();
    for (index, (key, old)) in pairs.iter().enumerate() {
        if !chosen.contains(&index) {
            // What is inside has a schema of its own.
            let inside = value(old, drift, random).filter(|_| matches!(old, Value::Dict(_)));
            changed.push((key.clone(), inside.unwrap_or_else(|| old.clone())));
            continue;
        }
        match (random.below(3), key) {
            (0, _) => {}
            (1, Value::Str(name)) => {
                let name = name.as_str().map_or(String::new(), renamed);
                changed.push((Value::from(name), old.clone()));
            }
            _ => changed.push((key.clone(), retyped(old))),
        }
    }
    changed
}

/// Objects or rows: each changes in the same way.
fn rows(items: &[Value], drift: Drift, random: &mut Random) -> Option<Vec<Value>> {
    if items.is_empty() {
        return None;
    }
    let same = random.clone();
    let is_row = |item: &Value| matches!(item, Value::List(_) | Value::Tuple(_));
    if items.iter().all(is_row) {
        let width = |item: &Value| match item {
            Value::List(cells) | Value::Tuple(cells) => cells.len(),
            _ => 0,
        };
        let column = random.below(items.iter().map(width).min()? as u64) as usize;
        let cut = |item: &Value| {
            let without = |cells: &Vec<Value>| {
                let mut cells = cells.clone();
                if column < cells.len() {
                    cells.remove(column);
                }
                cells
            };
            match item {
                Value::List(cells) => Value::List(without(cells)),
                Value::Tuple(cells) => Value::Tuple(without(cells)),
                other => other.clone(),
            }
        };
        return Some(items.iter().map(cut).collect());
    }
    let is_dict = |item: &Value| matches!(item, Value::Dict(pairs) if !pairs.is_empty());
    if items.iter().any(is_dict) {
        let each = items.iter().map(|item| {
            // The same numbers for each, so that they still look alike.
            let mut random = same.clone();
            value(item, drift, &mut random).unwrap_or_else(|| item.clone())
        });
        return Some(each.collect());
    }
    None
}

/// JSON or a table, as text; none for anything else.
pub fn text(text: &str, drift: Drift, random: &mut Random) -> Option<String> {
    text_as_written(text, drift, random)
}

fn text_as_written(text: &str, drift: Drift, random: &mut Random) -> Option<String> {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.starts_with(['{', '[']) {
        if let Ok(mut json) = serde_json::from_str::<Json>(trimmed) {
            return json_drifted(&mut json, drift, random).then(|| json.to_string());
        }
        return lines_of_json(trimmed, drift, random);
    }
    table(text, random)
}

/// One object per line, each with the same change.
fn lines_of_json(text: &str, drift: Drift, random: &mut Random) -> Option<String> {
    let same = random.clone();
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut json = serde_json::from_str::<Json>(line).ok()?;
        json_drifted(&mut json, drift, &mut same.clone());
        lines.push(json.to_string());
    }
    (lines.len() > 1).then(|| lines.join("\n") + "\n")
}

fn json_drifted(json: &mut Json, drift: Drift, random: &mut Random) -> bool {
    match json {
        Json::Object(map) if !map.is_empty() => {
            let mut keys: Vec<String> = map.keys().cloned().collect();
            random.shuffle(&mut keys);
            let count = drift.count(keys.len());
            for key in &keys[count..] {
                if let Some(inside) = map.get_mut(key) {
                    json_drifted(inside, drift, random);
                }
            }
            for key in &keys[..count] {
                let Some(old) = map.remove(key) else { continue };
                match random.below(3) {
                    0 => {}
                    1 => {
                        map.insert(renamed(key), old);
                    }
                    _ => {
                        map.insert(key.clone(), json_retyped(old));
                    }
                }
            }
            true
        }
        Json::Array(items) => {
            let same = random.clone();
            let changed = items.iter_mut().map(|item| json_drifted(item, drift, &mut same.clone()));
            changed.fold(false, |any, one| any | one)
        }
        _ => false,
    }
}

/// A column less, or under another name, in lines that all have as many separators.
fn table(text: &str, random: &mut Random) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let header = lines.first()?;
    let separator = [',', '\t', ';', '|'].into_iter().find(|sign| header.contains(*sign))?;
    let width = header.split(separator).count();
    let is_table =
        lines.len() > 1 && lines.iter().all(|line| line.split(separator).count() == width);
    if !is_table || text.contains('"') {
        return None;
    }
    let column = random.below(width as u64) as usize;
    let rename = random.chance(0.5);
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mut cells: Vec<String> = line.split(separator).map(str::to_owned).collect();
        if !rename {
            cells.remove(column);
        } else if number == 0 {
            cells[column] = renamed(&cells[column]);
        }
        out += &cells.join(&separator.to_string());
        out.push('\n');
    }
    Some(out)
}

/// As another team would call it.
fn renamed(name: &str) -> String {
    if let Some((first, rest)) = name.split_once('_') {
        let mut chars = rest.chars();
        let capital = chars.next().map(|first| first.to_uppercase().to_string());
        return format!("{first}{}{}", capital.unwrap_or_default(), chars.as_str());
    }
    match name {
        "id" => "identifier".to_owned(),
        "name" => "title".to_owned(),
        name => format!("{name}_v2"),
    }
}

fn retyped(value: &Value) -> Value {
    match value {
        Value::Int(number) => Value::from(number.to_string()),
        Value::Float(number) => Value::from(number.to_string()),
        Value::Bool(yes) => Value::from(if *yes { "yes" } else { "no" }),
        Value::Str(text) => match text.as_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => Value::Int(number),
            None => Value::List(vec![value.clone()]),
        },
        Value::List(items) => items.first().cloned().unwrap_or(Value::None),
        Value::None => Value::from(""),
        Value::Dict(_) => Value::List(vec![value.clone()]),
        _ => Value::None,
    }
}

fn json_retyped(json: Json) -> Json {
    match json {
        Json::Number(number) => Json::String(number.to_string()),
        Json::Bool(yes) => Json::String(if yes { "yes" } else { "no" }.to_owned()),
        Json::String(text) => match text.parse::<i64>() {
            Ok(number) => Json::from(number),
            Err(_) => Json::Array(vec![Json::String(text)]),
        },
        Json::Array(mut items) if !items.is_empty() => items.remove(0),
        Json::Null => Json::String(String::new()),
        Json::Object(_) => Json::Array(vec![json]),
        Json::Array(_) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    fn read(json: &str) -> Value {
        Value::from_json(json).expect("JSON")
    }

    #[test]
    fn one_key_or_half_of_them_change() {
        let old = read(r#"{"user_id": 1, "name": "Ada", "age": "36", "tags": ["a"]}"#);
        let Value::Dict(before) = &old else { panic!("a dict") };
        for seed in 0..50 {
            for (drift, expected) in [(Drift::One, 1), (Drift::Half, 2)] {
                let new = value(&old, drift, &mut Seed(seed).random()).expect("a schema");
                let Value::Dict(after) = new else { panic!("a dict") };
                let kept = before.iter().filter(|pair| after.contains(pair)).count();
                assert_eq!(before.len() - kept, expected, "{after:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_change_happens() {
        let old = read(r#"{"user_id": 1}"#);
        let mut seen = std::collections::HashSet::new();
        for seed in 0..50 {
            seen.insert(value(&old, Drift::One, &mut Seed(seed).random()).expect("a schema"));
        }
        let expected =
            [r"{}", r#"{"userId": 1}"#, r#"{"user_id": "1"}"#].map(read).into_iter().collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn text_with_a_schema_drifts_too() {
        let mut random = Seed(2).random();
        let json = text(r#"{"a": 1, "b": {"c": 2}}"#, Drift::Half, &mut random).expect("JSON");
        assert_ne!(
            serde_json::from_str::<Json>(&json).expect("still JSON"),
            serde_json::json!({"a": 1, "b": {"c": 2}})
        );
        let lines = text("{\"a\": 1}\n{\"a\": 2}\n", Drift::One, &mut random).expect("lines");
        assert_eq!(lines.lines().count(), 2);
        let table = text("id,name\n1,Ada\n2,Grace\n", Drift::One, &mut random).expect("a table");
        assert!(!table.contains("id,name"), "{table}");
        assert_eq!(table.lines().count(), 3);
        assert_eq!(text("just words, nothing else", Drift::One, &mut random), None);
    }

    #[test]
    fn rows_lose_the_same_column() {
        let rows = read(r"[[1, 2, 3], [4, 5, 6]]");
        let new = value(&rows, Drift::One, &mut Seed(1).random()).expect("rows");
        let Value::List(rows) = new else { panic!("a list") };
        assert!(rows.iter().all(|row| matches!(row, Value::List(cells) if cells.len() == 2)));
    }

    #[test]
    fn what_has_no_schema_stays() {
        for json in ["1", "\"text\"", "[1, 2]", "{}", "[]"] {
            assert_eq!(value(&read(json), Drift::Half, &mut Seed(1).random()), None, "{json}");
        }
    }
}
