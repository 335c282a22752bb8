-- Of the last values under a name, the latest of each thing that has it.
SELECT ts, run, cycle, scenario, module, name, value
FROM (
    SELECT *, row_number() OVER (PARTITION BY module ORDER BY ts DESC, key DESC) AS place
    FROM (SELECT * FROM metrics WHERE name = ?1 ORDER BY ts DESC, key DESC LIMIT ?2)
)
WHERE place = 1
ORDER BY module;
