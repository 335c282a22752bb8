//! Entry points of the fuzz targets: each reads what a checkout may hold, and must end without a
//! panic. Tests of the crates include the same files as modules of their own.

pub mod database;
pub mod history;
pub mod ignore_files;
pub mod presets;
pub mod settings;

/// The text in some bytes; what is no text is replaced.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
