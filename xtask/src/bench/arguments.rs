//! The options of a benchmark.

use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// Options that have not been taken yet. Those that nothing takes are an error.
pub(crate) struct BenchArguments(Vec<String>);

impl BenchArguments {
    pub(crate) fn new(arguments: &[String]) -> Self {
        Self(arguments.to_vec())
    }

    pub(crate) fn take_flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|argument| argument != name);
        self.0.len() < before
    }

    /// The value of `--name VALUE` or `--name=VALUE`; the last one, where there are several.
    pub(crate) fn take_value(&mut self, name: &str) -> Result<Option<String>> {
        let mut value = None;
        while let Some(next) = self.take_first_value(name)? {
            value = Some(next);
        }
        Ok(value)
    }

    /// All values of an option that may be given more than once; commas separate values, too.
    pub(crate) fn take_list(&mut self, name: &str) -> Result<Vec<String>> {
        let mut values = Vec::new();
        while let Some(value) = self.take_first_value(name)? {
            values.extend(value.split(',').map(str::to_owned));
        }
        Ok(values)
    }

    pub(crate) fn take_number<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(value) = self.take_value(name)? else { return Ok(None) };
        let number = value.parse().ok();
        number.with_context(|| format!("{name}: expected a number, found `{value}`")).map(Some)
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self.0.first() {
            Some(unknown) => bail!("this benchmark has no option `{unknown}`"),
            None => Ok(()),
        }
    }

    fn take_first_value(&mut self, name: &str) -> Result<Option<String>> {
        let is_option = |argument: &String| {
            argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        let Some(index) = self.0.iter().position(is_option) else { return Ok(None) };
        let argument = self.0.remove(index);
        if let Some((_, value)) = argument.split_once('=') {
            return Ok(Some(value.to_owned()));
        }
        if index < self.0.len() {
            return Ok(Some(self.0.remove(index)));
        }
        bail!("{name} needs a value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> BenchArguments {
        BenchArguments(text.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_taken_in_any_order_and_in_both_spellings() {
        let mut arguments = arguments("--only a,b --fixed --seconds=5 --only c");
        assert_eq!(arguments.take_number::<u64>("--seconds").unwrap(), Some(5));
        assert_eq!(arguments.take_list("--only").unwrap(), ["a", "b", "c"]);
        assert!(arguments.take_flag("--fixed"));
        assert!(!arguments.take_flag("--fixed"));
        assert_eq!(arguments.take_value("--format").unwrap(), None);
        arguments.finish().unwrap();
    }

    #[test]
    fn wrong_options_are_errors() {
        assert!(arguments("--seconds").take_value("--seconds").is_err());
        assert!(arguments("--seconds soon").take_number::<u64>("--seconds").is_err());
        let mut longer = arguments("--onlyx 1");
        assert!(longer.take_list("--only").unwrap().is_empty());
        assert!(longer.finish().is_err());
    }
}
