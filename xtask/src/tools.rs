//! Cargo's companions: used when present, installed when they must be.

use anyhow::{Context, Result};

use crate::run::{cargo, program, target_dir};

const DENY_VERSION: &str = "0.20.2";
const AXE_VERSION: &str = "4.10.3";

pub(crate) fn has_nextest() -> bool {
    cargo(["nextest", "--version"]).succeeds()
}

/// What the sandbox is compared with.
pub(crate) fn ensure_bubblewrap() -> Result<()> {
    if program("bwrap", ["--version"]).succeeds() {
        return Ok(());
    }
    apt_install("bubblewrap")
}

/// What the pages are looked at with: a browser, something that drives it, something that makes
/// certificates, and the accessibility checks of axe-core, which go below `target`.
pub(crate) fn ensure_browser() -> Result<()> {
    let is_there = |name: &str, version: &str| program(name, [version]).succeeds();
    if !(is_there("chromium", "--version")
        && is_there("chromedriver", "--version")
        && is_there("openssl", "version"))
    {
        apt_install("chromium chromium-driver openssl")?;
    }
    let home = target_dir().join("tools/axe-core");
    let stamp = home.join(AXE_VERSION);
    if stamp.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(&home)?;
    if !program("npm", ["--version"]).succeeds() {
        apt_install("npm")?;
    }
    let package = format!("axe-core@{AXE_VERSION}");
    program("npm", ["pack", "--silent", "--pack-destination"]).arg(&home).arg(&package).run()?;
    let archive = home.join(format!("axe-core-{AXE_VERSION}.tgz"));
    program("tar", ["-xzf"])
        .arg(&archive)
        .arg("-C")
        .arg(&home)
        .arg("--strip-components=1")
        .arg("package/axe.min.js")
        .run()?;
    std::fs::write(stamp, "")?;
    Ok(())
}

/// Installs packages of Debian's.
pub(crate) fn apt_install(packages: &str) -> Result<()> {
    let install = ["install", "-y", "-qq", "--no-install-recommends"];
    program("apt-get", ["update", "-qq"])
        .run()
        .and_then(|()| program("apt-get", install.into_iter().chain(packages.split(' '))).run())
        .with_context(|| format!("cannot install {packages} with apt-get: do so by hand"))
}

/// Checks licences, sources and bans; advisories need a database from the network, which
/// `cargo deny check advisories` fetches by hand.
pub(crate) fn run_cargo_deny() -> Result<()> {
    let tools = target_dir().join("tools");
    let own = tools.join("bin/cargo-deny");
    let check = ["--log-level", "warn", "check", "bans", "licenses", "sources"];
    if !program(&own, ["--version"]).succeeds() {
        let version = format!("cargo-deny@{DENY_VERSION}");
        cargo(["install", "--locked", "--quiet", "--debug", "--no-default-features", "--root"])
            .arg(&tools)
            .arg(&version)
            // It runs once: optimising it takes longer than it does.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_TARGET_DIR", target_dir().join("tools-build"))
            .run()?;
    }
    program(&own, check).run()
}
