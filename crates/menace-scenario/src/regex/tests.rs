//! Known patterns, and CPython's verdict on the texts that are made for them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;

const GROWTH_SCRIPT: &str = include_str!("growth.py");

const IGNORE_CASE: u32 = 2;
const MULTI_LINE: u32 = 8;
const DOT_ALL: u32 = 16;
const VERBOSE: u32 = 64;

fn pattern_use(pattern: &str, flags: u32, method: PatternMethod) -> PatternUse {
    PatternUse { pattern: pattern.to_owned(), flags, is_bytes: false, method }
}

fn bytes_use(pattern: &str, method: PatternMethod) -> PatternUse {
    PatternUse { is_bytes: true, ..pattern_use(pattern, 0, method) }
}

/// Patterns that search exponentially long.
fn exponential_patterns() -> Vec<PatternUse> {
    let matched = [
        r"(a+)+$",
        r"(a|a)*b",
        r"(a*)*b",
        r"(a|aa)+$",
        r"((?:a?)*b)*c",
        r"(?:a(b?|c?))*d",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"^id=(\w+\s?)*$",
        r"(?P<q>['\x22])(\\?.)*(?P=q)",
        r"(?:x{1,3}){2,}y",
        r"(?=(a+)+b)a",
        r"(?>(a+)+b)",
        r"(?:(a+)+b|a)",
        // The elements of jsbeautifier 1.14.0.
        concat!(
            r"[\s\S]*?<(\/?)([-a-zA-Z:0-9_.]+|{[\s\S]+?}|!\[CDATA\[[\s\S]*?\]\]|)",
            r"(\s+{[\s\S]+?}|\s+[-a-zA-Z:0-9_.]+|\s+[-a-zA-Z:0-9_.]+\s*=\s*",
            r#"('[^']*'|"[^"]*"|{[\s\S]+?}))*\s*(/?)\s*>"#
        ),
        // The domain of validators 0.12.5.
        concat!(
            r"^(:?(([a-zA-Z]{1})|([a-zA-Z]{1}[a-zA-Z]{1})|([a-zA-Z]{1}[0-9]{1})",
            r"|([0-9]{1}[a-zA-Z]{1})|([a-zA-Z0-9][-_a-zA-Z0-9]{0,61}[a-zA-Z0-9]))\.)+",
            r"([a-zA-Z]{2,13}|(xn--[a-zA-Z0-9]{2,30}))$"
        ),
    ];
    let searched = [r"\(\s*(\w+\s*,?\s*)*\)", r"<!--(?:-?[^>])*-->", r"x(?:[^\\']|\\.|\\)*'"];
    let matched = matched.map(|pattern| pattern_use(pattern, 0, PatternMethod::Match));
    let searched = searched.map(|pattern| pattern_use(pattern, 0, PatternMethod::Search));
    // The tags of Mako 1.2.1.
    let tag = r#"
        \<%     # opening tag
        ([\w\.\:]+)   # keyword
        ((?:\s+\w+|\s*=\s*|".*?"|'.*?')*)  # attributes
        \s*     # more whitespace
        (/)?>   # closing
    "#;
    // The options of python-multipart 0.0.6.
    let option = concat!(
        r#"(?:;|^)\s*([^\(\)<>@,;:\\"/\[\]\?=\{\} \t]+)\s*=\s*"#,
        r#"((?:[^\(\)<>@,;:\\"/\[\]\?=\{\} \t]+|"(?:\\.|[^"])*"))"#
    );
    matched
        .into_iter()
        .chain(searched)
        .chain([
            pattern_use(tag, IGNORE_CASE | DOT_ALL | VERBOSE, PatternMethod::Match),
            bytes_use(option, PatternMethod::Finditer),
            pattern_use("(a|a)*", 0, PatternMethod::Fullmatch),
            pattern_use(r"(?x) ( a + ) + [#]  # comment", 0, PatternMethod::Match),
        ])
        .collect()
}

