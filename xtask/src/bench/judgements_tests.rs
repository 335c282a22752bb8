use super::*;

fn finding(section: &str, kind: &str, message: &str) -> ReportedFinding {
    let exception = exception_of(message).map(str::to_owned);
    ReportedFinding {
        section: format!("shop/cart.py::{section}"),
        kind: kind.to_owned(),
        message: message.to_owned(),
        exception,
        ..ReportedFinding::default()
    }
}

fn list(text: &str) -> JudgementList {
    JudgementList::parse(text).unwrap()
}

fn root_of(list: &JudgementList, finding: &ReportedFinding) -> Option<String> {
    list.find("shop", finding).map(|judged| judged.root)
}

#[test]
fn the_judgements_of_the_repository_are_read() {
    let path = crate::run::workspace_root().join("fixtures/precision/judged.csv");
    let list = list(&std::fs::read_to_string(path).unwrap());
    let count = |class| list.judgements.iter().filter(|judged| judged.class == class).count();
    assert!(count(JudgedClass::A) >= 5 && count(JudgedClass::D) >= 5);
    for judgement in &list.judgements {
        let key = (judgement.package.clone(), judgement.root.clone());
        let has_root = list.classes.contains_key(&key);
        let is_noise = judgement.class == JudgedClass::C;
        assert!(has_root || is_noise, "no root of {} {}", judgement.package, judgement.section);
    }
}

#[test]
fn findings_match_by_section_kind_and_type_of_the_exception() {
    let list = list("shop,Cart.add,unhandled,KeyError: 'a',A,missing-key\n");
    let found = |section, kind, message| root_of(&list, &finding(section, kind, message));
    let root = Some("missing-key".to_owned());
    assert_eq!(found("Cart.add", "unhandled", "KeyError: 'a'"), root);
    assert_eq!(found("Cart.add", "unhandled", "KeyError: 'other'"), root);
    assert_eq!(found("Cart.add", "unhandled", "TypeError: x"), None);
    assert_eq!(found("Cart.add", "race", "KeyError: 'a'"), None);
    assert_eq!(found("Cart.remove", "unhandled", "KeyError: 'a'"), None);
    assert_eq!(list.find("other", &finding("Cart.add", "unhandled", "KeyError: 'a'")), None);
}

#[test]
fn the_longest_prefix_of_the_message_decides() {
    let list = list(
        "shop,Cart.add,unhandled,TypeError: a,C,short\n\
         shop,Cart.add,unhandled,TypeError: a b,A,long\n\
         shop,Cart.*,unhandled,TypeError: a b c,B,pattern\n",
    );
    let found = |section, message| root_of(&list, &finding(section, "unhandled", message));
    assert_eq!(found("Cart.add", "TypeError: a b c").as_deref(), Some("long"));
    assert_eq!(found("Cart.add", "TypeError: a c").as_deref(), Some("short"));
    // Two roots, and no prefix that says which.
    assert_eq!(found("Cart.add", "TypeError: z"), None);
    assert_eq!(found("Cart.get", "TypeError: a b c").as_deref(), Some("pattern"));
    assert_eq!(found("Cart.get", "TypeError: z"), None);
}

#[test]
fn a_pattern_of_sections_and_kinds_matches_what_nothing_else_names() {
    let list = list("shop,Cart.*,*,,C-dup,abstract\nshop,Cart.add,hang,,A,endless\n");
    let found = |section, kind| root_of(&list, &finding(section, kind, "at it"));
    assert_eq!(found("Cart.add", "hang").as_deref(), Some("endless"));
    assert_eq!(found("Cart.add", "slow").as_deref(), Some("abstract"));
    assert_eq!(found("Carts", "slow"), None);
}

#[test]
fn a_duplicate_has_the_class_of_its_root() {
    let list = list("shop,a,hang,,A,endless\nshop,b,hang,,C-dup,endless\nshop,c,hang,,C,\n");
    let judged = list.find("shop", &finding("b", "hang", "at it")).unwrap();
    assert_eq!((judged.class, judged.is_duplicate), (JudgedClass::A, true));
    assert_eq!(judged.label(), "A-dup");
    let roots: Vec<_> = list.roots("shop", JudgedClass::A).into_iter().collect();
    assert_eq!(roots, [("endless".to_owned(), "a")]);
}

#[test]
fn lines_that_are_wrong_are_errors() {
    for (wrong, why) in [
        ("shop,a,hang,", "expected"),
        ("shop,a,hang,,E,", "unknown class"),
        ("shop,a,hang,\"x,A,", "quote"),
        ("shop,a,hang,,A,r\nshop,b,hang,,B,r", "two classes"),
        ("shop,a,hang,,A,r,more", "expected"),
    ] {
        let error = format!("{:#}", JudgementList::parse(wrong).unwrap_err());
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn cells_may_hold_commas_and_quotes() {
    let cells = parse_cells("a,\"b, \"\"c\"\"\",,d").unwrap();
    assert_eq!(cells, ["a", "b, \"c\"", "", "d"]);
}
