-- A call may come before what its cell is worth.
INSERT INTO cells (run, cycle, section, scenario) VALUES (?1, ?2, ?3, ?4) RETURNING key;
