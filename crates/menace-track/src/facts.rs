//! Facts about modules and sections that are known without calling them.

use std::collections::HashMap;

use menace_model::{AnalyzedModule, CodeMetrics, SectionId, StaticFinding, is_test_path};

use crate::ImpactTable;

#[derive(Debug, Clone, PartialEq)]
pub struct ModuleFacts {
    pub path: String,
    /// Dotted name.
    pub name: String,
    pub code_metrics: CodeMetrics,
    pub findings: Vec<StaticFinding>,
    pub lints: u32,
    /// How many modules import it.
    pub fan_in: u32,
    /// How severe failures in this module are, from 0 to 1 (impact table).
    pub severity: f64,
    pub sections: Vec<SectionFacts>,
    /// The complexity of the last source change, if there was one.
    pub source_change_size: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SectionFacts {
    pub id: SectionId,
    pub start_line: u32,
    pub end_line: u32,
    /// How many places in other modules call it.
    pub fan_in: u32,
    /// Lines that can run, as the interpreter reports them; `None` when it was not queried.
    pub lines: Option<Vec<u32>>,
}

/// The rule that reports each `assert`.
const ASSERT_RULE: &str = "B101";

/// Whether a finding counts as a risk; `assert` in tests does not.
pub fn is_risk(finding: &StaticFinding, module: &AnalyzedModule) -> bool {
    finding.rule != ASSERT_RULE || !is_test_path(&module.path)
}

impl ModuleFacts {
    /// Facts of all modules of a repository, since callers of a section may be in any of them.
    pub fn from_reports(modules: &[AnalyzedModule], impact: &ImpactTable) -> Vec<Self> {
        let mut callers: HashMap<(&str, &str), u32> = HashMap::new();
        for section in modules.iter().flat_map(|module| &module.sections) {
            for call in &section.calls {
                if let Some(path) = &call.path {
                    *callers.entry((path, &call.target)).or_default() += 1;
                }
            }
        }
        let module = |report: &AnalyzedModule| Self {
            path: report.path.clone(),
            name: report.name.clone(),
            code_metrics: report.code_metrics,
            findings: report.findings.iter().filter(|one| is_risk(one, report)).cloned().collect(),
            lints: report.lints.len() as u32,
            fan_in: report.imported_by.len() as u32,
            severity: impact.severity(&report.path, &report.name),
            sections: report
                .sections
                .iter()
                .map(|section| {
                    let target = format!("{}.{}", report.name, section.id.qualname());
                    let calls = callers.get(&(report.path.as_str(), target.as_str()));
                    SectionFacts {
                        id: section.id.clone(),
                        start_line: section.start_line,
                        end_line: section.end_line,
                        fan_in: calls.copied().unwrap_or_default(),
                        lines: None,
                    }
                })
                .collect(),
            source_change_size: None,
        };
        modules.iter().map(module).collect()
    }

    pub(crate) fn weight(&self) -> f64 {
        1.0 + f64::from(self.fan_in)
    }
}

impl SectionFacts {
    pub(crate) fn weight(&self) -> f64 {
        1.0 + f64::from(self.fan_in)
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{
        CallEdge, FindingConfidence, FindingSeverity, Section, SectionKind, StaticFinding,
    };

    use super::*;

    fn section(path: &str, name: &str, calls: &[&str]) -> Section {
        Section {
            id: SectionId::new(path, name),
            kind: SectionKind::Function,
            is_async: false,
            is_generator: false,
            line: 1,
            start_line: 1,
            end_line: 2,
            decorators: Vec::new(),
            docstring: None,
            params: Vec::new(),
            returns: None,
            complexity: 1,
            calls: calls
                .iter()
                .map(|target| CallEdge {
                    target: (*target).to_owned(),
                    path: Some("shop/cart.py".to_owned()),
                    line: 2,
                })
                .collect(),
            construction: None,
        }
    }

    fn module(path: &str, name: &str, sections: Vec<Section>) -> AnalyzedModule {
        AnalyzedModule {
            path: path.to_owned(),
            name: name.to_owned(),
            sections,
            imports: Vec::new(),
            imported_by: Vec::new(),
            code_metrics: CodeMetrics::default(),
            findings: Vec::new(),
            lints: Vec::new(),
            error: None,
        }
    }

    #[test]
    fn a_section_called_from_other_modules_has_fan_in() {
        let cart =
            vec![section("shop/cart.py", "Cart.add", &[]), section("shop/cart.py", "sum", &[])];
        let mut cart = module("shop/cart.py", "shop.cart", cart);
        cart.imported_by = vec!["main.py".to_owned()];
        let calls = ["shop.cart.Cart.add", "shop.cart.Cart.add", "shop.cart.gone"];
        let main = module("main.py", "main", vec![section("main.py", "run", &calls)]);
        let facts = ModuleFacts::from_reports(&[cart, main], &ImpactTable::shipped());
        let fan_ins: Vec<u32> = facts[0].sections.iter().map(|section| section.fan_in).collect();
        assert_eq!(fan_ins, [2, 0]);
        assert_eq!((facts[0].fan_in, facts[1].fan_in), (1, 0));
    }

    #[test]
    fn an_assert_is_a_risk_except_in_tests() {
        let findings = |path: &str| {
            let finding = |rule: &str| StaticFinding {
                rule: rule.to_owned(),
                severity: FindingSeverity::Low,
                confidence: FindingConfidence::High,
                line: 1,
                message: String::new(),
            };
            let mut module = module(path, "name", Vec::new());
            module.findings = vec![finding("B101"), finding("B102")];
            let facts = ModuleFacts::from_reports(&[module], &ImpactTable::shipped());
            facts[0].findings.iter().map(|finding| finding.rule.clone()).collect::<Vec<_>>()
        };
        assert_eq!(findings("shop/cart.py"), ["B101", "B102"]);
        assert_eq!(findings("tests/test_cart.py"), ["B102"]);
        assert_eq!(findings("conftest.py"), ["B102"]);
    }
}
