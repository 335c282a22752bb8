//! Hostile inputs for the parameters of one section.

use menace_model::{InputIntent, ParamKind, SectionHints, Seed, Value};

use super::{
    ArgumentPolicy, CallInput, InputGenerator, InputStrategy, ParamGuess, TextRole, ValueMaker,
    ValueShape, assemble_call, boundary, hostile, text_role, wrap_variadic,
};

const MAX_ATTACKS_PER_ROLE: usize = 6;
const MAX_ATTACKS_PER_INNER_TEXT: usize = 2;
const MAX_INNER_TEXTS: usize = 6;
const MAX_ATTACKED_PATTERNS: usize = 6;
/// Share of hostile texts that are made for a pattern which the parameter is matched with.
const PATTERN_ATTACK_SHARE: f64 = 0.3;

impl InputGenerator<'_> {
    /// One hostile text at a time, in each text parameter and each text inside of an object. Only
    /// texts for what the section does with texts, whose success an oracle can detect. None without
    /// a threat.
    pub fn attack_inputs(&self, seed: Seed) -> Vec<CallInput> {
        if self.settings.threat.input_share() <= 0.0 {
            return Vec::new();
        }
        let sink_roles = text_roles(self.context.hints);
        let mut inputs = Vec::new();
        for (index, guess) in self.guesses.iter().enumerate() {
            if guess.is_variable() {
                continue;
            }
            if !takes_text(guess) {
                let bad = self
                    .values_with_hostile_text(guess.likeliest_shape(), &sink_roles, seed)
                    .into_iter();
                inputs.extend(bad.map(|value| self.attack_param(index, value, seed)));
                continue;
            }
            let named = text_role(&guess.name);
            let others = sink_roles.iter().copied().filter(|role| *role != named);
            for role in std::iter::once(named).chain(others) {
                for text in hostile::detectable_texts(role).take(MAX_ATTACKS_PER_ROLE) {
                    inputs.push(self.attack_param(index, Value::from(text), seed));
                    let is_read = matches!(role, TextRole::Code | TextRole::Command);
                    for prefix in literal_prefixes(self.context.hints).filter(|_| is_read) {
                        let text = Value::from(format!("{prefix}{text}"));
                        inputs.push(self.attack_param(index, text, seed));
                    }
                }
            }
            let regex_attacks =
                self.regex_attack_texts(guess, 0).into_iter().take(MAX_ATTACKS_PER_ROLE);
            inputs.extend(regex_attacks.map(|text| self.attack_param(index, text, seed)));
        }
        for input in self.exponential_inputs(seed) {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        if let Some(class) = &self.receiver {
            let instances = self.values_with_hostile_text(
                &ValueShape::Instance(class.clone()),
                &sink_roles,
                seed,
            );
            inputs.extend(
                instances.into_iter().map(|receiver| self.attack_with_receiver(receiver, seed)),
            );
        }
        inputs
    }

    /// Objects of the shape, each with one hostile text for the role of its field or for a sink of
    /// the section.
    fn values_with_hostile_text(
        &self,
        shape: &ValueShape,
        sink_roles: &[TextRole],
        seed: Seed,
    ) -> Vec<Value> {
        let insert = |at, text: &str| {
            hostile::insert_text(&mut self.new_maker(seed), shape, at, Value::from(text))
        };
        let mut values = Vec::new();
        for at in 0..MAX_INNER_TEXTS {
            let Some((_, named)) = insert(at, "") else { break };
            let others = sink_roles.iter().copied().filter(|role| *role != named);
            for role in std::iter::once(named).chain(others) {
                let texts = hostile::detectable_texts(role).take(MAX_ATTACKS_PER_INNER_TEXT);
                values.extend(texts.filter_map(|text| Some(insert(at, text)?.0)));
            }
        }
        values
    }

    /// A hostile receiver and typical arguments.
    fn attack_with_receiver(&self, receiver: Value, seed: Seed) -> CallInput {
        let mut maker = self.new_maker(seed);
        let slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
        let call_args = assemble_call(&self.guesses, slots);
        Self::finish_input(
            maker,
            Some(receiver),
            call_args,
            InputIntent::Hostile,
            InputStrategy::Hostile,
        )
    }

    /// Texts that patterns of the source search for long, those of the parameter first. A pattern
    /// without nested repetitions needs a `size`.
    fn regex_attack_texts(&self, guess: &ParamGuess, size: u64) -> Vec<Value> {
        let own = guess.shapes.iter().filter_map(|(shape, _)| match shape {
            ValueShape::Bounded(_, bounds) => bounds.pattern.as_ref(),
            _ => None,
        });
        let mut patterns: Vec<&String> = Vec::new();
        for pattern in own.chain(&self.context.hints.literals.patterns) {
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        let texts = patterns.into_iter().take(MAX_ATTACKED_PATTERNS);
        boundary::interleave(
            texts.map(|pattern| hostile::regex_attack_texts(pattern, size)).collect(),
        )
    }

    pub(super) fn attack_param(&self, param: usize, text: Value, seed: Seed) -> CallInput {
        let mut maker = self.new_maker(seed);
        let receiver = self.make_receiver(&mut maker, 0);
        let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
        slots[param] = Some(text);
        let call_args = assemble_call(&self.guesses, slots);
        Self::finish_input(maker, receiver, call_args, InputIntent::Hostile, InputStrategy::Hostile)
    }

    pub(super) fn hostile_input(
        &self,
        mut maker: ValueMaker<'_, '_>,
        turn: usize,
    ) -> Option<CallInput> {
        let threat = self.settings.threat;
        let mut receiver = self.make_receiver(&mut maker, turn.min(1));
        let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
        // Each parameter has its turn, and the receiver.
        let places = self.guesses.len() + usize::from(receiver.is_some());
        let mut order: Vec<usize> = (0..places).collect();
        order.rotate_left(turn % places.max(1));
        let most = if threat.max_severity() >= 3 && maker.random.chance(0.4) { 2 } else { 1 };
        let mut done = 0;
        for index in order {
            let Some(guess) = self.guesses.get(index) else {
                let bad = self.hostile_receiver(&mut maker);
                done += usize::from(bad.is_some());
                receiver = bad.or(receiver);
                if done == most {
                    break;
                }
                continue;
            };
            let shape = maker.pick_shape(guess, tries_other_shapes(turn)).clone();
            // No accepted keyword is known.
            let is_named = guess.kind == ParamKind::VarKeyword;
            if is_named && !matches!(shape, ValueShape::Record(_) | ValueShape::Dict(..)) {
                continue;
            }
            let mut bad = hostile::hostile_value(&mut maker, &shape, &guess.name, threat);
            if threat.max_severity() == 4 && !guess.is_variable() && takes_text(guess) {
                let regex_attacks = self.regex_attack_texts(guess, threat.oversized_bytes());
                if !regex_attacks.is_empty() && maker.random.chance(PATTERN_ATTACK_SHARE) {
                    bad = maker.random.pick(&regex_attacks).cloned();
                }
            }
            let Some(bad) = bad else { continue };
            slots[index] = Some(wrap_variadic(guess.kind, bad));
            done += 1;
            if done == most {
                break;
            }
        }
        if done == 0 {
            return None;
        }
        let call_args = assemble_call(&self.guesses, slots);
        Some(Self::finish_input(
            maker,
            receiver,
            call_args,
            InputIntent::Hostile,
            InputStrategy::Hostile,
        ))
    }

    fn hostile_receiver(&self, maker: &mut ValueMaker<'_, '_>) -> Option<Value> {
        let class = ValueShape::Instance(self.receiver.clone()?);
        hostile::hostile_value(maker, &class, "", self.settings.threat)
    }
}

/// May the parameter be a text?
pub(super) fn takes_text(guess: &ParamGuess) -> bool {
    let is_text = |(shape, _): &(ValueShape, f64)| {
        matches!(
            shape.without_bounds(),
            ValueShape::Str(_) | ValueShape::OneOf(_) | ValueShape::Path { .. }
        )
    };
    guess.shapes.iter().any(is_text)
}

/// Every third turn tries shapes that are not the likeliest.
fn tries_other_shapes(turn: usize) -> bool {
    turn % 3 == 2
}

/// Sinks of texts, as they are called in the source, and the role that a text has there. A name
/// that ends in a dot is a module, one that begins with a dot a method.
const SINK_CALLS: [(&str, TextRole); 25] = [
    ("subprocess.", TextRole::Command),
    ("os.system", TextRole::Command),
    ("os.popen", TextRole::Command),
    (".create_subprocess_shell", TextRole::Command),
    ("eval", TextRole::Code),
    ("exec", TextRole::Code),
    ("compile", TextRole::Code),
    (".execute", TextRole::Sql),
    (".executemany", TextRole::Sql),
    (".executescript", TextRole::Sql),
    ("open", TextRole::Path),
    ("io.open", TextRole::Path),
    ("os.open", TextRole::Path),
    ("os.path.", TextRole::Path),
    ("shutil.", TextRole::Path),
    (".read_text", TextRole::Path),
    (".read_bytes", TextRole::Path),
    (".write_text", TextRole::Path),
    (".format", TextRole::Format),
    ("json.loads", TextRole::Json),
    ("yaml.", TextRole::Yaml),
    ("ET.", TextRole::Xml),
    ("csv.", TextRole::Csv),
    ("re.", TextRole::Regex),
    ("urllib.request.", TextRole::Url),
];

/// Prefixes without which the section ignores a text: `=` of a formula, `#` of a colour.
const MAX_PREFIXES: usize = 3;
const MAX_PREFIX_CHARS: usize = 3;

/// The roles of the sinks that the section calls, each once.
pub(super) fn text_roles(hints: &SectionHints) -> Vec<TextRole> {
    let mut roles = Vec::new();
    let mut add = |role| {
        if !roles.contains(&role) {
            roles.push(role);
        }
    };
    for call in &hints.callees {
        SINK_CALLS
            .iter()
            .filter(|(name, _)| matches_call(call, name))
            .for_each(|(_, role)| add(*role));
    }
    if hints.literals.strings.iter().any(|text| text.contains("</") || text.contains("<br")) {
        add(TextRole::Html);
    }
    roles
}

fn matches_call(call: &str, name: &str) -> bool {
    if name.ends_with('.') {
        call.starts_with(name)
    } else if name.starts_with('.') {
        call.ends_with(name)
    } else {
        call == name
    }
}

/// Short literals of the source without letters and digits.
pub(super) fn literal_prefixes(hints: &SectionHints) -> impl Iterator<Item = &str> {
    let is_sign = |text: &&String| {
        text.chars().count() <= MAX_PREFIX_CHARS && !text.chars().any(char::is_alphanumeric)
    };
    let signs = hints.literals.strings.iter().filter(is_sign).map(String::as_str);
    signs.filter(|text| !text.trim().is_empty()).take(MAX_PREFIXES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(calls: &[&str], strings: &[&str]) -> SectionHints {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let mut hints = SectionHints { callees: owned(calls), ..SectionHints::default() };
        hints.literals.strings = owned(strings);
        hints
    }

    #[test]
    fn callees_determine_the_roles_of_texts() {
        let found = |calls: &[&str]| text_roles(&hints(calls, &[]));
        assert_eq!(found(&["subprocess.run", "eval"]), [TextRole::Command, TextRole::Code]);
        assert_eq!(found(&["self._connection.execute", "db.execute"]), [TextRole::Sql]);
        assert_eq!(found(&["my_eval", "evaluate", "open_it"]), []);
        assert_eq!(text_roles(&hints(&[], &["<td>", "</td>"])), [TextRole::Html]);
    }

    #[test]
    fn prefixes_are_short_literals_without_letters() {
        let hints = hints(&[], &["=", "name", " ", "::", "sum("]);
        assert_eq!(literal_prefixes(&hints).collect::<Vec<_>>(), ["=", "::"]);
    }
}
