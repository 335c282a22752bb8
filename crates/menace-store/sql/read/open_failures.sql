SELECT id FROM failures WHERE gone_ms IS NULL;
