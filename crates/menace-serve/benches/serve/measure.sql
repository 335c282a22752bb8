-- What `{runs}` runs have measured. The program puts the number and the names in.

CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < {runs})
INSERT INTO numbers SELECT n FROM count;

-- Whole runs.
INSERT INTO metrics (ts, run, cycle, scenario, module, name, value)
SELECT 1700000000000 + n * 60000 + 40000, printf('r-%08d', n), 0, '', '', metric.value,
    0.5 + (n % 100) / 1000.0
FROM numbers CROSS JOIN json_each('@METRICS@') AS metric;

-- Scenarios and modules of the last thousand.
INSERT INTO metrics (ts, run, cycle, scenario, module, name, value)
SELECT
    1700000000000 + n * 60000 + 40000, printf('r-%08d', n), 0, place.value ->> 0,
        place.value ->> 1, metric.value, 0.5
FROM numbers
CROSS JOIN json_each(
    '[["normal",""],["hostile_input",""],["","shop/module_0.py"],["","shop/module_1.py"]]'
) AS place
CROSS JOIN json_each('@METRICS@') AS metric
WHERE n > {runs} - 1000;

-- Gauges that others record.
INSERT INTO metrics (ts, run, cycle, scenario, module, name, value)
SELECT 1700000000000 + n * 60000 + 40000, printf('r-%08d', n), 0, '', 'image-' || (n % 3),
    gauge.value, n
FROM numbers CROSS JOIN json_each('@GAUGES@') AS gauge
WHERE n > {runs} - 5000;
