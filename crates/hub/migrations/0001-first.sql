-- What the hub keeps in PostgreSQL. All of it can be made again: `schedules` and `hosts` from its configuration, `runs` and
-- `trials` from the documents of the archive, open rounds from the schedules.

-- The archive that the rows are of: one.
CREATE TABLE archive (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id text NOT NULL
);

CREATE TABLE schedules (
    name text PRIMARY KEY,
    title text NOT NULL,
    period_s double precision NOT NULL CHECK (period_s > 0),
    -- A round is ended after so long; its lease is longer by a margin.
    max_duration_s double precision NOT NULL CHECK (max_duration_s > 0)
);

-- The inventories of the schedules.
CREATE TABLE hosts (
    schedule text NOT NULL REFERENCES schedules ON DELETE CASCADE,
    name text NOT NULL,
    address text NOT NULL,
    rack text,
    nic text,
    rate_bps double precision,
    PRIMARY KEY (schedule, name)
);
CREATE INDEX hosts_by_address ON hosts (address);

CREATE TYPE round_state AS ENUM ('waiting', 'leased', 'done', 'failed', 'skipped');

-- The queue: one row for each round that a schedule is due to run.
CREATE TABLE rounds (
    schedule text NOT NULL,
    -- Milliseconds from 1970 to its begin.
    number bigint NOT NULL,
    begin_at timestamptz NOT NULL,
    state round_state NOT NULL DEFAULT 'waiting',
    attempts integer NOT NULL DEFAULT 0,
    -- The lease: number that no other lease has, who holds it, until when.
    fence bigint,
    holder text,
    lease_until timestamptz,
    -- Why it failed or was skipped.
    reason text,
    PRIMARY KEY (schedule, number)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200);
CREATE INDEX rounds_open ON rounds (begin_at) WHERE state IN ('waiting', 'leased');

-- Every lease that was ever granted.
CREATE TABLE leases (
    fence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    schedule text NOT NULL,
    number bigint NOT NULL,
    holder text NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL,
    -- When its holder gave it back; empty where it lapsed.
    ended_at timestamptz
);

-- Acknowledgements: the documents of the archive of which all trials have a row.
CREATE TABLE runs (
    run text PRIMARY KEY,
    started timestamptz NOT NULL,
    title text,
    status text NOT NULL,
    schedule text,
    round bigint,
    fence bigint,
    tool text NOT NULL,
    trials integer NOT NULL
);

CREATE TABLE trials (
    started timestamptz NOT NULL,
    run text NOT NULL,
    -- Place of its part in the run and of the trial in its part, from 0; part -1: the run's own.
    part integer NOT NULL,
    trial integer NOT NULL,
    schedule text,
    kind text NOT NULL,
    direction text NOT NULL,
    -- Of a mesh: the hosts' names.
    sender text,
    receiver text,
    repetition integer,
    valid boolean NOT NULL,
    duration_s double precision,
    intended_bps double precision,
    offered_bps double precision,
    received_bps double precision,
    loss_ratio double precision,
    delay_p50_ns double precision,
    delay_p99_ns double precision,
    -- What limits, as the verdict of the part says.
    limit_id text,
    tool text NOT NULL,
    PRIMARY KEY (started, run, part, trial)
) PARTITION BY RANGE (started);
CREATE INDEX trials_by_pair ON trials (schedule, sender, receiver, started);
