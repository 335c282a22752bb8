-- One JSON object of `synergy_*` numbers per cycle. Older tools made the table without a version.
CREATE TABLE IF NOT EXISTS synergy_history (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    entry TEXT NOT NULL
);
