INSERT INTO synergy_history (entry) VALUES (?1);
