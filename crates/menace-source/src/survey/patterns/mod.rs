//! The regular expressions of a module, and the sections that use them.
//!
//! Patterns are followed from the constants that they are made of (`+`, `%`, f-strings, `join`,
//! `format`, tables that a loop reads) to the function of `re`, also through functions of the
//! module that pass a pattern on. The walk does not depend on the one that collects other hints.

mod fold;
mod scopes;

use ruff_python_ast::{self as ast, Expr, ModModule, Operator};
use ruff_source_file::LineIndex;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{PatternMethod, PatternUse, Section, SectionKind};

use fold::{ConstantFolder, FoldedText};
use scopes::{Binding, ExpressionInScope, ModuleScopes, ScopeId, ScopeKind};

/// The most patterns of one section, and of the module itself.
const MAX_PATTERNS_PER_SECTION: usize = 1_000;
const MAX_PATTERN_CHARS: usize = 10_000;
/// How often a pattern is passed on.
const MAX_PASSED_ON: usize = 3;
/// Unknown flags of a call are none.
const NO_FLAGS: u32 = 0;

/// The patterns of each section, in the order of the sections. The section of the module has those
/// of its top level and its classes, then texts that look like patterns.
pub(super) fn section_patterns(
    tree: &ModModule,
    lines: &LineIndex,
    sections: &[Section],
) -> Vec<Vec<PatternUse>> {
    let mut found = vec![Vec::new(); sections.len()];
    let module = ModuleScopes::collect(tree);
    let finder = PatternFinder { folder: ConstantFolder::new(&module), module: &module };
    let uses = finder.find_uses();
    let of_module = sections.iter().position(|section| section.kind == SectionKind::Module);
    let by_line: FxHashMap<u32, usize> = sections
        .iter()
        .enumerate()
        .filter(|(_, section)| section.kind != SectionKind::Module)
        .map(|(index, section)| (section.start_line, index))
        .collect();
    for (scope, pattern_use) in uses {
        let mut is_inside = false;
        let mut at = Some(scope);
        while let Some(id) = at {
            let around = &module.scopes[id];
            if around.kind == ScopeKind::Function {
                let line = lines.line_index(around.start).get() as u32;
                if let Some(section) = by_line.get(&line) {
                    add_pattern(&mut found[*section], &pattern_use);
                    is_inside = true;
                }
            }
            at = around.parent;
        }
        if let (false, Some(of_module)) = (is_inside, of_module) {
            add_pattern(&mut found[of_module], &pattern_use);
        }
    }
    if let Some(of_module) = of_module {
        let known: FxHashSet<String> =
            found.iter().flatten().map(|one| one.pattern.clone()).collect();
        for pattern_use in finder.likely_patterns() {
            if !known.contains(&pattern_use.pattern) {
                add_pattern(&mut found[of_module], &pattern_use);
            }
        }
    }
    found
}

/// Keeps one use of a pattern by the same method; a compiled pattern whose method is known is not
/// listed once more.
fn add_pattern(uses: &mut Vec<PatternUse>, pattern_use: &PatternUse) {
    let is_same = |known: &PatternUse| {
        known.pattern == pattern_use.pattern && known.flags == pattern_use.flags
    };
    if pattern_use.pattern.len() > MAX_PATTERN_CHARS {
        return;
    }
    if let Some(known) = uses.iter_mut().find(|known| is_same(known)) {
        // A use that searches finds more.
        let is_known = pattern_use.method != PatternMethod::Unknown;
        if is_known && (!known.method.searches() || known.method == PatternMethod::Unknown) {
            *known = pattern_use.clone();
        }
    } else if uses.len() < MAX_PATTERNS_PER_SECTION {
        uses.push(pattern_use.clone());
    }
}

/// A parameter of a function that is a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PatternParam {
    function: ScopeId,
    pattern: usize,
    flags: Option<usize>,
    fixed_flags: u32,
    method: PatternMethod,
}

/// A call of a function of `re`, or of a method of a compiled pattern.
#[derive(Debug)]
struct RegexCall<'a> {
    pattern: ExpressionInScope<'a>,
    flags: Option<ExpressionInScope<'a>>,
    method: PatternMethod,
    /// Where it is used.
    scope: ScopeId,
}

struct PatternFinder<'m, 'a> {
    folder: ConstantFolder<'m, 'a>,
    module: &'m ModuleScopes<'a>,
}

