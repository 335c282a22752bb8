//! Why a file was not opened, although it exists.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The type of a file that is no regular one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    Directory,
    Fifo,
    Socket,
    CharacterDevice,
    BlockDevice,
    Other,
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::CharacterDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Other => "no regular file",
        })
    }
}

/// The reason why a file is not opened. It is the source of an [`io::Error`]; [`refusal_of`]
/// extracts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRefusal {
    /// A component of the path is a symbolic link.
    Link {
        path: PathBuf,
    },
    NotRegular {
        path: PathBuf,
        found: FileType,
    },
    TooLarge {
        path: PathBuf,
        limit: u64,
    },
    /// The path is absolute or has a `..`.
    Outside {
        path: PathBuf,
    },
}

impl fmt::Display for FileRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link { path } => {
                write!(f, "`{}` is a symbolic link or lies behind one", path.display())?;
                f.write_str(": links are not followed here, put a plain file in its place")
            }
            Self::NotRegular { path, found } => {
                write!(f, "`{}` is {found}: put a plain file in its place", path.display())
            }
            Self::TooLarge { path, limit } => {
                write!(f, "`{}` is larger than {limit} bytes: make it smaller", path.display())
            }
            Self::Outside { path } => {
                write!(f, "`{}` leads out of its directory", path.display())
            }
        }
    }
}

impl std::error::Error for FileRefusal {}

impl From<FileRefusal> for io::Error {
    fn from(refusal: FileRefusal) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refusal)
    }
}

/// The refusal inside of an error, if it is one.
pub fn refusal_of(error: &io::Error) -> Option<&FileRefusal> {
    error.get_ref()?.downcast_ref()
}
