//! B508, B509: SNMP in versions that send everything in the clear, or version 3 without privacy.

use super::call::CheckedCall;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    match call.qualified_name {
        "pysnmp.hlapi.CommunityData"
            if matches!(call.keyword_value("mpModel"), ArgumentLiteral::Int(Some(0 | 1))) =>
        {
            sink.report("B508", call, "SNMP before version 3 is not encrypted");
        }
        "pysnmp.hlapi.UsmUserData" if call.args().len() < 3 => {
            sink.report("B509", call, "SNMP version 3 is used without encryption");
        }
        _ => {}
    }
}
