-- The latest runs that saw a failure.
SELECT runs.id, runs.started_ms, latest.count
FROM (
    SELECT run, count FROM sightings
    WHERE failure = (SELECT key FROM failures WHERE id = ?1)
    ORDER BY run DESC
    LIMIT ?2
) AS latest
JOIN runs ON runs.key = latest.run
ORDER BY latest.run DESC;
