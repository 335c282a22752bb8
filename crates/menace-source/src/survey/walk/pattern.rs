//! `match` statements: each pattern is a hint about the subject.

use ruff_python_ast::{self as ast, Pattern, Singleton};

use menace_model::{ParamPart, ParamUse};

use super::SurveyWalker;
use crate::stack::with_growing_stack;
use crate::survey::known_value::KnownValue;
use crate::survey::name_environment::BranchChanges;

impl<'a> SurveyWalker<'a> {
    pub(super) fn visit_match(&mut self, statement: &'a ast::StmtMatch) {
        let subject = self.evaluate(&statement.subject);
        let mut branch_changes = vec![BranchChanges::default()];
        for case in &statement.cases {
            branch_changes.push(self.visit_branch(|this| {
                this.record_pattern(&case.pattern, &subject);
                if let Some(guard) = &case.guard {
                    this.evaluate_condition(guard);
                }
                this.visit_body(&case.body);
            }));
        }
        self.env.join_branches(branch_changes);
    }

    fn record_pattern(&mut self, pattern: &'a Pattern, subject: &KnownValue<'a>) {
        with_growing_stack(|| match pattern {
            Pattern::MatchValue(value) => {
                self.evaluate(&value.value);
                self.record_choices(subject, [&*value.value]);
            }
            Pattern::MatchSingleton(singleton) => {
                let used = match singleton.value {
                    Singleton::None => ParamUse::MaybeNone,
                    Singleton::True => ParamUse::Equals("True".to_owned()),
                    Singleton::False => ParamUse::Equals("False".to_owned()),
                };
                self.record_use(subject, &used);
            }
            Pattern::MatchSequence(sequence) => {
                self.record_sequence_pattern(&sequence.patterns, subject);
            }
            Pattern::MatchMapping(mapping) => {
                self.record_use(subject, &ParamUse::Mapping);
                for (key, pattern) in mapping.keys.iter().zip(&mapping.patterns) {
                    self.evaluate(key);
                    let inner = match key.as_string_literal_expr() {
                        Some(key) => {
                            let key = key.value.to_str().to_owned();
                            self.record_use(subject, &ParamUse::Key(key.clone()));
                            subject.part_of_origin(&ParamPart::Key(key))
                        }
                        None => subject.part_of_origin(&ParamPart::Element),
                    };
                    self.record_pattern(pattern, &inner);
                }
                if let Some(rest) = &mapping.rest {
                    self.env.set(rest.as_str(), subject.same_origin());
                }
            }
            Pattern::MatchClass(class) => {
                let classes = self.class_names(&class.cls);
                self.record_instance_check(subject, classes);
                for inner in &class.arguments.patterns {
                    self.record_pattern(inner, &KnownValue::default());
                }
                for keyword in &class.arguments.keywords {
                    let name = keyword.attr.to_string();
                    self.record_use(subject, &ParamUse::Attribute(name.clone()));
                    self.record_pattern(
                        &keyword.pattern,
                        &subject.part_of_origin(&ParamPart::Attribute(name)),
                    );
                }
            }
            Pattern::MatchStar(star) => {
                if let Some(name) = &star.name {
                    self.env.set(name.as_str(), KnownValue::default());
                }
            }
            Pattern::MatchAs(named) => {
                if let Some(inner) = &named.pattern {
                    self.record_pattern(inner, subject);
                }
                if let Some(name) = &named.name {
                    self.env.set(name.as_str(), subject.clone());
                }
            }
            Pattern::MatchOr(choice) => {
                for inner in &choice.patterns {
                    self.record_pattern(inner, subject);
                }
            }
        });
    }

    fn record_sequence_pattern(&mut self, patterns: &'a [Pattern], subject: &KnownValue<'a>) {
        let star = patterns.iter().position(Pattern::is_match_star);
        let used = match star {
            None => ParamUse::Unpacked(patterns.len() as u32),
            Some(_) => ParamUse::Iterated,
        };
        self.record_use(subject, &used);
        for (index, pattern) in patterns.iter().enumerate() {
            let is_counted = star.is_none_or(|star| index < star);
            let inner = is_counted.then(|| subject.item_at(index));
            self.record_pattern(pattern, &inner.unwrap_or_default());
        }
    }
}
