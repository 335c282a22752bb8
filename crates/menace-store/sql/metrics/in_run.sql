SELECT ts, run, cycle, scenario, module, name, value
FROM metrics
WHERE name = ?1 AND run = ?2 AND ts BETWEEN ?3 AND ?4
ORDER BY ts, key;
