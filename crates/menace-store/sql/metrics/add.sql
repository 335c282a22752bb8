INSERT INTO metrics (ts, run, cycle, scenario, module, name, value)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
