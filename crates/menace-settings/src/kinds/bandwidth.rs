//! Rates of a network link.

use std::fmt;
use std::str::FromStr;

use super::decimal::ExactDecimal;
use crate::ParseRefusal;

/// Bits per second.
///
/// `5Mbps`, `5mbit` and `5M` are the same; prefixes count in 1000s. The traffic shaper of Linux
/// takes `kbps` for kilobytes: here a `b` is always a bit, as in every other place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkBandwidth {
    bits_per_second: u64,
}

const BANDWIDTH_PREFIXES: [(&str, u64); 4] =
    [("T", 1_000_000_000_000), ("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)];

impl NetworkBandwidth {
    pub const fn from_bits_per_second(bits_per_second: u64) -> Self {
        Self { bits_per_second }
    }

    pub const fn bits_per_second(self) -> u64 {
        self.bits_per_second
    }
}

impl FromStr for NetworkBandwidth {
    type Err = ParseRefusal;

    fn from_str(text: &str) -> Result<Self, ParseRefusal> {
        let (number, unit) =
            ExactDecimal::split_number_and_unit(text.trim()).ok_or_else(ParseRefusal::default)?;
        let unit = unit.to_ascii_lowercase();
        let prefix = ["bit/s", "bits", "bit", "bps"]
            .iter()
            .find_map(|suffix| unit.strip_suffix(suffix))
            .unwrap_or(&unit);
        Ok(Self { bits_per_second: number.in_units(prefix, &BANDWIDTH_PREFIXES)? })
    }
}

impl fmt::Display for NetworkBandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_second;
        match BANDWIDTH_PREFIXES.iter().find(|(_, unit)| bits > 0 && bits.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}bps", bits / unit),
            None => write!(f, "{bits}bps"),
        }
    }
}

text_setting!(
    NetworkBandwidth,
    "bandwidth",
    "a bandwidth such as `5Mbps`, `100kbit` or a number of bits per second"
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn all_spellings_count_bits() {
        for (text, bits) in [
            ("5Mbps", 5_000_000),
            ("100kbit", 100_000),
            ("1Gbps", 1_000_000_000),
            ("2.5 mbit/s", 2_500_000),
            ("64000", 64_000),
            ("9bps", 9),
        ] {
            assert_eq!(text.parse(), Ok(NetworkBandwidth::from_bits_per_second(bits)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["fast", "5MiBps", "-1Mbps", "5Mbpsbps", "bps"] {
            assert!(text.parse::<NetworkBandwidth>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn shown_bandwidths_read_back(bits: u64) {
            laws::assert_reads_back(&NetworkBandwidth::from_bits_per_second(bits));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<NetworkBandwidth>(&text);
        }

        #[test]
        fn number_like_text_does_not_panic(text in "[0-9.]{0,40} ?[kMGT]?(bps|bit)?") {
            laws::assert_does_not_panic::<NetworkBandwidth>(&text);
        }
    }
}
