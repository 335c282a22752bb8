-- A call that comes twice is stored once.
INSERT OR REPLACE INTO calls (
    cell, number, intent, verdict, wall_us, cpu_us, memory_bytes, exception, message, file, line,
        failure
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);
