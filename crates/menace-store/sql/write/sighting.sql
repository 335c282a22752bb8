INSERT INTO sightings (run, failure, count, new) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (run, failure) DO UPDATE SET count = count + excluded.count;
