-- Whether a failure was new in a run: no earlier run had found it, or it was gone.
ALTER TABLE sightings ADD COLUMN new INTEGER NOT NULL DEFAULT 0 CHECK (new IN (0, 1));

UPDATE sightings SET new = 1
WHERE EXISTS (
    SELECT 1
    FROM failures
    JOIN runs ON runs.id = failures.first_run
    WHERE failures.key = sightings.failure AND runs.key = sightings.run
);

-- Reports of older runs know those that had been gone.
UPDATE sightings SET new = 1
FROM (
    SELECT runs.key AS run, failures.key AS failure
    FROM runs
    JOIN json_each(iif(json_valid(runs.summary), runs.summary, '{}'), '$.failures') AS reported
    JOIN failures ON failures.id = reported.value ->> '$.id'
    WHERE reported.type = 'object' AND reported.value ->> '$.new'
) AS back
WHERE sightings.run = back.run AND sightings.failure = back.failure;
