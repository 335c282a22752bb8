UPDATE runs SET status = ?2, finished_ms = ?3, cycles = ?4, summary = ?5 WHERE key = ?1;
