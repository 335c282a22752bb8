//! Builtin functions that tell what they are given.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr};

use menace_model::{Part, Use};

use super::Walker;
use super::assign::elements;
use super::expression::is_text;
use crate::survey::known::Known;

impl<'a> Walker<'a> {
    /// The name of a builtin function, unless the file has something else of that name.
    pub(super) fn builtin_name(&self, func: &'a Expr) -> Option<&'a str> {
        let Expr::Name(name) = func else { return None };
        let name = name.id.as_str();
        self.env.scopes.depth_of(name).is_none().then_some(name)
    }

    /// A call of one of these functions, walked; `None` for every other call.
    pub(super) fn builtin(&mut self, call: &'a ast::ExprCall) -> Option<Known<'a>> {
        let arguments = &call.arguments;
        if let Expr::Attribute(attribute) = &*call.func {
            let is_join = attribute.attr.as_str() == "join" && arguments.len() == 1;
            return is_join.then(|| self.join(&attribute.value, arguments.args.first()?))?;
        }
        let name = self.builtin_name(&call.func)?;
        if arguments.args.iter().any(Expr::is_starred_expr) {
            return None;
        }
        match (name, &*arguments.args) {
            ("super", []) => {
                let base = self.classes.last()?.first_base.clone()?;
                return Some(Known::instance(base));
            }
            ("len", [object]) => {
                let known = self.value(object);
                self.used(&known, &Use::Length);
                return Some(known.part(&Part::Length));
            }
            ("isinstance", [object, classes]) => {
                let known = self.value(object);
                self.value(classes);
                if !known.origins.is_empty() {
                    let classes = self.class_names(classes);
                    self.is_instance(&known, classes);
                }
            }
            ("hasattr" | "getattr" | "delattr", [object, Expr::StringLiteral(name), rest @ ..]) => {
                let known = self.value(object);
                self.all(rest);
                let name = name.value.to_str().to_owned();
                self.used(&known, &Use::Attribute(name.clone()));
                return Some(known.part(&Part::Attribute(name)));
            }
            ("setattr", [object, Expr::StringLiteral(name), value]) => {
                let known = self.value(object);
                self.value(value);
                self.used(&known, &Use::SetAttribute(name.value.to_str().to_owned()));
            }
            ("map" | "filter", [function, rest @ ..]) => {
                let known = self.value(function);
                self.called(&known, rest.len() as u32);
                self.iterate_all(rest, None);
            }
            ("sum", [object, rest @ ..]) => {
                self.iterate(object, Some(&Use::Arithmetic));
                self.all(rest);
            }
            ("sorted" | "min" | "max", [object]) => {
                // With a key, it is not the items that are compared.
                let compared = arguments.find_keyword("key").is_none();
                self.iterate(object, compared.then_some(&Use::Ordered(None)));
            }
            ("min" | "max", all) => {
                for object in all {
                    let known = self.value(object);
                    self.used(&known, &Use::Ordered(None));
                }
            }
            (
                "list" | "tuple" | "set" | "frozenset" | "iter" | "any" | "all" | "reversed",
                [one],
            ) => {
                self.iterate(one, None);
            }
            ("enumerate", [one, ..]) => self.iterate(one, None),
            ("zip", all) => self.iterate_all(all, None),
            ("abs" | "round" | "divmod" | "pow" | "range" | "chr" | "bin" | "hex" | "oct", all) => {
                for object in all {
                    let known = self.value(object);
                    self.used(&known, &Use::Arithmetic);
                }
            }
            ("ord", [object]) => {
                let known = self.value(object);
                self.used(&known, &Use::Text);
            }
            _ => return None,
        }
        for keyword in &arguments.keywords {
            self.value(&keyword.value);
        }
        Some(Known::default())
    }

    /// `", ".join(x)`.
    fn join(&mut self, separator: &'a Expr, items: &'a Expr) -> Option<Known<'a>> {
        let used = match separator {
            text if is_text(text) => Use::Text,
            Expr::BytesLiteral(_) => Use::Bytes,
            _ => return None,
        };
        self.value(separator);
        if let Some(items) = elements(items) {
            for item in items {
                let known = self.value(item);
                self.used(&known, &used);
            }
        } else {
            self.iterate(items, Some(&used));
        }
        Some(Known::default())
    }

    fn iterate_all(&mut self, objects: &'a [Expr], item_used: Option<&Use>) {
        for object in objects {
            self.iterate(object, item_used);
        }
    }

    /// Something goes through the items, and does this to each.
    fn iterate(&mut self, object: &'a Expr, item_used: Option<&Use>) {
        let known = self.value(object);
        self.used(&known, &Use::Iterated);
        if let Some(used) = item_used {
            self.used(&known.part(&Part::Item), used);
        }
    }

    /// What `for target in enumerate(x)` and its like get from x in each turn.
    pub(super) fn iterated_builtin(
        &mut self,
        iter: &'a Expr,
        target: &'a Expr,
    ) -> Option<Known<'a>> {
        let Expr::Call(call) = iter else { return None };
        let name = self.builtin_name(&call.func)?;
        let arguments = &call.arguments;
        if arguments.args.iter().any(Expr::is_starred_expr) {
            return None;
        }
        let targets = elements(target);
        let item = match (name, &*arguments.args, targets) {
            ("sorted" | "list" | "tuple" | "set" | "reversed" | "iter", [inner], _) => {
                self.iterated(inner, target, false)
            }
            ("enumerate", [inner, rest @ ..], Some([_, target])) => {
                let item = self.iterated(inner, target, false);
                self.all(rest);
                let pair: Rc<[Known<'a>]> = [Known::default(), item].into();
                Known { tuple: Some(pair), ..Known::default() }
            }
            ("zip", inner, Some(targets)) if inner.len() == targets.len() => {
                let items = inner
                    .iter()
                    .zip(targets)
                    .map(|(inner, target)| self.iterated(inner, target, false))
                    .collect();
                Known { tuple: Some(items), ..Known::default() }
            }
            _ => return None,
        };
        for keyword in &arguments.keywords {
            self.value(&keyword.value);
        }
        Some(item)
    }
}
