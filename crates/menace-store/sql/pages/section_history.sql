-- A section in the latest cycles that scored it, latest first.
SELECT runs.id, history.cycle, history.roi, history.raroi
FROM (
    SELECT run, cycle, roi, raroi FROM sections
    WHERE section = (SELECT key FROM names WHERE text = ?1)
    ORDER BY run DESC, cycle DESC
    LIMIT ?2
) AS history
JOIN runs ON runs.key = history.run
ORDER BY history.run DESC, history.cycle DESC;
