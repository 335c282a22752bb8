SELECT count(*) FROM sightings WHERE run = (SELECT key FROM runs WHERE id = ?1);
