-- What pages show of many runs at once: they read neither summaries nor calls.

-- Figures of a finished run, taken from its summary.
CREATE TABLE run_facts (
    run            INTEGER PRIMARY KEY REFERENCES runs (key) ON DELETE CASCADE,
    calls          INTEGER NOT NULL,
    sections       INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    new_failures   INTEGER NOT NULL,
    roi            REAL,
    roi_delta      REAL,
    elapsed_s      REAL,
    worst_scenario TEXT,
    verdicts       TEXT
) STRICT;

-- Sums over all stored runs.
CREATE TABLE totals (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO totals (name, value) VALUES ('runs', (SELECT count(*) FROM runs)), ('calls', 0);

CREATE TRIGGER runs_counted AFTER INSERT ON runs BEGIN
    UPDATE totals SET value = value + 1 WHERE name = 'runs';
END;

CREATE TRIGGER runs_forgotten AFTER DELETE ON runs BEGIN
    UPDATE totals SET value = value - 1 WHERE name = 'runs';
END;

CREATE TRIGGER calls_counted AFTER INSERT ON run_facts BEGIN
    UPDATE totals SET value = value + new.calls WHERE name = 'calls';
END;

CREATE TRIGGER calls_forgotten AFTER DELETE ON run_facts BEGIN
    UPDATE totals SET value = value - old.calls WHERE name = 'calls';
END;

-- A malformed summary leaves no row here; it must not keep a run from ending.
CREATE TRIGGER runs_summed_up AFTER UPDATE OF summary ON runs
WHEN new.summary IS NOT NULL AND json_valid(new.summary) AND json_type(new.summary) = 'object'
BEGIN
    DELETE FROM run_facts WHERE run = new.key;
    INSERT INTO run_facts (
        run, calls, sections, failures, new_failures, roi, roi_delta, elapsed_s, worst_scenario,
        verdicts
    )
    SELECT
        new.key,
        coalesce(CAST(new.summary ->> '$.calls' AS INTEGER), 0),
        coalesce(CAST(new.summary ->> '$.sections' AS INTEGER), 0),
        coalesce(json_array_length(new.summary, '$.failures'), 0),
        (SELECT count(*) FROM json_each(new.summary, '$.failures') WHERE value ->> '$.new'),
        CAST(new.summary ->> '$.roi' AS REAL),
        CAST(new.summary ->> '$.roi_delta' AS REAL),
        CAST(new.summary ->> '$.elapsed_s' AS REAL),
        CAST(new.summary ->> '$.worst_scenario' AS TEXT),
        CAST(new.summary -> '$.verdicts' AS TEXT);
END;

-- Rows of older databases: the trigger fills the table.
UPDATE runs SET summary = summary WHERE summary IS NOT NULL;

-- Every column of the list of failures except the message: a row of the table holds a call and an
-- outcome, which may be large.
CREATE INDEX failures_at_a_glance ON failures (
    gone_ms, last_ms, section, kind, scenario, verdict, exception, file, line, count, first_ms, id
);
