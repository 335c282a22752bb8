import sqlite3
import tempfile

MARKER = "menace_was_here"

# What SQLite says of a query that it cannot read.
MISREAD = (
    "syntax error",
    "unrecognized token",
    "incomplete input",
    "no such column",
    "no such function",
    "unterminated",
)


def result_of(call):
    """What the call returns; nothing when it refuses."""
    try:
        return use(call())
    except Exception:
        return None


def runs_nothing(call, directory, monkeypatch):
    """Fails when a part of the input is run: it makes a file, wherever the call works."""
    for name in ("TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(directory))
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    result_of(call)
    assert not list(directory.rglob(MARKER + "*")), "a part of the input was run"


def stays_out_of_queries(call):
    """Fails when SQLite reads a part of the input as SQL; a table that is missing says nothing."""
    try:
        use(call())
    except sqlite3.OperationalError as error:
        assert not any(words in str(error) for words in MISREAD), "a part of the input became SQL"
    except Exception:
        pass


def passes_no_tag(call):
    """Fails when a tag of the input is a tag of the result."""
    assert "<script>" + MARKER not in str(result_of(call)), "a tag of the input was passed on"


def stays_inside(call):
    """Fails when `..` in the input leads to a file outside."""
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    assert secret not in repr(result_of(call)), "`..` in the input led out of the directory"
