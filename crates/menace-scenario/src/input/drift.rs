//! Schema drift: keys renamed, dropped or of another type, columns dropped. For arguments, and for
//! the text of files and responses.

use serde_json::Value as Json;

use menace_model::{PyReference, SeededRng, Value};

/// How many keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaDrift {
    /// One key of each object.
    OneKey,
    /// Half of the keys.
    HalfOfKeys,
}

impl SchemaDrift {
    fn changed_key_count(self, keys: usize) -> usize {
        match self {
            Self::OneKey => 1.min(keys),
            Self::HalfOfKeys => keys.div_ceil(2),
        }
    }
}

/// Whether instances of a class are data with fields, as of a dataclass.
pub(crate) type IsRecordClass<'a> = &'a dyn Fn(&PyReference) -> bool;

/// The value with a drifted schema; none when it has no schema.
pub fn drift_value(value: &Value, drift: SchemaDrift, random: &mut SeededRng) -> Option<Value> {
    SchemaMutator { drift, is_record: &|_| false }.drift_value(value, random)
}

/// The value with a drifted schema, where `is_record` says which classes are data.
pub(crate) fn drift_value_with(
    value: &Value,
    drift: SchemaDrift,
    is_record: IsRecordClass<'_>,
    random: &mut SeededRng,
) -> Option<Value> {
    SchemaMutator { drift, is_record }.drift_value(value, random)
}

#[derive(Clone, Copy)]
struct SchemaMutator<'a> {
    drift: SchemaDrift,
    is_record: IsRecordClass<'a>,
}

