//! The indentation of templates. A line is at most four columns deeper than the tag or statement
//! around it, and what ends that one starts at its column.

use std::path::Path;

use regex::Regex;

/// Elements without an end.
const VOID_ELEMENTS: [&str; 6] = ["br", "img", "input", "link", "meta", "wbr"];
const MAX_STEP: usize = 4;

/// A tag or a statement that has not ended.
struct OpenBlock {
    name: String,
    indent: usize,
    starts_line: bool,
}

/// The lines that are indented badly, each with its number.
fn badly_indented(template: &str) -> Vec<String> {
    let comment = Regex::new(r"\{#.*?#\}").unwrap();
    let tag = r"<(?P<end_tag>/?)(?P<tag>[a-z][a-z0-9]*)";
    let statement = r"\{%-?\s*(?P<end>end)?(?P<statement>if|elif|else|for|macro|block|call)\b";
    let token = Regex::new(&format!("{tag}|{statement}")).unwrap();
    let mut open: Vec<OpenBlock> = Vec::new();
    let mut bad = Vec::new();
    for (number, line) in template.lines().enumerate() {
        let text = comment.replace_all(line, "");
        let indent = line.len() - line.trim_start_matches(' ').len();
        let around = open.last().map_or(0, |block| block.indent);
        let mut is_good = line == line.trim_end()
            && !line.contains('\t')
            && indent.is_multiple_of(2)
            && (line.is_empty() || (around..=around + MAX_STEP).contains(&indent));
        for found in token.captures_iter(&text) {
            let name = found.name("tag").or(found.name("statement")).unwrap().as_str();
            let starts_line = found.get(0).unwrap().start() == indent;
            let is_branch = ["elif", "else"].contains(&name);
            let is_end = found.name("end_tag").is_some_and(|slash| !slash.is_empty())
                || found.name("end").is_some();
            if is_branch || is_end {
                let block = open.last().unwrap_or_else(|| panic!("nothing is open: {line}"));
                assert!(is_branch || block.name == name, "`{}` is open: {line}", block.name);
                is_good &= !starts_line || (block.starts_line && block.indent == indent);
                if is_end {
                    open.pop();
                }
            } else if !VOID_ELEMENTS.contains(&name) {
                open.push(OpenBlock { name: name.to_owned(), indent, starts_line });
            }
        }
        if !is_good {
            bad.push(format!("{}: {line}", number + 1));
        }
    }
    assert!(open.is_empty(), "`{}` is not ended", open.last().unwrap().name);
    bad
}

#[test]
fn every_template_is_indented() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut checked = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bad = badly_indented(&std::fs::read_to_string(&path).unwrap());
        assert!(bad.is_empty(), "{}:\n{}", path.display(), bad.join("\n"));
        checked += 1;
    }
    assert!(checked >= 17, "{checked} templates");
}

#[test]
fn a_line_that_is_indented_badly_is_found() {
    let good = "<ul>\n{% for row in rows %}\n  <li>{{ row }}</li>\n{% endfor %}\n</ul>\n";
    assert_eq!(badly_indented(good), [""; 0]);
    for (right, wrong) in [
        ("  <li>", "   <li>"),
        ("  <li>", "      <li>"),
        ("  <li>", "\t<li>"),
        ("{% endfor %}", "  {% endfor %}"),
        ("</ul>", "  </ul>"),
        ("</li>\n", "</li> \n"),
        ("{% endfor %}", "  {% else %}\n  <li>none</li>\n{% endfor %}"),
    ] {
        let template = good.replace(right, wrong);
        assert_eq!(badly_indented(&template).len(), 1, "{template}");
    }
}
