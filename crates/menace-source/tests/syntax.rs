//! What each version of Python added to the syntax is understood, whatever Python is installed.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

use std::fs;

use menace_source::{AnalysisOptions, ScannerChoice, analyze};

const SYNTAX_SAMPLES: &[(&str, &str)] = &[
    (
        "3.8 walrus, positional-only, f-string =",
        "def f(a, /, b):\n    if (n := a) and print(f'{n=}'): pass\n",
    ),
    ("3.9 any decorator, dict union", "@buttons[0].clicked.connect\ndef f(): return {} | {}\n"),
    (
        "3.10 match",
        "match x:\n    case {'a': [1, *rest], **more} | Point(x=0): pass\n    case str() as s if \
         s: pass\n    case _: pass\n",
    ),
    ("3.10 parenthesised with", "with (open('a') as a, open('b') as b,): pass\n"),
    (
        "3.11 exception groups, star in subscript",
        "try: pass\nexcept* (A, B) as e: pass\ndef f(*args: *Ts): x[*y]\n",
    ),
    (
        "3.12 type parameters, type, nested f-strings",
        "type A[T: int, *Ts, **P] = list[T]\nclass C[T]: pass\n\
         def f[T](x: T) -> T: return f'{f'{x}'}' f'{\n1}'\n",
    ),
    ("3.13 defaults of type parameters", "class C[T = int, *Ts = *tuple[int]]: pass\n"),
    ("3.14 template strings, bare except tuples", "x = t'{a}'\ntry: pass\nexcept A, B: pass\n"),
    (
        "async comprehensions and generators",
        "async def f():\n    async with a: yield [x async for x in y if await x]\n",
    ),
    ("soft keywords as names", "match = case = type = _ = 1\nprint(match, case, type)\n"),
];

#[test]
fn every_version_is_understood() {
    let repository = tempfile::tempdir().unwrap();
    for (number, (_, source)) in SYNTAX_SAMPLES.iter().enumerate() {
        fs::write(repository.path().join(format!("m{number:02}.py")), source).unwrap();
    }
    let options = AnalysisOptions { scanner: ScannerChoice::Builtin, ..AnalysisOptions::default() };
    let analysis = analyze(repository.path(), &options, &|_, _| {}).unwrap();
    for (module, (what, _)) in analysis.modules.iter().zip(SYNTAX_SAMPLES) {
        assert_eq!(module.error, None, "{what}");
    }
    assert_eq!(analysis.modules.len(), SYNTAX_SAMPLES.len());
}
