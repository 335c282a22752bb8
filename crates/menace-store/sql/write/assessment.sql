UPDATE failures SET assessment = ?2 WHERE id = ?1;