/// Patterns whose search grows with at least this power of the size.
fn polynomial_patterns() -> Vec<(PatternUse, u32)> {
    let authenticate = concat!(
        r#"^(?:\s*(?:,\s*)?([^ \t\r\n=]+)\s*=\s*\"?((?<=\")(?:[^\\\"]|\\.)*?(?=\")"#,
        r#"|(?<!\")[^ \t\r\n,]+(?!\"))\"?)(.*)$"#
    );
    let complex = concat!(
        r"^\(?(?P<re>[\+\-]?\d*\.?\d*(e[\+\-]?\d+)?)??",
        r"(?P<im>[\+\-]?\d*\.?\d*(e[\+\-]?\d+)?j)?\)?$"
    );
    let mail = concat!(
        r"(([a-zA-Z0-9\_\-\.\+]+)@((\[[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.)",
        r"|(([a-zA-Z0-9\-]+\.)+))([a-zA-Z]{2,4}|[0-9]{1,3})(\]?))(\?subject=\S+)?"
    );
    let search = |pattern, degree| (pattern_use(pattern, 0, PatternMethod::Search), degree);
    let matched = |pattern, degree| (pattern_use(pattern, 0, PatternMethod::Match), degree);
    vec![
        matched(r"\d*\d*x", 2),
        matched(r"a*b?a*b?a*$", 3),
        matched(r"^\s*,?\s*=", 2),
        matched(r"(ab)*(aba?b)*c", 2),
        matched(r".*<.*>", 2),
        // mpmath 1.2.1, httplib2 0.18.1.
        matched(complex, 2),
        matched(authenticate, 3),
        search(r"\s+$", 2),
        search(r"[a-z]+\d", 2),
        search(r"<a[^>]*>", 2),
        search(r"(?:[^\d]*(\d+)[^\d]*)+", 2),
        // feedparser 6.0.11, starlette 0.49.0.
        search(mail, 2),
        search(r"(\d*)-(\d*)", 2),
        (pattern_use(r"^[ \t]*\n+x", MULTI_LINE, PatternMethod::Search), 2),
        (pattern_use(r"[ \t]+$", MULTI_LINE, PatternMethod::Sub), 2),
        (bytes_use(r"[\x80-\xff]+;", PatternMethod::Search), 2),
    ]
}

fn safe_patterns() -> Vec<PatternUse> {
    let matched = [
        r"\d{4}-\d{2}-\d{2}",
        r"^[a-z]+$",
        r"a+b+c+",
        r"(?:a+;)+$",
        r"^(?:[^,]*,)*[^,]*$",
        r"(a|b)*c",
        r"\w+\s*=\s*\d+",
        r"(?:a?)b",
        r"(a+)+",
        r"(x+x+)*",
        r"",
        r"[^\n]*",
    ];
    let searched = [r"^\d+$", r"\bfoo\w*;", r"abc", r"\d{1,3}x", r"^\s+|x", r"\w*"];
    let matched = matched.map(|pattern| pattern_use(pattern, 0, PatternMethod::Match));
    let searched = searched.map(|pattern| pattern_use(pattern, 0, PatternMethod::Search));
    let one_class = pattern_use("(a|A)+b", IGNORE_CASE, PatternMethod::Match);
    matched.into_iter().chain(searched).chain([one_class]).collect()
}

#[test]
fn exponential_patterns_have_an_exponential_attack_that_comes_first() {
    for used in exponential_patterns() {
        let attacks = find_attacks(&used);
        let first = attacks.first();
        let is_exponential = first.is_some_and(|one| one.growth == AttackGrowth::Exponential);
        assert!(is_exponential, "{}: {attacks:?}", used.pattern);
    }
}

#[test]
fn polynomial_patterns_have_an_attack_of_their_degree() {
    for (used, degree) in polynomial_patterns() {
        let attacks = find_attacks(&used);
        let found = attacks.first().map(|one| one.growth);
        let Some(AttackGrowth::Polynomial { degree: found }) = found else {
            panic!("{}: {attacks:?}", used.pattern);
        };
        assert!(found >= degree, "{}: {attacks:?}", used.pattern);
    }
}

#[test]
fn safe_patterns_have_no_attack() {
    for used in safe_patterns() {
        assert_eq!(find_attacks(&used), [], "{}", used.pattern);
    }
}

#[test]
fn attacks_are_few_and_the_slowest_come_first() {
    let used = pattern_use(r"(\w+\s*)*(\d*\d*)*\s*=\s*\s*$", 0, PatternMethod::Search);
    let attacks = find_attacks(&used);
    assert!((2..=6).contains(&attacks.len()), "{attacks:?}");
    let rank = |one: &AttackText| match one.growth {
        AttackGrowth::Exponential => 0,
        AttackGrowth::Polynomial { degree } => 100 - degree,
    };
    assert!(attacks.is_sorted_by_key(rank), "{attacks:?}");
}

