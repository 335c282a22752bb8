-- Failures that are still present, by kind.
SELECT kind.text, found.count
FROM (SELECT kind, count(*) AS count FROM failures WHERE gone_ms IS NULL GROUP BY kind) AS found
JOIN names AS kind ON kind.key = found.kind
ORDER BY found.count DESC, kind.text;
