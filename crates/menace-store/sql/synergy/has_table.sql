SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = 'synergy_history';