impl SchemaMutator<'_> {
    fn drift_value(self, value: &Value, random: &mut SeededRng) -> Option<Value> {
        match value {
            Value::Dict(pairs) if !pairs.is_empty() => {
                Some(Value::Dict(self.drift_dict(pairs, random)))
            }
            Value::List(items) => self.drift_rows(items, random).map(Value::List),
            Value::Tuple(items) => self.drift_rows(items, random).map(Value::Tuple),
            Value::Str(text) => {
                drift_exact_text(text.as_str()?, self.drift, random).map(Value::from)
            }
            Value::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).ok()?;
                let text = drift_exact_text(text, self.drift, random)?;
                Some(Value::Bytes(text.into_bytes()))
            }
            Value::New { class, args, kwargs } => {
                let (mut args, mut kwargs) = (args.clone(), kwargs.clone());
                let named = kwargs.iter_mut().map(|(_, value)| value);
                let mut fields: Vec<&mut Value> = args.iter_mut().chain(named).collect();
                if (self.is_record)(class) {
                    self.drift_fields(&mut fields, random)?;
                } else {
                    self.drift_parts(fields, random)?;
                }
                Some(Value::New { class: class.clone(), args, kwargs })
            }
            _ => None,
        }
    }

    /// Drifts the constructor arguments of an object; none when no argument has a schema.
    fn drift_parts(self, parts: Vec<&mut Value>, random: &mut SeededRng) -> Option<()> {
        let mut changed = None;
        for part in parts {
            if let Some(new) = self.drift_value(part, random) {
                *part = new;
                changed = Some(());
            }
        }
        changed
    }

    /// An object needs all of its fields under their names, so only types change.
    fn drift_fields(self, fields: &mut [&mut Value], random: &mut SeededRng) -> Option<()> {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        random.shuffle(&mut order);
        let chosen = self.drift.changed_key_count(fields.len());
        for (rank, index) in order.into_iter().enumerate() {
            let field = &mut *fields[index];
            if rank < chosen {
                *field = retype_value(field);
            } else if let Some(inside) = self.drift_value(field, random) {
                *field = inside;
            }
        }
        (chosen > 0).then_some(())
    }

    fn drift_dict(self, pairs: &[(Value, Value)], random: &mut SeededRng) -> Vec<(Value, Value)> {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        random.shuffle(&mut order);
        let chosen = &order[..self.drift.changed_key_count(pairs.len())];
        let mut changed = Vec::new();
        for (index, (key, old)) in pairs.iter().enumerate() {
            if !chosen.contains(&index) {
                // A nested object has a schema of its own.
                let inside = self.drift_value(old, random).filter(|_| self.has_fields(old));
                changed.push((key.clone(), inside.unwrap_or_else(|| old.clone())));
                continue;
            }
            match (random.next_below(3), key) {
                (0, _) => {}
                (1, Value::Str(name)) => {
                    let name = name.as_str().map_or(String::new(), rename_key);
                    changed.push((Value::from(name), old.clone()));
                }
                _ => changed.push((key.clone(), retype_value(old))),
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

    /// A list of objects or rows: each changes in the same way.
    fn drift_rows(self, items: &[Value], random: &mut SeededRng) -> Option<Vec<Value>> {
        if items.is_empty() {
            return None;
        }
        if items.iter().all(|item| row_cells(item).is_some()) {
            return drift_columns(items, random);
        }
        if items.iter().any(|item| self.has_fields(item)) {
            let same = random.clone();
            let each = items.iter().map(|item| {
                // Equal random numbers for each item, so that all items change in the same way.
                self.drift_value(item, &mut same.clone()).unwrap_or_else(|| item.clone())
            });
            return Some(each.collect());
        }
        None
    }
}

fn row_cells(item: &Value) -> Option<&[Value]> {
    match item {
        Value::List(cells) | Value::Tuple(cells) => Some(cells),
        _ => None,
    }
}

/// Drops one column, changes its type or, where the first row is a header, its name.
fn drift_columns(rows: &[Value], random: &mut SeededRng) -> Option<Vec<Value>> {
    let width = rows.iter().filter_map(row_cells).map(<[Value]>::len).min().filter(|it| *it > 0)?;
    let is_text = |cell: &Value| matches!(cell, Value::Str(_));
    let are_names = |row: &Value| row_cells(row).is_some_and(|cells| cells.iter().all(is_text));
    let has_header = rows.len() > 1 && are_names(&rows[0]) && !rows[1..].iter().all(are_names);
    let column = random.next_below(width as u64) as usize;
    let way = random.next_below(if has_header { 3 } else { 2 });
    let changed = rows.iter().enumerate().map(|(number, row)| {
        let mut cells = row_cells(row).unwrap_or_default().to_vec();
        let is_header = has_header && number == 0;
        match (way, &cells[column]) {
            (0, _) => {
                cells.remove(column);
            }
            (1, cell) if !is_header => cells[column] = retype_value(cell),
            (2, Value::Str(name)) if is_header => {
                cells[column] = Value::from(rename_key(name.as_str().unwrap_or_default()));
            }
            _ => {}
        }
        if matches!(row, Value::Tuple(_)) { Value::Tuple(cells) } else { Value::List(cells) }
    });
    Some(changed.collect())
}

/// Drifts JSON or a table; none for other text.
pub fn drift_text(text: &str, drift: SchemaDrift, random: &mut SeededRng) -> Option<String> {
    drift_exact_text(text, drift, random)
}

fn drift_exact_text(text: &str, drift: SchemaDrift, random: &mut SeededRng) -> Option<String> {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.starts_with(['{', '[']) {
        if let Ok(mut json) = serde_json::from_str::<Json>(trimmed) {
            return drift_json(&mut json, drift, random).then(|| json.to_string());
        }
        return drift_json_lines(trimmed, drift, random);
    }
    drift_table(text, random)
}

/// JSON lines: each object changes in the same way.
fn drift_json_lines(text: &str, drift: SchemaDrift, random: &mut SeededRng) -> Option<String> {
    let same = random.clone();
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut json = serde_json::from_str::<Json>(line).ok()?;
        drift_json(&mut json, drift, &mut same.clone());
        lines.push(json.to_string());
    }
    (lines.len() > 1).then(|| lines.join("\n") + "\n")
}

fn drift_json(json: &mut Json, drift: SchemaDrift, random: &mut SeededRng) -> bool {
    match json {
        Json::Object(map) if !map.is_empty() => {
            let mut keys: Vec<String> = map.keys().cloned().collect();
            random.shuffle(&mut keys);
            let count = drift.changed_key_count(keys.len());
            for key in &keys[count..] {
                if let Some(inside) = map.get_mut(key) {
                    drift_json(inside, drift, random);
                }
            }
            for key in &keys[..count] {
                let Some(old) = map.remove(key) else { continue };
                match random.next_below(3) {
                    0 => {}
                    1 => {
                        map.insert(rename_key(key), old);
                    }
                    _ => {
                        map.insert(key.clone(), retype_json(old));
                    }
                }
            }
            true
        }
        Json::Array(items) => {
            let same = random.clone();
            let changed = items.iter_mut().map(|item| drift_json(item, drift, &mut same.clone()));
            changed.fold(false, |any, one| any | one)
        }
        _ => false,
    }
}

/// Drops or renames one column of a table in which all lines have as many cells.
fn drift_table(text: &str, random: &mut SeededRng) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let header = lines.first()?;
    let separator = [',', '\t', ';', '|'].into_iter().find(|sign| header.contains(*sign))?;
    let rows: Vec<Vec<&str>> =
        lines.iter().map(|line| split_cells(line, separator)).collect::<Option<_>>()?;
    let width = rows[0].len();
    if width < 2 || rows.len() < 2 || rows.iter().any(|cells| cells.len() != width) {
        return None;
    }
    let column = random.next_below(width as u64) as usize;
    let rename = random.chance(0.5);
    let mut out = String::new();
    for (number, cells) in rows.iter().enumerate() {
        let mut cells: Vec<String> = cells.iter().map(|&cell| cell.to_owned()).collect();
        if !rename {
            cells.remove(column);
        } else if number == 0 {
            let bare = cells[column].strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
            cells[column] = match bare {
                Some(bare) => format!("\"{}\"", rename_key(bare)),
                None => rename_key(&cells[column]),
            };
        }
        out += &cells.join(&separator.to_string());
        out.push('\n');
    }
    Some(out)
}

