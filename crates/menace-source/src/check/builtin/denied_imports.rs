//! B401–B415: modules that are dangerous, or whose use wants a second look.

use menace_model::Confidence;
use menace_model::Severity::{High, Low};
use ruff_python_ast::{Alias, Identifier, StmtImport, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

use super::denied_calls::{Denied, XML};
use super::hit::Sink;

pub(super) const MODULES: &[Denied] = &[
    Denied {
        rule: "B401",
        severity: High,
        message: "Telnet sends everything in the clear",
        names: &["telnetlib"],
    },
    Denied {
        rule: "B402",
        severity: High,
        message: "FTP sends everything in the clear",
        names: &["ftplib"],
    },
    Denied {
        rule: "B403",
        severity: Low,
        message: "this module can run code from the data it loads",
        names: &["pickle", "cPickle", "dill", "shelve"],
    },
    Denied {
        rule: "B404",
        severity: Low,
        message: "this module starts other programs",
        names: &["subprocess"],
    },
    Denied {
        rule: "B405",
        severity: Low,
        message: XML,
        names: &["xml.etree.cElementTree", "xml.etree.ElementTree"],
    },
    Denied { rule: "B406", severity: Low, message: XML, names: &["xml.sax"] },
    Denied { rule: "B407", severity: Low, message: XML, names: &["xml.dom.expatbuilder"] },
    Denied { rule: "B408", severity: Low, message: XML, names: &["xml.dom.minidom"] },
    Denied { rule: "B409", severity: Low, message: XML, names: &["xml.dom.pulldom"] },
    Denied {
        rule: "B411",
        severity: High,
        message: "XML-RPC parses XML from others; use `defusedxml.xmlrpc`",
        names: &["xmlrpc"],
    },
    Denied {
        rule: "B412",
        severity: High,
        message: "CGI lets a request set the proxy (httpoxy)",
        names: &[
            "wsgiref.handlers.CGIHandler",
            "twisted.web.twcgi.CGIScript",
            "twisted.web.twcgi.CGIDirectory",
        ],
    },
    Denied {
        rule: "B413",
        severity: High,
        message: "PyCrypto is no longer maintained; use `cryptography`",
        names: &[
            "Crypto.Cipher",
            "Crypto.Hash",
            "Crypto.IO",
            "Crypto.Protocol",
            "Crypto.PublicKey",
            "Crypto.Random",
            "Crypto.Signature",
            "Crypto.Util",
        ],
    },
    Denied {
        rule: "B415",
        severity: High,
        message: "IPMI sends everything in the clear",
        names: &["pyghmi"],
    },
];

pub(super) fn import(import: &StmtImport, sink: &mut Sink) {
    check(None, &import.names, import.range(), sink);
}

pub(super) fn import_from(import: &StmtImportFrom, sink: &mut Sink) {
    check(import.module.as_ref(), &import.names, import.range(), sink);
}

/// One finding for a statement, by the first rule that any of its names concerns. A name is
/// compared by how it starts, as Bandit does: `pickletools` counts as `pickle`.
fn check(module: Option<&Identifier>, names: &[Alias], range: TextRange, sink: &mut Sink) {
    let denied = MODULES.iter().find(|denied| {
        denied.names.iter().any(|denied| names.iter().any(|alias| starts(module, alias, denied)))
    });
    if let Some(denied) = denied {
        sink.report(denied.rule, (denied.severity, Confidence::High), range, denied.message);
    }
}

/// Whether `module.name` starts with the text.
fn starts(module: Option<&Identifier>, alias: &Alias, text: &str) -> bool {
    let Some(module) = module else { return alias.name.starts_with(text) };
    match text.strip_prefix(module.as_str()) {
        Some("" | ".") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|rest| alias.name.starts_with(rest)),
        None => module.starts_with(text),
    }
}
