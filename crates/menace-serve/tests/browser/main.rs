//! The dashboard and the report in a real browser: Debian's Chromium, driven over `WebDriver`.
//!
//! `cargo xtask test` installs what this needs. Screenshots go to `target/screenshots`.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

#[path = "../it/sample.rs"]
#[allow(dead_code, unused_imports, reason = "this suite asks through a browser only")]
mod sample;

#[path = "../large/mod.rs"]
mod large;

mod driver;
mod surface;
mod user_actions;
