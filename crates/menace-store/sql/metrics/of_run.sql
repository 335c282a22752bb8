-- A metric of whole runs, up to the last value of the one in question, oldest first.
SELECT ts, run, cycle, scenario, module, name, value
FROM (
    SELECT *
    FROM metrics
    WHERE
        name = ?1 AND scenario = '' AND module = ''
        AND ts <= (
            SELECT max(ts) FROM metrics
            WHERE name = ?1 AND scenario = '' AND module = '' AND ts BETWEEN ?3 AND ?5 AND run = ?2
        )
    ORDER BY ts DESC, key DESC
    LIMIT ?4
)
ORDER BY ts, key;
