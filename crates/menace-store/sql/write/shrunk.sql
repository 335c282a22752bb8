UPDATE failures SET shrunk = ?2 WHERE id = ?1;
