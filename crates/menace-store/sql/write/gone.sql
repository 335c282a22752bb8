UPDATE failures SET gone_ms = ?2 WHERE id = ?1;
