SELECT count(*) FROM sightings WHERE failure = (SELECT key FROM failures WHERE id = ?1);
