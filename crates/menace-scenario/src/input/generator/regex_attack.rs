//! Inputs with texts that regular expressions of the source search for long.
//!
//! The texts come from the patterns of the section and of the sections that it calls and, fewer,
//! from those of its module. Each is carried in the places where the section takes a text: a
//! parameter, a text inside of an object or of its receiver, a value of a dict; alone, and after a
//! beginning that the source, its documentation or a call site suggests.

use std::collections::HashSet;
use std::sync::Arc;

use menace_model::{
    InputIntent, MethodCall, ParamUse, PatternMethod, PatternUse, Seed, SourceLiterals, Value,
};

use super::attack::takes_text;
use super::{
    ArgumentPolicy, CallInput, InputGenerator, InputStrategy, ValueShape, assemble_call,
    fit_to_params, hostile,
};
use crate::input::python;
use crate::regex::{AttackGrowth, AttackText};

/// Patterns that are analysed for one section: its own, and others of its module.
const MAX_OWN_PATTERNS: usize = 40;
const MAX_MODULE_PATTERNS: usize = 1_000;
/// Texts that are tried for one section: of its own patterns, of those of the sections that it
/// calls, and of others of its module.
const MAX_OWN_ATTACKS: usize = 6;
const MAX_REACHED_ATTACKS: usize = 4;
const MAX_MODULE_ATTACKS: usize = 3;
/// Sections whose calls are followed.
const MAX_REACHED_SECTIONS: usize = 24;
const MAX_PLACES: usize = 6;
const MAX_PLACES_PER_OBJECT: usize = 2;
const MAX_KEYS_PER_DICT: usize = 3;
const MAX_BEGINNINGS: usize = 7;
/// Beginnings that are texts of examples.
const MAX_EXAMPLES: usize = 2;
/// Words and separators of the source that beginnings are made of.
const MAX_BEGINNING_WORDS: usize = 2;
const MAX_BEGINNING_WORD_CHARS: usize = 16;
/// Exponential searches are tried with so many pumps: the time of 1.4 ways per pump is hours.
const EXPONENTIAL_PUMPS: u64 = 80;
/// Calls of one section with texts that take exponentially long.
pub(crate) const MAX_EXPONENTIAL_INPUTS: usize = 16;
/// Inputs of one section whose growth is measured.
pub(crate) const MAX_GROWING_INPUTS: usize = 24;

/// Stands in an input where the attack text comes.
const PLACEHOLDER: &str = "menace-attack-text";

/// An input with an attack text of any size.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowingInput {
    /// With the placeholder.
    input: CallInput,
    attack: AttackText,
}

impl GrowingInput {
    /// The input with a text of about `size` characters.
    pub(crate) fn at_size(&self, size: u64) -> CallInput {
        let pump_chars = self.attack.pump.chars().count().max(1) as u64;
        self.with_pumps((size / pump_chars).max(1))
    }

    fn with_pumps(&self, times: u64) -> CallInput {
        let mut input = self.input.clone();
        let kwargs = input.kwargs.iter_mut().map(|(_, value)| value);
        let receiver = input.receiver.iter_mut();
        for value in receiver.chain(input.args.iter_mut()).chain(kwargs) {
            fill_placeholder(value, &self.attack, times);
        }
        input
    }
}

/// A place for a text in the arguments, and what may stand before the text there.
struct AttackPlace {
    input: CallInput,
    beginnings: Vec<String>,
}

