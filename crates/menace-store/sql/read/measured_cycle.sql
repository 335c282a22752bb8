SELECT max(cycle) FROM sections WHERE run = (SELECT key FROM runs WHERE id = ?1);
