-- One page of the filtered calls, in the order that the code puts in. The page is found by numbers;
-- names and inputs are read for its rows only.
SELECT
    page.cycle, scenario.text, page.number, intent.text, verdict.text, page.wall_us, page.cpu_us,
    page.memory_bytes, exception.text, page.message, file.text, page.line, failure.text,
    calls_in_full.call
FROM (
    SELECT
        cells.cycle, cells.scenario, calls.*,
        row_number() OVER (ORDER BY {order}, cells.key, calls.number) AS place
    {filter}
    ORDER BY {order}, cells.key, calls.number
    LIMIT ?7 OFFSET ?8
) AS page
JOIN names AS scenario ON scenario.key = page.scenario
JOIN names AS intent ON intent.key = page.intent
JOIN names AS verdict ON verdict.key = page.verdict
LEFT JOIN names AS exception ON exception.key = page.exception
LEFT JOIN names AS file ON file.key = page.file
LEFT JOIN names AS failure ON failure.key = page.failure
LEFT JOIN calls_in_full ON calls_in_full.cell = page.cell AND calls_in_full.number = page.number
ORDER BY page.place;