impl InputGenerator<'_> {
    /// Inputs with exponential attack texts, at most [`MAX_EXPONENTIAL_INPUTS`].
    pub(super) fn exponential_inputs(&self, seed: Seed) -> Vec<CallInput> {
        let is_exponential = |one: &AttackText| one.growth == AttackGrowth::Exponential;
        let families = self.attack_families(seed, MAX_EXPONENTIAL_INPUTS, is_exponential);
        families.iter().map(|family| family.with_pumps(EXPONENTIAL_PUMPS)).collect()
    }

    /// Inputs with polynomial attack texts, at most [`MAX_GROWING_INPUTS`]. None without a threat.
    pub(crate) fn growing_inputs(&self, seed: Seed) -> Vec<GrowingInput> {
        if self.settings.threat.input_share() <= 0.0 {
            return Vec::new();
        }
        let is_polynomial = |one: &AttackText| one.growth != AttackGrowth::Exponential;
        self.attack_families(seed, MAX_GROWING_INPUTS, is_polynomial)
    }

    /// Every attack in every place: alone, and after the beginnings of the place.
    fn attack_families(
        &self,
        seed: Seed,
        max: usize,
        is_wanted: impl Fn(&AttackText) -> bool,
    ) -> Vec<GrowingInput> {
        let attacks = self.attack_texts(is_wanted);
        if attacks.is_empty() {
            return Vec::new();
        }
        let places = self.attack_places(seed);
        let mut families: Vec<GrowingInput> = Vec::new();
        // The first attacks are tried after several beginnings before the last are tried at all.
        for sum in 0..attacks.len() + MAX_BEGINNINGS {
            for (rank, attack) in attacks.iter().enumerate().take(sum + 1) {
                for place in &places {
                    let Some(beginning) = nth_beginning(&place.beginnings, sum - rank, attack)
                    else {
                        continue;
                    };
                    let prefix = format!("{beginning}{}", attack.prefix);
                    let attack = AttackText { prefix, ..attack.clone() };
                    let family = GrowingInput { input: place.input.clone(), attack };
                    if families.len() < max && !families.contains(&family) {
                        families.push(family);
                    }
                }
            }
        }
        families
    }

    /// Attacks on the patterns of the section, then on others of its module.
    fn attack_texts(&self, is_wanted: impl Fn(&AttackText) -> bool) -> Vec<AttackText> {
        let literals = &self.context.hints.literals;
        let mut own: Vec<PatternUse> = literals.pattern_uses.clone();
        let params = self.context.hints.params.iter().flat_map(|param| &param.uses);
        let matched = params.filter_map(|used| match used {
            ParamUse::Matched(pattern) => Some(pattern),
            _ => None,
        });
        for pattern in literals.patterns.iter().chain(matched) {
            if !own.iter().any(|known| known.pattern == *pattern) {
                own.push(PatternUse {
                    pattern: pattern.clone(),
                    flags: 0,
                    is_bytes: false,
                    method: PatternMethod::Unknown,
                });
            }
        }
        own.truncate(MAX_OWN_PATTERNS);
        let reached = self.reached_patterns();
        let of_module = self.facts.module_patterns(self.context.module);
        let is_own = |used: &&PatternUse| own.iter().any(|known| known.pattern == used.pattern);
        let others = of_module.into_iter().filter(|used| !is_own(used));
        let others: Vec<&PatternUse> = others.take(MAX_MODULE_PATTERNS).collect();
        let mut attacks = self.best_attacks(own.iter(), MAX_OWN_ATTACKS, &is_wanted);
        let further = [
            self.best_attacks(reached.into_iter(), MAX_REACHED_ATTACKS, &is_wanted),
            self.best_attacks(others.into_iter(), MAX_MODULE_ATTACKS, &is_wanted),
        ];
        for attack in further.into_iter().flatten() {
            if !attacks.contains(&attack) {
                attacks.push(attack);
            }
        }
        attacks
    }

    /// The patterns of the sections that this one calls, and of those that they call.
    fn reached_patterns(&self) -> Vec<&PatternUse> {
        let mut sections = vec![&self.section.id];
        let mut patterns: Vec<&PatternUse> = Vec::new();
        let mut at = 0;
        while let Some(&caller) = sections.get(at) {
            at += 1;
            for callee in self.facts.called_sections(caller) {
                if sections.len() >= MAX_REACHED_SECTIONS || sections.contains(&&callee.section.id)
                {
                    continue;
                }
                sections.push(&callee.section.id);
                patterns.extend(&callee.hints.literals.pattern_uses);
            }
        }
        patterns.truncate(MAX_OWN_PATTERNS);
        patterns
    }

    /// The first attack of each pattern, the steepest first, then the second of each.
    fn best_attacks<'p>(
        &self,
        patterns: impl Iterator<Item = &'p PatternUse>,
        max: usize,
        is_wanted: impl Fn(&AttackText) -> bool,
    ) -> Vec<AttackText> {
        let mut ranked: Vec<(usize, u32, AttackText)> = Vec::new();
        for used in patterns {
            let attacks: Arc<[AttackText]> = self.facts.pattern_attacks(used);
            for (rank, attack) in attacks.iter().filter(|one| is_wanted(one)).enumerate() {
                let degree = match attack.growth {
                    AttackGrowth::Exponential => u32::MAX,
                    AttackGrowth::Polynomial { degree } => degree,
                };
                if !ranked.iter().any(|(_, _, known)| known == attack) {
                    ranked.push((rank, degree, attack.clone()));
                }
            }
        }
        ranked.sort_by_key(|(rank, degree, _)| (*rank, std::cmp::Reverse(*degree)));
        ranked.into_iter().map(|(_, _, attack)| attack).take(max).collect()
    }

    /// The places that take a text, at most [`MAX_PLACES`].
    fn attack_places(&self, seed: Seed) -> Vec<AttackPlace> {
        let mut places = Vec::new();
        let placeholder = || Value::from(PLACEHOLDER);
        for (index, guess) in self.guesses.iter().enumerate() {
            if guess.is_variable() {
                continue;
            }
            let mut add = |value: Value| {
                let beginnings = self.text_beginnings(index);
                places
                    .push(AttackPlace { input: self.attack_param(index, value, seed), beginnings });
            };
            if takes_text(guess) {
                add(placeholder());
                continue;
            }
            let shape = guess.likeliest_shape();
            if *shape.without_bounds() == ValueShape::Bytes {
                add(Value::Bytes(PLACEHOLDER.as_bytes().to_vec()));
                continue;
            }
            for at in 0..MAX_PLACES_PER_OBJECT {
                let mut maker = self.new_maker(seed);
                let Some((value, _)) = hostile::insert_text(&mut maker, shape, at, placeholder())
                else {
                    break;
                };
                add(value);
            }
            let is_dict = |shape: &ValueShape| {
                matches!(shape.without_bounds(), ValueShape::Dict(..) | ValueShape::Record(_))
            };
            if guess.shapes.iter().any(|(shape, _)| is_dict(shape)) {
                for key in self.dict_keys().take(MAX_KEYS_PER_DICT) {
                    add(Value::Dict(vec![(Value::from(key.as_str()), placeholder())]));
                }
            }
        }
        if let Some(class) = &self.receiver {
            let shape = ValueShape::Instance(class.clone());
            for at in 0..MAX_PLACES_PER_OBJECT {
                let mut maker = self.new_maker(seed);
                let inserted = hostile::insert_text(&mut maker, &shape, at, placeholder());
                let Some((receiver, _)) = inserted else { break };
                let slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
                let input = Self::finish_input(
                    maker,
                    Some(receiver),
                    assemble_call(&self.guesses, slots),
                    InputIntent::Hostile,
                    InputStrategy::Hostile,
                );
                places.push(AttackPlace { input, beginnings: Vec::new() });
            }
        }
        places.truncate(MAX_PLACES);
        places
    }

    /// Texts that a dict parameter may be asked for: defaults of other parameters, then literals.
    fn dict_keys(&self) -> impl Iterator<Item = String> {
        let defaults = self.section.params.iter().filter_map(|param| param.default.as_deref());
        let defaults = defaults.filter_map(parse_text);
        defaults.chain(self.context.hints.literals.strings.iter().cloned())
    }

    /// What may stand before the text in a parameter: what the section looks for at its start, a
    /// word, words and separators of the source, and texts of examples.
    fn text_beginnings(&self, param: usize) -> Vec<String> {
        let uses = self.context.hints.params.get(param).map_or(&[][..], |param| &param.uses);
        let mut beginnings: Vec<String> = Vec::new();
        for used in uses {
            if let ParamUse::MethodWith { name, argument } = used
                && matches!(name.as_str(), "startswith" | "split" | "partition" | "removeprefix")
                && let Some(text) = parse_text(argument)
            {
                let is_separator = matches!(name.as_str(), "split" | "partition");
                beginnings.push(if is_separator { format!("x{text}") } else { text });
            }
        }
        beginnings.push("x ".to_owned());
        beginnings.extend(self.literal_beginnings(uses));
        beginnings.truncate(MAX_BEGINNINGS - MAX_EXAMPLES);
        for example in &self.examples {
            let slots = fit_to_params(&self.guesses, example.args.clone(), example.kwargs.clone());
            let slot = slots.and_then(|slots| slots.into_iter().nth(param)).flatten();
            match slot {
                Some(Value::Str(text)) => beginnings.extend(text.as_str().map(str::to_owned)),
                Some(Value::Bytes(bytes)) => beginnings.extend(String::from_utf8(bytes)),
                _ => {}
            }
        }
        let mut seen = HashSet::new();
        beginnings.retain(|text| !text.is_empty() && seen.insert(text.clone()));
        beginnings.truncate(MAX_BEGINNINGS);
        beginnings
    }

    /// Words of the source before its separators: `bytes=` of `"bytes"` and `"="`, `x;`.
    fn literal_beginnings(&self, uses: &[ParamUse]) -> Vec<String> {
        let literals = &self.context.hints.literals;
        let split = uses.iter().filter_map(|used| match used {
            ParamUse::MethodWith { name, argument }
                if matches!(name.as_str(), "split" | "partition") =>
            {
                parse_text(argument)
            }
            _ => None,
        });
        let separators: Vec<String> =
            split.chain(separators(literals)).take(MAX_BEGINNING_WORDS).collect();
        let is_word = |text: &&str| {
            text.len() <= MAX_BEGINNING_WORD_CHARS
                && !text.is_empty()
                && text.chars().all(char::is_alphanumeric)
        };
        let words = literals.strings.iter().map(String::as_str).filter(is_word);
        let words: Vec<&str> = words.take(MAX_BEGINNING_WORDS).chain(["x"]).collect();
        let pairs = separators
            .iter()
            .flat_map(|separator| words.iter().map(move |word| format!("{word}{separator}")));
        pairs.collect()
    }
}

