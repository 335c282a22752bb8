-- One step of the index per name, however many values there are.
WITH RECURSIVE each_name (name) AS (
    SELECT min(name) FROM metrics
    UNION ALL
    SELECT (SELECT min(name) FROM metrics WHERE metrics.name > each_name.name)
    FROM each_name
    WHERE each_name.name IS NOT NULL
)
SELECT name FROM each_name WHERE name IS NOT NULL;
