//! Attempts from a checkout: its files, and a command that a user would type in it.
//!
//! Rows of `checkouts/*.yaml`. Whatever a row asks for: the files of the user stay unread and
//! unchanged, no process is left, the output has no control characters, and the command ends in
//! time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Deserialize;

use crate::attempt::{
    AttackGround, AttemptFailure, AttemptResult, USER_GROUND, check_ground_names, is_on_ground,
    reachable_grounds,
};
use crate::bench::snapshot_files;
use crate::guests::panic_text;
use crate::host::processes_with_marker;
use crate::processes::wait_until;
use crate::program::{PYTHON_PATH, TestDirectory};

const ROWS: [(&str, &str); 4] = [
    ("settings", include_str!("checkouts/settings.yaml")),
    ("links", include_str!("checkouts/links.yaml")),
    ("database", include_str!("checkouts/database.yaml")),
    ("output", include_str!("checkouts/output.yaml")),
];

/// What each checkout has beside the files of its row.
const SHOP: &str = "def total(values: list) -> int:\n    return sum(values)\n\n\n\
                    def mean(values: list) -> float:\n    return sum(values) / len(values)\n";
/// Of a command that takes a second or two: longer is a hang.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(40);
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// More than the stacks of all threads and a large analysis. Set with `prlimit`.
const MAX_DATA_BYTES: u64 = 8 << 30;
const REPEAT_COUNT: usize = 100_000;
/// Characters that draw over other text, beside control characters.
const MARKS: [char; 16] = [
    '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}',
    '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}', '\u{feff}', '\u{61c}',
];

/// Texts of this class are shown in a terminal too, where styles are not left out.
const SHOWN_IN_TERMINALS: &str = "output";
/// Runs a program in a terminal of its own, and writes what that shows.
const IN_TERMINAL: &str = include_str!("in_terminal.py");
const LIMITER: &str = "/usr/bin/prlimit";

/// One row. In names and texts, `{outside}` is the home directory of the user, `{tcp}` a port of
/// the host, `{here}` the checkout, `{python}` the directory of the library in an environment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckoutAttempt {
    name: String,
    /// Path and text of files.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The same with bytes as `%FF`, in names too.
    #[serde(default)]
    bytes: BTreeMap<String, String>,
    /// Scripts that can be run.
    #[serde(default)]
    programs: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(default)]
    pipes: Vec<String>,
    /// Files of so many bytes, without content.
    #[serde(default)]
    sizes: BTreeMap<String, u64>,
    /// A text that is appended to a file many times.
    #[serde(default)]
    repeat: BTreeMap<String, String>,
    /// Files that are cut off.
    #[serde(default)]
    cut: BTreeMap<String, u64>,
    #[serde(default)]
    remove: Vec<String>,
    /// Directories in each other, each with a module.
    #[serde(default)]
    depth: usize,
    /// With a virtual environment, as Python makes it.
    #[serde(default)]
    venv: bool,
    /// With the data directory of a real run.
    #[serde(default)]
    data: bool,
    /// Statements for its database.
    sql: Option<String>,
    /// An expression for every text in its database.
    texts: Option<String>,
    run: Vec<String>,
    /// The exit code: 2 where the command refuses.
    #[serde(default)]
    exit: i32,
    says: Option<String>,
    not_says: Option<String>,
    /// Files of the checkout without control characters afterwards.
    #[serde(default)]
    clean: Vec<String>,
    /// On which grounds: `all`, or names.
    tiers: Option<String>,
    open: Option<String>,
    open_on: Option<String>,
}

/// What all rows need, made once.
pub(crate) struct CheckoutSuite {
    pub(crate) secret: String,
    pub(crate) port: u16,
    /// Copies of the programs for other users.
    pub(crate) programs: PathBuf,
    data: OnceLock<TestDirectory>,
}

/// A row in one of the places where it is tried.
#[derive(Debug)]
pub(crate) struct PlannedAttempt {
    class: &'static str,
    row: CheckoutAttempt,
    ground: Option<AttackGround>,
    in_terminal: bool,
}

/// All rows in all of their places.
pub(crate) fn all_attempts() -> Vec<PlannedAttempt> {
    let (grounds, _) = reachable_grounds();
    let mut attempts = Vec::new();
    for (class, text) in ROWS {
        let rows: Vec<CheckoutAttempt> = serde_saphyr::from_str(text)
            .unwrap_or_else(|error| panic!("checkouts/{class}.yaml: {error}"));
        for row in rows {
            let tiers = row.tiers.as_deref().filter(|names| *names != "all");
            check_ground_names(tiers);
            check_ground_names(row.open_on.as_deref());
            let plan = |ground, in_terminal| {
                let row = row.clone();
                PlannedAttempt { class, row, ground, in_terminal }
            };
            if class == SHOWN_IN_TERMINALS {
                attempts.push(plan(None, true));
            }
            if row.tiers.is_some() {
                let wanted = grounds.iter().filter(|ground| is_on_ground(tiers, ground.name));
                attempts.extend(wanted.map(|ground| plan(Some(*ground), false)));
            } else {
                attempts.push(plan(None, false));
            }
        }
    }
    attempts
}

