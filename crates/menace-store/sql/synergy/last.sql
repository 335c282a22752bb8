SELECT entry FROM (SELECT id, entry FROM synergy_history ORDER BY id DESC LIMIT ?1) ORDER BY id;
