//! B508, B509: SNMP in versions that send everything in the clear, or version 3 without privacy.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::{Ranks, Sink};
use super::literal::Literal;

const RANKS: Ranks = (Severity::Medium, Confidence::High);

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    match call.qualified {
        "pysnmp.hlapi.CommunityData"
            if matches!(call.keyword_value("mpModel"), Literal::Int(Some(0 | 1))) =>
        {
            sink.report("B508", RANKS, call.range(), "SNMP before version 3 is not encrypted");
        }
        "pysnmp.hlapi.UsmUserData" if call.args().len() < 3 => {
            sink.report("B509", RANKS, call.range(), "SNMP version 3 is used without encryption");
        }
        _ => {}
    }
}
