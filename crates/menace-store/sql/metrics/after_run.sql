-- Cycles after a run that measured this metric for the whole run; counted up to a thousand.
SELECT count(*)
FROM (
    SELECT 1
    FROM metrics
    WHERE
        name = ?1 AND scenario = '' AND module = ''
        AND ts > coalesce(
            (
                SELECT max(ts) FROM metrics
                WHERE name = ?1 AND scenario = '' AND module = '' AND ts BETWEEN ?3 AND ?4
                    AND run = ?2
            ),
            ?3
        )
    LIMIT 1000
);
