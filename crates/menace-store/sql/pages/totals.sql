SELECT name, value FROM totals;