impl<'a> PatternFinder<'_, 'a> {
    fn find_uses(&self) -> Vec<(ScopeId, PatternUse)> {
        let mut uses = Vec::new();
        let mut params: Vec<PatternParam> = Vec::new();
        for (call, scope) in &self.module.calls {
            for regex_call in self.regex_calls(call, *scope) {
                let flags = regex_call.flags.map_or(NO_FLAGS, |flags| self.flags(flags, 0));
                self.add_uses(
                    regex_call.pattern,
                    flags,
                    regex_call.method,
                    regex_call.scope,
                    &mut uses,
                );
                if let Some(param) = self.pattern_param(&regex_call, flags)
                    && !params.contains(&param)
                {
                    params.push(param);
                }
            }
        }
        for _ in 0..MAX_PASSED_ON {
            let mut known = std::mem::take(&mut params);
            // `compile(pattern, flags) if flags else compile(pattern)`: the flags decide.
            let with_flags: FxHashSet<(ScopeId, usize)> = known
                .iter()
                .filter(|param| param.flags.is_some())
                .map(|param| (param.function, param.pattern))
                .collect();
            known.retain(|param| {
                let has_flags = param.flags.is_some() || param.fixed_flags != NO_FLAGS;
                has_flags || !with_flags.contains(&(param.function, param.pattern))
            });
            if known.is_empty() {
                break;
            }
            for (call, scope) in &self.module.calls {
                let Some((function, is_bound)) = self.called_function(&call.func, *scope) else {
                    continue;
                };
                for param in known.iter().filter(|param| param.function == function) {
                    let argument = |index: usize| {
                        let name = self.module.scopes[function].params.get(index)?;
                        let position = index.checked_sub(usize::from(is_bound))?;
                        let expr = call.arguments.find_argument_value(name, position)?;
                        Some(ExpressionInScope { expr, scope: *scope })
                    };
                    let Some(pattern) = argument(param.pattern) else { continue };
                    let flags = param.flags.and_then(argument);
                    let regex_call =
                        RegexCall { pattern, flags, method: param.method, scope: *scope };
                    let flags = flags.map_or(NO_FLAGS, |flags| self.flags(flags, 0));
                    let flags = flags | param.fixed_flags;
                    self.add_uses(pattern, flags, param.method, *scope, &mut uses);
                    if let Some(param) = self.pattern_param(&regex_call, flags)
                        && !params.contains(&param)
                        && !known.contains(&param)
                    {
                        params.push(param);
                    }
                }
            }
        }
        uses
    }

    fn add_uses(
        &self,
        pattern: ExpressionInScope<'a>,
        flags: u32,
        method: PatternMethod,
        scope: ScopeId,
        uses: &mut Vec<(ScopeId, PatternUse)>,
    ) {
        for FoldedText { text, is_bytes } in self.folder.texts(pattern) {
            uses.push((scope, PatternUse { pattern: text, flags, is_bytes, method }));
        }
    }

    /// The calls of `re` that a call is; of a method of a compiled pattern, one for each pattern.
    fn regex_calls(&self, call: &'a ast::ExprCall, scope: ScopeId) -> Vec<RegexCall<'a>> {
        if let Some(function) = self.folder.regex_function(&call.func, scope) {
            let method = PatternMethod::from_name(&function);
            let flags_position = match function.as_str() {
                "compile" | "template" => 1,
                "split" => 3,
                "sub" | "subn" => 4,
                _ if method.is_some() => 2,
                _ => return Vec::new(),
            };
            let argument = |name: &str, position: usize| {
                let expr = call.arguments.find_argument_value(name, position)?;
                Some(ExpressionInScope { expr, scope })
            };
            let Some(pattern) = argument("pattern", 0) else { return Vec::new() };
            let flags = argument("flags", flags_position);
            let method = method.unwrap_or(PatternMethod::Unknown);
            return vec![RegexCall { pattern, flags, method, scope }];
        }
        // `pattern.match(…)`, and `match(…)` after `match = re.compile(…).match`.
        let methods: Vec<(&'a Expr, &str, ScopeId)> = match &*call.func {
            Expr::Attribute(method) => vec![(&*method.value, method.attr.as_str(), scope)],
            Expr::Name(_) => {
                let callees = self.folder.resolve(ExpressionInScope { expr: &call.func, scope });
                let bound = callees.into_iter().filter_map(|callee| match callee.expr {
                    Expr::Attribute(method) => {
                        Some((&*method.value, method.attr.as_str(), callee.scope))
                    }
                    _ => None,
                });
                bound.collect()
            }
            _ => return Vec::new(),
        };
        let mut calls = Vec::new();
        for (base, name, base_scope) in methods {
            let Some(method) = PatternMethod::from_name(name) else { continue };
            for value in self.folder.resolve(ExpressionInScope { expr: base, scope: base_scope }) {
                let Expr::Call(compile) = value.expr else { continue };
                let function = self.folder.regex_function(&compile.func, value.scope);
                if function.as_deref() != Some("compile") {
                    continue;
                }
                let argument = |name: &str, position: usize| {
                    let expr = compile.arguments.find_argument_value(name, position)?;
                    Some(ExpressionInScope { expr, scope: value.scope })
                };
                let Some(pattern) = argument("pattern", 0) else { continue };
                calls.push(RegexCall { pattern, flags: argument("flags", 1), method, scope });
            }
        }
        calls
    }

    /// The parameter that is the pattern of a call.
    fn pattern_param(&self, regex_call: &RegexCall<'a>, fixed_flags: u32) -> Option<PatternParam> {
        let (function, pattern) = self.param_of(regex_call.pattern)?;
        let flags = regex_call.flags.and_then(|flags| self.param_of(flags));
        let flags = flags.filter(|(owner, _)| *owner == function).map(|(_, flags)| flags);
        Some(PatternParam { function, pattern, flags, fixed_flags, method: regex_call.method })
    }

    /// The function and the position of a parameter.
    fn param_of(&self, expr: ExpressionInScope<'a>) -> Option<(ScopeId, usize)> {
        self.folder.resolve(expr).into_iter().find_map(|leaf| {
            let Expr::Name(name) = leaf.expr else { return None };
            let mut at = Some(leaf.scope);
            while let Some(id) = at {
                let scope = &self.module.scopes[id];
                if let Some(bindings) = scope.bindings.get(name.id.as_str()) {
                    return bindings.iter().find_map(|binding| match binding {
                        Binding::Param(index) => Some((id, *index)),
                        _ => None,
                    });
                }
                at = scope.parent;
            }
            None
        })
    }

    /// The function of the module that is called, and whether its first parameter is bound already.
    fn called_function(&self, func: &Expr, scope: ScopeId) -> Option<(ScopeId, bool)> {
        let definition = |bindings: &[Binding<'a>]| {
            bindings.iter().find_map(|binding| match binding {
                Binding::Definition(id) => Some(*id),
                _ => None,
            })
        };
        let (id, is_method) = match func {
            Expr::Name(name) => (definition(self.module.lookup(name.id.as_str(), scope))?, false),
            Expr::Attribute(attribute) => {
                (definition(self.module.attribute(attribute, scope))?, true)
            }
            _ => return None,
        };
        let called = &self.module.scopes[id];
        if called.kind == ScopeKind::Class {
            return Some((definition(called.bindings.get("__init__")?)?, true));
        }
        let first = called.params.first();
        Some((id, is_method && first.is_some_and(|name| matches!(*name, "self" | "cls"))))
    }

    /// The flags of an expression like `re.I | re.VERBOSE`.
    fn flags(&self, expr: ExpressionInScope<'a>, depth: usize) -> u32 {
        const MAX_FLAG_DEPTH: usize = 12;
        if depth > MAX_FLAG_DEPTH {
            return NO_FLAGS;
        }
        let mut flags = NO_FLAGS;
        for leaf in self.folder.resolve(expr) {
            let inner = |expr: &'a Expr| ExpressionInScope { expr, scope: leaf.scope };
            flags |= match leaf.expr {
                Expr::BinOp(operation)
                    if matches!(operation.op, Operator::BitOr | Operator::Add) =>
                {
                    self.flags(inner(&operation.left), depth + 1)
                        | self.flags(inner(&operation.right), depth + 1)
                }
                Expr::Attribute(attribute) => flag_of_name(attribute.attr.as_str()),
                Expr::Name(name) => flag_of_name(name.id.as_str()),
                Expr::NumberLiteral(ast::ExprNumberLiteral {
                    value: ast::Number::Int(number),
                    ..
                }) => number
                    .as_i64()
                    .and_then(|number| u32::try_from(number).ok())
                    .unwrap_or(NO_FLAGS),
                _ => NO_FLAGS,
            };
        }
        flags
    }

    /// Texts of tables and arguments that look like patterns.
    fn likely_patterns(&self) -> Vec<PatternUse> {
        let strings = self.module.lone_strings.iter();
        let texts = strings.flat_map(|string| self.folder.texts(*string));
        let likely = texts.filter(|one| looks_like_pattern(&one.text));
        likely
            .map(|FoldedText { text, is_bytes }| PatternUse {
                pattern: text,
                flags: NO_FLAGS,
                is_bytes,
                method: PatternMethod::Unknown,
            })
            .collect()
    }
}

fn flag_of_name(name: &str) -> u32 {
    match name {
        "I" | "IGNORECASE" => 2,
        "L" | "LOCALE" => 4,
        "M" | "MULTILINE" => 8,
        "S" | "DOTALL" => 16,
        "U" | "UNICODE" => 32,
        "X" | "VERBOSE" => 64,
        "A" | "ASCII" => 256,
        _ => NO_FLAGS,
    }
}

/// Does the text have signs that hardly any other text has?
fn looks_like_pattern(text: &str) -> bool {
    const SIGNS: [&str; 14] = [
        r"\s", r"\d", r"\w", r"\S", r"\b", "(?:", "(?P<", "(?=", "(?!", ".*", ".+", "[^", "]+",
        "]*",
    ];
    let has_repetition = text.contains(['*', '+']) || text.contains("{1,");
    let count = SIGNS.iter().filter(|sign| text.contains(**sign)).count();
    has_repetition && (count >= 2 || text.contains(r"\s*") || text.contains(r"\d+"))
}
