UPDATE cells SET severity = ?2, calls = ?3, verdicts = ?4, roi = ?5, metrics = ?6 WHERE key = ?1;
