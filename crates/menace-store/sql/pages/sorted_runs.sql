-- A page of the runs with this text in their ids, in the order that the code puts in.
SELECT runs.key
FROM runs
LEFT JOIN run_facts AS facts ON facts.run = runs.key
WHERE ?1 IS NULL OR runs.id LIKE ?1 ESCAPE '\'
ORDER BY {order}, runs.key DESC
LIMIT ?2 OFFSET ?3
