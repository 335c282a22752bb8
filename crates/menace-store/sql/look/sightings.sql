-- The latest runs that saw a failure.
SELECT runs.id, runs.started_ms, seen.count
FROM (
    SELECT run, count FROM sightings
    WHERE failure = (SELECT key FROM failures WHERE id = ?1)
    ORDER BY run DESC
    LIMIT ?2
) AS seen
JOIN runs ON runs.key = seen.run
ORDER BY seen.run DESC;
