//! B505: keys too short to resist.

use menace_model::FindingSeverity;

use super::call::CheckedCall;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

#[derive(Clone, Copy)]
enum KeyAlgorithm {
    /// DSA and RSA count alike.
    Factoring,
    EllipticCurve,
}

impl KeyAlgorithm {
    /// Sizes in bits below which a key is a high and a medium risk.
    fn risk_limits_bits(self) -> (u64, u64) {
        match self {
            Self::Factoring => (1024, 2048),
            Self::EllipticCurve => (160, 224),
        }
    }
}

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let (kind, bits) = match call.qualified_name {
        "cryptography.hazmat.primitives.asymmetric.dsa.generate_private_key" => {
            (KeyAlgorithm::Factoring, key_size_bits(call, "key_size", 0))
        }
        "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key" => {
            (KeyAlgorithm::Factoring, key_size_bits(call, "key_size", 1))
        }
        "cryptography.hazmat.primitives.asymmetric.ec.generate_private_key" => {
            (KeyAlgorithm::EllipticCurve, Some(curve_size_bits(call)))
        }
        "Crypto.PublicKey.DSA.generate"
        | "Crypto.PublicKey.RSA.generate"
        | "Cryptodome.PublicKey.DSA.generate"
        | "Cryptodome.PublicKey.RSA.generate" => {
            (KeyAlgorithm::Factoring, key_size_bits(call, "bits", 0))
        }
        _ => return,
    };
    let Some(bits) = bits else { return };
    let (high, medium) = kind.risk_limits_bits();
    let severity = match bits {
        bits if bits < high => FindingSeverity::High,
        bits if bits < medium => FindingSeverity::Medium,
        _ => return,
    };
    let message = format!("a key of {bits} bits is too short");
    sink.report("B505", call, message).severity = severity;
}

/// The requested key size; 2048 if it is not a number literal, `None` if it is a name.
fn key_size_bits(call: &CheckedCall<'_, '_>, keyword: &str, position: usize) -> Option<u64> {
    let named = call.keyword_value(keyword);
    let value = if named.is_falsy() { call.arg(position) } else { named };
    match value {
        value if value.is_falsy() => Some(2048),
        ArgumentLiteral::Int(bits) => bits,
        _ => None,
    }
}

fn curve_size_bits(call: &CheckedCall<'_, '_>) -> u64 {
    let named = call.keyword_value("curve");
    let curve = if named.is_falsy() { call.arg(0) } else { named };
    match curve.text() {
        Some("SECT163K1" | "SECT163R2") => 163,
        Some("SECP192R1") => 192,
        // All other curves of the library are long enough.
        _ => 224,
    }
}
