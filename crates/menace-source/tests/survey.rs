//! A survey of real code: the standard library, and a fixture with its tests.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod test_venv;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use menace_model::{ClassKind, ParamUse, SectionHints};
use menace_source::{Analysis, AnalysisOptions, ScannerChoice, analyze};

fn analyze_repository(repository: &Path, jobs: usize) -> Analysis {
    let options =
        AnalysisOptions { scanner: ScannerChoice::Builtin, jobs, ..AnalysisOptions::default() };
    analyze(repository, &options, &|_, _| {}).unwrap()
}

fn standard_library() -> PathBuf {
    let python = test_venv::venv_directory().join("bin/python");
    let script = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let output = Command::new(python).args(["-I", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn collect_all_hints(analysis: &Analysis) -> Vec<Vec<SectionHints>> {
    let survey = analysis.survey().unwrap();
    analysis.modules.iter().map(|module| survey.hints(module).unwrap()).collect()
}

#[test]
fn the_standard_library_gives_hints_for_every_section() {
    let analysis = analyze_repository(&standard_library(), 0);
    let hints = collect_all_hints(&analysis);
    let classes = analysis.survey().unwrap().classes();

    let mut params = 0;
    let mut used = 0;
    let mut with_sites = 0;
    for (module, hints) in analysis.modules.iter().zip(&hints) {
        assert_eq!(module.sections.len(), hints.len(), "{}", module.path);
        for (section, hints) in module.sections.iter().zip(hints) {
            let names = section.params.iter().map(|param| &param.name);
            assert!(names.eq(hints.params.iter().map(|param| &param.name)), "{}", section.id);
            params += hints.params.len();
            used += hints.params.iter().filter(|param| !param.uses.is_empty()).count();
            with_sites += usize::from(!hints.call_sites.is_empty());
        }
    }
    assert!(params > 20_000 && used * 3 > params * 2, "{used} of {params} parameters have a use");
    assert!(with_sites > 3_000, "{with_sites}");
    assert!(classes.0.len() > 3_000, "{}", classes.0.len());
    let format = classes.get("plistlib.PlistFormat").unwrap();
    assert_eq!(format.kind, ClassKind::Enum);
    assert_eq!(format.members, ["FMT_XML", "FMT_BINARY"]);
    let result = classes.get("urllib.parse.SplitResult").unwrap();
    let fields: Vec<&str> = result.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, ["scheme", "netloc", "path", "query", "fragment"]);
}

#[test]
fn a_survey_is_the_same_each_time_and_with_any_number_of_threads() {
    let library = standard_library();
    let repository = tempfile::tempdir().unwrap();
    for package in
        ["email", "json", "logging", "test/test_email", "test/test_json", "urllib", "xml"]
    {
        copy_directory(&library.join(package), &repository.path().join(package));
    }
    let (one, other) =
        (analyze_repository(repository.path(), 1), analyze_repository(repository.path(), 3));
    assert!(one.modules.len() > 50, "{}", one.modules.len());
    let show = |analysis: &Analysis| {
        let survey = analysis.survey().unwrap();
        let all = (collect_all_hints(analysis), survey.classes(), survey.type_names());
        serde_json::to_string(&all).unwrap()
    };
    assert!(show(&one) == show(&other), "a survey differs from run to run");
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_directory(&from, &to);
        } else if from.extension().is_some_and(|extension| extension == "py") {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// The lines that a reader would write down about the fixture, not all that was found.
#[test]
fn the_bookshop_tells_how_it_is_used() {
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bookshop");
    let analysis = analyze_repository(&shop, 1);
    let hints = collect_all_hints(&analysis);
    let of = |id: &str| {
        let all = analysis.modules.iter().zip(&hints);
        let mut all = all.flat_map(|(module, hints)| module.sections.iter().zip(hints));
        all.find(|(section, _)| section.id.as_str() == id).unwrap().1
    };
    let uses = |id: &str, param: usize| format!("{:?}", of(id).params[param].uses);

    let price = of("bookshop/pricing.py::parse_price");
    assert_eq!(price.call_sites[0].args, ["'EUR 12,50'"]);
    assert!(price.literals.strings.contains(&"GBP".to_owned()));
    let prefix = ParamUse::MethodWith { name: "startswith".into(), argument: "'USD'".into() };
    assert!(price.params[0].uses.contains(&prefix), "{:?}", price.params[0].uses);

    let discount = of("bookshop/pricing.py::discount");
    assert_eq!(
        discount.call_sites[0].args,
        [
            "([bookshop.models.Book('Emma', 'Jane Austen', decimal.Decimal(40))] * 4)",
            "bookshop.models.Customer('A', 'a@example.org', loyal=True)",
        ]
    );
    let books = uses("bookshop/pricing.py::discount", 0);
    assert!(books.contains("Item, inner_use: Attribute(\"asking_price\")"), "{books}");

    let row = uses("bookshop/models.py::Book.from_row", 0);
    for key in ["title", "author", "price", "condition"] {
        assert!(row.contains(&format!("Key({key:?})")), "{row}");
    }
    let database = uses("bookshop/web/api.py::Api.__init__", 0);
    assert!(database.contains("find_by_title"), "{database}");
    let path = uses("bookshop/web/api.py::Api.handle", 1);
    assert!(path.contains("Equals(\"'/plugins'\")"), "{path}");
}