/// The cells of a line with their quotation marks; none when a quotation is not closed.
fn split_cells(line: &str, separator: char) -> Option<Vec<&str>> {
    let mut cells = Vec::new();
    let mut start = 0;
    let mut is_quoted = false;
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

/// Another name for a key: other case, synonym or version.
fn rename_key(name: &str) -> String {
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

fn retype_value(value: &Value) -> Value {
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

fn retype_json(json: Json) -> Json {
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
            for (drift, expected) in [(SchemaDrift::OneKey, 1), (SchemaDrift::HalfOfKeys, 2)] {
                let new = drift_value(&old, drift, &mut Seed(seed).rng()).expect("a schema");
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
            seen.insert(
                drift_value(&old, SchemaDrift::OneKey, &mut Seed(seed).rng()).expect("a schema"),
            );
        }
        let expected =
            [r"{}", r#"{"userId": 1}"#, r#"{"user_id": "1"}"#].map(read).into_iter().collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn json_and_tables_as_text_drift_too() {
        let mut random = Seed(2).rng();
        let json = drift_text(r#"{"a": 1, "b": {"c": 2}}"#, SchemaDrift::HalfOfKeys, &mut random)
            .expect("JSON");
        assert_ne!(
            serde_json::from_str::<Json>(&json).expect("still JSON"),
            serde_json::json!({"a": 1, "b": {"c": 2}})
        );
        let lines = drift_text("{\"a\": 1}\n{\"a\": 2}\n", SchemaDrift::OneKey, &mut random)
            .expect("lines");
        assert_eq!(lines.lines().count(), 2);
        let table = drift_text("id,name\n1,Ada\n2,Grace\n", SchemaDrift::OneKey, &mut random)
            .expect("a table");
        assert!(!table.contains("id,name"), "{table}");
        assert_eq!(table.lines().count(), 3);
        assert_eq!(drift_text("just words, nothing else", SchemaDrift::OneKey, &mut random), None);
    }

    #[test]
    fn tables_with_quoted_cells_drift() {
        let old = "id,\"full name\",note\n1,\"Lovelace, Ada\",\"said \"\"hello, you\"\"\"\n";
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..40 {
            seen.insert(
                drift_text(old, SchemaDrift::OneKey, &mut Seed(seed).rng()).expect("a table"),
            );
        }
        // Three columns can be dropped, three renamed.
        assert_eq!(seen.len(), 6, "{seen:?}");
        assert!(seen.contains("id,note\n1,\"said \"\"hello, you\"\"\"\n"), "{seen:?}");
        assert!(seen.contains(&old.replace("\"full name\"", "\"full name_v2\"")), "{seen:?}");
        assert_eq!(drift_text("a,\"b\n1,2\n", SchemaDrift::OneKey, &mut Seed(1).rng()), None);
    }

    /// All results over many seeds.
    fn all(old: &Value, drift: SchemaDrift) -> std::collections::HashSet<Value> {
        let is_record = |class: &PyReference| class.qualname() == "Order";
        let new = |seed| drift_value_with(old, drift, &is_record, &mut Seed(seed).rng());
        (0..60).map(|seed| new(seed).expect("a schema")).collect()
    }

    #[test]
    fn a_column_of_rows_is_dropped_retyped_or_renamed() {
        let found = all(&read("[[1, 2], [4, 5]]"), SchemaDrift::OneKey);
        let expected =
            ["[[2], [5]]", "[[1], [4]]", r#"[["1", 2], ["4", 5]]"#, r#"[[1, "2"], [4, "5"]]"#];
        assert_eq!(found, expected.map(read).into_iter().collect());
        let found = all(&read(r#"[["id"], [1]]"#), SchemaDrift::OneKey);
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
        assert_eq!(all(&order("7", "2"), SchemaDrift::OneKey), one.clone().into_iter().collect());
        // All objects of a list change in the same way, also inside of other data.
        let listed = |order: &Value| Value::List(vec![order.clone(), order.clone()]);
        let found = all(&listed(&order("7", "2")), SchemaDrift::OneKey);
        assert_eq!(found, one.iter().map(listed).collect());
        let keyed = Value::Dict(vec![
            (Value::from("a"), order("7", "2")),
            (Value::from("b"), order("7", "2")),
        ]);
        let is_inside = |new: &Value| match new {
            Value::Dict(pairs) => pairs.iter().any(|(_, value)| one.contains(value)),
            _ => false,
        };
        assert!(all(&keyed, SchemaDrift::OneKey).iter().any(is_inside));
        // An object that is no data only changes in the data of its arguments.
        let client = r#"{"$call": "shop:Client", "args": [7], "kwargs": {"options": {"a": 1}}}"#;
        let Value::New { args, kwargs, .. } =
            drift_value(&read(client), SchemaDrift::HalfOfKeys, &mut Seed(1).rng())
                .expect("a schema inside")
        else {
            panic!("an object")
        };
        assert_eq!(args, [Value::Int(7)]);
        assert_ne!(kwargs, [("options".to_owned(), read(r#"{"a": 1}"#))]);
    }

    #[test]
    fn values_without_a_schema_do_not_drift() {
        for json in ["1", "\"text\"", "[1, 2]", "{}", "[]"] {
            assert_eq!(
                drift_value(&read(json), SchemaDrift::HalfOfKeys, &mut Seed(1).rng()),
                None,
                "{json}"
            );
        }
    }
}
