INSERT INTO names (text) VALUES (?1) RETURNING key;
