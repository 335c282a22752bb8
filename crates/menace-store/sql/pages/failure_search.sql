-- The text search of `failure_filter.sql`. Messages are in no index: this reads the table.
AND (
    place.text LIKE ?6 ESCAPE '\'
    OR failures.id LIKE ?6 ESCAPE '\'
    OR (SELECT text FROM names WHERE names.key = failures.exception) LIKE ?6 ESCAPE '\'
    OR failures.message LIKE ?6 ESCAPE '\'
)
