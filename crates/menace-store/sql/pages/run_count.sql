SELECT count(*) FROM runs WHERE id LIKE ?1 ESCAPE '\';
