//! B401–B415: modules that are dangerous, or whose use should be reviewed.

use ruff_python_ast::{Alias, Identifier, StmtImport, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

use super::denied_calls::{DeniedNamesRule, XML_PARSER_MESSAGE, deny};
use super::rule_match::FindingSink;

pub(super) const DENIED_MODULES: &[DeniedNamesRule] = &[
    deny("B401", "Telnet sends everything in the clear", "telnetlib"),
    deny("B402", "FTP sends everything in the clear", "ftplib"),
    deny("B403", "this module can run code from the data it loads", "pickle cPickle dill shelve"),
    deny("B404", "this module starts other programs", "subprocess"),
    deny("B405", XML_PARSER_MESSAGE, "xml.etree.cElementTree xml.etree.ElementTree"),
    deny("B406", XML_PARSER_MESSAGE, "xml.sax"),
    deny("B407", XML_PARSER_MESSAGE, "xml.dom.expatbuilder"),
    deny("B408", XML_PARSER_MESSAGE, "xml.dom.minidom"),
    deny("B409", XML_PARSER_MESSAGE, "xml.dom.pulldom"),
    deny("B411", "XML-RPC parses XML from others; use `defusedxml.xmlrpc`", "xmlrpc"),
    deny(
        "B412",
        "CGI lets a request set the proxy (httpoxy)",
        "wsgiref.handlers.CGIHandler twisted.web.twcgi.CGIScript \
         twisted.web.twcgi.CGIDirectory",
    ),
    deny(
        "B413",
        "PyCrypto is no longer maintained; use `cryptography`",
        "Crypto.Cipher Crypto.Hash Crypto.IO Crypto.Protocol Crypto.PublicKey Crypto.Random \
         Crypto.Signature Crypto.Util",
    ),
    deny("B415", "IPMI sends everything in the clear", "pyghmi"),
];

pub(super) fn check_import(import: &StmtImport, sink: &mut FindingSink) {
    check_names(None, &import.names, import.range(), sink);
}

pub(super) fn check_import_from(import: &StmtImportFrom, sink: &mut FindingSink) {
    check_names(import.module.as_ref(), &import.names, import.range(), sink);
}

/// At most one finding for a statement: of the first rule that matches one of its names. Names are
/// compared by their beginning, as in Bandit: `pickletools` counts as `pickle`.
fn check_names(from: Option<&Identifier>, names: &[Alias], at: TextRange, sink: &mut FindingSink) {
    let denied = DENIED_MODULES.iter().find(|denied| {
        denied.names().any(|denied| names.iter().any(|alias| starts_with(from, alias, denied)))
    });
    if let Some(denied) = denied {
        sink.report(denied.rule, at, denied.message);
    }
}

/// Whether `module.name` starts with the text.
fn starts_with(module: Option<&Identifier>, alias: &Alias, text: &str) -> bool {
    let Some(module) = module else { return alias.name.starts_with(text) };
    match text.strip_prefix(module.as_str()) {
        Some("" | ".") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|rest| alias.name.starts_with(rest)),
        None => module.starts_with(text),
    }
}
