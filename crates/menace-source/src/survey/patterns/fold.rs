//! Texts that an expression of constants can have.
//!
//! A part that is unknown is written as [`UNKNOWN_TEXT`]. The work is limited by a number of steps
//! for the whole module.

use std::cell::Cell;

use ruff_python_ast::{self as ast, Expr, InterpolatedStringElement, Operator};
use ruff_text_size::Ranged;

use super::scopes::{Binding, ExpressionInScope, ModuleScopes, ScopeId, display_elements};

/// Stands for a part that is unknown: a text as good as any, also as a count.
const UNKNOWN_TEXT: &str = "1";
/// Cases of one text that is put together.
const MAX_CASES: usize = 16;
/// Items of a table.
const MAX_ITEMS: usize = 400;
const MAX_FOLDED_BYTES: usize = 40_000;
const MAX_FOLD_DEPTH: usize = 24;
/// Steps for one expression, and for all of a module.
const MAX_FOLD_STEPS: usize = 4_000;
const MAX_MODULE_STEPS: usize = 400_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FoldedText {
    /// Of bytes, one character per byte.
    pub text: String,
    pub is_bytes: bool,
}

impl FoldedText {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_bytes: false }
    }
}

#[derive(Debug)]
pub(super) struct ConstantFolder<'m, 'a> {
    pub module: &'m ModuleScopes<'a>,
    steps: Cell<usize>,
    /// Steps of all expressions so far.
    module_steps: Cell<usize>,
}

impl<'m, 'a> ConstantFolder<'m, 'a> {
    pub(super) fn new(module: &'m ModuleScopes<'a>) -> Self {
        Self { module, steps: Cell::new(0), module_steps: Cell::new(0) }
    }

