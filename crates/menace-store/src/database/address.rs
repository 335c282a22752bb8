//! Resolves `DATABASE_URL` to a file. Messages never contain the address, which may have a
//! password.

use std::path::{Path, PathBuf};

use super::{StoreError, StoreResult};

/// `sqlite:///menace.db` is relative to `data_dir`, `sqlite:////srv/menace.db` is absolute.
pub(crate) fn resolve_database_file(data_dir: &Path, url: &str) -> StoreResult<PathBuf> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    // SQLAlchemy writes the driver into the scheme: `sqlite+pysqlite:///`.
    let scheme = scheme.split_once('+').map_or(scheme, |(scheme, _driver)| scheme);
    match &*scheme.to_ascii_lowercase() {
        "sqlite" => {}
        "postgres" | "postgresql" => return Err(StoreError::PostgresUnsupported),
        _ => return Err(StoreError::UnknownScheme { scheme: scheme.to_owned() }),
    }
    if rest.contains('?') {
        return Err(StoreError::UrlParameters);
    }
    // After the two slashes that begin a host, the third one ends an empty host name.
    let place = rest.strip_prefix("//").unwrap_or(rest);
    let file = place.strip_prefix('/').unwrap_or(place);
    if file.is_empty() || file.ends_with('/') || file == ":memory:" {
        return Err(StoreError::UrlWithoutFile);
    }
    Ok(data_dir.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_file_is_below_the_data_directory() {
        for (url, file) in [
            ("sqlite:///menace.db", "/data/menace.db"),
            ("sqlite:///deeper/menace.db", "/data/deeper/menace.db"),
            ("sqlite://menace.db", "/data/menace.db"),
            ("SQLite+pysqlite:///menace.db", "/data/menace.db"),
            ("sqlite:////srv/menace.db", "/srv/menace.db"),
        ] {
            assert_eq!(
                resolve_database_file(Path::new("/data"), url).unwrap(),
                Path::new(file),
                "{url}"
            );
        }
    }

    #[test]
    fn an_address_that_is_no_sqlite_file_is_refused_without_its_password() {
        let refused: Vec<String> = [
            "postgres://ada:hunter2@db/x",
            "postgresql+psycopg://ada:hunter2@db/x",
            "mysql://ada:hunter2@db/x",
            "sqlite::memory:",
            "sqlite:///:memory:",
            "sqlite:///",
            "sqlite:///menace.db?mode=ro",
        ]
        .map(|url| resolve_database_file(Path::new("/data"), url).unwrap_err().to_string())
        .into();
        insta::assert_snapshot!(refused.join("\n"), @"
    PostgreSQL is not supported yet; set DATABASE_URL to a SQLite file, such as sqlite:///menace.db
    PostgreSQL is not supported yet; set DATABASE_URL to a SQLite file, such as sqlite:///menace.db
    DATABASE_URL names a database of the kind `mysql`, which cannot be used; set it to a SQLite file, such as sqlite:///menace.db
    DATABASE_URL names no file that lasts; set it to a SQLite file, such as sqlite:///menace.db
    DATABASE_URL names no file that lasts; set it to a SQLite file, such as sqlite:///menace.db
    DATABASE_URL names no file that lasts; set it to a SQLite file, such as sqlite:///menace.db
    DATABASE_URL has parameters after `?`, and none is known; leave them out
    ");
    }
}
