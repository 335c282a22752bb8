UPDATE runs SET cycles = ?2 WHERE key = ?1;
