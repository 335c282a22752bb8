SELECT count(*) FROM runs;
