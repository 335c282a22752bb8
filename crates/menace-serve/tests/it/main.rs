//! What is shown, asked for as a browser and as Prometheus would, without a socket but where
//! connections are the subject.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod access;
mod connections;
mod escaping;
mod filters;
mod metrics;
mod numbers;
mod pages;
mod report;
mod sample;
mod templates;
