//! Menace's own rules, for constructs without a rule in Bandit: reasons to run a section in a
//! sandbox.
//!
//! | id | construct |
//! |---|---|
//! | M901 | opens a socket |
//! | M902 | reaches into native code (`ctypes`, `cffi`) |
//! | M903 | deletes files |
//! | M904 | compiles code from text that is not constant |
//! | M905 | imports a module whose name is not constant |
//! | M906 | imports a module that talks to the network |
//!
//! All are of low severity and none counts towards `security_score`.

use menace_model::FindingConfidence;
use ruff_python_ast::{StmtImport, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

use super::call::CheckedCall;
use super::rule_match::FindingSink;

const NATIVE_CODE_MODULES: [&str; 2] = ["ctypes", "cffi"];
const NETWORK_MODULES: [&str; 22] = [
    "aiohttp",
    "boto3",
    "ftplib",
    "grpc",
    "http.client",
    "http.server",
    "httpx",
    "imaplib",
    "nntplib",
    "paramiko",
    "poplib",
    "requests",
    "smtplib",
    "socketserver",
    "telnetlib",
    "urllib.request",
    "urllib2",
    "urllib3",
    "websocket",
    "websockets",
    "xmlrpc.client",
    "xmlrpc.server",
];

pub(super) fn check_import(import: &StmtImport, sink: &mut FindingSink) {
    for alias in &import.names {
        check_module(&alias.name, import.range(), sink);
    }
}

/// Relative imports stay within the project.
pub(super) fn check_import_from(import: &StmtImportFrom, sink: &mut FindingSink) {
    let (0, Some(from)) = (import.level, &import.module) else { return };
    if check_module(from, import.range(), sink) {
        return;
    }
    for alias in &import.names {
        if check_module(&format!("{from}.{}", alias.name), import.range(), sink) {
            return;
        }
    }
}

fn check_module(name: &str, range: TextRange, sink: &mut FindingSink) -> bool {
    let is = |module: &&str| {
        name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let (rule, message) = if NATIVE_CODE_MODULES.iter().any(is) {
        ("M902", "native code can do anything to this process")
    } else if NETWORK_MODULES.iter().any(is) {
        ("M906", "this module talks to the network")
    } else {
        return false;
    };
    sink.report(rule, range, message);
    true
}

pub(super) fn check_call(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let dynamic = || call.args().first().is_some_and(|first| !first.is_string_literal_expr());
    let (rule, confidence, message) = match call.qualified_name {
        "socket.socket"
        | "socket.create_connection"
        | "socket.create_server"
        | "socket.socketpair"
        | "socket.fromfd"
        | "asyncio.open_connection"
        | "asyncio.start_server" => ("M901", FindingConfidence::High, "opens a socket"),
        "os.remove" | "os.unlink" | "os.rmdir" | "os.removedirs" | "shutil.rmtree" => {
            ("M903", FindingConfidence::High, "deletes files")
        }
        "compile" if dynamic() => {
            ("M904", FindingConfidence::Medium, "compiles text that is not constant")
        }
        "__import__" | "importlib.import_module" | "importlib.__import__" if dynamic() => {
            ("M905", FindingConfidence::Medium, "imports a module whose name is not constant")
        }
        qualified if qualified.starts_with("ctypes.") => match call.name {
            "CDLL" | "PyDLL" | "WinDLL" | "OleDLL" | "LoadLibrary" => {
                ("M902", FindingConfidence::High, "loads a native library")
            }
            _ => return,
        },
        // The receiver is unknown: probably a path, but any object may have the method.
        qualified if qualified.contains('.') && matches!(call.name, "unlink" | "rmtree") => {
            ("M903", FindingConfidence::Low, "probably deletes files")
        }
        _ => return,
    };
    sink.report(rule, call, message).confidence = confidence;
}