#[test]
fn what_python_refuses_has_no_attacks() {
    for pattern in ["(", "[a", "a**", "(?P<n>a)(?P=m)(b*)*c", r"\", "(?<n", "(?z)", "*a", ")"] {
        assert_eq!(find_attacks(&pattern_use(pattern, 0, PatternMethod::Search)), [], "{pattern}");
    }
}

#[test]
fn large_patterns_are_given_up_in_time() {
    let start = std::time::Instant::now();
    for pattern in [
        "(a*)*".repeat(2_000),
        "(".repeat(3_000),
        format!("(?:{})*x", "a*b|".repeat(2_000)),
        format!("(?:{}a){{1000}}", "(?:".repeat(50) + &"a*){9}".repeat(50)),
        r"\w*[^x]?".repeat(1_200),
        "(?:a|b|ab|ba|.){3,}".repeat(500),
        "[a-z]{0,1000}".repeat(700),
    ] {
        find_attacks(&pattern_use(&pattern, IGNORE_CASE, PatternMethod::Search));
    }
    // Far above what it takes: it would be hours without limits.
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

/// CPython's verdict for each attack: does its search grow as it says?
fn measured_in_python(uses: &[PatternUse], attacks: &[Vec<AttackText>]) -> Vec<Vec<bool>> {
    let cases: Vec<serde_json::Value> = uses
        .iter()
        .zip(attacks)
        .map(|(used, attacks)| {
            let attacks: Vec<serde_json::Value> = attacks
                .iter()
                .map(|one| {
                    serde_json::json!({
                        "prefix": one.prefix, "pump": one.pump, "suffix": one.suffix,
                        "is_exponential": one.growth == AttackGrowth::Exponential,
                    })
                })
                .collect();
            let method = match used.method {
                PatternMethod::Match => "match",
                PatternMethod::Fullmatch => "fullmatch",
                _ => "search",
            };
            serde_json::json!({
                "pattern": used.pattern, "flags": used.flags, "is_bytes": used.is_bytes,
                "method": method, "attacks": attacks,
            })
        })
        .collect();
    let mut python = Command::new("python3")
        .args(["-I", "-c", GROWTH_SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed to test what is made for it");
    let mut stdin = python.stdin.take().expect("a pipe");
    stdin.write_all(&serde_json::to_vec(&cases).expect("JSON")).expect("python3 reads");
    drop(stdin);
    let output = python.wait_with_output().expect("python3 ends");
    serde_json::from_slice(&output.stdout).expect("a list")
}

#[test]
fn python_searches_as_long_as_the_attacks_say() {
    let polynomial = polynomial_patterns().into_iter().map(|(used, _)| used);
    // CPython 3.11 and later only.
    let is_general = |used: &PatternUse| !used.pattern.contains("(?>");
    let uses: Vec<PatternUse> =
        exponential_patterns().into_iter().chain(polynomial).filter(is_general).collect();
    let attacks: Vec<Vec<AttackText>> =
        uses.iter().map(|used| find_attacks(used).into_iter().take(1).collect()).collect();
    let measured = measured_in_python(&uses, &attacks);
    let not_slow: Vec<(&str, &Vec<AttackText>)> = uses
        .iter()
        .zip(&attacks)
        .zip(&measured)
        .filter(|(_, slow)| !slow.contains(&true))
        .map(|((used, attacks), _)| (used.pattern.as_str(), attacks))
        .collect();
    assert!(not_slow.is_empty(), "{not_slow:#?}");
}

proptest! {
    #[test]
    fn no_pattern_makes_it_panic(
        pattern in r"(\PC|[\\\[\](){}*+?|^$.,:=!<>#a-cwsdbBAZ0-9-]){0,60}",
        flags in 0_u32..512,
        is_bytes: bool,
    ) {
        for method in [PatternMethod::Match, PatternMethod::Search, PatternMethod::Fullmatch] {
            let used = PatternUse { pattern: pattern.clone(), flags, is_bytes, method };
            let attacks = find_attacks(&used);
            prop_assert!(attacks.len() <= 6 && attacks.iter().all(|one| !one.pump.is_empty()));
            let is_byte = |char: char| u32::from(char) < 256;
            let has_bytes =
                |one: &AttackText| one.prefix.chars().chain(one.pump.chars()).all(is_byte);
            prop_assert!(!is_bytes || attacks.iter().all(has_bytes), "no bytes");
        }
    }
}
