-- Takes the oldest round that waits, of the schedules $2, whose hosts are in no other lease, for the hub $1; the lease is
-- longer than its time limit by $3 seconds. What is older than any round that can still wait or be leased is not looked at:
-- versions of rows that a long transaction keeps alive would be read again with each claim.
WITH oldest AS MATERIALIZED (
    SELECT now() - make_interval(secs => 2 * max(period_s) + max(max_duration_s) + 3600) AS begin_at FROM schedules),
 next AS (
    SELECT r.schedule, r.number, s.max_duration_s + $3 AS lease_s
    FROM rounds r JOIN schedules s ON s.name = r.schedule
    WHERE r.state = 'waiting' AND r.begin_at <= now() AND r.begin_at > (SELECT begin_at FROM oldest)
      AND r.schedule = ANY($2)
      AND NOT EXISTS (
        SELECT 1 FROM rounds busy
        WHERE busy.state = 'leased' AND busy.begin_at > (SELECT begin_at FROM oldest)
          AND (busy.schedule = r.schedule OR EXISTS (
            SELECT 1 FROM hosts a JOIN hosts b USING (address)
            WHERE a.schedule = busy.schedule AND b.schedule = r.schedule)))
    ORDER BY r.begin_at, r.schedule LIMIT 1
    FOR UPDATE OF r SKIP LOCKED),
 granted AS (
    INSERT INTO leases (schedule, number, holder, lease_until)
    SELECT schedule, number, $1, clock_timestamp() + make_interval(secs => lease_s) FROM next
    RETURNING fence, schedule, number, lease_until)
UPDATE rounds r SET state = 'leased', attempts = attempts + 1, holder = $1,
    fence = granted.fence, lease_until = granted.lease_until
FROM granted WHERE r.schedule = granted.schedule AND r.number = granted.number
RETURNING r.schedule, r.number, r.fence
