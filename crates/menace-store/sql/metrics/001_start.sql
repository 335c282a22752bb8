-- Every number that was measured, with where and when. `ts` is in milliseconds since 1970.
CREATE TABLE metrics (
    key      INTEGER PRIMARY KEY,
    ts       INTEGER NOT NULL,
    run      TEXT NOT NULL,
    cycle    INTEGER NOT NULL,
    scenario TEXT NOT NULL,
    -- Empty for what belongs to no module.
    module   TEXT NOT NULL,
    name     TEXT NOT NULL,
    -- Nothing for what is not a number.
    value    REAL
) STRICT;

CREATE INDEX metrics_by_name ON metrics (name, ts);
