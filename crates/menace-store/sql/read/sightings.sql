SELECT runs.id, runs.started_ms, sightings.count
FROM sightings
JOIN runs ON runs.key = sightings.run
WHERE sightings.failure = (SELECT key FROM failures WHERE id = ?1)
ORDER BY runs.started_ms, runs.key;
