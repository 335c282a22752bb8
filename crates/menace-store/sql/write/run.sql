INSERT INTO runs (id, seed, repository, started_ms, status, settings)
VALUES (?1, ?2, ?3, ?4, 'running', ?5)
RETURNING key;
