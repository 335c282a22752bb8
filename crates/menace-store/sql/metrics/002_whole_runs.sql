-- Values of whole runs are a small part of all: this index finds them without a scan of the others.
CREATE INDEX metrics_of_whole_runs ON metrics (name, ts) WHERE scenario = '' AND module = '';
