-- A page of the latest runs: the index holds it.
SELECT key FROM runs ORDER BY started_ms DESC, key DESC LIMIT ?1 OFFSET ?2
