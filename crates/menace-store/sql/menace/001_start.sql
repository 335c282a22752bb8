-- Runs, their calls, their scores and their failures.
-- Times are milliseconds since 1970, in UTC.

-- Text that many rows share: sections, scenarios, verdicts, types of exceptions, files, signatures.
-- Rows refer to it by key. Names are never removed, so that a key stays valid.
CREATE TABLE names (
    key  INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE runs (
    key         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    -- The bits of an unsigned number.
    seed        INTEGER NOT NULL,
    repository  TEXT NOT NULL,
    started_ms  INTEGER NOT NULL,
    finished_ms INTEGER,
    status      TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'cut_short')),
    settings    TEXT NOT NULL,
    cycles      INTEGER NOT NULL DEFAULT 0,
    summary     TEXT
) STRICT;

CREATE INDEX runs_by_start ON runs (started_ms, key);
CREATE INDEX runs_of_repository ON runs (repository, started_ms, key);
-- Every start of the program reads these; there is hardly ever more than one.
CREATE INDEX runs_going_on ON runs (key) WHERE status = 'running';

-- All calls of a section under one scenario in one cycle. The numbers are written at its end.
CREATE TABLE cells (
    key      INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    cycle    INTEGER NOT NULL,
    section  INTEGER NOT NULL REFERENCES names (key),
    scenario INTEGER NOT NULL REFERENCES names (key),
    severity INTEGER REFERENCES names (key),
    calls    INTEGER,
    verdicts TEXT,
    roi      REAL,
    metrics  TEXT,
    UNIQUE (run, cycle, section, scenario)
) STRICT;

-- There are millions of these: small integers, no index but the key. References to names are not
-- checked, which would cost more than all the rest.
CREATE TABLE calls (
    cell         INTEGER NOT NULL REFERENCES cells (key) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    intent       INTEGER NOT NULL,
    verdict      INTEGER NOT NULL,
    wall_us      INTEGER NOT NULL,
    cpu_us       INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    exception    INTEGER,
    message      TEXT,
    file         INTEGER,
    line         INTEGER,
    failure      INTEGER,
    PRIMARY KEY (cell, number)
) STRICT, WITHOUT ROWID;

-- Everything that is needed to repeat a call, for the calls that are worth repeating.
CREATE TABLE calls_in_full (
    cell   INTEGER NOT NULL REFERENCES cells (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    call   TEXT NOT NULL,
    PRIMARY KEY (cell, number)
) STRICT;

CREATE TABLE sections (
    key         INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    cycle       INTEGER NOT NULL,
    section     INTEGER NOT NULL REFERENCES names (key),
    signature   INTEGER REFERENCES names (key),
    roi         REAL,
    raroi       REAL,
    metrics     TEXT NOT NULL,
    unreachable TEXT,
    UNIQUE (run, cycle, section)
) STRICT;

-- One section through all runs.
CREATE INDEX sections_through_runs ON sections (section, run);

CREATE TABLE modules (
    key        INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    cycle      INTEGER NOT NULL,
    module     INTEGER NOT NULL REFERENCES names (key),
    roi        REAL,
    raroi      REAL,
    metrics    TEXT NOT NULL,
    flagged    INTEGER NOT NULL CHECK (flagged IN (0, 1)),
    risk_flags TEXT NOT NULL,
    UNIQUE (run, cycle, module)
) STRICT;

-- One module through all runs.
CREATE INDEX modules_through_runs ON modules (module, run);

CREATE TABLE scenarios (
    key       INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    cycle     INTEGER NOT NULL,
    scenario  INTEGER NOT NULL REFERENCES names (key),
    severity  INTEGER REFERENCES names (key),
    roi       REAL,
    roi_delta REAL,
    metrics   TEXT NOT NULL,
    UNIQUE (run, cycle, scenario)
) STRICT;

-- A failure outlives the runs that saw it: runs are stored as text, not as references.
CREATE TABLE failures (
    key       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    section   INTEGER NOT NULL REFERENCES names (key),
    kind      INTEGER NOT NULL REFERENCES names (key),
    scenario  INTEGER NOT NULL REFERENCES names (key),
    verdict   INTEGER NOT NULL REFERENCES names (key),
    exception INTEGER REFERENCES names (key),
    message   TEXT NOT NULL,
    file      INTEGER NOT NULL REFERENCES names (key),
    line      INTEGER NOT NULL,
    call      TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    first_run TEXT NOT NULL,
    first_ms  INTEGER NOT NULL,
    last_run  TEXT NOT NULL,
    last_ms   INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    shrunk    TEXT,
    -- When a run first did not see it any more.
    gone_ms   INTEGER
) STRICT;

CREATE INDEX failures_by_last_seen ON failures (last_ms);
CREATE INDEX failures_of_section ON failures (section);

CREATE TABLE sightings (
    run     INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    failure INTEGER NOT NULL REFERENCES failures (key) ON DELETE CASCADE,
    count   INTEGER NOT NULL,
    PRIMARY KEY (run, failure)
) STRICT, WITHOUT ROWID;

-- The runs that saw a failure.
CREATE INDEX sightings_of_failure ON sightings (failure, run);