    fn may_continue(&self, depth: usize) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.module_steps.set(self.module_steps.get() + 1);
        depth <= MAX_FOLD_DEPTH
            && self.steps.get() <= MAX_FOLD_STEPS
            && self.module_steps.get() <= MAX_MODULE_STEPS
    }

    /// The texts that an expression can have; none if it is unknown.
    pub(super) fn texts(&self, expr: ExpressionInScope<'a>) -> Vec<FoldedText> {
        self.steps.set(0);
        self.fold(expr, 0)
    }

    /// The expressions that names, items and choices lead to.
    pub(super) fn resolve(&self, expr: ExpressionInScope<'a>) -> Vec<ExpressionInScope<'a>> {
        self.steps.set(0);
        let mut found = Vec::new();
        self.resolve_into(expr, 0, &mut found);
        found
    }

    fn resolve_into(
        &self,
        scoped: ExpressionInScope<'a>,
        depth: usize,
        found: &mut Vec<ExpressionInScope<'a>>,
    ) {
        if found.len() >= MAX_ITEMS || !self.may_continue(depth) {
            return;
        }
        let ExpressionInScope { expr, scope } = scoped;
        let inner = |expr: &'a Expr| ExpressionInScope { expr, scope };
        match expr {
            Expr::Name(name) => {
                let bindings = self.module.lookup(name.id.as_str(), scope);
                // In its own scope, a name has the values that were assigned before.
                let is_earlier = |binding: &&Binding<'a>| match binding {
                    Binding::Value(value) | Binding::Added(value) => {
                        value.scope != scope || value.expr.end() <= expr.start()
                    }
                    _ => true,
                };
                let earlier: Vec<Binding<'a>> =
                    bindings.iter().filter(is_earlier).cloned().collect();
                self.resolve_bindings(scoped, &earlier, depth, found);
            }
            Expr::Attribute(attribute) => {
                let bindings = self.module.attribute(attribute, scope);
                self.resolve_bindings(scoped, bindings, depth, found);
            }
            Expr::If(choice) => {
                self.resolve_into(inner(&choice.body), depth + 1, found);
                self.resolve_into(inner(&choice.orelse), depth + 1, found);
            }
            Expr::BoolOp(operation) => {
                for value in &operation.values {
                    self.resolve_into(inner(value), depth + 1, found);
                }
            }
            Expr::Named(named) => self.resolve_into(inner(&named.value), depth + 1, found),
            Expr::Subscript(subscript) => {
                let mut bases = Vec::new();
                self.resolve_into(inner(&subscript.value), depth + 1, &mut bases);
                for base in bases {
                    for element in Self::subscript(base, &subscript.slice) {
                        self.resolve_into(element, depth + 1, found);
                    }
                }
            }
            _ => found.push(scoped),
        }
    }

    /// A name of anything else than a value stands for itself.
    fn resolve_bindings(
        &self,
        scoped: ExpressionInScope<'a>,
        bindings: &[Binding<'a>],
        depth: usize,
        found: &mut Vec<ExpressionInScope<'a>>,
    ) {
        let is_followed =
            |one: &Binding<'a>| matches!(one, Binding::Value(_) | Binding::Item { .. });
        let is_own = !bindings.iter().all(is_followed) || bindings.is_empty();
        if is_own {
            found.push(scoped);
        }
        if bindings.iter().any(|binding| matches!(binding, Binding::Added(_))) {
            return;
        }
        for binding in bindings {
            match binding {
                Binding::Value(value) => self.resolve_into(*value, depth + 1, found),
                Binding::Item { iter, path } => {
                    for item in self.items(*iter, path, depth + 1) {
                        self.resolve_into(item, depth + 1, found);
                    }
                }
                _ => {}
            }
        }
    }

    fn subscript(base: ExpressionInScope<'a>, index: &Expr) -> Vec<ExpressionInScope<'a>> {
        let scoped = |expr: &'a Expr| ExpressionInScope { expr, scope: base.scope };
        if let Some(elements) = display_elements(base.expr) {
            let chosen = integer(index).map(|index| elements.get(index).into_iter().collect());
            let chosen: Vec<&'a Expr> = chosen.unwrap_or_else(|| elements.iter().collect());
            return chosen.into_iter().take(MAX_ITEMS).map(scoped).collect();
        }
        let Expr::Dict(dict) = base.expr else { return Vec::new() };
        let key = index.as_string_literal_expr().map(|key| key.value.to_str());
        let is_chosen = |item: &&ast::DictItem| match (key, &item.key) {
            (Some(key), Some(Expr::StringLiteral(own))) => own.value.to_str() == key,
            _ => true,
        };
        dict.items
            .iter()
            .filter(is_chosen)
            .take(MAX_ITEMS)
            .map(|item| scoped(&item.value))
            .collect()
    }

    /// The items of an iteration; of each, the part at the path.
    fn items(
        &self,
        iter: ExpressionInScope<'a>,
        path: &[usize],
        depth: usize,
    ) -> Vec<ExpressionInScope<'a>> {
        let mut sources = Vec::new();
        self.resolve_into(iter, depth + 1, &mut sources);
        let mut found = Vec::new();
        for source in sources {
            self.items_of(source, path, depth + 1, &mut found);
        }
        found.truncate(MAX_ITEMS);
        found
    }

    fn items_of(
        &self,
        source: ExpressionInScope<'a>,
        path: &[usize],
        depth: usize,
        found: &mut Vec<ExpressionInScope<'a>>,
    ) {
        if !self.may_continue(depth) {
            return;
        }
        let scoped = |expr: &'a Expr| ExpressionInScope { expr, scope: source.scope };
        if let Some(elements) = display_elements(source.expr) {
            for element in elements.iter().take(MAX_ITEMS) {
                match element {
                    Expr::Starred(starred) => {
                        found.extend(self.items(scoped(&starred.value), path, depth + 1));
                    }
                    element => found.extend(self.part(scoped(element), path, depth + 1)),
                }
            }
            return;
        }
        match source.expr {
            Expr::Dict(dict) => {
                let keys = dict.items.iter().filter_map(|item| item.key.as_ref()).take(MAX_ITEMS);
                found.extend(keys.flat_map(|key| self.part(scoped(key), path, depth + 1)));
            }
            Expr::BinOp(operation) if operation.op == Operator::Add => {
                found.extend(self.items(scoped(&operation.left), path, depth + 1));
                found.extend(self.items(scoped(&operation.right), path, depth + 1));
            }
            Expr::ListComp(each) => found.extend(self.part(scoped(&each.elt), path, depth + 1)),
            Expr::SetComp(each) => found.extend(self.part(scoped(&each.elt), path, depth + 1)),
            Expr::Generator(each) => found.extend(self.part(scoped(&each.elt), path, depth + 1)),
            Expr::Call(call) => self.items_of_call(call, source.scope, path, depth, found),
            _ => {}
        }
    }

    /// The items of `table.items()`, `enumerate(…)`, `zip(…)`, `sorted(…)`.
    fn items_of_call(
        &self,
        call: &'a ast::ExprCall,
        scope: ScopeId,
        path: &[usize],
        depth: usize,
        found: &mut Vec<ExpressionInScope<'a>>,
    ) {
        let scoped = |expr: &'a Expr| ExpressionInScope { expr, scope };
        match (&*call.func, &*call.arguments.args, path) {
            (Expr::Attribute(method), [], _) => {
                let mut tables = Vec::new();
                self.resolve_into(scoped(&method.value), depth + 1, &mut tables);
                let (takes_values, path) = match (method.attr.as_str(), path) {
                    ("items", [0, path @ ..]) | ("keys", path) => (false, path),
                    ("items", [_, path @ ..]) | ("values", path) => (true, path),
                    _ => return,
                };
                for table in tables {
                    let Expr::Dict(dict) = table.expr else { continue };
                    for item in dict.items.iter().take(MAX_ITEMS) {
                        let chosen =
                            if takes_values { Some(&item.value) } else { item.key.as_ref() };
                        let Some(expr) = chosen else { continue };
                        let part = ExpressionInScope { expr, scope: table.scope };
                        found.extend(self.part(part, path, depth + 1));
                    }
                }
            }
            (Expr::Name(name), arguments, path) => match (name.id.as_str(), arguments, path) {
                ("enumerate", [inner, ..], [1, path @ ..]) => {
                    found.extend(self.items(scoped(inner), path, depth + 1));
                }
                ("zip", inner, [index, path @ ..]) => {
                    if let Some(inner) = inner.get(*index) {
                        found.extend(self.items(scoped(inner), path, depth + 1));
                    }
                }
                (
                    "list" | "tuple" | "set" | "frozenset" | "sorted" | "reversed" | "iter",
                    [inner, ..],
                    path,
                ) => found.extend(self.items(scoped(inner), path, depth + 1)),
                _ => {}
            },
            _ => {}
        }
    }

    fn part(
        &self,
        item: ExpressionInScope<'a>,
        path: &[usize],
        depth: usize,
    ) -> Vec<ExpressionInScope<'a>> {
        let [index, path @ ..] = path else { return vec![item] };
        let mut items = Vec::new();
        self.resolve_into(item, depth + 1, &mut items);
        let parts = items.into_iter().filter_map(|item| {
            let expr = display_elements(item.expr)?.get(*index)?;
            Some(ExpressionInScope { expr, scope: item.scope })
        });
        let parts: Vec<ExpressionInScope<'a>> = parts.collect();
        parts.into_iter().flat_map(|part| self.part(part, path, depth + 1)).collect()
    }

    fn fold(&self, scoped: ExpressionInScope<'a>, depth: usize) -> Vec<FoldedText> {
        let mut leaves = Vec::new();
        self.resolve_into(scoped, depth, &mut leaves);
        let mut texts = Vec::new();
        for leaf in leaves {
            for text in self.fold_leaf(leaf, depth + 1) {
                if text.text.len() <= MAX_FOLDED_BYTES && !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        texts
    }

    fn fold_leaf(&self, scoped: ExpressionInScope<'a>, depth: usize) -> Vec<FoldedText> {
        if !self.may_continue(depth) {
            return Vec::new();
        }
        let ExpressionInScope { expr, scope } = scoped;
        let inner = |expr: &'a Expr| ExpressionInScope { expr, scope };
        match expr {
            Expr::StringLiteral(text) => vec![FoldedText::new(text.value.to_str())],
            Expr::BytesLiteral(bytes) => {
                let text = bytes.value.bytes().map(char::from).collect();
                vec![FoldedText { text, is_bytes: true }]
            }
            Expr::NumberLiteral(number) => match &number.value {
                ast::Number::Int(number) => vec![FoldedText::new(number.to_string())],
                _ => Vec::new(),
            },
            Expr::FString(string) => self.fold_fstring(string, scope, depth),
            Expr::Name(name) => self.fold_added(name.id.as_str(), scope, depth),
            Expr::Attribute(attribute) if attribute.attr.as_str() == "pattern" => {
                self.fold(inner(&attribute.value), depth + 1)
            }
            Expr::BinOp(operation) => {
                let left = self.fold(inner(&operation.left), depth + 1);
                match operation.op {
                    Operator::Add => {
                        let right = self.fold(inner(&operation.right), depth + 1);
                        concatenate_known(&[left, right])
                    }
                    Operator::Mult => {
                        let times = integer(&operation.right).unwrap_or(1).min(100);
                        let repeat = |one: FoldedText| FoldedText {
                            text: one.text.repeat(times),
                            is_bytes: one.is_bytes,
                        };
                        left.into_iter().map(repeat).collect()
                    }
                    Operator::Mod => {
                        let texts = left.into_iter().take(MAX_CASES);
                        texts
                            .flat_map(|one| {
                                self.format_percent(&one, inner(&operation.right), depth + 1)
                            })
                            .collect()
                    }
                    _ => Vec::new(),
                }
            }
            Expr::Call(call) => self.fold_call(call, scope, depth + 1),
            _ => Vec::new(),
        }
    }

    /// The text of a name that `+=` adds to.
    fn fold_added(&self, name: &str, scope: ScopeId, depth: usize) -> Vec<FoldedText> {
        let bindings = self.module.lookup(name, scope);
        if !bindings.iter().any(|binding| matches!(binding, Binding::Added(_))) {
            return Vec::new();
        }
        let mut whole: Vec<FoldedText> = Vec::new();
        for binding in bindings {
            match binding {
                Binding::Value(value) => whole = self.fold(*value, depth + 1),
                Binding::Added(value) => {
                    whole = concatenate_known(&[whole, self.fold(*value, depth + 1)]);
                }
                _ => {}
            }
        }
        whole
    }

    fn fold_fstring(
        &self,
        string: &'a ast::ExprFString,
        scope: ScopeId,
        depth: usize,
    ) -> Vec<FoldedText> {
        let mut parts = Vec::new();
        for part in &string.value {
            match part {
                ast::FStringPart::Literal(text) => parts.push(vec![FoldedText::new(&*text.value)]),
                ast::FStringPart::FString(inner) => {
                    for element in &inner.elements {
                        parts.push(match element {
                            InterpolatedStringElement::Literal(text) => {
                                vec![FoldedText::new(&*text.value)]
                            }
                            InterpolatedStringElement::Interpolation(inner) => self.fold(
                                ExpressionInScope { expr: &inner.expression, scope },
                                depth + 1,
                            ),
                        });
                    }
                }
            }
        }
        concatenate_known(&parts)
    }

    fn fold_call(&self, call: &'a ast::ExprCall, scope: ScopeId, depth: usize) -> Vec<FoldedText> {
        let inner = |expr: &'a Expr| ExpressionInScope { expr, scope };
        if self.regex_function(&call.func, scope).as_deref() == Some("compile")
            && let Some(pattern) = call.arguments.find_argument_value("pattern", 0)
        {
            return self.fold(inner(pattern), depth + 1);
        }
        if self.regex_function(&call.func, scope).as_deref() == Some("escape")
            && let Some(text) = call.arguments.args.first()
        {
            let mut texts = self.fold(inner(text), depth + 1);
            for one in &mut texts {
                one.text = escape(&one.text);
            }
            return texts;
        }
        let arguments = &*call.arguments.args;
        let Expr::Attribute(method) = &*call.func else {
            return match (&*call.func, arguments) {
                (Expr::Name(name), [text, ..])
                    if matches!(name.id.as_str(), "str" | "dedent" | "r" | "u") =>
                {
                    self.fold(inner(text), depth + 1)
                }
                _ => Vec::new(),
            };
        };
        let mut on = self.fold(inner(&method.value), depth + 1);
        match (method.attr.as_str(), arguments) {
            ("dedent", [text]) => return self.fold(inner(text), depth + 1),
            ("join", [items]) => {
                let parts = self.items(inner(items), &[], depth + 1);
                let parts: Vec<Vec<FoldedText>> = parts
                    .into_iter()
                    .map(|part| self.fold(part, depth + 1).into_iter().take(1).collect())
                    .collect();
                return on.iter().flat_map(|between| join(between, &parts)).collect();
            }
            ("format", _) => {
                let texts = on.iter().take(MAX_CASES);
                return texts
                    .flat_map(|text| self.format_braces(text, call, scope, depth))
                    .collect();
            }
            ("encode" | "decode", _) => {
                for one in &mut on {
                    one.is_bytes = method.attr.as_str() == "encode";
                }
            }
            ("strip" | "lower" | "upper", []) => {
                for one in &mut on {
                    one.text = match method.attr.as_str() {
                        "strip" => one.text.trim().to_owned(),
                        "lower" => one.text.to_lowercase(),
                        _ => one.text.to_uppercase(),
                    };
                }
            }
            ("replace", [old, new, ..]) => {
                let text = |expr| self.fold(inner(expr), depth + 1).into_iter().next();
                let old = text(old).map(|old| old.text).filter(|old| !old.is_empty());
                let new = text(new).map_or_else(|| UNKNOWN_TEXT.to_owned(), |new| new.text);
                if let Some(old) = old {
                    let replace = |one: &mut FoldedText| {
                        if new.len() <= old.len() || one.text.matches(&old).count() < 1_000 {
                            one.text = one.text.replace(&old, &new);
                        }
                    };
                    on.iter_mut().for_each(replace);
                }
            }
            _ => return Vec::new(),
        }
        on
    }

    /// `"…" % argument`.
    fn format_percent(
        &self,
        template: &FoldedText,
        argument: ExpressionInScope<'a>,
        depth: usize,
    ) -> Vec<FoldedText> {
        let mut arguments = Vec::new();
        self.resolve_into(argument, depth, &mut arguments);
        let mut parts: Vec<Vec<FoldedText>> = Vec::new();
        let piece = |text: &str| vec![FoldedText { text: text.to_owned(), ..template.clone() }];
        let mut position = 0;
        let mut rest = template.text.as_str();
        while let Some(at) = rest.find('%') {
            parts.push(piece(&rest[..at]));
            rest = &rest[at + 1..];
            let key = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            if let Some((key, after)) = key {
                rest = after;
                let value = arguments.iter().find_map(|one| self.named_value(*one, key));
                parts.push(value.map(|value| self.fold(value, depth + 1)).unwrap_or_default());
            } else if let Some(after) = rest.strip_prefix('%') {
                rest = after;
                parts.push(piece("%"));
                continue;
            } else {
                let value = arguments.iter().find_map(|one| match one.expr {
                    Expr::Tuple(tuple) => {
                        let expr = tuple.elts.get(position)?;
                        Some(ExpressionInScope { expr, scope: one.scope })
                    }
                    _ => None,
                });
                let value = value.unwrap_or(argument);
                position += 1;
                parts.push(self.fold(value, depth + 1));
            }
            let length = rest.find(|char: char| char.is_ascii_alphabetic()).map_or(0, |at| at + 1);
            rest = &rest[length..];
        }
        parts.push(piece(rest));
        concatenate_known(&parts)
    }

    /// The value of a name in `{"name": …}`, `dict(name=…)`, `locals()`.
    fn named_value(
        &self,
        table: ExpressionInScope<'a>,
        key: &str,
    ) -> Option<ExpressionInScope<'a>> {
        match table.expr {
            Expr::Dict(dict) => dict.items.iter().find_map(|item| match &item.key {
                Some(Expr::StringLiteral(own)) if own.value.to_str() == key => {
                    Some(ExpressionInScope { expr: &item.value, scope: table.scope })
                }
                _ => None,
            }),
            Expr::Call(call) => {
                let name = call.func.as_name_expr()?.id.as_str();
                if matches!(name, "locals" | "globals" | "vars") {
                    let bindings = self.module.lookup(key, table.scope);
                    return bindings.iter().find_map(|binding| match binding {
                        Binding::Value(value) => Some(*value),
                        _ => None,
                    });
                }
                let keyword = call.arguments.find_keyword(key)?;
                Some(ExpressionInScope { expr: &keyword.value, scope: table.scope })
            }
            _ => None,
        }
    }

    /// `"…".format(…)`.
    fn format_braces(
        &self,
        template: &FoldedText,
        call: &'a ast::ExprCall,
        scope: ScopeId,
        depth: usize,
    ) -> Vec<FoldedText> {
        let mut parts: Vec<Vec<FoldedText>> = Vec::new();
        let piece = |text: &str| vec![FoldedText { text: text.to_owned(), ..template.clone() }];
        let mut position = 0;
        let mut rest = template.text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            parts.push(piece(&rest[..at]));
            let sign = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(sign) {
                parts.push(piece(sign));
                rest = after;
                continue;
            }
            let Some((field, after)) = rest.split_once('}').filter(|_| sign == "{") else {
                continue;
            };
            rest = after;
            let name = field.split([':', '!', '.', '[']).next().unwrap_or_default();
            let index = if name.is_empty() {
                position += 1;
                Some(position - 1)
            } else {
                name.parse().ok()
            };
            let value = match index {
                Some(index) => call.arguments.args.get::<usize>(index),
                None => call.arguments.find_keyword(name).map(|keyword| &keyword.value),
            };
            let unpacked = || {
                let tables = call.arguments.keywords.iter().filter(|one| one.arg.is_none());
                let mut tables = tables.flat_map(|one| {
                    let mut tables = Vec::new();
                    self.resolve_into(
                        ExpressionInScope { expr: &one.value, scope },
                        depth,
                        &mut tables,
                    );
                    tables
                });
                tables.find_map(|table| self.named_value(table, name))
            };
            let value = value.map(|expr| ExpressionInScope { expr, scope }).or_else(unpacked);
            parts.push(value.map(|value| self.fold(value, depth + 1)).unwrap_or_default());
        }
        parts.push(piece(rest));
        concatenate_known(&parts)
    }

    /// The name of the function of `re` that is called.
    pub(super) fn regex_function(&self, func: &Expr, scope: ScopeId) -> Option<String> {
        match func {
            Expr::Attribute(attribute) => {
                let Expr::Name(name) = &*attribute.value else { return None };
                let bindings = self.module.lookup(name.id.as_str(), scope);
                let is_regex = bindings.iter().any(|one| matches!(one, Binding::RegexModule));
                is_regex.then(|| attribute.attr.to_string())
            }
            Expr::Name(name) => {
                let bindings = self.module.lookup(name.id.as_str(), scope);
                bindings.iter().find_map(|binding| match binding {
                    Binding::RegexFunction(name) => Some(name.clone()),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// All texts that begin with one of the first part, and so on; an unknown part is filled. None if
/// every part is unknown or empty.
fn concatenate_known(parts: &[Vec<FoldedText>]) -> Vec<FoldedText> {
    if !parts.iter().flatten().any(|part| !part.text.is_empty()) {
        return Vec::new();
    }
    let is_bytes = parts.iter().flatten().any(|part| part.is_bytes);
    let mut texts = vec![FoldedText { text: String::new(), is_bytes }];
    for part in parts {
        let unknown = [FoldedText::new(UNKNOWN_TEXT)];
        let cases: &[FoldedText] = if part.is_empty() { &unknown } else { part };
        let mut longer = Vec::new();
        for text in &texts {
            for case in cases.iter().take((MAX_CASES / texts.len()).max(1)) {
                if text.text.len() + case.text.len() <= MAX_FOLDED_BYTES {
                    longer
                        .push(FoldedText { text: format!("{}{}", text.text, case.text), is_bytes });
                }
            }
        }
        texts = longer;
    }
    texts
}

/// The parts with a text between them.
fn join(between: &FoldedText, parts: &[Vec<FoldedText>]) -> Vec<FoldedText> {
    let mut all: Vec<Vec<FoldedText>> = Vec::new();
    for part in parts {
        if !all.is_empty() {
            all.push(vec![between.clone()]);
        }
        all.push(part.clone());
    }
    concatenate_known(&all)
}

/// As `re.escape`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii() && !char.is_ascii_alphanumeric() && char != '_' {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

fn integer(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(number), .. }) => {
            number.as_usize()
        }
        _ => None,
    }
}
