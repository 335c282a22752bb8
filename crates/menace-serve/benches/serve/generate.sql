-- Many runs at once: `{runs}` of them, of ten sections in five modules, two scenarios and a hundred
-- calls each. The last one is large: 5,000 sections in 500 modules under twelve scenarios, with a
-- call in each cell. Keys follow from numbers, so that nothing has to be looked up. Parameters
-- cannot reach into a batch: the program puts the number in.

CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < {runs})
INSERT INTO numbers SELECT n FROM count;

CREATE TEMP TABLE few (n INTEGER PRIMARY KEY);
INSERT INTO few (n) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);

-- 1 to 10: sections; 11 to 15: modules; 16 and 17: scenarios; 18 to 22: words.
INSERT INTO names (key, text) SELECT 1 + n,
    'shop/module_' || (n / 2) || '.py::function_' || n FROM few;
INSERT INTO names (key, text) SELECT 11 + n, 'shop/module_' || n || '.py' FROM few WHERE n < 5;
INSERT INTO names (key, text) VALUES
    (16, 'normal'), (17, 'hostile_input'), (18, 'valid'), (19, 'returned'), (20, 'raised'),
    (21, 'builtins.ValueError'), (22, 'unhandled');

INSERT INTO runs (key, id, seed, repository, started_ms, finished_ms, status, settings, cycles)
SELECT
    n, printf('r-%08d', n), n, '/repository', 1700000000000 + n * 60000,
        1700000000000 + n * 60000 + 50000,
    'finished', '{"profile":"balanced","calls_per_cell":5}', 1
FROM numbers;

INSERT INTO cells (key, run, cycle, section, scenario, calls, verdicts, roi, metrics)
SELECT
    (numbers.n - 1) * 20 + section.n * 2 + scenario.n + 1, numbers.n, 0, section.n + 1,
        scenario.n + 16, 5,
    '{"returned":4,"raised":1}', 0.4 + 0.05 * section.n,
    '{"reliability":0.8,"resilience":0.75,"safety_rating":1.0,"risk_index":0.1,"throughput":1250.5}'
FROM numbers
CROSS JOIN few AS section
CROSS JOIN few AS scenario
WHERE scenario.n < 2 AND numbers.n < {runs}
ORDER BY 1;

INSERT INTO calls (cell, number, intent, verdict, wall_us, cpu_us, memory_bytes, exception,
    message, file, line)
SELECT
    cells.key, number.n, 18, iif(number.n = 4, 20, 19), 900 + cells.key % 500, 800, 4096,
    iif(number.n = 4, 21, NULL), iif(number.n = 4, 'it is no number', NULL),
    iif(number.n = 4, 11, NULL), iif(number.n = 4, 42, NULL)
FROM cells
CROSS JOIN few AS number
WHERE number.n < 5
ORDER BY 1, 2;

INSERT INTO sections (run, cycle, section, roi, raroi, metrics)
SELECT numbers.n, 0, few.n + 1, 0.5, 0.4, '{"reliability":0.8,"risk_index":0.1}'
FROM numbers CROSS JOIN few
WHERE numbers.n < {runs}
ORDER BY 1, 3;

INSERT INTO modules (run, cycle, module, roi, raroi, metrics, flagged, risk_flags)
SELECT numbers.n, 0, few.n + 11, 0.5 + (numbers.n % 100) / 1000.0, 0.4,
    '{"reliability":0.8,"risk_index":0.1}', 0, '[]'
FROM numbers CROSS JOIN few
WHERE few.n < 5 AND numbers.n < {runs}
ORDER BY 1, 3;

INSERT INTO scenarios (run, cycle, scenario, roi, metrics)
SELECT numbers.n, 0, few.n + 16, 0.5, '{"reliability":0.8,"resilience":0.7,"safety_rating":1.0}'
FROM numbers CROSS JOIN few
WHERE few.n < 2 AND numbers.n < {runs}
ORDER BY 1, 3;

-- The last run.
CREATE TEMP TABLE many (n INTEGER PRIMARY KEY);
WITH RECURSIVE count (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM count WHERE n < 4999)
INSERT INTO many SELECT n FROM count;

INSERT INTO names (key, text) SELECT 100000 + n,
    'shop/large_' || (n / 10) || '.py::function_' || n FROM many;
INSERT INTO names (key, text) SELECT 200000 + n, 'shop/large_' || n || '.py' FROM many
    WHERE n < 500;
INSERT INTO names (key, text) SELECT 300000 + n, 'scenario_' || n || ':high' FROM many WHERE n < 12;

INSERT INTO cells (key, run, cycle, section, scenario, calls, verdicts, roi, metrics)
SELECT
    {runs} * 20 + section.n * 12 + scenario.n + 1, {runs}, 0, section.n + 100000,
        scenario.n + 300000, 8,
    '{"returned":6,"refused":1,"raised":1}', 0.4 + 0.0001 * section.n,
    '{"reliability":0.8,"resilience":0.75,"safety_rating":1.0,"risk_index":0.1,"throughput":1250.5}'
FROM many AS section
CROSS JOIN many AS scenario
WHERE scenario.n < 12
ORDER BY 1;

INSERT INTO calls (cell, number, intent, verdict, wall_us, cpu_us, memory_bytes)
SELECT key, 0, 18, 19, 900 + key % 500, 800, 4096 FROM cells WHERE run = {runs} ORDER BY 1;

INSERT INTO sections (run, cycle, section, roi, raroi, metrics)
SELECT {runs}, 0, n + 100000, 0.5, 0.4, '{"reliability":0.8,"risk_index":0.1}' FROM many;

INSERT INTO modules (run, cycle, module, roi, raroi, metrics, flagged, risk_flags)
SELECT {runs}, 0, n + 200000, 0.5, 0.4, '{"reliability":0.8,"risk_index":0.1}', 0, '[]'
    FROM many WHERE n < 500;

INSERT INTO scenarios (run, cycle, scenario, roi, metrics)
SELECT {runs}, 0, n + 300000, 0.5, '{"reliability":0.8,"resilience":0.7,"safety_rating":1.0}'
    FROM many WHERE n < 12;

-- One failure for every five runs; each is seen in fifteen of them.
INSERT INTO failures (
    key, id, section, kind, scenario, verdict, exception, message, file, line, call, outcome,
    first_run, first_ms, last_run, last_ms, count, gone_ms
)
SELECT
    n, printf('f%010x', n), n % 10 + 1, 22, 16 + n % 2, 20, 21, 'it is no number ' || n,
        11 + n % 5, n % 300,
    '@CALL@', '@OUTCOME@', printf('r-%08d', n), 1700000000000 + n * 60000, printf('r-%08d', n + 1),
    1700000000000 + n * 61000, n % 97 + 1, iif(n % 3 = 0, 1800000000000, NULL)
FROM numbers
WHERE n <= max({runs} / 5, 1);

INSERT INTO sightings (run, failure, count)
SELECT DISTINCT run.n, 1 + (run.n * 7 + few.n * 13) % max({runs} / 5, 1), 2
FROM numbers AS run
CROSS JOIN few
WHERE few.n < 3
ORDER BY 1, 2;
