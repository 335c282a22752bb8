-- Failures in full; the code names the tables, the filter and the order.
SELECT
    failures.id, section.text, kind.text, scenario.text, verdict.text, exception.text, message,
    file.text, line, call, outcome, first_run, first_ms, last_run, last_ms, failures.count, shrunk,
    gone_ms, {in_run}
FROM {tables}
JOIN names AS section ON section.key = failures.section
JOIN names AS kind ON kind.key = failures.kind
JOIN names AS scenario ON scenario.key = failures.scenario
JOIN names AS verdict ON verdict.key = failures.verdict
LEFT JOIN names AS exception ON exception.key = failures.exception
JOIN names AS file ON file.key = failures.file
{which};
