-- How much a failure is worth, as JSON; failures of older runs have none.
ALTER TABLE failures ADD COLUMN assessment TEXT;
