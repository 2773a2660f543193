-- Times are microseconds since 1970 in UTC; blobs are zstd.
-- +goose Up
CREATE TABLE tasks (
    id         TEXT PRIMARY KEY,
    repo_key   TEXT NOT NULL,
    repo       TEXT NOT NULL,
    issue      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    data       BLOB NOT NULL
);
-- A task without an issue (autocode run) has no identity: each is a new one.
CREATE UNIQUE INDEX tasks_issue ON tasks (repo_key, issue) WHERE issue > 0;

CREATE TABLE runs (
    num          INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of lists
    id           TEXT NOT NULL UNIQUE,
    task         TEXT NOT NULL REFERENCES tasks (id),
    number       INTEGER NOT NULL,
    repo_key     TEXT NOT NULL,
    repo         TEXT NOT NULL,
    issue        INTEGER NOT NULL,
    pull         INTEGER NOT NULL DEFAULT 0,
    phase        TEXT NOT NULL,
    ended        INTEGER NOT NULL DEFAULT 0,        -- 0 also while a resume is still to be obeyed
    seq          INTEGER NOT NULL,
    version      INTEGER NOT NULL DEFAULT 1,        -- counts changes, for watchers that poll
    seen_signal  INTEGER NOT NULL DEFAULT 0,
    heard_signal INTEGER NOT NULL DEFAULT 0,        -- the last one that the holder of the lease was told
    epoch        INTEGER NOT NULL DEFAULT 0,
    lease_worker TEXT NOT NULL DEFAULT '',          -- '' with lease_until: handed out, not acquired yet
    lease_until  INTEGER,
    ready_at     INTEGER,                           -- wants a worker from then on; NULL: does not
    attempts     INTEGER NOT NULL DEFAULT 0,        -- drives that failed since the last snapshot
    info         BLOB NOT NULL
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
    at       INTEGER NOT NULL
);

CREATE TABLE snapshots (
    run  TEXT NOT NULL REFERENCES runs (id),
    seq  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE signals (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    run  TEXT NOT NULL REFERENCES runs (id),
    kind TEXT NOT NULL,
    at   INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX signals_run ON signals (run, id);

-- The columns beside data are what sums are made of.
CREATE TABLE ledger (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    run      TEXT NOT NULL REFERENCES runs (id),
    task     TEXT NOT NULL,
    repo_key TEXT NOT NULL,
    at       INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    usd      REAL NOT NULL,
    data     BLOB NOT NULL
);
CREATE INDEX ledger_run ON ledger (run, id);
CREATE INDEX ledger_task ON ledger (task);
CREATE INDEX ledger_repo ON ledger (repo_key, at);

CREATE TABLE artifacts (
    run  TEXT NOT NULL REFERENCES runs (id),
    name TEXT NOT NULL,
    at   INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, name)
);

CREATE TABLE baselines (
    repo TEXT NOT NULL,
    key  TEXT NOT NULL,
    at   INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (repo, key)
);

CREATE TABLE deliveries (
    id          TEXT PRIMARY KEY,
    key         TEXT UNIQUE,
    event       TEXT NOT NULL,
    state       TEXT NOT NULL,     -- pending, handling, handled, failed
    received_at INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,  -- pending, handling: when the sweeper writes a new ticket
    handled_at  INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0,
    error       TEXT NOT NULL DEFAULT '',
    payload     BLOB               -- NULL once it was dropped for its age
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state IN ('pending', 'handling');
CREATE INDEX deliveries_failed ON deliveries (received_at) WHERE state = 'failed';
CREATE INDEX deliveries_received ON deliveries (received_at);

CREATE TABLE lessons (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    repo      TEXT NOT NULL,
    run       TEXT NOT NULL,
    signature TEXT NOT NULL,
    worked    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    words     TEXT NOT NULL,
    data      BLOB NOT NULL
);
CREATE UNIQUE INDEX lessons_run ON lessons (repo, run, signature) WHERE run <> '';
CREATE INDEX lessons_signature ON lessons (lower(repo), signature);
CREATE VIRTUAL TABLE lessons_words USING fts5 (words, content='lessons', content_rowid='id', tokenize='unicode61 remove_diacritics 0');
-- +goose StatementBegin
CREATE TRIGGER lessons_insert AFTER INSERT ON lessons BEGIN
    INSERT INTO lessons_words (rowid, words) VALUES (new.id, new.words);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER lessons_delete AFTER DELETE ON lessons BEGIN
    INSERT INTO lessons_words (lessons_words, rowid, words) VALUES ('delete', old.id, old.words);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER lessons_update AFTER UPDATE OF words ON lessons BEGIN
    INSERT INTO lessons_words (lessons_words, rowid, words) VALUES ('delete', old.id, old.words);
    INSERT INTO lessons_words (rowid, words) VALUES (new.id, new.words);
END;
-- +goose StatementEnd

-- What became of the pull request of a run.
CREATE TABLE judgements (
    run     TEXT PRIMARY KEY,
    outcome TEXT NOT NULL,
    at      INTEGER NOT NULL
);
