//! Calls: the callee, the arguments, and the result.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use menace_model::{ParamPart, ParamUse, TypeExpr};

use super::SurveyWalker;
use super::expression::resolve_member;
use crate::facts::root_name;
use crate::link::ResolvedName;
use crate::survey::call_sites::UnresolvedCallSite;
use crate::survey::known_value::KnownValue;

/// Methods whose result has the type of their receiver.
const SAME_TYPE_METHODS: &[&str] = &menace_model::words![
    capitalize casefold copy expandtabs lower lstrip rstrip strip swapcase title upper
];

/// Functions of `re` and methods of compiled patterns, with the position of the searched text.
const REGEX_SEARCH_FUNCTIONS: &[(&str, usize)] = &[
    ("findall", 0),
    ("finditer", 0),
    ("fullmatch", 0),
    ("match", 0),
    ("search", 0),
    ("split", 0),
    ("sub", 1),
    ("subn", 1),
];

/// The callee of a call.
#[derive(Debug, Default)]
pub(super) struct ResolvedCallee<'a> {
    /// The receiver of a method call.
    receiver: Option<(KnownValue<'a>, &'a ast::ExprAttribute)>,
    /// The value of any other callee.
    value: KnownValue<'a>,
    pub(super) target: Option<Rc<ResolvedName>>,
}

impl<'a> SurveyWalker<'a> {
    pub(super) fn evaluate_call(&mut self, call: &'a ast::ExprCall) -> KnownValue<'a> {
        self.record_call(&call.func);
        if let Some(known) = self.evaluate_builtin(call) {
            return known;
        }
        let callee = self.resolve_callee(&call.func);
        let argument_values = self.evaluate_arguments(call, &callee);
        self.record_call_site(call, &callee);
        if let Some((on, attribute)) = &callee.receiver {
            self.record_method_call(on, attribute.attr.as_str(), call);
            self.record_regex_search(call, &callee, &argument_values);
            if !on.origins.is_empty() {
                return method_result(on, attribute.attr.as_str(), call);
            }
        }
        if !callee.value.origins.is_empty() {
            return self.record_called_value(&callee.value, call.arguments.len() as u32);
        }
        self.evaluate_result(call, callee.target, &argument_values)
    }

    fn resolve_callee(&mut self, func: &'a Expr) -> ResolvedCallee<'a> {
        let Expr::Attribute(attribute) = func else {
            let itself = self.evaluate(func);
            let target = match &itself.definition {
                Some(meant) => Some(meant.clone()),
                None if itself.origins.is_empty() => self.resolve_dotted(func),
                None => None,
            };
            return ResolvedCallee { receiver: None, value: itself, target };
        };
        let name = attribute.attr.as_str();
        if self.is_receiver(&attribute.value)
            && let Some(known) = self.classes.last().and_then(|class| class.attributes.get(name))
            && (!known.origins.is_empty() || known.definition.is_some())
        {
            let itself = KnownValue::clone(known);
            return ResolvedCallee {
                receiver: None,
                target: itself.definition.clone(),
                value: itself,
            };
        }
        let on = self.evaluate(&attribute.value);
        let literal = match &*attribute.value {
            Expr::StringLiteral(_) | Expr::FString(_) => Some("str"),
            Expr::BytesLiteral(_) => Some("bytes"),
            _ => None,
        };
        let of = on.class.as_ref().or(on.definition.as_ref());
        let target = match (of, literal) {
            (Some(of), _) => Some(Rc::new(resolve_member(of, name))),
            (None, Some(class)) => Some(Rc::new(foreign_name(&format!("{class}.{name}")))),
            (None, None) if on.origins.is_empty() => self.resolve_dotted(func),
            _ => None,
        };
        ResolvedCallee { receiver: Some((on, attribute)), value: KnownValue::default(), target }
    }

    /// Walks the arguments in order; by position, then by name.
    fn evaluate_arguments(
        &mut self,
        call: &'a ast::ExprCall,
        callee: &ResolvedCallee<'a>,
    ) -> Vec<KnownValue<'a>> {
        let mut argument_values = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments.args {
            let known = match argument {
                Expr::Starred(starred) => {
                    let known = self.evaluate(&starred.value);
                    self.record_use(&known, &ParamUse::Iterated);
                    known
                }
                plain => self.evaluate(plain),
            };
            argument_values.push(known);
        }
        for keyword in &call.arguments.keywords {
            let known = self.evaluate(&keyword.value);
            if keyword.arg.is_none() {
                self.record_use(&known, &ParamUse::Mapping);
            }
            argument_values.push(known);
        }
        if argument_values.iter().any(|known| !known.origins.is_empty())
            && let Some(function) = self.function_name(callee, &call.func)
        {
            for (argument, known) in argument_names(&call.arguments).zip(&argument_values) {
                self.record_use(
                    known,
                    &ParamUse::PassedTo { function: function.clone(), argument },
                );
            }
        }
        argument_values
    }

    /// The name of the function, fully qualified if it is known.
    fn function_name(&self, callee: &ResolvedCallee<'a>, func: &Expr) -> Option<String> {
        if let Some(target) = &callee.target {
            let definer = self.context.index.and_then(|index| index.defining_name(target));
            return Some(definer.unwrap_or_else(|| target.name.clone()));
        }
        match func {
            Expr::Attribute(attribute) => match root_name(func) {
                Some(_) => Some(self.source[func.range()].replace(char::is_whitespace, "")),
                None => Some(format!(".{}", attribute.attr)),
            },
            _ => None,
        }
    }

    /// A value is called that comes from a parameter; `read = x.read` is a method of x still.
    pub(super) fn record_called_value(
        &mut self,
        callee: &KnownValue<'a>,
        arguments: u32,
    ) -> KnownValue<'a> {
        let mut result = KnownValue::default();
        for origin in &callee.origins {
            let one = KnownValue { origins: vec![origin.clone()], ..KnownValue::default() };
            let method = match origin.path.split_last() {
                Some((ParamPart::Attribute(name), path)) => {
                    Some((one.with_path(path), name.clone()))
                }
                _ => None,
            };
            let returned = if let Some((object, name)) = method {
                self.record_use(&object, &ParamUse::Method { name: name.clone(), arguments });
                object.part_of_origin(&ParamPart::Method(name))
            } else {
                self.record_use(&one, &ParamUse::Called { arguments });
                one.part_of_origin(&ParamPart::Returned)
            };
            result = result.merge(&returned);
        }
        result
    }

