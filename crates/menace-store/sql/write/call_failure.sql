UPDATE calls SET failure = ?3 WHERE cell = ?1 AND number = ?2;
