//! `match` statements: each pattern tells what the subject could be.

use ruff_python_ast::{self as ast, Pattern, Singleton};

use menace_model::{Part, Use};

use super::Walker;
use crate::stack::grown;
use crate::survey::env::Changes;
use crate::survey::known::Known;

impl<'a> Walker<'a> {
    pub(super) fn match_statement(&mut self, statement: &'a ast::StmtMatch) {
        let subject = self.value(&statement.subject);
        let mut ways = vec![Changes::default()];
        for case in &statement.cases {
            ways.push(self.way(|this| {
                this.matched(&case.pattern, &subject);
                if let Some(guard) = &case.guard {
                    this.test(guard);
                }
                this.body(&case.body);
            }));
        }
        self.env.join(ways);
    }

    fn matched(&mut self, pattern: &'a Pattern, subject: &Known<'a>) {
        grown(|| match pattern {
            Pattern::MatchValue(value) => {
                self.value(&value.value);
                self.equals_one_of(subject, [&*value.value]);
            }
            Pattern::MatchSingleton(singleton) => {
                let used = match singleton.value {
                    Singleton::None => Use::MaybeNone,
                    Singleton::True => Use::Equals("True".to_owned()),
                    Singleton::False => Use::Equals("False".to_owned()),
                };
                self.used(subject, &used);
            }
            Pattern::MatchSequence(sequence) => self.matched_sequence(&sequence.patterns, subject),
            Pattern::MatchMapping(mapping) => {
                self.used(subject, &Use::Mapping);
                for (key, pattern) in mapping.keys.iter().zip(&mapping.patterns) {
                    self.value(key);
                    let inner = match key.as_string_literal_expr() {
                        Some(key) => {
                            let key = key.value.to_str().to_owned();
                            self.used(subject, &Use::Key(key.clone()));
                            subject.part(&Part::Key(key))
                        }
                        None => subject.part(&Part::Element),
                    };
                    self.matched(pattern, &inner);
                }
                if let Some(rest) = &mapping.rest {
                    self.env.set(rest.as_str(), subject.like());
                }
            }
            Pattern::MatchClass(class) => {
                let classes = self.class_names(&class.cls);
                self.is_instance(subject, classes);
                for inner in &class.arguments.patterns {
                    self.matched(inner, &Known::default());
                }
                for keyword in &class.arguments.keywords {
                    let name = keyword.attr.to_string();
                    self.used(subject, &Use::Attribute(name.clone()));
                    self.matched(&keyword.pattern, &subject.part(&Part::Attribute(name)));
                }
            }
            Pattern::MatchStar(star) => {
                if let Some(name) = &star.name {
                    self.env.set(name.as_str(), Known::default());
                }
            }
            Pattern::MatchAs(named) => {
                if let Some(inner) = &named.pattern {
                    self.matched(inner, subject);
                }
                if let Some(name) = &named.name {
                    self.env.set(name.as_str(), subject.clone());
                }
            }
            Pattern::MatchOr(choice) => {
                for inner in &choice.patterns {
                    self.matched(inner, subject);
                }
            }
        });
    }

    fn matched_sequence(&mut self, patterns: &'a [Pattern], subject: &Known<'a>) {
        let star = patterns.iter().position(Pattern::is_match_star);
        let used = match star {
            None => Use::Unpacked(patterns.len() as u32),
            Some(_) => Use::Iterated,
        };
        self.used(subject, &used);
        for (index, pattern) in patterns.iter().enumerate() {
            let is_counted = star.is_none_or(|star| index < star);
            let inner = is_counted.then(|| subject.place(index));
            self.matched(pattern, &inner.unwrap_or_default());
        }
    }
}
