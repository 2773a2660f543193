-- Times are microseconds since 1970 in UTC; bytea is zstd.
-- +goose Up
CREATE TABLE tasks (
    id         TEXT PRIMARY KEY,
    repo_key   TEXT NOT NULL,
    repo       TEXT NOT NULL,
    issue      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    data       BYTEA NOT NULL
);
-- A task without an issue (autocode run) has no identity: each is a new one.
CREATE UNIQUE INDEX tasks_issue ON tasks (repo_key, issue) WHERE issue > 0;

CREATE TABLE runs (
    num          BIGSERIAL PRIMARY KEY,       -- the order of lists
    id           TEXT NOT NULL UNIQUE,
    task         TEXT NOT NULL REFERENCES tasks (id),
    number       BIGINT NOT NULL,
    repo_key     TEXT NOT NULL,
    repo         TEXT NOT NULL,
    issue        BIGINT NOT NULL,
    pull         BIGINT NOT NULL DEFAULT 0,
    phase        TEXT NOT NULL,
    ended        SMALLINT NOT NULL DEFAULT 0, -- 0 also while a resume is still to be obeyed
    seq          BIGINT NOT NULL,
    version      BIGINT NOT NULL DEFAULT 1,   -- counts changes, for watchers that poll
    seen_signal  BIGINT NOT NULL DEFAULT 0,
    heard_signal BIGINT NOT NULL DEFAULT 0,         -- the last one that the holder of the lease was told
    epoch        BIGINT NOT NULL DEFAULT 0,
    lease_worker TEXT NOT NULL DEFAULT '',    -- '' with lease_until: handed out, not acquired yet
    lease_until  BIGINT,
    ready_at     BIGINT,                      -- wants a worker from then on; NULL: does not
    attempts     BIGINT NOT NULL DEFAULT 0,   -- drives that failed since the last snapshot
    info         BYTEA NOT NULL
);
CREATE UNIQUE INDEX runs_number ON runs (task, number);
CREATE UNIQUE INDEX runs_open ON runs (task) WHERE ended = 0;
CREATE INDEX runs_ready ON runs (repo_key, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX runs_lease ON runs (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX runs_repo ON runs (lower(repo), issue);
CREATE INDEX runs_pull ON runs (pull) WHERE pull > 0;
CREATE INDEX runs_phase ON runs (phase);

-- When a repository was last given a worker: the round robin among repositories.
CREATE TABLE turns (
    repo_key TEXT PRIMARY KEY,
    at       BIGINT NOT NULL
);

CREATE TABLE snapshots (
    run  TEXT NOT NULL REFERENCES runs (id),
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE signals (
    id   BIGSERIAL PRIMARY KEY,
    run  TEXT NOT NULL REFERENCES runs (id),
    kind TEXT NOT NULL,
    at   BIGINT NOT NULL,
    data BYTEA NOT NULL
);
CREATE INDEX signals_run ON signals (run, id);

-- The columns beside data are what sums are made of.
CREATE TABLE ledger (
    id       BIGSERIAL PRIMARY KEY,
    run      TEXT NOT NULL REFERENCES runs (id),
    task     TEXT NOT NULL,
    repo_key TEXT NOT NULL,
    at       BIGINT NOT NULL,
    tokens   BIGINT NOT NULL,
    usd      DOUBLE PRECISION NOT NULL,
    data     BYTEA NOT NULL
);
CREATE INDEX ledger_run ON ledger (run, id);
CREATE INDEX ledger_task ON ledger (task);
CREATE INDEX ledger_repo ON ledger (repo_key, at);

CREATE TABLE artifacts (
    run  TEXT NOT NULL REFERENCES runs (id),
    name TEXT NOT NULL COLLATE "C",
    at   BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (run, name)
);

CREATE TABLE baselines (
    repo TEXT NOT NULL,
    key  TEXT NOT NULL,
    at   BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (repo, key)
);

CREATE TABLE deliveries (
    id          TEXT PRIMARY KEY,
    key         TEXT UNIQUE,
    event       TEXT NOT NULL,
    state       TEXT NOT NULL,    -- pending, handling, handled, failed
    received_at BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,  -- pending, handling: when the sweeper writes a new ticket
    handled_at  BIGINT,
    attempts    BIGINT NOT NULL DEFAULT 0,
    error       TEXT NOT NULL DEFAULT '',
    payload     BYTEA             -- NULL once it was dropped for its age
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state IN ('pending', 'handling');
CREATE INDEX deliveries_failed ON deliveries (received_at) WHERE state = 'failed';
CREATE INDEX deliveries_received ON deliveries (received_at);

CREATE TABLE lessons (
    id        BIGSERIAL PRIMARY KEY,
    repo      TEXT NOT NULL,
    run       TEXT NOT NULL,
    signature TEXT NOT NULL,
    worked    SMALLINT NOT NULL,
    at        BIGINT NOT NULL,
    words     TEXT NOT NULL,
    data      BYTEA NOT NULL,
    -- The words were taken apart before they came here; PostgreSQL's parser would join some again.
    search    TSVECTOR GENERATED ALWAYS AS (array_to_tsvector(array_remove(string_to_array(words, ' '), ''))) STORED
);
CREATE UNIQUE INDEX lessons_run ON lessons (repo, run, signature) WHERE run <> '';
CREATE INDEX lessons_signature ON lessons (lower(repo), signature);
CREATE INDEX lessons_search ON lessons USING gin (search);

-- What became of the pull request of a run.
CREATE TABLE judgements (
    run     TEXT PRIMARY KEY,
    outcome TEXT NOT NULL,
    at      BIGINT NOT NULL
);
