//! Names, attributes and items that get a value.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, Stmt};

use menace_model::{Part, Use};

use super::Walker;
use super::literal::written;
use crate::facts::ScopeKind;
use crate::survey::known::{Known, MAX_TEXTS};

impl<'a> Walker<'a> {
    /// Binds what the top level assigns, before anything is walked.
    pub(super) fn constants(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            let (target, value) = match stmt {
                Stmt::Assign(assign) if assign.targets.len() == 1 => {
                    (&assign.targets[0], &assign.value)
                }
                Stmt::AnnAssign(ast::StmtAnnAssign { target, value: Some(value), .. }) => {
                    (&**target, value)
                }
                _ => continue,
            };
            if let Expr::Name(name) = target {
                let known = Known {
                    texts: self.texts(value),
                    written: written(value),
                    pattern: self.compiled(value),
                    class: self.class_made(value),
                    ..Known::default()
                };
                self.env.set(name.id.as_str(), known);
            }
        }
    }

    pub(super) fn assign(&mut self, targets: &'a [Expr], value: &'a Expr) {
        let known = self.named_value(value);
        if let [target] = targets {
            return self.store(target, known);
        }
        for target in targets {
            self.store(target, known.clone());
        }
    }

    /// A value that a name will stand for, with all that can be known about it.
    fn named_value(&mut self, value: &'a Expr) -> Known<'a> {
        if let Expr::Tuple(tuple) = value {
            let elements: Vec<Known<'a>> =
                tuple.elts.iter().map(|element| self.named_value(element)).collect();
            return Known {
                tuple: Some(elements.into()),
                texts: self.texts(value),
                written: written(value),
                ..Known::default()
            };
        }
        let mut known = self.value(value);
        if known.texts.is_empty() {
            known.texts = self.texts(value);
        }
        known.written = known.written.or_else(|| written(value));
        if known.meant.is_none() && known.origins.is_empty() && known.class.is_none() {
            known.meant = self.definition(value);
        }
        known
    }

    pub(super) fn store(&mut self, target: &'a Expr, known: Known<'a>) {
        match target {
            Expr::Name(name) => {
                if self.env.scopes.innermost().kind == ScopeKind::Class {
                    self.store_attribute(name.id.as_str(), known.clone());
                }
                self.env.set(name.id.as_str(), known);
            }
            Expr::Attribute(attribute) => {
                if self.is_receiver(&attribute.value) {
                    self.store_attribute(attribute.attr.as_str(), known);
                } else {
                    let object = self.value(&attribute.value);
                    self.used(&object, &Use::SetAttribute(attribute.attr.to_string()));
                }
            }
            Expr::Subscript(subscript) => {
                let object = self.value(&subscript.value);
                self.value(&subscript.slice);
                if !object.origins.is_empty() {
                    let key = self.text(&subscript.slice).map(|text| text.to_string());
                    self.used(&object, &Use::SetItem(key));
                }
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                self.unpack(elts, &known);
            }
            Expr::Starred(starred) => self.store(&starred.value, Known::default()),
            _ => {}
        }
    }

    fn unpack(&mut self, targets: &'a [Expr], known: &Known<'a>) {
        let starred = targets.iter().position(Expr::is_starred_expr);
        if let Some(elements) = &known.tuple
            && elements.len() == targets.len()
            && starred.is_none()
        {
            for (target, element) in targets.iter().zip(elements.iter()) {
                self.store(target, element.clone());
            }
            return;
        }
        let used = match starred {
            None => Use::Unpacked(targets.len() as u32),
            Some(_) => Use::Iterated,
        };
        self.used(known, &used);
        for (index, target) in targets.iter().enumerate() {
            let is_counted = starred.is_none_or(|star| index < star);
            let element = is_counted.then(|| known.place(index));
            self.store(target, element.unwrap_or_default());
        }
    }

    /// What `self.name = …`, or `name = …` in the class, says about `self.name` in all methods.
    fn store_attribute(&mut self, name: &'a str, known: Known<'a>) {
        let Some(class) = self.classes.last_mut() else { return };
        // What belongs to one call only is not known in the others.
        let known = Known { written: None, tuple: None, ..known };
        let both = match class.attributes.get(name) {
            Some(earlier) => earlier.or(&known),
            None => known,
        };
        class.attributes.insert(name, Rc::new(both));
    }

    pub(super) fn augment(&mut self, assign: &'a ast::StmtAugAssign) {
        let left = self.value(&assign.target);
        let right = self.value(&assign.value);
        self.operation((&left, &assign.target), assign.op, (&right, &assign.value));
        self.store(&assign.target, left.like());
    }

    /// What each turn of a loop gets, which `target` takes.
    pub(super) fn iterated(
        &mut self,
        iter: &'a Expr,
        target: &'a Expr,
        is_async: bool,
    ) -> Known<'a> {
        if let Some(item) = self.iterated_builtin(iter, target) {
            return item;
        }
        let known = self.value(iter);
        let parts = elements(target).filter(|parts| !parts.iter().any(Expr::is_starred_expr));
        let used = match parts {
            _ if is_async => Use::IteratedAsync,
            Some(parts) => Use::IteratedTuples(parts.len() as u32),
            None => Use::Iterated,
        };
        self.used(&known, &used);
        let item = known.part(&Part::Item);
        let rows = known.written.or(Some(iter)).and_then(elements).unwrap_or_default();
        let Some(parts) = parts else {
            let texts = rows.iter().filter_map(|row| self.text(row)).take(MAX_TEXTS).collect();
            return Known { texts, ..item };
        };
        let columns = (0..parts.len()).map(|index| {
            let cell = |row: &'a Expr| elements(row).and_then(|cells| cells.get(index));
            let cells = rows.iter().map_while(|row| self.text(cell(row)?));
            let texts = cells.take(MAX_TEXTS).collect();
            Known { texts, ..item.place(index) }
        });
        Known { tuple: Some(columns.collect()), ..item }
    }
}

/// What stands in a tuple, list or set that is written out.
pub(super) fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        Expr::Set(set) => Some(&set.elts),
        _ => None,
    }
}
