//! Calls: what is called, with what, and what comes back.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use menace_model::{Part, TypeExpr, Use};

use super::Walker;
use super::expression::member;
use crate::facts::root_name;
use crate::link::Resolved;
use crate::survey::known::Known;
use crate::survey::sites::RawSite;

/// Methods whose result is of the kind of what they are called on.
const SAME_KIND: &[&str] = &[
    "capitalize",
    "casefold",
    "copy",
    "expandtabs",
    "lower",
    "lstrip",
    "rstrip",
    "strip",
    "swapcase",
    "title",
    "upper",
];

/// Functions of `re` and methods of what it compiles, and where each takes the text.
const SEARCHES: &[(&str, usize)] = &[
    ("findall", 0),
    ("finditer", 0),
    ("fullmatch", 0),
    ("match", 0),
    ("search", 0),
    ("split", 0),
    ("sub", 1),
    ("subn", 1),
];

/// What stands before the parentheses.
#[derive(Debug, Default)]
pub(super) struct Callee<'a> {
    /// What a method is called on.
    on: Option<(Known<'a>, &'a ast::ExprAttribute)>,
    /// What is called, for everything but a method.
    itself: Known<'a>,
    pub(super) target: Option<Rc<Resolved>>,
}

impl<'a> Walker<'a> {
    pub(super) fn call(&mut self, call: &'a ast::ExprCall) -> Known<'a> {
        self.calls(&call.func);
        if let Some(known) = self.builtin(call) {
            return known;
        }
        let callee = self.callee(&call.func);
        let given = self.arguments(call, &callee);
        self.site(call, &callee);
        if let Some((on, attribute)) = &callee.on {
            self.method(on, attribute.attr.as_str(), call);
            self.searches(call, &callee, &given);
            if !on.origins.is_empty() {
                return returned(on, attribute.attr.as_str(), call);
            }
        }
        if !callee.itself.origins.is_empty() {
            return self.called(&callee.itself, call.arguments.len() as u32);
        }
        self.result(call, callee.target, &given)
    }

    fn callee(&mut self, func: &'a Expr) -> Callee<'a> {
        let Expr::Attribute(attribute) = func else {
            let itself = self.value(func);
            let target = match &itself.meant {
                Some(meant) => Some(meant.clone()),
                None if itself.origins.is_empty() => self.reached(func),
                None => None,
            };
            return Callee { on: None, itself, target };
        };
        let name = attribute.attr.as_str();
        if self.is_receiver(&attribute.value)
            && let Some(known) = self.classes.last().and_then(|class| class.attributes.get(name))
            && (!known.origins.is_empty() || known.meant.is_some())
        {
            let itself = Known::clone(known);
            return Callee { on: None, target: itself.meant.clone(), itself };
        }
        let on = self.value(&attribute.value);
        let literal = match &*attribute.value {
            Expr::StringLiteral(_) | Expr::FString(_) => Some("str"),
            Expr::BytesLiteral(_) => Some("bytes"),
            _ => None,
        };
        let of = on.class.as_ref().or(on.meant.as_ref());
        let target = match (of, literal) {
            (Some(of), _) => Some(Rc::new(member(of, name))),
            (None, Some(class)) => Some(Rc::new(foreign(&format!("{class}.{name}")))),
            (None, None) if on.origins.is_empty() => self.reached(func),
            _ => None,
        };
        Callee { on: Some((on, attribute)), itself: Known::default(), target }
    }

    /// Walks the arguments in order; by position, then by name.
    fn arguments(&mut self, call: &'a ast::ExprCall, callee: &Callee<'a>) -> Vec<Known<'a>> {
        let mut given = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments.args {
            let known = match argument {
                Expr::Starred(starred) => {
                    let known = self.value(&starred.value);
                    self.used(&known, &Use::Iterated);
                    known
                }
                plain => self.value(plain),
            };
            given.push(known);
        }
        for keyword in &call.arguments.keywords {
            let known = self.value(&keyword.value);
            if keyword.arg.is_none() {
                self.used(&known, &Use::Mapping);
            }
            given.push(known);
        }
        if given.iter().any(|known| !known.origins.is_empty())
            && let Some(function) = self.function_name(callee, &call.func)
        {
            for (argument, known) in argument_names(&call.arguments).zip(&given) {
                self.used(known, &Use::PassedTo { function: function.clone(), argument });
            }
        }
        given
    }

    /// What the function is called, from everybody's point of view if that is known.
    fn function_name(&self, callee: &Callee<'a>, func: &Expr) -> Option<String> {
        if let Some(target) = &callee.target {
            let definer = self.context.index.and_then(|index| index.definer(target));
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
    pub(super) fn called(&mut self, callee: &Known<'a>, arguments: u32) -> Known<'a> {
        let mut result = Known::default();
        for origin in &callee.origins {
            let one = Known { origins: vec![origin.clone()], ..Known::default() };
            let method = match origin.path.split_last() {
                Some((Part::Attribute(name), path)) => Some((one.with_path(path), name.clone())),
                _ => None,
            };
            let returned = if let Some((object, name)) = method {
                self.used(&object, &Use::Method { name: name.clone(), arguments });
                object.part(&Part::Method(name))
            } else {
                self.used(&one, &Use::Called { arguments });
                one.part(&Part::Returned)
            };
            result = result.or(&returned);
        }
        result
    }

    fn method(&mut self, on: &Known<'a>, name: &str, call: &'a ast::ExprCall) {
        if let ("get" | "pop" | "setdefault", Some(_), Some(key)) =
            (name, on.written, call.arguments.args.first())
            && let Expr::Name(key) = key
            && let Some(key) = self.env.get(key.id.as_str()).cloned()
        {
            self.looked_up(&key, on);
        }
        if on.origins.is_empty() {
            return;
        }
        let arguments = call.arguments.len() as u32;
        self.used(on, &Use::Method { name: name.to_owned(), arguments });
        let Some(first) = call.arguments.args.first() else { return };
        if let (true, Expr::StringLiteral(key)) = (takes_key(name), first) {
            self.used(on, &Use::Key(key.value.to_str().to_owned()));
        } else {
            for argument in self.texts(first) {
                let argument = argument.to_string();
                self.used(on, &Use::MethodWith { name: name.to_owned(), argument });
            }
        }
    }

    /// `re.match("…", x)`, `PATTERN.match(x)`.
    fn searches(&mut self, call: &'a ast::ExprCall, callee: &Callee<'a>, given: &[Known<'a>]) {
        let Some((on, attribute)) = &callee.on else { return };
        let method = attribute.attr.as_str();
        let Some(&(_, position)) = SEARCHES.iter().find(|(name, _)| *name == method) else {
            return;
        };
        let by_module = callee
            .target
            .as_ref()
            .is_some_and(|target| target.name.strip_prefix("re.") == Some(method));
        let pattern = match &on.pattern {
            Some(pattern) => Some(pattern.clone()),
            None if by_module => self.pattern_given(call),
            None => None,
        };
        let Some(pattern) = pattern else { return };
        self.pattern(&pattern);
        let position = position + usize::from(by_module);
        let by_name =
            call.arguments.keywords.iter().position(|keyword| {
                keyword.arg.as_ref().is_some_and(|name| name.as_str() == "string")
            });
        let positional = call.arguments.args.len();
        let place = by_name.map_or(position, |index| positional + index);
        if let Some(subject) = given.get(place).filter(|_| by_name.is_some() || place < positional)
        {
            self.used(subject, &Use::Matched(pattern.to_string()));
        }
    }

    /// What a function that is known returns.
    fn result(
        &mut self,
        call: &'a ast::ExprCall,
        target: Option<Rc<Resolved>>,
        given: &[Known<'a>],
    ) -> Known<'a> {
        let Some(target) = target else { return Known::default() };
        let nth = |index: usize| given.get(index).map(Known::like).unwrap_or_default();
        match target.name.as_str() {
            "re.compile" => {
                let pattern = self.pattern_given(call);
                if let Some(pattern) = &pattern {
                    self.pattern(pattern);
                }
                return Known { pattern, ..Known::default() };
            }
            "typing.cast" => return nth(1),
            "copy.copy" | "copy.deepcopy" | "os.fspath" => return nth(0),
            _ => {}
        }
        if self.is_class(&target) {
            return Known::instance(target);
        }
        self.class_returned(&target).map(Known::instance).unwrap_or_default()
    }

    /// The class of the repository that a function says it returns an instance of.
    fn class_returned(&self, function: &Resolved) -> Option<Rc<Resolved>> {
        let module = function.module?;
        let function = self.context.functions.get(&(module, function.attributes.as_str()))?;
        let Some(TypeExpr::Name(name)) = &function.returns else { return None };
        let (module, attributes) = self.context.resolver.names.split(module, name)?;
        let class = Resolved {
            name: name.clone(),
            module: Some(module),
            attributes: attributes.to_owned(),
        };
        self.is_class(&class).then(|| Rc::new(class))
    }

    /// The class that a call makes an instance of; nothing is walked.
    pub(super) fn class_made(&self, expr: &Expr) -> Option<Rc<Resolved>> {
        let Expr::Call(call) = expr else { return None };
        self.reached(&call.func).filter(|target| self.is_class(target))
    }

    fn site(&mut self, call: &'a ast::ExprCall, callee: &Callee<'a>) {
        if self.sites.is_none() {
            return;
        }
        let ast::Arguments { args, keywords, .. } = &call.arguments;
        self.add_site(callee, args, keywords, self.expects_failure);
        // `self.assertRaises(Error, function, …)` calls the function.
        let raises = callee.on.as_ref().map_or("", |(_, attribute)| attribute.attr.as_str());
        let before = match raises {
            "assertRaises" | "raises" => 1,
            "assertRaisesRegex" => 2,
            _ => return,
        };
        if let [function, args @ ..] = args.get(before..).unwrap_or_default()
            && matches!(function, Expr::Name(_) | Expr::Attribute(_))
        {
            let callee = self.callee(function);
            self.add_site(&callee, args, keywords, true);
        }
    }

    fn add_site(
        &mut self,
        callee: &Callee<'a>,
        args: &[Expr],
        keywords: &[ast::Keyword],
        fails: bool,
    ) {
        let Some(target) = &callee.target else { return };
        let Some(module) = target.module else { return };
        let instance = callee.on.as_ref().filter(|(on, _)| on.class.is_some());
        let receiver = instance.map(|(_, attribute)| &*attribute.value);
        let rendered = self.rendered(args, keywords, receiver);
        let sites = rendered.into_iter().map(|rendered| RawSite {
            module,
            attributes: target.attributes.clone(),
            bound: instance.is_some(),
            fails,
            rendered,
        });
        if let Some(all) = &mut self.sites {
            all.extend(sites);
        }
    }
}

fn returned<'a>(on: &Known<'a>, method: &str, call: &ast::ExprCall) -> Known<'a> {
    if SAME_KIND.contains(&method) {
        return on.like();
    }
    match call.arguments.args.first() {
        Some(Expr::StringLiteral(key)) if takes_key(method) => {
            on.part(&Part::Key(key.value.to_str().to_owned()))
        }
        _ => on.part(&Part::Method(method.to_owned())),
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

fn foreign(name: &str) -> Resolved {
    Resolved { name: name.to_owned(), module: None, attributes: String::new() }
}
