SELECT id FROM runs WHERE status = 'running' ORDER BY key;
