-- Part of others: what is searched for may be anywhere. Looking into messages means reading the table.
AND (
    place.text LIKE ?6 ESCAPE '\'
    OR failures.id LIKE ?6 ESCAPE '\'
    OR (SELECT text FROM names WHERE names.key = failures.exception) LIKE ?6 ESCAPE '\'
    OR failures.message LIKE ?6 ESCAPE '\'
)
