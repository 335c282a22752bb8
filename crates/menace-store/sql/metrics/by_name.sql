-- The last ones, oldest first.
SELECT ts, run, cycle, scenario, module, name, value
FROM (SELECT * FROM metrics WHERE name = ?1 ORDER BY ts DESC, key DESC LIMIT ?2)
ORDER BY ts, key;
