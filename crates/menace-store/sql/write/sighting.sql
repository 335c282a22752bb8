INSERT INTO sightings (run, failure, count) VALUES (?1, ?2, ?3)
ON CONFLICT (run, failure) DO UPDATE SET count = count + excluded.count;
