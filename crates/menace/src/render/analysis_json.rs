//! The analysis for machines. The shape is a promise: a change of meaning raises `version`.

use std::io;
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::value::RawValue;

use menace_model::{
    AnalyzedModule, CallEdge, ConstructionPlan, HalsteadCounts, LineCounts, LintWarning,
    ModuleError, ModuleImport, ParamKind, RepositoryTotals, Section, SectionKind, StaticFinding,
};
use menace_source::Analysis;
use menace_source::check::external::ScannerInfo;
use menace_source::check::score::{code_quality, security_score};

const ANALYSIS_JSON_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct AnalysisJson<'a> {
    version: u32,
    scanner: &'a ScannerInfo,
    modules: Vec<Box<RawValue>>,
    cycles: &'a [Vec<String>],
    totals: RepositoryTotals,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct AnalyzedModuleJson<'a> {
    path: &'a str,
    name: &'a str,
    sections: Vec<AnalyzedSectionJson<'a>>,
    /// How instances are built; sections refer to these by their place, as many share one.
    constructions: Vec<ConstructionJson<'a>>,
    imports: &'a [ModuleImport],
    imported_by: &'a [String],
    complexity: u32,
    maintainability: f64,
    entropy: f64,
    security_score: f64,
    code_quality: f64,
    lines: LineCounts,
    statements: u32,
    halstead: HalsteadJson,
    findings: &'a [StaticFinding],
    lints: &'a [LintWarning],
    error: Option<&'a ModuleError>,
}

#[derive(Debug, Serialize)]
struct AnalyzedSectionJson<'a> {
    id: &'a str,
    kind: SectionKind,
    #[serde(rename = "async")]
    is_async: bool,
    #[serde(rename = "generator")]
    is_generator: bool,
    line: u32,
    start_line: u32,
    end_line: u32,
    decorators: &'a [String],
    docstring: Option<&'a str>,
    params: Vec<ParameterJson<'a>>,
    returns: Option<String>,
    complexity: u32,
    calls: &'a [CallEdge],
    construction: Option<usize>,
}

#[derive(Debug, Serialize)]
struct ParameterJson<'a> {
    name: &'a str,
    kind: ParamKind,
    annotation: Option<&'a str>,
    /// The annotation with every name resolved.
    #[serde(rename = "type")]
    resolved: Option<String>,
    default: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ConstructionJson<'a> {
    steps: Vec<ConstructionStepJson<'a>>,
    blocked: Option<&'a menace_model::ConstructionBlocker>,
}

#[derive(Debug, Serialize)]
struct ConstructionStepJson<'a> {
    class: &'a str,
    constructor: Option<&'a str>,
    /// `false`: the signature is defined outside of the repository, and `params` may be wrong.
    known: bool,
    params: Vec<ParameterJson<'a>>,
    members: &'a [String],
}

#[derive(Debug, Serialize)]
struct HalsteadJson {
    #[serde(flatten)]
    counts: HalsteadCounts,
    volume: f64,
    difficulty: f64,
    effort: f64,
}

impl<'a> AnalysisJson<'a> {
    /// `modules` are those to be shown, `totals` their totals.
    pub(crate) fn new(analysis: &'a Analysis, modules: &[&'a AnalyzedModule]) -> io::Result<Self> {
        // Writing the modules down takes as long as linking them: every core takes a share.
        let written: Result<_, serde_json::Error> = modules
            .par_iter()
            .map(|module| serde_json::value::to_raw_value(&AnalyzedModuleJson::new(module)))
            .collect();
        Ok(Self {
            version: ANALYSIS_JSON_VERSION,
            scanner: &analysis.scanner,
            modules: written?,
            cycles: &analysis.cycles,
            totals: RepositoryTotals::sum_modules(modules.iter().copied()),
            warnings: &analysis.warnings,
        })
    }
}

impl<'a> AnalyzedModuleJson<'a> {
    fn new(module: &'a AnalyzedModule) -> Self {
        let code_metrics = &module.code_metrics;
        let mut shared: Vec<&Arc<ConstructionPlan>> = Vec::new();
        let mut sections = Vec::with_capacity(module.sections.len());
        for section in &module.sections {
            let place = section.construction.as_ref().map(|construction| {
                // Methods of one class follow each other, so the last entry is searched first.
                let known = shared.iter().rposition(|each| Arc::ptr_eq(each, construction));
                known.unwrap_or_else(|| {
                    shared.push(construction);
                    shared.len() - 1
                })
            });
            sections.push(AnalyzedSectionJson::new(section, place));
        }
        Self {
            path: &module.path,
            name: &module.name,
            sections,
            constructions: shared.into_iter().map(|each| ConstructionJson::new(each)).collect(),
            imports: &module.imports,
            imported_by: &module.imported_by,
            complexity: code_metrics.complexity,
            maintainability: code_metrics.maintainability,
            entropy: code_metrics.entropy,
            security_score: security_score(&module.findings, code_metrics.lines.sloc),
            code_quality: code_quality(&module.lints, code_metrics.statements),
            lines: code_metrics.lines,
            statements: code_metrics.statements,
            halstead: HalsteadJson {
                counts: code_metrics.halstead,
                volume: code_metrics.halstead.volume(),
                difficulty: code_metrics.halstead.difficulty(),
                effort: code_metrics.halstead.effort(),
            },
            findings: &module.findings,
            lints: &module.lints,
            error: module.error.as_ref(),
        }
    }
}

impl<'a> AnalyzedSectionJson<'a> {
    fn new(section: &'a Section, construction: Option<usize>) -> Self {
        Self {
            id: section.id.as_str(),
            kind: section.kind,
            is_async: section.is_async,
            is_generator: section.is_generator,
            line: section.line,
            start_line: section.start_line,
            end_line: section.end_line,
            decorators: &section.decorators,
            docstring: section.docstring.as_deref(),
            params: parameters_json(&section.params),
            returns: section.returns.as_ref().map(ToString::to_string),
            complexity: section.complexity,
            calls: &section.calls,
            construction,
        }
    }
}

impl<'a> ConstructionJson<'a> {
    fn new(construction: &'a ConstructionPlan) -> Self {
        let steps = construction.steps.iter().map(|step| ConstructionStepJson {
            class: &step.class,
            constructor: step.constructor.as_ref().map(menace_model::SectionId::as_str),
            known: step.signature_known,
            params: parameters_json(&step.params),
            members: &step.members,
        });
        Self { steps: steps.collect(), blocked: construction.blocker.as_ref() }
    }
}

fn parameters_json(params: &[menace_model::SignatureParam]) -> Vec<ParameterJson<'_>> {
    params
        .iter()
        .map(|param| ParameterJson {
            name: &param.name,
            kind: param.kind,
            annotation: param.annotation.as_deref(),
            resolved: param.resolved.as_ref().map(ToString::to_string),
            default: param.default.as_deref(),
        })
        .collect()
}
