//! Data whose schema has changed since the code was written: keys renamed, dropped, of another
//! type; columns gone. For arguments, and for the text of files and responses.

use serde_json::Value as Json;

use menace_model::{Random, Reference, Value};

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

/// Whether instances of a class are data with fields, as those of a dataclass are.
pub(crate) type IsRecord<'a> = &'a dyn Fn(&Reference) -> bool;

/// The value as it would come from somebody who changed the schema; none when it has none.
pub fn value(value: &Value, drift: Drift, random: &mut Random) -> Option<Value> {
    Schema { drift, is_record: &|_| false }.value(value, random)
}

/// The same where it is known which classes are data.
pub(crate) fn value_with(
    value: &Value,
    drift: Drift,
    is_record: IsRecord<'_>,
    random: &mut Random,
) -> Option<Value> {
    Schema { drift, is_record }.value(value, random)
}

#[derive(Clone, Copy)]
struct Schema<'a> {
    drift: Drift,
    is_record: IsRecord<'a>,
}

impl Schema<'_> {
    fn value(self, value: &Value, random: &mut Random) -> Option<Value> {
        match value {
            Value::Dict(pairs) if !pairs.is_empty() => Some(Value::Dict(self.dict(pairs, random))),
            Value::List(items) => self.rows(items, random).map(Value::List),
            Value::Tuple(items) => self.rows(items, random).map(Value::Tuple),
            Value::Str(text) => {
                text_as_written(text.as_str()?, self.drift, random).map(Value::from)
            }
            Value::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).ok()?;
                let text = text_as_written(text, self.drift, random)?;
                Some(Value::Bytes(text.into_bytes()))
            }
            Value::New { class, args, kwargs } => {
                let (mut args, mut kwargs) = (args.clone(), kwargs.clone());
                let named = kwargs.iter_mut().map(|(_, value)| value);
                let mut fields: Vec<&mut Value> = args.iter_mut().chain(named).collect();
                if (self.is_record)(class) {
                    self.fields(&mut fields, random)?;
                } else {
                    self.inside(fields, random)?;
                }
                Some(Value::New { class: class.clone(), args, kwargs })
            }
            _ => None,
        }
    }

    /// What an object is made of is data, too; none when no part of it has a schema.
    fn inside(self, parts: Vec<&mut Value>, random: &mut Random) -> Option<()> {
        let mut changed = None;
        for part in parts {
            if let Some(new) = self.value(part, random) {
                *part = new;
                changed = Some(());
            }
        }
        changed
    }

    /// Without a field, or with another name for it, there would be no such object: types change.
    fn fields(self, fields: &mut [&mut Value], random: &mut Random) -> Option<()> {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        random.shuffle(&mut order);
        let chosen = self.drift.count(fields.len());
        for (rank, index) in order.into_iter().enumerate() {
            let field = &mut *fields[index];
            if rank < chosen {
                *field = retyped(field);
            } else if let Some(inside) = self.value(field, random) {
                *field = inside;
            }
        }
        (chosen > 0).then_some(())
    }

    fn dict(self, pairs: &[(Value, Value)], random: &mut Random) -> Vec<(Value, Value)> {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        random.shuffle(&mut order);
        let chosen = &order[..self.drift.count(pairs.len())];
        let mut changed = Vec::new();
        for (index, (key, old)) in pairs.iter().enumerate() {
            if !chosen.contains(&index) {
                // What is inside has a schema of its own.
                let inside = self.value(old, random).filter(|_| self.has_fields(old));
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

    fn has_fields(self, value: &Value) -> bool {
        match value {
            Value::Dict(pairs) => !pairs.is_empty(),
            Value::New { class, .. } => (self.is_record)(class),
            _ => false,
        }
    }

    /// Objects or rows: each changes in the same way.
    fn rows(self, items: &[Value], random: &mut Random) -> Option<Vec<Value>> {
        if items.is_empty() {
            return None;
        }
        if items.iter().all(|item| cells(item).is_some()) {
            return columns(items, random);
        }
        if items.iter().any(|item| self.has_fields(item)) {
            let same = random.clone();
            let each = items.iter().map(|item| {
                // The same numbers for each, so that they still look alike.
                self.value(item, &mut same.clone()).unwrap_or_else(|| item.clone())
            });
            return Some(each.collect());
        }
        None
    }
}

/// Of a row.
fn cells(item: &Value) -> Option<&[Value]> {
    match item {
        Value::List(cells) | Value::Tuple(cells) => Some(cells),
        _ => None,
    }
}

/// Rows of which one column is gone, of another type or, where the first row says what columns are
/// called, of another name.
fn columns(rows: &[Value], random: &mut Random) -> Option<Vec<Value>> {
    let width = rows.iter().filter_map(cells).map(<[Value]>::len).min().filter(|it| *it > 0)?;
    let is_text = |cell: &Value| matches!(cell, Value::Str(_));
    let are_names = |row: &Value| cells(row).is_some_and(|cells| cells.iter().all(is_text));
    let has_header = rows.len() > 1 && are_names(&rows[0]) && !rows[1..].iter().all(are_names);
    let column = random.below(width as u64) as usize;
    let way = random.below(if has_header { 3 } else { 2 });
    let changed = rows.iter().enumerate().map(|(number, row)| {
        let mut cells = cells(row).unwrap_or_default().to_vec();
        let is_header = has_header && number == 0;
        match (way, &cells[column]) {
            (0, _) => {
                cells.remove(column);
            }
            (1, cell) if !is_header => cells[column] = retyped(cell),
            (2, Value::Str(name)) if is_header => {
                cells[column] = Value::from(renamed(name.as_str().unwrap_or_default()));
            }
            _ => {}
        }
        if matches!(row, Value::Tuple(_)) { Value::Tuple(cells) } else { Value::List(cells) }
    });
    Some(changed.collect())
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

/// A column less, or under another name, in lines that all have as many cells.
fn table(text: &str, random: &mut Random) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let header = lines.first()?;
    let separator = [',', '\t', ';', '|'].into_iter().find(|sign| header.contains(*sign))?;
    let rows: Vec<Vec<&str>> =
        lines.iter().map(|line| split(line, separator)).collect::<Option<_>>()?;
    let width = rows[0].len();
    if width < 2 || rows.len() < 2 || rows.iter().any(|cells| cells.len() != width) {
        return None;
    }
    let column = random.below(width as u64) as usize;
    let rename = random.chance(0.5);
    let mut out = String::new();
    for (number, cells) in rows.iter().enumerate() {
        let mut cells: Vec<String> = cells.iter().map(|&cell| cell.to_owned()).collect();
        if !rename {
            cells.remove(column);
        } else if number == 0 {
            let bare = cells[column].strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
            cells[column] = match bare {
                Some(bare) => format!("\"{}\"", renamed(bare)),
                None => renamed(&cells[column]),
            };
        }
        out += &cells.join(&separator.to_string());
        out.push('\n');
    }
    Some(out)
}

/// The cells of a line as they are written, quotation marks and all; none when one of these is left
/// open.
fn split(line: &str, separator: char) -> Option<Vec<&str>> {
    let (mut cells, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, sign) in line.char_indices() {
        if sign == '"' {
            is_quoted = !is_quoted;
        } else if sign == separator && !is_quoted {
            cells.push(&line[start..at]);
            start = at + sign.len_utf8();
        }
    }
    cells.push(&line[start..]);
    (!is_quoted).then_some(cells)
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
    fn quotation_marks_do_not_save_a_table() {
        let old = "id,\"full name\",note\n1,\"Lovelace, Ada\",\"said \"\"hello, you\"\"\"\n";
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..40 {
            seen.insert(text(old, Drift::One, &mut Seed(seed).random()).expect("a table"));
        }
        // Three columns that go, three that are called something else.
        assert_eq!(seen.len(), 6, "{seen:?}");
        assert!(seen.contains("id,note\n1,\"said \"\"hello, you\"\"\"\n"), "{seen:?}");
        assert!(seen.contains(&old.replace("\"full name\"", "\"full name_v2\"")), "{seen:?}");
        assert_eq!(text("a,\"b\n1,2\n", Drift::One, &mut Seed(1).random()), None);
    }

    /// Everything that may become of it.
    fn all(old: &Value, drift: Drift) -> std::collections::HashSet<Value> {
        let is_record = |class: &Reference| class.qualname() == "Order";
        let new = |seed| value_with(old, drift, &is_record, &mut Seed(seed).random());
        (0..60).map(|seed| new(seed).expect("a schema")).collect()
    }

    #[test]
    fn rows_lose_a_column_or_have_it_of_another_type_or_name() {
        let found = all(&read("[[1, 2], [4, 5]]"), Drift::One);
        let expected =
            ["[[2], [5]]", "[[1], [4]]", r#"[["1", 2], ["4", 5]]"#, r#"[[1, "2"], [4, "5"]]"#];
        assert_eq!(found, expected.map(read).into_iter().collect());
        let found = all(&read(r#"[["id"], [1]]"#), Drift::One);
        let expected = ["[[], []]", r#"[["id"], ["1"]]"#, r#"[["identifier"], [1]]"#];
        assert_eq!(found, expected.map(read).into_iter().collect());
    }

    #[test]
    fn the_fields_of_objects_change_their_types() {
        let order = |number: &str, size: &str| {
            let json = format!(
                r#"{{"$call": "shop:Order", "args": [{number}], "kwargs": {{"size": {size}}}}}"#
            );
            read(&json)
        };
        let one = [order("\"7\"", "2"), order("7", "\"2\"")];
        assert_eq!(all(&order("7", "2"), Drift::One), one.clone().into_iter().collect());
        // All of a list in the same way, and in other data.
        let listed = |order: &Value| Value::List(vec![order.clone(), order.clone()]);
        let found = all(&listed(&order("7", "2")), Drift::One);
        assert_eq!(found, one.iter().map(listed).collect());
        let keyed = Value::Dict(vec![
            (Value::from("a"), order("7", "2")),
            (Value::from("b"), order("7", "2")),
        ]);
        let is_inside = |new: &Value| match new {
            Value::Dict(pairs) => pairs.iter().any(|(_, value)| one.contains(value)),
            _ => false,
        };
        assert!(all(&keyed, Drift::One).iter().any(is_inside));
        // What is no data is left alone but for the data in it.
        let client = r#"{"$call": "shop:Client", "args": [7], "kwargs": {"options": {"a": 1}}}"#;
        let Value::New { args, kwargs, .. } =
            value(&read(client), Drift::Half, &mut Seed(1).random()).expect("a schema inside")
        else {
            panic!("an object")
        };
        assert_eq!(args, [Value::Int(7)]);
        assert_ne!(kwargs, [("options".to_owned(), read(r#"{"a": 1}"#))]);
    }

    #[test]
    fn what_has_no_schema_stays() {
        for json in ["1", "\"text\"", "[1, 2]", "{}", "[]"] {
            assert_eq!(value(&read(json), Drift::Half, &mut Seed(1).random()), None, "{json}");
        }
    }
}
