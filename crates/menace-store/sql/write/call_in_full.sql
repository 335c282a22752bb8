INSERT OR REPLACE INTO calls_in_full (cell, number, call) VALUES (?1, ?2, ?3);