    fn record_method_call(&mut self, on: &KnownValue<'a>, name: &str, call: &'a ast::ExprCall) {
        if let ("get" | "pop" | "setdefault", Some(_), Some(key)) =
            (name, on.literal_expr, call.arguments.args.first())
            && let Expr::Name(key) = key
            && let Some(key) = self.env.get(key.id.as_str()).cloned()
        {
            self.record_lookup(&key, on);
        }
        if on.origins.is_empty() {
            return;
        }
        let arguments = call.arguments.len() as u32;
        self.record_use(on, &ParamUse::Method { name: name.to_owned(), arguments });
        let Some(first) = call.arguments.args.first() else { return };
        if let (true, Expr::StringLiteral(key)) = (takes_key(name), first) {
            self.record_use(on, &ParamUse::Key(key.value.to_str().to_owned()));
        } else {
            for argument in self.render_cases(first) {
                let argument = argument.to_string();
                self.record_use(on, &ParamUse::MethodWith { name: name.to_owned(), argument });
            }
        }
    }

    /// `re.match("…", x)`, `PATTERN.match(x)`.
    fn record_regex_search(
        &mut self,
        call: &'a ast::ExprCall,
        callee: &ResolvedCallee<'a>,
        argument_values: &[KnownValue<'a>],
    ) {
        let Some((on, attribute)) = &callee.receiver else { return };
        let method = attribute.attr.as_str();
        let Some(&(_, position)) = REGEX_SEARCH_FUNCTIONS.iter().find(|(name, _)| *name == method)
        else {
            return;
        };
        let by_module = callee
            .target
            .as_ref()
            .is_some_and(|target| target.name.strip_prefix("re.") == Some(method));
        let pattern = match &on.pattern {
            Some(pattern) => Some(pattern.clone()),
            None if by_module => self.regex_argument(call),
            None => None,
        };
        let Some(pattern) = pattern else { return };
        self.record_regex(&pattern);
        let position = position + usize::from(by_module);
        let by_name =
            call.arguments.keywords.iter().position(|keyword| {
                keyword.arg.as_ref().is_some_and(|name| name.as_str() == "string")
            });
        let positional = call.arguments.args.len();
        let place = by_name.map_or(position, |index| positional + index);
        if let Some(subject) =
            argument_values.get(place).filter(|_| by_name.is_some() || place < positional)
        {
            self.record_use(subject, &ParamUse::Matched(pattern.to_string()));
        }
    }

    /// The value of a call of a known function.
    fn evaluate_result(
        &mut self,
        call: &'a ast::ExprCall,
        target: Option<Rc<ResolvedName>>,
        argument_values: &[KnownValue<'a>],
    ) -> KnownValue<'a> {
        let Some(target) = target else { return KnownValue::default() };
        let nth = |index: usize| {
            argument_values.get(index).map(KnownValue::same_origin).unwrap_or_default()
        };
        match target.name.as_str() {
            "re.compile" => {
                let pattern = self.regex_argument(call);
                if let Some(pattern) = &pattern {
                    self.record_regex(pattern);
                }
                return KnownValue { pattern, ..KnownValue::default() };
            }
            "typing.cast" => return nth(1),
            "copy.copy" | "copy.deepcopy" | "os.fspath" => return nth(0),
            _ => {}
        }
        if self.is_class(&target) {
            return KnownValue::from_instance(target);
        }
        self.returned_class(&target).map(KnownValue::from_instance).unwrap_or_default()
    }

    /// The class of the repository that a function's return annotation names.
    fn returned_class(&self, function: &ResolvedName) -> Option<Rc<ResolvedName>> {
        let module = function.module?;
        let function = self.context.functions.get(&(module, function.attributes.as_str()))?;
        let Some(TypeExpr::Name(name)) = &function.returns else { return None };
        let (module, attributes) = self.context.resolver.names.split_module_prefix(module, name)?;
        let class = ResolvedName {
            name: name.clone(),
            module: Some(module),
            attributes: attributes.to_owned(),
        };
        self.is_class(&class).then(|| Rc::new(class))
    }

    /// The class whose instance a call makes; does not walk the expression.
    pub(super) fn constructed_class(&self, expr: &Expr) -> Option<Rc<ResolvedName>> {
        let Expr::Call(call) = expr else { return None };
        self.resolve_dotted(&call.func).filter(|target| self.is_class(target))
    }

    fn record_call_site(&mut self, call: &'a ast::ExprCall, callee: &ResolvedCallee<'a>) {
        if self.call_sites.is_none() {
            return;
        }
        let ast::Arguments { args, keywords, .. } = &call.arguments;
        self.add_call_site(callee, args, keywords, self.expects_failure);
        // `self.assertRaises(Error, function, …)` calls the function.
        let raises = callee.receiver.as_ref().map_or("", |(_, attribute)| attribute.attr.as_str());
        let before = match raises {
            "assertRaises" | "raises" => 1,
            "assertRaisesRegex" => 2,
            _ => return,
        };
        if let [function, args @ ..] = args.get(before..).unwrap_or_default()
            && matches!(function, Expr::Name(_) | Expr::Attribute(_))
        {
            let callee = self.resolve_callee(function);
            self.add_call_site(&callee, args, keywords, true);
        }
    }

    fn add_call_site(
        &mut self,
        callee: &ResolvedCallee<'a>,
        args: &[Expr],
        keywords: &[ast::Keyword],
        fails: bool,
    ) {
        let Some(target) = &callee.target else { return };
        let Some(module) = target.module else { return };
        let instance = callee.receiver.as_ref().filter(|(on, _)| on.class.is_some());
        let receiver = instance.map(|(_, attribute)| &*attribute.value);
        let rendered = self.render_arguments(args, keywords, receiver);
        let sites = rendered.into_iter().map(|rendered| UnresolvedCallSite {
            module,
            attributes: target.attributes.clone(),
            on_instance: instance.is_some(),
            expects_failure: fails,
            arguments: rendered,
        });
        if let Some(all) = &mut self.call_sites {
            all.extend(sites);
        }
    }
}

fn method_result<'a>(on: &KnownValue<'a>, method: &str, call: &ast::ExprCall) -> KnownValue<'a> {
    if SAME_TYPE_METHODS.contains(&method) {
        return on.same_origin();
    }
    match call.arguments.args.first() {
        Some(Expr::StringLiteral(key)) if takes_key(method) => {
            on.part_of_origin(&ParamPart::Key(key.value.to_str().to_owned()))
        }
        _ => on.part_of_origin(&ParamPart::Method(method.to_owned())),
    }
}

fn takes_key(method: &str) -> bool {
    matches!(method, "get" | "pop" | "setdefault")
}

fn argument_names(arguments: &ast::Arguments) -> impl Iterator<Item = String> + '_ {
    let by_position = arguments.args.iter().enumerate().map(|(index, argument)| match argument {
        Expr::Starred(_) => "*".to_owned(),
        _ => index.to_string(),
    });
    let by_name = arguments.keywords.iter().map(|keyword| match &keyword.arg {
        Some(name) => name.to_string(),
        None => "**".to_owned(),
    });
    by_position.chain(by_name)
}

fn foreign_name(name: &str) -> ResolvedName {
    ResolvedName { name: name.to_owned(), module: None, attributes: String::new() }
}
