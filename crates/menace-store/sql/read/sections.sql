SELECT cycle, section.text, signature.text, roi, raroi, metrics, unreachable
FROM sections
JOIN names AS section ON section.key = sections.section
LEFT JOIN names AS signature ON signature.key = sections.signature
WHERE run = (SELECT key FROM runs WHERE id = ?1) AND cycle = ?2
ORDER BY section.text;
