//! Amounts of memory and disk.

use std::fmt;
use std::str::FromStr;

use super::decimal::ExactDecimal;
use crate::ParseRefusal;

/// A number of bytes.
///
/// `Ki`, `Mi`, `Gi`, `Ti` count in 1024s and `K`, `M`, `G`, `T` in 1000s, as Kubernetes does; a
/// final `B` changes nothing and neither does case. QEMU means 1024s by `2G`, but its memory is a
/// key of `VM_SETTINGS` and goes to it as written, without passing through this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize {
    bytes: u64,
}

const SIZE_UNITS: [(&str, u64); 8] = [
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", 1 << 20),
    ("Ki", 1 << 10),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("K", 1_000),
];

impl ByteSize {
    pub const fn from_bytes(bytes: u64) -> Self {
        Self { bytes }
    }

    pub const fn bytes(self) -> u64 {
        self.bytes
    }
}

impl FromStr for ByteSize {
    type Err = ParseRefusal;

    fn from_str(text: &str) -> Result<Self, ParseRefusal> {
        let (number, unit) =
            ExactDecimal::split_number_and_unit(text.trim()).ok_or_else(ParseRefusal::default)?;
        let unit = unit.strip_suffix(['b', 'B']).unwrap_or(unit);
        Ok(Self { bytes: number.in_units(unit, &SIZE_UNITS)? })
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SIZE_UNITS.iter().find(|(_, unit)| self.bytes > 0 && self.bytes.is_multiple_of(*unit))
        {
            Some((name, unit)) => write!(f, "{}{name}", self.bytes / unit),
            None => write!(f, "{}", self.bytes),
        }
    }
}

text_setting!(ByteSize, "size", "a size such as `512Mi` or `1Gi`", |size| size.bytes() as f64);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn units_mean_what_kubernetes_means() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("512Mi", 512 << 20),
            ("1Gi", 1 << 30),
            ("2G", 2_000_000_000),
            ("1.5KiB", 1536),
            ("10 mb", 10_000_000),
            ("7B", 7),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize::from_bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["many", "-1", "1.2.3Mi", "1X", "Mi", "1iB", ".5G", "99999999999999999999999T"]
        {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_its_largest_whole_unit() {
        assert_eq!(ByteSize::from_bytes(1 << 30).to_string(), "1Gi");
        assert_eq!(ByteSize::from_bytes(1500).to_string(), "1500");
        assert_eq!(ByteSize::from_bytes(5_000_000).to_string(), "5M");
    }

    proptest! {
        #[test]
        fn shown_sizes_read_back(bytes: u64) {
            laws::assert_reads_back(&ByteSize::from_bytes(bytes));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<ByteSize>(&text);
        }

        #[test]
        fn number_like_text_does_not_panic(text in "[0-9.]{0,40} ?[KMGTkmgt]?i?B?") {
            laws::assert_does_not_panic::<ByteSize>(&text);
        }
    }
}
