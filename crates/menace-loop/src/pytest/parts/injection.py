import sqlite3
import tempfile

MARKER = "menace_was_here"

# Parts of the messages of SQLite for a query that it cannot parse.
SYNTAX_ERRORS = (
    "syntax error",
    "unrecognized token",
    "incomplete input",
    "no such column",
    "no such function",
    "unterminated",
)


def result_of(call):
    """What the call returns; `None` when it raises."""
    try:
        return consume(call())
    except Exception:
        return None


def executes_no_input(call, directory, monkeypatch):
    """Fails when a part of the input is executed: that creates a file."""
    for name in ("TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(directory))
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    result_of(call)
    assert not list(directory.rglob(MARKER + "*")), "a part of the input was executed"


def injects_no_sql(call):
    """Fails when SQLite parses a part of the input as SQL; a missing table is ignored."""
    try:
        consume(call())
    except sqlite3.OperationalError as error:
        assert not any(words in str(error) for words in SYNTAX_ERRORS), (
            "a part of the input became SQL"
        )
    except Exception:
        pass


def injects_no_html(call):
    """Fails when an HTML tag of the input is in the result."""
    assert "<script>" + MARKER not in str(result_of(call)), "a tag of the input is in the result"


def reads_no_outside_file(call):
    """Fails when `..` in the input leads to a file outside."""
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    assert secret not in repr(result_of(call)), "`..` in the input led out of the directory"
