//! Opens files that other parties control: of a checkout, or of a data directory that came with
//! one.
//!
//! They are opened through [`UntrustedDir`] only. The directory itself is named by the user, and
//! its path may contain links; nothing below it may be a link. A file is opened without blocking,
//! has to be a regular one, and is read up to a limit that the caller states. Writing creates a new
//! file and renames it, so that a link at the name is replaced and not followed.
//!
//! Invariant: no component of a relative path is a symbolic link when it is opened, and none is
//! `..`. `openat2` checks that in the kernel; where it is missing, every component is opened on
//! its own.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

mod named;
mod open;
mod refusal;
mod untrusted_dir;

pub use named::{
    check_named_file, create_named_directories, open_file, open_named_to_append, open_parent,
    read_file, read_named_file, read_named_text, resolve_named_path, write_named_file,
};
pub use refusal::{FileRefusal, FileType, refusal_of};
pub use untrusted_dir::{UntrustedDir, UntrustedFile};
