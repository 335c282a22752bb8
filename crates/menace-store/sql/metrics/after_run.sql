-- Cycles that came after a run, of those that measured this for whole runs; a thousand are as good as more.
SELECT count(*)
FROM (
    SELECT 1
    FROM metrics
    WHERE
        name = ?1 AND scenario = '' AND module = ''
        AND ts > coalesce(
            (
                SELECT max(ts) FROM metrics
                WHERE name = ?1 AND scenario = '' AND module = '' AND ts BETWEEN ?3 AND ?4 AND run = ?2
            ),
            ?3
        )
    LIMIT 1000
);
