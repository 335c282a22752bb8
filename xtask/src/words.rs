//! `cargo xtask words`: measures the language of the repository and fails above the limits.
//!
//! Reads the files that git tracks as text: definitions of types line by line, words everywhere.
//! The list of former words is the last table of `docs/GLOSSARY.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex::{Regex, RegexBuilder};

use crate::run::{program, workspace_root};

const GLOSSARY: &str = "docs/GLOSSARY.md";
const MAX_AMBIGUOUS_PERCENT: f64 = 8.0;
const MIN_MEAN_NAME_LENGTH: f64 = 11.0;
const MAX_COLUMNS: usize = 100;
/// Rows of Markdown tables cannot be broken; beyond this, the cell belongs into a list.
const MAX_TABLE_COLUMNS: usize = 200;
/// To be raised with a capability that is added, and by nothing else.
const MAX_RUST_LINES: usize = 88_500;
/// A string, a word, or a sign.
const TOKEN: &str = r#""(?:[^"\\]|\\.)*"|\w+|[^\w\s]"#;
/// How many places of a kind are listed.
const MAX_LISTED: usize = 40;

/// Where these words stand for themselves: the list of them, this check, data of an older version,
/// and code under test, whose names and literals are inputs of the calls that tests expect.
const EXEMPT: [&str; 7] = [
    GLOSSARY,
    "xtask/src/words.rs",
    "fixtures/old-data/",
    "fixtures/robustness/src/",
    "fixtures/sound/ferry/",
    "crates/menace/tests/it/old_data.rs",
    "crates/menace-model/tests/old_keys.rs",
];

const TEXT_EXTENSIONS: [&str; 13] =
    ["rs", "py", "md", "html", "sql", "toml", "js", "css", "yaml", "yml", "snap", "json", "sh"];

/// Files whose lines are at most [`MAX_COLUMNS`] long.
const LINE_EXTENSIONS: [&str; 9] = ["rs", "py", "md", "html", "css", "js", "sql", "toml", "sh"];
/// Pages whose tables are made from declarations in the code.
const GENERATED_TABLES: [&str; 4] = [
    "docs/metrics.md",
    "docs/reference/settings.md",
    "docs/scenarios.md",
    "crates/menace-track/src/metric/page.md",
];

/// Pronouns, which do not say which code or process is meant.
const PRONOUNS: &str = concat!(
    r"\b(whoever|whomever|nobody|somebody|everybody|anybody",
    r"|no one|someone|everyone|anyone|whom?)\b",
);
/// People may be called `who`, after the noun that says which people.
const PEOPLE: &str = r"\b(people|users?|maintainers?|attackers?),? whom?\b";

/// Lines that must not change: names that older versions wrote, a text that a seed is derived from
/// (another text would inject other faults), and a constant of the kernel.
const UNCHANGEABLE: [&str; 3] = ["serde(alias", "\"who strikes first\"", "IOPRIO_WHO_PROCESS"];

/// Past participles that do not end in `-ed`, as far as they make type names.
const IRREGULAR_PARTICIPLES: [&str; 38] = [
    "Begun",
    "Bound",
    "Broken",
    "Built",
    "Chosen",
    "Drawn",
    "Driven",
    "Fallen",
    "Felt",
    "Flown",
    "Forgotten",
    "Found",
    "Given",
    "Gone",
    "Grown",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Left",
    "Lent",
    "Lost",
    "Made",
    "Met",
    "Paid",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Shut",
    "Sold",
    "Spent",
    "Stood",
    "Thrown",
    "Taken",
    "Told",
    "Written",
];
const NOUNS_IN_ED: [&str; 4] = ["Seed", "Feed", "Speed", "Need"];

struct TypeDefinition {
    name: String,
    place: String,
}

struct Measurement {
    label: &'static str,
    value: String,
    limit: String,
    is_met: bool,
    places: Vec<String>,
}

