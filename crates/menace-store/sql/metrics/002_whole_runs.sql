-- What belongs to a run as a whole is a small part of all: finding it takes no walk over modules and scenarios.
CREATE INDEX metrics_of_whole_runs ON metrics (name, ts) WHERE scenario = '' AND module = '';
