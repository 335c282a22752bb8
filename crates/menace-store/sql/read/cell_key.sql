SELECT key FROM cells WHERE run = ?1 AND cycle = ?2 AND section = ?3 AND scenario = ?4;
