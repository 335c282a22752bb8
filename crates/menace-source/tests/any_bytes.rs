//! Whatever stands in a `.py` file, the analysis ends with a report, and a survey with hints.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

#[allow(unreachable_pub, reason = "shared with the targets of `cargo xtask fuzz`")]
#[path = "../../../fuzz/src/ignore_files.rs"]
mod ignore_files;

use std::fs;

use menace_source::{AnalysisOptions, ScannerChoice, analyze};
use proptest::prelude::*;

/// Analyses one file with these bytes beside one that is fine.
fn analyze_bytes(bytes: &[u8]) -> menace_source::Analysis {
    let repository = tempfile::tempdir().unwrap();
    fs::write(repository.path().join("any.py"), bytes).unwrap();
    fs::write(repository.path().join("fine.py"), "import any\ndef f(x: any.A): pass\n").unwrap();
    let options =
        AnalysisOptions { scanner: ScannerChoice::Builtin, jobs: 1, ..AnalysisOptions::default() };
    let analysis = analyze(repository.path(), &options, &|_, _| {}).unwrap();
    assert_eq!(analysis.modules.len(), 2);
    assert_eq!(analysis.modules[1].error, None);
    let survey = analysis.survey().unwrap();
    survey.classes();
    survey.type_names();
    for module in &analysis.modules {
        assert_eq!(survey.hints(module).unwrap().len(), module.sections.len());
    }
    drop(survey);
    analysis
}

/// Pieces of Python in a random order.
fn shuffled_python() -> impl Strategy<Value = String> {
    const PYTHON_PIECES: &[&str] = &[
        "def ",
        "class ",
        "async ",
        "await ",
        "lambda ",
        "yield ",
        "return ",
        "import ",
        "from ",
        "a",
        "b",
        "Foo",
        "__all__",
        "self",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        ".",
        "=",
        ":=",
        "->",
        "*",
        "**",
        "@",
        "+",
        "-",
        "if ",
        "else",
        "elif ",
        "for ",
        "in ",
        "while ",
        "try",
        "except ",
        "finally",
        "with ",
        "as ",
        "match ",
        "case ",
        "global ",
        "nonlocal ",
        "del ",
        "\"",
        "'",
        "\"\"\"",
        "f\"",
        "f'{",
        "}'",
        "rb'",
        "\\",
        "\n",
        "\n    ",
        "\n        ",
        "\t",
        "\r\n",
        "\x0c",
        "#",
        "# type: ignore",
        "# nosec",
        "# noqa: S101",
        "0",
        "1e400",
        "0x",
        "1_0",
        "j",
        "é",
        "\u{feff}",
        "\u{2028}",
        "...",
        ";",
        "None",
        "type ",
        "exec(",
        "eval(",
        "pickle.loads(",
        "subprocess.run(",
        "shell=True",
        "assert ",
    ];
    proptest::collection::vec(proptest::sample::select(PYTHON_PIECES), 0..60)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_become_a_report(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        analyze_bytes(&bytes);
    }

    #[test]
    fn any_text_becomes_a_report(text in "\\PC{0,120}") {
        analyze_bytes(text.as_bytes());
    }

    #[test]
    fn any_ignore_file_leaves_a_report(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "([*?!\\[\\]{}/a.-]{0,12}\n){0,6}".prop_map(String::into_bytes),
        ],
        name in proptest::sample::select(vec![".gitignore", ".git/info/exclude", ".git"]),
    ) {
        let repository = tempfile::tempdir().unwrap();
        let path = repository.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        fs::write(repository.path().join("a.py"), "x = 1\n").unwrap();
        let options = AnalysisOptions {
            scanner: ScannerChoice::Builtin,
            jobs: 1,
            ..AnalysisOptions::default()
        };
        let analysis = analyze(repository.path(), &options, &|_, _| {}).unwrap();
        prop_assert!(analysis.modules.len() <= 1);
    }

    #[test]
    fn shuffled_python_becomes_a_report(text in shuffled_python()) {
        let analysis = analyze_bytes(text.as_bytes());
        let module = &analysis.modules[0];
        if module.error.is_none() {
            prop_assert!(module.code_metrics.maintainability.is_finite());
            prop_assert!(module.code_metrics.entropy.is_finite());
            prop_assert!(!module.sections.is_empty());
        }
    }
}

#[test]
fn a_hundred_megabytes_of_one_line_become_an_error() {
    let mut line = b"x = '".to_vec();
    line.resize(100 << 20, b'a');
    line.push(b'\'');
    let analysis = analyze_bytes(&line);
    let error = analysis.modules[0].error.as_ref().unwrap();
    assert_eq!((error.file.as_str(), error.line), ("any.py", None));
    assert!(error.reason.contains("10 MiB"), "{}", error.reason);
}

#[test]
fn the_longest_line_that_is_read_is_understood() {
    let mut line = b"x = '".to_vec();
    line.resize(menace_source::MAX_FILE_BYTES as usize - 1, b'a');
    line.push(b'\'');
    assert_eq!(analyze_bytes(&line).modules[0].error, None);
}

#[test]
fn bottomless_nesting_becomes_an_error() {
    for text in [
        format!("x = {}", "-".repeat(1_000_000) + "1"),
        format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("x = {}", "lambda: ".repeat(200_000) + "1"),
        format!("x = a{}", "()".repeat(200_000)),
    ] {
        let analysis = analyze_bytes(text.as_bytes());
        let error = analysis.modules[0].error.as_ref().unwrap();
        assert_eq!(error.line, Some(1));
        assert!(error.reason.contains("nested"), "{}", error.reason);
    }
}

#[test]
fn nesting_up_to_the_limit_is_understood() {
    for text in [
        format!("x = 1{}\n", " + 1".repeat(9_900)),
        format!("def f(x):\n    return x{}\n", ".a".repeat(9_900)),
        format!("def f(x):\n    return x{}\n", "()".repeat(4_900)),
        format!("def f(x):\n    isinstance(x, int{})\n", " | int".repeat(9_900)),
        format!("def f(x):\n    return {}x{}\n", "f([".repeat(2_400), "])".repeat(2_400)),
    ] {
        assert_eq!(analyze_bytes(text.as_bytes()).modules[0].error, None, "{}", &text[..40]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_ignore_files_end_the_walk(
        pieces in proptest::collection::vec(
            prop_oneof![
                3 => "([*?!/\\[\\]{}a-c.\\\\ #-]|\\*\\*|\n){0,40}",
                2 => "gitdir: (\\./|\\.\\./|/)?[a-c/.]{0,8}\n?",
                1 => any::<String>(),
            ],
            0..3,
        )
    ) {
        let checkout = tempfile::tempdir().unwrap();
        ignore_files::read_all(pieces.join("\0").as_bytes(), checkout.path());
    }

    #[test]
    fn ignore_files_of_any_bytes_end_the_walk(
        bytes in proptest::collection::vec(any::<u8>(), 0..100)
    ) {
        let checkout = tempfile::tempdir().unwrap();
        ignore_files::read_all(&bytes, checkout.path());
    }
}