/// Prints the measurements; fails when one is beyond its limit.
#[expect(clippy::print_stdout, reason = "this is the user interface of xtask")]
pub(crate) fn check() -> Result<()> {
    let files = tracked_files()?;
    let glossary = std::fs::read_to_string(workspace_root().join(GLOSSARY)).context(GLOSSARY)?;
    let mut measurements = measure(&files, &glossary)?;
    let rust_text = product_code(&files, is_product_rust, strip_rust);
    let rust = rust_text.lines().count();
    // Longer names break lines, and make no more tokens: these say whether code was added.
    let token = Regex::new(TOKEN)?;
    let tokens: usize = rust_text.lines().map(|line| token.find_iter(line).count()).sum();
    measurements.push(Measurement {
        label: "lines of product code: Rust",
        value: rust.to_string(),
        limit: format!("<= {MAX_RUST_LINES}"),
        is_met: rust <= MAX_RUST_LINES,
        places: Vec::new(),
    });
    let guest = product_code(&files, is_guest_python, strip_python).lines().count();
    println!("{:<44} {guest:>8}", "lines of product code: Python of the guest");
    println!("{:<44} {tokens:>8}", "tokens of product code: Rust");
    for Measurement { label, value, limit, is_met, places } in &measurements {
        let mark = if *is_met { "ok" } else { "FAILED" };
        println!("{label:<44} {value:>8}   wanted {limit:<12} {mark}");
        if !is_met {
            places.iter().take(MAX_LISTED).for_each(|place| println!("    {place}"));
            if places.len() > MAX_LISTED {
                println!("    … and {} more", places.len() - MAX_LISTED);
            }
        }
    }
    let failed = measurements.iter().filter(|measurement| !measurement.is_met).count();
    ensure!(failed == 0, "{failed} measurements are beyond their limits");
    Ok(())
}

/// Path and text of every file whose language counts.
fn tracked_files() -> Result<Vec<(String, String)>> {
    let listed = program("git", ["ls-files", "--cached", "--others", "--exclude-standard"]);
    let mut files = Vec::new();
    for path in listed.output()?.lines() {
        let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
        let is_text = extension.is_some_and(|extension| TEXT_EXTENSIONS.contains(&extension));
        let is_fixture_data = path.starts_with("fixtures/") && extension == Some("json");
        if !is_text || is_fixture_data || EXEMPT.iter().any(|exempt| path.starts_with(exempt)) {
            continue;
        }
        if let Ok(text) = std::fs::read_to_string(workspace_root().join(path)) {
            files.push((path.to_owned(), text));
        }
    }
    Ok(files)
}

fn measure(files: &[(String, String)], glossary: &str) -> Result<Vec<Measurement>> {
    let types = type_definitions(files)?;
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for definition in &types {
        by_name.entry(&definition.name).or_default().push(&definition.place);
    }
    let ambiguous: Vec<_> = by_name.iter().filter(|(_, places)| places.len() > 1).collect();
    let ambiguous_count: usize = ambiguous.iter().map(|(_, places)| places.len()).sum();
    let count = types.len().max(1) as f64;
    let percent = 100.0 * ambiguous_count as f64 / count;
    let mean = types.iter().map(|definition| definition.name.len()).sum::<usize>() as f64 / count;
    let participles: Vec<_> = types
        .iter()
        .chain(&python_classes(files)?)
        .filter(|definition| is_bare_participle(&definition.name))
        .map(|definition| format!("{} {}", definition.name, definition.place))
        .collect();
    let people = case_insensitive(PEOPLE)?;
    let without_people: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.clone(), people.replace_all(text, "people").into_owned()))
        .collect();
    let pronouns = occurrences(&without_people, &case_insensitive(PRONOUNS)?);
    let former = former_words(glossary);
    ensure!(!former.is_empty(), "{GLOSSARY} has no table of former words");
    let (type_names, words): (Vec<_>, Vec<_>) =
        former.iter().partition(|word| word.starts_with('`'));
    let words: Vec<_> = words.iter().map(|word| regex::escape(&split_words(word))).collect();
    let mut former = occurrences(files, &case_insensitive(&format!(r"\b({})\b", words.join("|")))?);
    let is_former_type = |name: &str| type_names.iter().any(|word| word.trim_matches('`') == name);
    former.extend(
        types
            .iter()
            .filter(|definition| is_former_type(&definition.name))
            .map(|definition| format!("{}: {}", definition.place, definition.name)),
    );
    let long = long_lines(files);
    Ok(vec![
        Measurement {
            label: "type names that are not unique",
            value: format!("{percent:.1} %"),
            limit: format!("< {MAX_AMBIGUOUS_PERCENT} %"),
            is_met: percent < MAX_AMBIGUOUS_PERCENT,
            places: ambiguous
                .iter()
                .map(|(name, places)| format!("{name}: {}", places.join(", ")))
                .collect(),
        },
        Measurement {
            label: "mean length of type names",
            value: format!("{mean:.1}"),
            limit: format!(">= {MIN_MEAN_NAME_LENGTH}"),
            is_met: mean >= MIN_MEAN_NAME_LENGTH,
            places: Vec::new(),
        },
        none_wanted("types that are a bare participle", participles),
        none_wanted("person pronouns for code", pronouns),
        none_wanted("former words", former),
        none_wanted("lines over 100 columns", long),
    ])
}

