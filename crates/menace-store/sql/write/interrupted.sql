UPDATE runs SET status = 'interrupted' WHERE id = ?1 AND status = 'running';