impl PlannedAttempt {
    pub(crate) fn name(&self) -> String {
        let place = if self.in_terminal { " in a terminal" } else { "" };
        format!("{}{place}", self.row.name)
    }
}

/// `%FF` as the byte.
fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
        bytes.extend(rest.bytes());
    }
    bytes
}

impl CheckoutSuite {
    pub(crate) fn new(secret: &str, port: u16, programs: PathBuf) -> Self {
        Self { secret: secret.to_owned(), port, programs, data: OnceLock::new() }
    }

    pub(crate) fn run(&self, attempt: &PlannedAttempt) -> AttemptResult {
        let row = &attempt.row;
        let ground = attempt.ground.map_or(USER_GROUND, |ground| ground.name);
        let is_open = is_on_ground(row.open_on.as_deref(), ground);
        AttemptResult {
            class: attempt.class.to_owned(),
            name: attempt.name(),
            ground: ground.to_owned(),
            open: row.open.clone().filter(|_| is_open),
            failure: match catch_unwind(AssertUnwindSafe(|| self.find_failure(attempt))) {
                Ok(found) => found.map(AttemptFailure::from),
                Err(panic) => Some(AttemptFailure::broken(panic_text(panic.as_ref()))),
            },
        }
    }

    fn find_failure(&self, attempt: &PlannedAttempt) -> Option<String> {
        let row = &attempt.row;
        let outside = tempfile::tempdir().expect("writable");
        fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o777)).expect("ours");
        for name in ["secret", ".bashrc", "secret.py"] {
            let text = format!("# canary-{}\n", self.secret);
            fs::write(outside.path().join(name), text).expect("writable");
        }
        let place = TestDirectory::new();
        self.make_checkout(row, &place, outside.path());
        let before = snapshot_files(outside.path());
        let (code, output) = match self.run_command(attempt, &place, outside.path()) {
            Ok(ran) => ran,
            Err(failure) => return Some(failure),
        };
        let output = if attempt.in_terminal { remove_own_styles(&output) } else { output };
        let said = String::from_utf8_lossy(&output).into_owned();
        let shown = || said.chars().take(2000).collect::<String>().escape_debug().to_string();
        if code != Some(row.exit) {
            return Some(format!("exit {code:?} in place of {}: {}", row.exit, shown()));
        }
        if said.contains(&self.secret) {
            return Some(format!("the secret is in the output: {}", shown()));
        }
        if let Some((mark, place)) = find_control_character(&output) {
            return Some(format!("{mark:?} is in the output: {place:?}: {}", shown()));
        }
        if row.says.as_ref().is_some_and(|text| !said.contains(text)) {
            return Some(format!("it does not say {:?}: {}", row.says, shown()));
        }
        if row.not_says.as_ref().is_some_and(|text| said.contains(text)) {
            return Some(format!("it says {:?}: {}", row.not_says, shown()));
        }
        for name in &row.clean {
            let written = fs::read(place.path().join(name)).expect("it was written");
            if let Some((mark, place)) = find_control_character(&written) {
                return Some(format!("{mark:?} is in `{name}`: {place:?}"));
            }
        }
        if snapshot_files(outside.path()) != before {
            return Some("files of the user were changed".to_owned());
        }
        let left = fs::read_dir(place.temp_dir()).expect("ours").count();
        (left > 0).then(|| format!("{left} directories were left"))
    }

    /// The exit code and all that was said.
    fn run_command(
        &self,
        attempt: &PlannedAttempt,
        place: &TestDirectory,
        home: &Path,
    ) -> Result<(Option<i32>, Vec<u8>), String> {
        let PlannedAttempt { row, ground, in_terminal, .. } = attempt;
        let marker = format!("hostile-{}", place.path().display());
        let menace = match ground.and_then(|ground| ground.user) {
            Some(_) => self.programs.join("menace"),
            None => PathBuf::from(env!("CARGO_BIN_EXE_menace")),
        };
        let limit = format!("--data={MAX_DATA_BYTES}");
        let (program, terminal) = match in_terminal {
            true => ("/usr/bin/python3", ["-I", "-c", IN_TERMINAL, LIMITER].as_slice()),
            false => (LIMITER, [].as_slice()),
        };
        let mut arguments: Vec<String> = terminal.iter().map(|it| (*it).to_owned()).collect();
        arguments.extend([limit, "--".to_owned(), menace.display().to_string()]);
        arguments.extend(row.run.iter().map(|it| self.fill(it, place.path(), home)));
        if let Some(ground) = ground {
            arguments.extend(["--tier".to_owned(), ground.tier.to_string()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = place.with_environment(Command::new(program), &arguments);
        if let Some(user) = ground.and_then(|ground| ground.user) {
            command.uid(user).gid(user);
            for path in [place.path(), &place.cache_dir()] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("ours");
            }
        }
        let mut output = tempfile::tempfile().expect("writable");
        let handle = || output.try_clone().expect("a handle");
        command.stdin(std::process::Stdio::null()).stdout(handle()).stderr(handle());
        command.envs([PYTHON_PATH, ("MENACE_LIGHT_IMPORTS", "1")]);
        command.env("HOME", home).env("OPENAI_API_KEY", format!("sk-{}", self.secret));
        command.env("MENACE_TEST_MARKER", &marker);
        if *in_terminal {
            command.env("TERM", "xterm-256color");
        }
        let child = RefCell::new(command.spawn().expect("prlimit can be started"));
        let status = RefCell::new(None);
        let has_ended = || {
            status.replace(child.borrow_mut().try_wait().expect("ours"));
            status.borrow().is_some()
        };
        if !wait_until(COMMAND_TIMEOUT, has_ended) {
            child.borrow_mut().kill().expect("ours");
            child.borrow_mut().wait().expect("ours");
            return Err(format!("it hangs: {:?} is not over", row.run));
        }
        let left = || processes_with_marker(&marker);
        if !wait_until(END_TIMEOUT, || left().is_empty()) {
            return Err(format!("processes were left: {:?}", left()));
        }
        let code = status.borrow().and_then(|status| status.code());
        let mut said = Vec::new();
        output.rewind().expect("a file");
        output.read_to_end(&mut said).expect("readable");
        Ok((code, said))
    }

    fn fill(&self, text: &str, here: &Path, home: &Path) -> String {
        text.replace("{outside}", &home.display().to_string())
            .replace("{here}", &here.display().to_string())
            .replace("{tcp}", &self.port.to_string())
    }

    fn make_checkout(&self, row: &CheckoutAttempt, place: &TestDirectory, home: &Path) {
        let here = place.path();
        place.write("shop.py", SHOP);
        if row.data {
            self.copy_data(row, here, home);
        }
        if row.venv {
            let arguments = ["-I", "-m", "venv", "--without-pip", ".venv"];
            let made = Command::new("/usr/bin/python3").args(arguments).current_dir(here).status();
            assert!(made.expect("Python can make environments").success());
        }
        for name in &row.remove {
            fs::remove_file(here.join(name)).expect("it is there");
        }
        for (name, text) in &row.files {
            fs::write(parent_made(here, name), self.fill(text, here, home)).expect("writable");
        }
        for (name, text) in &row.bytes {
            let path = here.join(OsString::from_vec(decode(name)));
            fs::create_dir_all(path.parent().expect("below")).expect("writable");
            fs::write(path, decode(text)).expect("writable");
        }
        for (name, text) in &row.programs {
            let path = parent_made(here, name);
            fs::write(&path, self.fill(text, here, home)).expect("writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        }
        for (name, target) in &row.links {
            let path = parent_made(here, &replace_python(here, name));
            let _ = fs::remove_dir_all(&path);
            symlink(self.fill(target, here, home), path).expect("writable");
        }
        for name in &row.pipes {
            let mode = nix::sys::stat::Mode::from_bits_truncate(0o666);
            nix::unistd::mkfifo(&parent_made(here, name), mode).expect("writable");
        }
        for (name, size) in &row.sizes {
            let file = File::create(parent_made(here, name)).expect("writable");
            file.set_len(*size).expect("sparse files can be made");
        }
        for (name, text) in &row.repeat {
            let mut file = File::options().append(true).open(here.join(name)).expect("writable");
            file.write_all(text.repeat(REPEAT_COUNT).as_bytes()).expect("writable");
        }
        for (name, size) in &row.cut {
            let file = File::options().write(true).open(here.join(name)).expect("writable");
            file.set_len(*size).expect("writable");
        }
        let deep = here.join("d/".repeat(row.depth));
        fs::create_dir_all(&deep).expect("writable");
        fs::write(deep.join("deep.py"), "def f(): return 1\n").expect("writable");
    }

    /// The data directory of a run over the same code, changed as the row says.
    fn copy_data(&self, row: &CheckoutAttempt, here: &Path, home: &Path) {
        let ran = self.data.get_or_init(|| {
            let place = TestDirectory::new();
            place.write("shop.py", SHOP);
            let run = ["run", "--repo", ".", "--budget", "4s", "--seed", "1", "--no-depth"];
            let ran = place.run_with(&crate::program::SANDBOX_VARIABLES, &run);
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            place
        });
        for (from, content) in ran.files("sandbox_data") {
            let relative = from.strip_prefix(ran.path()).expect("below");
            fs::write(parent_made(here, &relative.display().to_string()), content)
                .expect("writable");
        }
        let database = here.join("sandbox_data/menace.db");
        let connection = rusqlite::Connection::open(database).expect("a database");
        let own = here.canonicalize().expect("there");
        connection
            .execute("UPDATE runs SET repository = ?1", [own.to_str().expect("plain")])
            .expect("it has runs");
        if let Some(sql) = &row.sql {
            connection.execute_batch(&self.fill(sql, here, home)).expect("the row's SQL works");
        }
        if let Some(expression) = &row.texts {
            replace_texts(&connection, expression);
        }
    }
}

/// Sets every text column that has no rule against it.
fn replace_texts(connection: &rusqlite::Connection, expression: &str) {
    let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
               WHERE m.type = 'table' AND c.type = 'TEXT' AND c.pk = 0 \
               AND c.name NOT IN ('repository', 'run_id')";
    let mut statement = connection.prepare(sql).expect("a query");
    let columns = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .expect("columns");
    let mut changed = 0;
    for (table, column) in columns.flatten() {
        let update = format!(
            "UPDATE OR IGNORE \"{table}\" SET \"{column}\" = {expression} \
                              WHERE substr(\"{column}\", 1, 1) NOT IN ('{{', '[', '\"')"
        );
        changed += connection.execute(&update, []).unwrap_or(0);
    }
    assert!(changed > 0, "no text was changed");
}

fn parent_made(here: &Path, name: &str) -> PathBuf {
    let path = here.join(name);
    fs::create_dir_all(path.parent().expect("below the checkout")).expect("writable");
    path
}

/// `python3` as a directory of an environment has the version in its name.
fn replace_python(here: &Path, name: &str) -> String {
    let Some((before, after)) = name.split_once("{python}") else { return name.to_owned() };
    let mut entries = fs::read_dir(here.join(before)).expect("an environment");
    let version = entries.next().expect("of one version").expect("readable").file_name();
    format!("{before}{}{after}", version.display())
}

/// The output without line ends of terminals, and without the styles and movements that Menace
/// itself uses; concealed and blinking text, titles and cleared screens are not among them.
fn remove_own_styles(output: &[u8]) -> Vec<u8> {
    let is_own = |inner: &[u8], end: u8| {
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u8>().ok();
        match end {
            b'm' => {
                // Colours by number: of tables.
                let inner = inner.strip_prefix(b"38;5;").unwrap_or(inner);
                inner.split(|byte| *byte == b';').all(|part| {
                    part.is_empty()
                        || matches!(
                            number(part),
                            Some(0..=4 | 9..=15 | 22..=24 | 30..=39 | 90..=97)
                        )
                })
            }
            // Progress: upwards, and the rest of a line or screen is cleared.
            b'A' => number(inner).is_some(),
            b'K' => matches!(inner, b"" | b"2"),
            b'l' | b'h' => inner == b"?25",
            _ => false,
        }
    };
    let (mut plain, mut rest) = (Vec::new(), output);
    while let Some((first, after)) = rest.split_first() {
        let length = after.iter().skip(1).position(u8::is_ascii_alphabetic);
        match (first, length) {
            (0x1b, Some(length))
                if after[0] == b'[' && is_own(&after[1..=length], after[length + 1]) =>
            {
                rest = &after[length + 2..];
            }
            (b'\r', _) => rest = after,
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

/// A character that draws over others, and what follows it.
fn find_control_character(output: &[u8]) -> Option<(char, String)> {
    let text = String::from_utf8_lossy(output);
    let (at, mark) = text.char_indices().find(|(_, character)| {
        character.is_control() && !matches!(character, '\n' | '\t') || MARKS.contains(character)
    })?;
    Some((mark, text[at..].chars().take(40).collect()))
}

#[test]
fn only_styles_of_menace_itself_are_removed() {
    for (shown, plain) in [
        ("\x1b[1;31mred\x1b[0m\x1b[m\r\n", "red\n"),
        ("\x1b[2K\x1b[1A\x1b[?25lx", "x"),
        ("\x1b[38;5;9mred\x1b[39m", "red"),
        ("\x1b[8mhidden", "\x1b[8mhidden"),
        ("\x1b[1;5mblinking", "\x1b[1;5mblinking"),
        ("\x1b[2Jcleared", "\x1b[2Jcleared"),
        ("\x1b]0;title\x07", "\x1b]0;title\x07"),
        ("\x1b", "\x1b"),
        ("\x1b[", "\x1b["),
    ] {
        let found = remove_own_styles(shown.as_bytes());
        assert_eq!(String::from_utf8_lossy(&found), plain);
    }
}