fn none_wanted(label: &'static str, places: Vec<String>) -> Measurement {
    Measurement {
        label,
        value: places.len().to_string(),
        limit: "0".to_owned(),
        is_met: places.is_empty(),
        places,
    }
}

fn case_insensitive(pattern: &str) -> Result<Regex> {
    Ok(RegexBuilder::new(pattern).case_insensitive(true).build()?)
}

/// Every type that a Rust file defines; associated types of traits and impls are not definitions.
fn type_definitions(files: &[(String, String)]) -> Result<Vec<TypeDefinition>> {
    let definition = Regex::new(
        r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(struct|enum|trait|union|type)\s+([A-Z][A-Za-z0-9]*)",
    )?;
    let mut found = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| is_rust(path)) {
        for (index, line) in text.lines().enumerate() {
            let Some(parts) = definition.captures(line) else { continue };
            if &parts[2] == "type" && !parts[1].is_empty() {
                continue;
            }
            let place = format!("{path}:{}", index + 1);
            found.push(TypeDefinition { name: parts[3].to_owned(), place });
        }
    }
    Ok(found)
}

/// The classes of our own Python; those of tests and benchmarks are code under test.
fn python_classes(files: &[(String, String)]) -> Result<Vec<TypeDefinition>> {
    let definition = Regex::new(r"^\s*class ([A-Z][A-Za-z0-9]*)")?;
    let is_test = |path: &str| ["/tests/", "/benches/"].iter().any(|part| path.contains(part));
    let is_ours = |path: &str| path.starts_with("crates/") && has_extension(path, &["py"]);
    let mut found = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| is_ours(path) && !is_test(path)) {
        for (index, line) in text.lines().enumerate() {
            let Some(parts) = definition.captures(line) else { continue };
            let place = format!("{path}:{}", index + 1);
            found.push(TypeDefinition { name: parts[1].to_owned(), place });
        }
    }
    Ok(found)
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

fn is_rust(path: &str) -> bool {
    has_extension(path, &["rs"])
}

fn is_bare_participle(name: &str) -> bool {
    let is_one_word = name.chars().filter(char::is_ascii_uppercase).count() == 1;
    is_one_word
        && (IRREGULAR_PARTICIPLES.contains(&name)
            || name.ends_with("ed") && !NOUNS_IN_ED.contains(&name))
}

fn occurrences(files: &[(String, String)], pattern: &Regex) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            if UNCHANGEABLE.iter().any(|text| line.contains(text)) {
                continue;
            }
            for hit in pattern.find_iter(&split_words(line)) {
                found.push(format!("{path}:{}: {}", index + 1, hit.as_str()));
            }
        }
    }
    found
}

