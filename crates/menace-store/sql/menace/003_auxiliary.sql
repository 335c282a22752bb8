-- Calls that are in no plan were stored under another name.
UPDATE OR IGNORE names SET text = 'auxiliary' WHERE text = 'beside';
