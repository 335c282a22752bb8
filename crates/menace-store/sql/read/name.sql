SELECT key FROM names WHERE text = ?1;