/// The line with the words of its identifiers apart: `is_struck`, `ToldX` and `toldX` are two each.
fn split_words(line: &str) -> String {
    let mut words = String::with_capacity(line.len() + 8);
    let mut follows_lower = false;
    for character in line.chars() {
        if follows_lower && character.is_ascii_uppercase() {
            words.push(' ');
        }
        follows_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        words.push(if character == '_' { ' ' } else { character });
    }
    words
}

/// The left column of the glossary's last table. Words in backticks are names of types only.
fn former_words(glossary: &str) -> BTreeSet<String> {
    let (_, table) = glossary.split_once("## Former words").unwrap_or_default();
    table
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|row| row.split_once(" |"))
        .flat_map(|(former, _)| former.split(", "))
        .filter(|word| *word != "former")
        .map(str::to_owned)
        .collect()
}

/// Lines of code and prose that are too long; addresses cannot be broken.
fn long_lines(files: &[(String, String)]) -> Vec<String> {
    let counts =
        |path: &str| has_extension(path, &LINE_EXTENSIONS) && !path.starts_with("fixtures/");
    let mut found = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| counts(path)) {
        let is_generated = GENERATED_TABLES.contains(&path.as_str());
        for (index, line) in text.lines().enumerate() {
            let is_row = line.starts_with('|') && has_extension(path, &["md"]);
            let is_unbreakable = line.contains("://") || is_row && is_generated;
            let max_columns = if is_row { MAX_TABLE_COLUMNS } else { MAX_COLUMNS };
            if line.chars().count() > max_columns && !is_unbreakable {
                found.push(format!("{path}:{}", index + 1));
            }
        }
    }
    found
}

/// The lines of product code that are neither blank nor stripped.
fn product_code(
    files: &[(String, String)],
    is_product: fn(&str) -> bool,
    strip: fn(&str) -> String,
) -> String {
    let products = files.iter().filter(|(path, _)| is_product(path));
    let stripped: Vec<String> = products.map(|(_, text)| strip(text)).collect();
    let lines = stripped.iter().flat_map(|text| text.lines());
    lines.filter(|line| !line.trim().is_empty()).flat_map(|line| [line, "\n"]).collect()
}

fn is_product_rust(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("crates/")
        && path.contains("/src/")
        && is_rust(path)
        && !path.contains("/tests/")
        && !(name == "tests.rs" || name.ends_with("_tests.rs"))
}

fn is_guest_python(path: &str) -> bool {
    path.starts_with("crates/menace-sandbox/guest/")
        && Path::new(path).extension().is_some_and(|extension| extension == "py")
}

/// Without comments that have a line of their own, and without `#[cfg(test)]` modules.
fn strip_rust(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let opens_tests = code == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.trim_start().starts_with("mod "));
        if opens_tests {
            // rustfmt puts the closing brace below the first letter of the attribute.
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            if lines.next().is_some_and(|module| module.ends_with('{')) {
                lines.by_ref().find(|line| *line == end);
            }
        } else if !code.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Without comments that have a line of their own, and without docstrings.
