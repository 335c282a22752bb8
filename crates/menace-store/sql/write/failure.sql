-- The first occurrence in a run replaces the call: the code may have changed since the last run,
-- and neither the old call nor what it was shrunk to need fit any more. So does the first
-- occurrence under the baseline (?15), which needs no faults. A failure that is seen is not gone.
INSERT INTO failures (
    id, section, kind, scenario, verdict, exception, message, file, line, call, outcome,
    first_run, first_ms, last_run, last_ms, count
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?12, ?13, ?14)
ON CONFLICT (id) DO UPDATE SET
    scenario = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        scenario, excluded.scenario),
    verdict = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        verdict, excluded.verdict),
    message = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        message, excluded.message),
    file = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        file, excluded.file),
    line = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        line, excluded.line),
    call = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        call, excluded.call),
    shrunk = iif(
        last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15)
        OR call = excluded.call, shrunk, NULL
    ),
    outcome = iif(last_run = excluded.last_run AND (excluded.scenario <> ?15 OR scenario = ?15),
        outcome, excluded.outcome),
    last_run = excluded.last_run,
    last_ms = excluded.last_ms,
    count = count + excluded.count,
    gone_ms = NULL
RETURNING key;
