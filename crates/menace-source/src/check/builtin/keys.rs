//! B505: keys too short to resist.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;
use super::literal::Literal;

#[derive(Clone, Copy)]
enum Kind {
    /// DSA and RSA count alike.
    Factoring,
    Curve,
}

impl Kind {
    /// Sizes in bits below which a key is a high and a medium risk.
    fn limits(self) -> (u64, u64) {
        match self {
            Self::Factoring => (1024, 2048),
            Self::Curve => (160, 224),
        }
    }
}

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    let (kind, bits) = match call.qualified {
        "cryptography.hazmat.primitives.asymmetric.dsa.generate_private_key" => {
            (Kind::Factoring, size(call, "key_size", 0))
        }
        "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key" => {
            (Kind::Factoring, size(call, "key_size", 1))
        }
        "cryptography.hazmat.primitives.asymmetric.ec.generate_private_key" => {
            (Kind::Curve, Some(curve_size(call)))
        }
        "Crypto.PublicKey.DSA.generate"
        | "Crypto.PublicKey.RSA.generate"
        | "Cryptodome.PublicKey.DSA.generate"
        | "Cryptodome.PublicKey.RSA.generate" => (Kind::Factoring, size(call, "bits", 0)),
        _ => return,
    };
    let Some(bits) = bits else { return };
    let (high, medium) = kind.limits();
    let severity = match bits {
        bits if bits < high => Severity::High,
        bits if bits < medium => Severity::Medium,
        _ => return,
    };
    let message = format!("a key of {bits} bits is too short");
    sink.report("B505", (severity, Confidence::High), call.range(), message);
}

/// The size asked for, 2048 when it is not written out as a number, none when it is a name.
fn size(call: &Call<'_, '_>, keyword: &str, position: usize) -> Option<u64> {
    let named = call.keyword_value(keyword);
    let value = if named.is_falsy() { call.arg(position) } else { named };
    match value {
        value if value.is_falsy() => Some(2048),
        Literal::Int(bits) => bits,
        _ => None,
    }
}

fn curve_size(call: &Call<'_, '_>) -> u64 {
    let named = call.keyword_value("curve");
    let curve = if named.is_falsy() { call.arg(0) } else { named };
    match curve.text() {
        Some("SECT163K1" | "SECT163R2") => 163,
        Some("SECP192R1") => 192,
        // Every other curve that the library knows is long enough.
        _ => 224,
    }
}