/// Short literals without letters and digits: separators.
fn separators(literals: &SourceLiterals) -> impl Iterator<Item = String> {
    let of_bytes = literals.bytes.iter().filter_map(|bytes| String::from_utf8(bytes.clone()).ok());
    let texts = literals.strings.iter().cloned().chain(of_bytes);
    let is_separator = |text: &String| {
        let mut chars = text.trim().chars();
        chars.next().is_some_and(|char| char.is_ascii_punctuation()) && chars.next().is_none()
    };
    texts.filter(is_separator).take(MAX_BEGINNING_WORDS)
}

/// Nothing first, then the beginnings. Of an example, that is the part up to where the attack text
/// resembles it.
fn nth_beginning(beginnings: &[String], turn: usize, attack: &AttackText) -> Option<String> {
    let Some(turn) = turn.checked_sub(1) else { return Some(String::new()) };
    let example = beginnings.get(turn)?;
    let first = attack.prefix.chars().chain(attack.pump.chars()).next()?;
    let end = example.find(first).filter(|end| *end > 0).unwrap_or(example.len());
    Some(example[..end].to_owned())
}

/// The text of a string or bytes literal.
fn parse_text(source: &str) -> Option<String> {
    match python::parse_value(source, &|_| None)? {
        Value::Str(text) => text.as_str().map(str::to_owned),
        Value::Bytes(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn fill_placeholder(value: &mut Value, attack: &AttackText, times: u64) {
    match value {
        Value::Str(text) if text.as_str() == Some(PLACEHOLDER) => {
            *value = attack_value(attack, times, |text| Value::from(text));
        }
        Value::Bytes(bytes) if bytes == PLACEHOLDER.as_bytes() => {
            *value = attack_value(attack, times, |text| Value::Bytes(to_bytes(text)));
        }
        Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::Yields(items) => {
            for item in items {
                fill_placeholder(item, attack, times);
            }
        }
        Value::Dict(pairs) => {
            for (key, value) in pairs {
                fill_placeholder(key, attack, times);
                fill_placeholder(value, attack, times);
            }
        }
        Value::New { args, kwargs, .. } | Value::Stub { args, kwargs, .. } => {
            fill_arguments(args, kwargs, attack, times);
        }
        Value::Method { on, args, kwargs, .. } => {
            fill_placeholder(on, attack, times);
            fill_arguments(args, kwargs, attack, times);
        }
        Value::After { value, calls } => {
            fill_placeholder(value, attack, times);
            for MethodCall { args, kwargs, .. } in calls {
                fill_arguments(args, kwargs, attack, times);
            }
        }
        Value::Repeat { value, .. }
        | Value::Shared { value, .. }
        | Value::Returns(value)
        | Value::Raises(value)
        | Value::Async(value) => fill_placeholder(value, attack, times),
        _ => {}
    }
}

fn fill_arguments(
    args: &mut [Value],
    kwargs: &mut [(String, Value)],
    attack: &AttackText,
    times: u64,
) {
    let values = args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value));
    values.for_each(|value| fill_placeholder(value, attack, times));
}

/// Latin-1 where that is enough, as patterns of bytes are written.
fn to_bytes(text: &str) -> Vec<u8> {
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    bytes.unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// `prefix + pump * times + suffix`.
fn attack_value(attack: &AttackText, times: u64, text: impl Fn(&str) -> Value) -> Value {
    let add = |left: Value, right: Value| Value::Method {
        on: Box::new(left),
        name: "__add__".to_owned(),
        args: vec![right],
        kwargs: Vec::new(),
    };
    let mut value = Value::Repeat { value: Box::new(text(&attack.pump)), times };
    if !attack.prefix.is_empty() {
        value = add(text(&attack.prefix), value);
    }
    if !attack.suffix.is_empty() {
        value = add(value, text(&attack.suffix));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_where_the_attack_text_resembles_it() {
        let attack = AttackText {
            prefix: ";x=\"".to_owned(),
            pump: "\\".to_owned(),
            suffix: String::new(),
            growth: AttackGrowth::Exponential,
        };
        let examples = ["text/html; charset=x".to_owned(), "bytes=".to_owned()];
        let beginning = |turn| nth_beginning(&examples, turn, &attack);
        assert_eq!(beginning(0).as_deref(), Some(""));
        assert_eq!(beginning(1).as_deref(), Some("text/html"));
        assert_eq!(beginning(2).as_deref(), Some("bytes="));
        assert_eq!(beginning(3), None);
    }
}
