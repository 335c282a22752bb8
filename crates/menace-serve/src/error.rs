//! Errors of pages and files.

use std::io;
use std::path::PathBuf;

pub type ServeResult<T> = std::result::Result<T, ServeError>;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] menace_store::StoreError),
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "`{}` is no history of runs ({why}): name a `roi_history.json`; `menace synergy dashboard \
         --file` shows a synergy history", path.display()
    )]
    NotRoiHistory { path: PathBuf, why: String },
    #[error(
        "there is no synergy history `{}`: `menace run` makes one; name another file",
        path.display()
    )]
    NoSynergyHistory { path: PathBuf },
    #[error("cannot make the page `{name}`")]
    RenderPage { name: String, source: minijinja::Error },
    #[error("there is nothing here: {0}")]
    NotFound(String),
    #[error("cannot listen on {address}: is another program there? Choose another port")]
    Listen { address: String, source: io::Error },
    #[error(
        "`{host}` can be reached from other machines, so a token is needed: set DASHBOARD_TOKEN, \
         or leave the host at 127.0.0.1"
    )]
    NoToken { host: String },
    #[error("the token is too short: give DASHBOARD_TOKEN at least {least} characters")]
    ShortToken { least: usize },
    #[error("cannot use the certificate `{}`: {why}", path.display())]
    Certificate { path: PathBuf, why: String },
    #[error("cannot start the server")]
    Runtime(#[source] io::Error),
}
