//! Bandit's rules by id: name, and usual severity and confidence.
//!
//! Bandit ranks findings of some rules by their code; the ranks here are then those of the usual
//! case. They are used where a tool reports only the id, as Ruff does.

use menace_model::FindingConfidence::{High as Sure, Low as Unsure, Medium as Likely};
use menace_model::FindingSeverity::{High, Low, Medium};
use menace_model::{FindingConfidence, FindingSeverity};

/// One rule of Bandit.
#[derive(Debug, Clone, Copy)]
pub(super) struct SecurityRule {
    pub(super) id: &'static str,
    /// The name that `# nosec` may use instead of the id.
    pub(super) name: &'static str,
    pub(super) severity: FindingSeverity,
    pub(super) confidence: FindingConfidence,
}

const fn rule(
    id: &'static str,
    name: &'static str,
    severity: FindingSeverity,
    confidence: FindingConfidence,
) -> SecurityRule {
    SecurityRule { id, name, severity, confidence }
}

/// Sorted by number.
const SECURITY_RULES: &[SecurityRule] = &[
    rule("B101", "assert_used", Low, Sure),
    rule("B102", "exec_used", Medium, Sure),
    rule("B103", "set_bad_file_permissions", High, Sure),
    rule("B104", "hardcoded_bind_all_interfaces", Medium, Likely),
    rule("B105", "hardcoded_password_string", Low, Likely),
    rule("B106", "hardcoded_password_funcarg", Low, Likely),
    rule("B107", "hardcoded_password_default", Low, Likely),
    rule("B108", "hardcoded_tmp_directory", Medium, Likely),
    rule("B110", "try_except_pass", Low, Sure),
    rule("B112", "try_except_continue", Low, Sure),
    rule("B113", "request_without_timeout", Medium, Unsure),
    rule("B201", "flask_debug_true", High, Likely),
    rule("B202", "tarfile_unsafe_members", High, Sure),
    rule("B301", "pickle", Medium, Sure),
    rule("B302", "marshal", Medium, Sure),
    rule("B303", "md5", Medium, Sure),
    rule("B304", "ciphers", High, Sure),
    rule("B305", "cipher_modes", Medium, Sure),
    rule("B306", "mktemp_q", Medium, Sure),
    rule("B307", "eval", Medium, Sure),
    rule("B308", "mark_safe", Medium, Sure),
    rule("B310", "urllib_urlopen", Medium, Sure),
    rule("B311", "random", Low, Sure),
    rule("B312", "telnetlib", High, Sure),
    rule("B313", "xml_bad_cElementTree", Medium, Sure),
    rule("B314", "xml_bad_ElementTree", Medium, Sure),
    rule("B315", "xml_bad_expatreader", Medium, Sure),
    rule("B316", "xml_bad_expatbuilder", Medium, Sure),
    rule("B317", "xml_bad_sax", Medium, Sure),
    rule("B318", "xml_bad_minidom", Medium, Sure),
    rule("B319", "xml_bad_pulldom", Medium, Sure),
    rule("B321", "ftplib", High, Sure),
    rule("B323", "unverified_context", Medium, Sure),
    rule("B324", "hashlib_insecure_functions", High, Sure),
    rule("B401", "import_telnetlib", High, Sure),
    rule("B402", "import_ftplib", High, Sure),
    rule("B403", "import_pickle", Low, Sure),
    rule("B404", "import_subprocess", Low, Sure),
    rule("B405", "import_xml_etree", Low, Sure),
    rule("B406", "import_xml_sax", Low, Sure),
    rule("B407", "import_xml_expat", Low, Sure),
    rule("B408", "import_xml_minidom", Low, Sure),
    rule("B409", "import_xml_pulldom", Low, Sure),
    rule("B411", "import_xmlrpclib", High, Sure),
    rule("B412", "import_httpoxy", High, Sure),
    rule("B413", "import_pycrypto", High, Sure),
    rule("B415", "import_pyghmi", High, Sure),
    rule("B501", "request_with_no_cert_validation", High, Sure),
    rule("B502", "ssl_with_bad_version", High, Sure),
    rule("B503", "ssl_with_bad_defaults", Medium, Likely),
    rule("B504", "ssl_with_no_version", Low, Likely),
    rule("B505", "weak_cryptographic_key", Medium, Sure),
    rule("B506", "yaml_load", Medium, Sure),
    rule("B507", "ssh_no_host_key_verification", High, Likely),
    rule("B508", "snmp_insecure_version", Medium, Sure),
    rule("B509", "snmp_weak_cryptography", Medium, Sure),
    rule("B601", "paramiko_calls", Medium, Likely),
    rule("B602", "subprocess_popen_with_shell_equals_true", High, Sure),
    rule("B603", "subprocess_without_shell_equals_true", Low, Sure),
    rule("B604", "any_other_function_with_shell_equals_true", Medium, Unsure),
    rule("B605", "start_process_with_a_shell", High, Sure),
    rule("B606", "start_process_with_no_shell", Low, Likely),
    rule("B607", "start_process_with_partial_path", Low, Sure),
    rule("B608", "hardcoded_sql_expressions", Medium, Unsure),
    rule("B609", "linux_commands_wildcard_injection", High, Likely),
    rule("B610", "django_extra_used", Medium, Likely),
    rule("B611", "django_rawsql_used", Medium, Likely),
    rule("B612", "logging_config_insecure_listen", Medium, Sure),
    rule("B613", "trojansource", High, Likely),
    rule("B614", "pytorch_load", Medium, Sure),
    rule("B615", "huggingface_unsafe_download", Medium, Sure),
    rule("B701", "jinja2_autoescape_false", High, Sure),
    rule("B702", "use_of_mako_templates", Medium, Sure),
    rule("B703", "django_mark_safe", Medium, Sure),
    rule("B704", "markupsafe_markup_xss", Medium, Sure),
    rule("M901", "menace_socket", Low, Sure),
    rule("M902", "menace_ctypes", Low, Sure),
    rule("M903", "menace_deletion", Low, Sure),
    rule("M904", "menace_compile", Low, Likely),
    rule("M905", "menace_dynamic_import", Low, Likely),
    rule("M906", "menace_network_import", Low, Sure),
];

/// The rule of that number.
pub(super) fn find_by_id(id: &str) -> Option<&'static SecurityRule> {
    let at = SECURITY_RULES.binary_search_by(|rule| rule.id.cmp(id)).ok()?;
    SECURITY_RULES.get(at)
}

/// The rule that a `# nosec` comment means by a number or a name.
pub(super) fn find_by_mention(word: &str) -> Option<&'static SecurityRule> {
    find_by_id(word).or_else(|| SECURITY_RULES.iter().find(|rule| rule.name == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_sorted_and_found_by_number_and_name() {
        assert!(SECURITY_RULES.is_sorted_by(|a, b| a.id < b.id));
        assert_eq!(find_by_mention("B602").map(|rule| rule.severity), Some(High));
        assert_eq!(find_by_mention("assert_used").map(|rule| rule.id), Some("B101"));
        assert!(find_by_mention("b101").is_none());
    }
}
