//! Cargo's companions: used when present, installed when they must be.

use anyhow::{Context, Result};

use crate::run::{cargo, program, target_dir};

const DENY_VERSION: &str = "0.20.2";

pub(crate) fn has_nextest() -> bool {
    cargo(["nextest", "--version"]).succeeds()
}

/// What the sandbox is compared with.
pub(crate) fn bubblewrap() -> Result<()> {
    if program("bwrap", ["--version"]).succeeds() {
        return Ok(());
    }
    apt_install("bubblewrap")
}

/// Installs a package of Debian's.
pub(crate) fn apt_install(package: &str) -> Result<()> {
    program("apt-get", ["update", "-qq"])
        .run()
        .and_then(|()| program("apt-get", ["install", "-y", "-qq", package]).run())
        .with_context(|| format!("cannot install the package {package}: install it by hand"))
}

/// Checks licences, sources and bans; advisories need a database from the network, which
/// `cargo deny check advisories` fetches by hand.
pub(crate) fn deny() -> Result<()> {
    let tools = target_dir().join("tools");
    let own = tools.join("bin/cargo-deny");
    let check = ["--log-level", "warn", "check", "bans", "licenses", "sources"];
    if !program(&own, ["--version"]).succeeds() {
        let version = format!("cargo-deny@{DENY_VERSION}");
        cargo(["install", "--locked", "--quiet", "--no-default-features", "--root"])
            .arg(&tools)
            .arg(&version)
            .env("CARGO_TARGET_DIR", target_dir().join("tools-build"))
            .run()?;
    }
    program(&own, check).run()
}
