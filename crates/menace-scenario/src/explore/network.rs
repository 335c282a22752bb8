//! Sections that talk to others.

use menace_model::Section;

/// Modules whose use means that somebody is called.
const TALKS: [&str; 14] = [
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "urllib3",
    "requests",
    "httpx",
    "aiohttp",
    "xmlrpc",
    "ftplib",
    "smtplib",
    "poplib",
    "imaplib",
    "asyncio.open_connection",
];

/// Does it call out, as far as its source tells?
pub fn is_used_by(section: &Section) -> bool {
    section.calls.iter().any(|call| {
        TALKS.iter().any(|module| {
            call.target == *module
                || call.target.strip_prefix(module).is_some_and(|rest| rest.starts_with('.'))
        })
    })
}