fn strip_python(text: &str) -> String {
    let mut kept = String::new();
    let mut in_docstring = false;
    for line in text.lines() {
        let code = line.trim();
        let quotes = code.matches("\"\"\"").count();
        if in_docstring || code.starts_with("\"\"\"") {
            in_docstring ^= quotes == 1;
        } else if !code.starts_with('#') {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str, text: &str) -> Vec<(String, String)> {
        vec![(path.to_owned(), text.to_owned())]
    }

    #[test]
    fn types_are_found_and_associated_types_are_not() {
        let text =
            "pub(crate) struct Told;\nimpl X for Y {\n    type Item = u8;\n}\n    enum Inner {}";
        let types = type_definitions(&files("a.rs", text)).unwrap();
        let names: Vec<_> = types.iter().map(|definition| definition.name.as_str()).collect();
        assert_eq!(names, ["Told", "Inner"]);
    }

    #[test]
    fn a_participle_is_bare_only_when_it_stands_alone() {
        assert!(is_bare_participle("Told"));
        assert!(is_bare_participle("Asked"));
        assert!(!is_bare_participle("AskedQuestion"));
        assert!(!is_bare_participle("Seed"));
    }

    #[test]
    fn former_words_come_from_the_left_column_of_the_last_table() {
        let glossary =
            "| a | b |\n## Former words\n\n| former | now |\n|---|---|\n| x, y z | w |\n";
        let words: Vec<_> = former_words(glossary).into_iter().collect();
        assert_eq!(words, ["x", "y z"]);
    }

    #[test]
    fn words_count_as_whole_words_in_any_case() {
        let found = occurrences(
            &files("a.md", "Nobody knows\nanybodys"),
            &case_insensitive(PRONOUNS).unwrap(),
        );
        assert_eq!(found, ["a.md:1: Nobody"]);
    }

    #[test]
    fn words_inside_of_identifiers_count() {
        let text =
            "fn is_struck() {}\nstruct ToldX;\nlet unstruck = 1;\n#[serde(alias = \"told\")]";
        let found =
            occurrences(&files("a.rs", text), &case_insensitive(r"\b(struck|told)\b").unwrap());
        assert_eq!(found, ["a.rs:1: struck", "a.rs:2: Told"]);
    }

    #[test]
    fn a_word_in_backticks_is_the_name_of_a_type_only() {
        let glossary = "## Former words\n| former | now |\n|---|---|\n| `Worth`, struck | x |\n";
        let text = "struct Worth;\n// worth it\nstruct WorthMore;\n";
        let measurements = measure(&files("a.rs", text), glossary).unwrap();
        let former = measurements.iter().find(|one| one.label == "former words").unwrap();
        assert_eq!(former.places, ["a.rs:1: Worth"]);
    }

    #[test]
    fn tests_comments_and_blank_lines_are_no_product_code() {
        let text = "//! Doc.\n\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\nfn h() {}\n\
                    #[cfg(test)]\nmod more;\n";
        let product = |path| product_code(&files(path, text), is_product_rust, strip_rust);
        let count = |path| product(path).lines().count();
        assert_eq!(count("crates/a/src/lib.rs"), 2);
        assert_eq!(count("crates/a/src/tests.rs"), 0);
        assert_eq!(count("crates/a/tests/it.rs"), 0);
        let text = "\"\"\"Doc.\n\nmore\n\"\"\"\nx = 1\n# no\n\"\"\"One line.\"\"\"\ny = 2\n";
        let guest = files("crates/menace-sandbox/guest/a.py", text);
        assert_eq!(product_code(&guest, is_guest_python, strip_python).lines().count(), 2);
    }

    #[test]
    fn rows_of_tables_may_be_long_and_prose_may_not() {
        let long = "x".repeat(101);
        let found = long_lines(&files("a.md", &format!("{long}\n| {long} |\n| {long}{long} |\n")));
        assert_eq!(found, ["a.md:1", "a.md:3"]);
        assert_eq!(long_lines(&files("a.css", &long)), ["a.css:1"]);
    }

    #[test]
    fn users_may_be_called_who_and_processes_may_not() {
        let text = "users who run it\nwho waits\nThe people, whom\nsomeone\n";
        let glossary = "## Former words\n| former | now |\n|---|---|\n| struck | x |\n";
        let measurements = measure(&files("a.md", text), glossary).unwrap();
        let pronouns = measurements.iter().find(|one| one.label.contains("pronouns")).unwrap();
        assert_eq!(pronouns.places, ["a.md:2: who", "a.md:4: someone"]);
    }

    #[test]
    fn bare_participles_are_found_in_python() {
        let classes = python_classes(&files("crates/a/guest/b.py", "class Collected:\n")).unwrap();
        assert_eq!(classes[0].name, "Collected");
        let tests = python_classes(&files("crates/a/tests/b.py", "class Collected:\n")).unwrap();
        assert!(tests.is_empty());
    }
}
