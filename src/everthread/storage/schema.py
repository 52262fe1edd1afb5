"""Numbered migrations, applied in order and recorded. Once released, a migration is never edited.

docs/architecture.md explains the model these tables hold. Times are microseconds since 1970, UTC.
"""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    # 1: tenants, keys, scopes, threads, lineages, sessions, steps, imported history, the lexical index, replays
    """
    CREATE TABLE tenant (
        tenant      TEXT PRIMARY KEY,
        created_at  INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE api_key (
        id                  TEXT PRIMARY KEY,           -- found by id alone: it is what names the tenant
        tenant              TEXT NOT NULL,
        name                TEXT NOT NULL,
        digest              BLOB NOT NULL,              -- SHA-256 of the whole key
        rights              TEXT NOT NULL,
        session_key_prefix  TEXT,
        created_at          INTEGER NOT NULL,
        expires_at          INTEGER,
        revoked_at          INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX api_key_of_tenant ON api_key (tenant, created_at);

    CREATE TABLE scope (
        no              INTEGER PRIMARY KEY,            -- the term by which the lexical index knows it
        tenant          TEXT NOT NULL,
        scope           TEXT NOT NULL,
        session_key     TEXT,                           -- null: the scope of one unkeyed thread
        current_thread  TEXT,                           -- what @current means under this key
        created_at      INTEGER NOT NULL,
        UNIQUE (tenant, scope)
    ) STRICT;
    CREATE UNIQUE INDEX scope_of_key ON scope (tenant, session_key) WHERE session_key IS NOT NULL;

    CREATE TABLE thread (
        tenant      TEXT NOT NULL,
        thread      TEXT NOT NULL,
        scope       INTEGER NOT NULL REFERENCES scope (no),
        root        TEXT NOT NULL,                      -- the session id that names it
        head        TEXT NOT NULL,                      -- the lineage last answered
        named       INTEGER NOT NULL,                   -- whether a client ever asked for it by name
        prior       BLOB,                               -- the newest exchange it was imported with
        title       TEXT,
        created_at  INTEGER NOT NULL,
        updated_at  INTEGER NOT NULL,
        PRIMARY KEY (tenant, thread)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX thread_of_scope ON thread (tenant, scope, updated_at);
    CREATE INDEX thread_unnamed ON thread (updated_at) WHERE named = 0;

    CREATE TABLE lineage (
        tenant        TEXT NOT NULL,
        lineage       TEXT NOT NULL,
        thread        TEXT NOT NULL,
        fork_lineage  TEXT,                             -- null for a thread's first path
        fork_seq      INTEGER,                          -- the last step shared with it
        tip           TEXT NOT NULL,                    -- the live session
        last_seq      INTEGER NOT NULL,
        rolling       BLOB NOT NULL,
        PRIMARY KEY (tenant, lineage)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX lineage_of_thread ON lineage (tenant, thread);

    CREATE TABLE session (
        tenant      TEXT NOT NULL,
        session     TEXT NOT NULL,
        thread      TEXT NOT NULL,
        lineage     TEXT NOT NULL,
        parent      TEXT,
        from_seq    INTEGER NOT NULL,                   -- where this epoch's window begins
        log         TEXT,                               -- sealed log blocks this epoch began with
        end_reason  TEXT,
        ended_at    INTEGER,
        created_at  INTEGER NOT NULL,
        PRIMARY KEY (tenant, session)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX session_of_lineage ON session (tenant, lineage, from_seq);

    CREATE TABLE step (
        no                 INTEGER PRIMARY KEY,
        tenant             TEXT NOT NULL,
        lineage            TEXT NOT NULL,
        seq                INTEGER NOT NULL,
        thread             TEXT NOT NULL,
        session            TEXT NOT NULL,
        step               TEXT NOT NULL,
        turn               TEXT NOT NULL,               -- the first step of the turn
        source             TEXT NOT NULL,
        input              TEXT NOT NULL,               -- messages as received, a JSON array
        output             TEXT NOT NULL,               -- the assistant's message, JSON
        reply              TEXT NOT NULL,               -- what else is needed to give the same reply again
        said_at            INTEGER NOT NULL,
        stored_at          INTEGER NOT NULL,
        message_id         TEXT,
        parent_message_id  TEXT,
        rolling            BLOB NOT NULL,
        tokens             INTEGER NOT NULL,
        prompt_tokens      INTEGER NOT NULL,
        completion_tokens  INTEGER NOT NULL,
        cached_tokens      INTEGER NOT NULL,
        tail               TEXT,                        -- the recalled block it was given
        UNIQUE (tenant, lineage, seq)
    ) STRICT;
    CREATE UNIQUE INDEX step_by_id ON step (tenant, step);
    CREATE INDEX step_by_message ON step (tenant, thread, message_id) WHERE message_id IS NOT NULL;

    CREATE TABLE prior (                                -- imported exchanges, each stored once, as chains
        tenant      TEXT NOT NULL,
        address     BLOB NOT NULL,                      -- hash of this exchange and all before it, byte for byte
        before      BLOB,                               -- the exchange before; null for the first
        place       INTEGER NOT NULL,                   -- 1 for the first
        messages    TEXT NOT NULL,
        tokens      INTEGER NOT NULL,
        held        INTEGER NOT NULL,                   -- how many threads and later exchanges stand on it
        PRIMARY KEY (tenant, address)
    ) STRICT;

    CREATE TABLE chunk (                                -- what the lexical index covers
        no       INTEGER PRIMARY KEY,
        tenant   TEXT NOT NULL,
        scope    INTEGER NOT NULL,
        thread   TEXT NOT NULL,
        lineage  TEXT NOT NULL,
        seq      INTEGER NOT NULL,
        role     TEXT NOT NULL,
        said_at  INTEGER NOT NULL,
        text     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX chunk_of_step ON chunk (tenant, thread, lineage, seq);
    CREATE VIRTUAL TABLE chunk_fts USING fts5 (
        scope, text, content = 'chunk', content_rowid = 'no', tokenize = 'porter unicode61 remove_diacritics 2'
    );

    CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN
        INSERT INTO chunk_fts (rowid, scope, text) VALUES (new.no, new.scope, new.text);
    END;
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunk BEGIN
        INSERT INTO chunk_fts (chunk_fts, rowid, scope, text) VALUES ('delete', old.no, old.scope, old.text);
    END;
    CREATE TRIGGER chunk_moved AFTER UPDATE OF scope, text ON chunk BEGIN
        INSERT INTO chunk_fts (chunk_fts, rowid, scope, text) VALUES ('delete', old.no, old.scope, old.text);
        INSERT INTO chunk_fts (rowid, scope, text) VALUES (new.no, new.scope, new.text);
    END;

    CREATE TABLE replay (
        tenant       TEXT NOT NULL,
        key          TEXT NOT NULL,
        fingerprint  BLOB NOT NULL,
        step         TEXT,                              -- null while it runs
        created_at   INTEGER NOT NULL,
        PRIMARY KEY (tenant, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX replay_by_age ON replay (created_at);
    """,
    # 2: rotation, branches and the sessions' own view: what a path holds, where a body matches it, what it began with
    """
    ALTER TABLE thread ADD COLUMN source TEXT NOT NULL DEFAULT 'api';
    ALTER TABLE thread ADD COLUMN deleted_at INTEGER;               -- its ids are gone; its rows go in portions
    CREATE INDEX thread_by_age ON thread (tenant, updated_at);
    CREATE INDEX thread_deleted ON thread (deleted_at) WHERE deleted_at IS NOT NULL;

    ALTER TABLE lineage ADD COLUMN prior BLOB;                      -- the imported exchange its first step follows
    ALTER TABLE lineage ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;             -- said on it, shared ones too
    ALTER TABLE lineage ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;        -- used by its own steps
    ALTER TABLE lineage ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE lineage ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE prior ADD COLUMN rolling BLOB;                      -- hash of the words up to here, for comparing
    ALTER TABLE prior ADD COLUMN said INTEGER NOT NULL DEFAULT 0;   -- messages up to its last one
    CREATE INDEX lineage_by_fork ON lineage (tenant, fork_lineage) WHERE fork_lineage IS NOT NULL;

    ALTER TABLE session ADD COLUMN began INTEGER NOT NULL DEFAULT 0;                -- messages said before it began
    ALTER TABLE session ADD COLUMN distilled INTEGER NOT NULL DEFAULT 0;            -- tokens its log took to write
    ALTER TABLE session ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;        -- of its lineage, when it began
    ALTER TABLE session ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE session ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;

    ALTER TABLE step ADD COLUMN place INTEGER NOT NULL DEFAULT 0;   -- messages on the path, up to its last one
    ALTER TABLE step ADD COLUMN body BLOB;                          -- hash of the request it came in
    CREATE INDEX step_by_rolling ON step (tenant, thread, rolling);
    CREATE INDEX replay_by_step ON replay (tenant, step) WHERE step IS NOT NULL;
    CREATE INDEX step_by_opening ON step (tenant, thread, seq) WHERE parent_message_id = '';

    UPDATE session SET from_seq = 1 - (SELECT prior.place FROM thread JOIN prior
            ON prior.tenant = thread.tenant AND prior.address = thread.prior
            WHERE thread.tenant = session.tenant AND thread.thread = session.thread)
        WHERE from_seq = 1 AND EXISTS (SELECT 1 FROM thread
            WHERE thread.tenant = session.tenant AND thread.thread = session.thread AND thread.prior IS NOT NULL);
    UPDATE step SET place = told.place FROM (
        SELECT no, sum(json_array_length(input) + 1) OVER (PARTITION BY tenant, lineage ORDER BY seq) AS place FROM step
    ) AS told WHERE told.no = step.no;
    UPDATE lineage SET
        prior = (SELECT prior FROM thread WHERE thread.tenant = lineage.tenant AND thread.thread = lineage.thread),
        messages = coalesce((SELECT max(place) FROM step
            WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage), 0),
        prompt_tokens = coalesce((SELECT sum(prompt_tokens) FROM step
            WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage), 0),
        completion_tokens = coalesce((SELECT sum(completion_tokens) FROM step
            WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage), 0),
        cached_tokens = coalesce((SELECT sum(cached_tokens) FROM step
            WHERE step.tenant = lineage.tenant AND step.lineage = lineage.lineage), 0);
    """,
    # 3: memory: where a piece of text stands, its vector, claims, what is waiting to be read, what a session knew
    """
    ALTER TABLE chunk ADD COLUMN step TEXT;                         -- null: it was imported
    ALTER TABLE chunk ADD COLUMN name TEXT;                         -- the speaker, in a group
    ALTER TABLE chunk ADD COLUMN message INTEGER;                   -- which of the step's messages, its input first
    ALTER TABLE chunk ADD COLUMN start INTEGER;                     -- where in the message's text it begins
    ALTER TABLE session ADD COLUMN profile TEXT;                    -- what was known when this epoch began

    DROP TRIGGER chunk_added;                           -- from now on each term is a word of one scope
    DROP TRIGGER chunk_removed;
    DROP TRIGGER chunk_moved;
    DROP TABLE chunk_fts;
    CREATE VIEW chunk_terms AS SELECT no, scoped(scope, text) AS terms FROM chunk;
    CREATE VIRTUAL TABLE chunk_fts USING fts5 (
        terms, content = 'chunk_terms', content_rowid = 'no', tokenize = 'porter unicode61 remove_diacritics 2'
    );
    INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild');
    CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN
        INSERT INTO chunk_fts (rowid, terms) VALUES (new.no, scoped(new.scope, new.text));
    END;
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunk BEGIN
        INSERT INTO chunk_fts (chunk_fts, rowid, terms) VALUES ('delete', old.no, scoped(old.scope, old.text));
    END;
    CREATE TRIGGER chunk_moved AFTER UPDATE OF scope, text ON chunk
            WHEN new.scope != old.scope OR new.text != old.text BEGIN
        INSERT INTO chunk_fts (chunk_fts, rowid, terms) VALUES ('delete', old.no, scoped(old.scope, old.text));
        INSERT INTO chunk_fts (rowid, terms) VALUES (new.no, scoped(new.scope, new.text));
    END;

    CREATE INDEX chunk_named ON chunk (scope, name) WHERE name IS NOT NULL;         -- who speaks there
    CREATE TABLE vector (                               -- one scope's lie together; in step with chunk by triggers
        scope   INTEGER NOT NULL,
        chunk   INTEGER NOT NULL,
        model   TEXT NOT NULL,
        vector  BLOB NOT NULL,
        PRIMARY KEY (scope, chunk)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER chunk_unmade AFTER DELETE ON chunk BEGIN
        DELETE FROM vector WHERE scope = old.scope AND chunk = old.no;
    END;
    CREATE TRIGGER chunk_rescoped AFTER UPDATE OF scope ON chunk WHEN new.scope != old.scope BEGIN
        UPDATE vector SET scope = new.scope WHERE scope = old.scope AND chunk = old.no;
    END;
    CREATE TRIGGER chunk_rewritten AFTER UPDATE OF text ON chunk WHEN new.text != old.text BEGIN
        DELETE FROM vector WHERE scope = new.scope AND chunk = new.no;
    END;

    CREATE TABLE claim (
        no             INTEGER PRIMARY KEY,
        tenant         TEXT NOT NULL,
        scope          INTEGER NOT NULL,
        claim          TEXT NOT NULL,
        step           TEXT,                            -- null: a person added it by hand
        kind           TEXT NOT NULL,
        state          TEXT NOT NULL,
        pinned         INTEGER NOT NULL,
        said_at        INTEGER NOT NULL,
        seq            INTEGER NOT NULL,
        place          INTEGER NOT NULL,                -- where in its step: what was said first comes first
        recorded_at    INTEGER NOT NULL,
        superseded_by  TEXT,
        supersedes     TEXT,
        cause          TEXT,
        quote          TEXT NOT NULL,
        body           TEXT NOT NULL,                   -- the whole claim, JSON
        model          TEXT,
        vector         BLOB,
        UNIQUE (tenant, claim)
    ) STRICT;
    CREATE INDEX claim_of_scope ON claim (scope, said_at, seq, place, claim);
    CREATE INDEX claim_standing ON claim (scope, kind, said_at) WHERE state = 'current';
    CREATE INDEX claim_pinned ON claim (scope, said_at) WHERE pinned = 1;
    CREATE INDEX claim_turned ON claim (scope, said_at) WHERE state IN ('reversed', 'unresolved');
    CREATE INDEX claim_by_hand ON claim (scope) WHERE step IS NULL;
    CREATE INDEX claim_of_step ON claim (tenant, step) WHERE step IS NOT NULL;
    CREATE INDEX claim_by_successor ON claim (tenant, superseded_by) WHERE superseded_by IS NOT NULL;
    CREATE INDEX claim_by_predecessor ON claim (tenant, supersedes) WHERE supersedes IS NOT NULL;
    CREATE INDEX claim_by_cause ON claim (tenant, cause) WHERE cause IS NOT NULL;
    CREATE VIEW claim_terms AS SELECT no, scoped(scope, quote) AS terms FROM claim;
    CREATE VIRTUAL TABLE claim_fts USING fts5 (
        terms, content = 'claim_terms', content_rowid = 'no', tokenize = 'porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER claim_added AFTER INSERT ON claim BEGIN
        INSERT INTO claim_fts (rowid, terms) VALUES (new.no, scoped(new.scope, new.quote));
    END;
    CREATE TRIGGER claim_removed AFTER DELETE ON claim BEGIN
        INSERT INTO claim_fts (claim_fts, rowid, terms) VALUES ('delete', old.no, scoped(old.scope, old.quote));
    END;
    CREATE TRIGGER claim_moved AFTER UPDATE OF scope, quote ON claim
            WHEN new.scope != old.scope OR new.quote != old.quote BEGIN
        INSERT INTO claim_fts (claim_fts, rowid, terms) VALUES ('delete', old.no, scoped(old.scope, old.quote));
        INSERT INTO claim_fts (rowid, terms) VALUES (new.no, scoped(new.scope, new.quote));
    END;

    CREATE TABLE outbox (                               -- what memory has yet to read
        no          INTEGER PRIMARY KEY,
        tenant      TEXT NOT NULL,
        scope       INTEGER NOT NULL,
        kind        TEXT NOT NULL,                      -- step, session, thread
        name        TEXT NOT NULL,                      -- its id
        attempts    INTEGER NOT NULL,
        again_at    INTEGER NOT NULL,                   -- not to be tried before
        failure     TEXT,
        dead        INTEGER NOT NULL,                   -- when it was given up; 0: it was not
        created_at  INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX outbox_waiting ON outbox (no, again_at) WHERE dead = 0;
    CREATE INDEX outbox_dead ON outbox (dead) WHERE dead != 0;
    CREATE INDEX outbox_of_scope ON outbox (scope, no);
    CREATE INDEX outbox_by_name ON outbox (tenant, name);

    CREATE TABLE tombstone (                            -- what is not to be brought along again by a client's history
        tenant      TEXT NOT NULL,
        kind        TEXT NOT NULL,                      -- session, message; salt: the digests' key
        digest      BLOB NOT NULL,
        created_at  INTEGER NOT NULL,
        PRIMARY KEY (tenant, kind, digest)
    ) STRICT, WITHOUT ROWID;

    UPDATE chunk SET step = (SELECT step.step FROM step
        WHERE step.tenant = chunk.tenant AND step.lineage = chunk.lineage AND step.seq = chunk.seq);
    UPDATE chunk SET message = told.message, start = 0,
            name = json_extract(told.input, '$[' || told.message || '].name')
        FROM (
            SELECT chunk.no, step.input,
                row_number() OVER one - 1 AS message, count(*) OVER whole AS pieces
            FROM chunk JOIN step
                ON step.tenant = chunk.tenant AND step.lineage = chunk.lineage AND step.seq = chunk.seq
            WINDOW whole AS (PARTITION BY chunk.tenant, chunk.lineage, chunk.seq), one AS (whole ORDER BY chunk.no)
        ) AS told WHERE told.no = chunk.no AND told.pieces = json_array_length(told.input) + 1;
    WITH RECURSIVE chain (tenant, thread, lineage, scope, seq, said_at, messages, before) AS (
        SELECT thread.tenant, thread.thread, lineage.lineage, thread.scope, 0, thread.created_at,
                prior.messages, prior.before
            FROM thread
            JOIN lineage ON lineage.tenant = thread.tenant AND lineage.thread = thread.thread
                AND lineage.fork_lineage IS NULL
            JOIN prior ON prior.tenant = thread.tenant AND prior.address = lineage.prior
            WHERE thread.named = 1 AND thread.deleted_at IS NULL
        UNION ALL
        SELECT chain.tenant, chain.thread, chain.lineage, chain.scope, chain.seq - 1, chain.said_at,
                prior.messages, prior.before
            FROM chain JOIN prior ON prior.tenant = chain.tenant AND prior.address = chain.before
    )
    INSERT INTO chunk (tenant, scope, thread, lineage, seq, role, said_at, text, name, message, start)
        SELECT tenant, scope, thread, lineage, seq, role, said_at, text, name, message, 0 FROM (
            SELECT chain.*, told.key AS message, json_extract(told.value, '$.role') AS role,
                json_extract(told.value, '$.name') AS name,
                CASE json_type(told.value, '$.content')
                    WHEN 'text' THEN json_extract(told.value, '$.content')
                    WHEN 'array' THEN (SELECT group_concat(json_extract(part.value, '$.text'), char(10))
                        FROM json_each(told.value, '$.content') AS part)
                END AS text
            FROM chain, json_each(chain.messages) AS told
        ) WHERE trim(coalesce(text, '')) != '' ORDER BY thread, seq, message;

    INSERT INTO outbox SELECT NULL, step.tenant, thread.scope, 'step', step.step, 0, 0, NULL, 0, step.stored_at
        FROM step JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread
        WHERE thread.deleted_at IS NULL ORDER BY step.no;
    INSERT INTO outbox SELECT NULL, session.tenant, thread.scope, 'session', session.session, 0, 0, NULL, 0,
            session.created_at
        FROM session JOIN session AS parent ON parent.tenant = session.tenant AND parent.session = session.parent
            AND parent.lineage = session.lineage
        JOIN thread ON thread.tenant = session.tenant AND thread.thread = session.thread
        WHERE thread.deleted_at IS NULL ORDER BY session.created_at;
    INSERT INTO outbox SELECT NULL, thread.tenant, thread.scope, 'thread', thread.thread, 0, 0, NULL, 0,
            thread.created_at
        FROM thread JOIN scope ON scope.no = thread.scope
        WHERE thread.deleted_at IS NULL AND thread.named = 1 AND thread.prior IS NOT NULL
            AND scope.session_key IS NOT NULL ORDER BY thread.thread;
    """,
    # 4: steps seen through other doors: responses and stored completions, runs, the items of a conversation
    """
    ALTER TABLE thread ADD COLUMN metadata TEXT;                    -- that its owner gave it as a conversation, JSON
    ALTER TABLE thread ADD COLUMN asked INTEGER NOT NULL DEFAULT 1; -- 0: no client used its id, only its views name it
    ALTER TABLE step ADD COLUMN numbers TEXT;                       -- of the input messages left when one was removed

    CREATE TABLE view (                                 -- a step as a response or a stored completion shows it
        tenant        TEXT NOT NULL,
        kind          TEXT NOT NULL,                    -- response, completion
        step          TEXT NOT NULL,
        thread        TEXT,                             -- null while a run has yet to answer it
        request       TEXT NOT NULL,                    -- what the object shows again, JSON
        metadata      TEXT NOT NULL,                    -- JSON
        model         TEXT,                             -- that answered
        previous      TEXT,
        conversation  TEXT,
        background    INTEGER NOT NULL,
        created_at    INTEGER NOT NULL,
        PRIMARY KEY (tenant, kind, step)
    ) STRICT;
    CREATE INDEX view_of_thread ON view (tenant, thread, step) WHERE thread IS NOT NULL;
    CREATE INDEX view_by_age ON view (tenant, kind, created_at, step) WHERE thread IS NOT NULL;

    CREATE TABLE run (                                  -- a turn that outlives its connection; its step has its name
        tenant        TEXT NOT NULL,
        run           TEXT NOT NULL,
        kind          TEXT NOT NULL,                    -- run, response, job
        session       TEXT NOT NULL,
        session_key   TEXT,                             -- that its turn names: its thread may not be there yet
        status        TEXT NOT NULL,
        turn          TEXT NOT NULL,                    -- JSON; empty when it will not be run again
        told          INTEGER NOT NULL,
        model         TEXT,
        metadata      TEXT NOT NULL,                    -- JSON
        fault_code    TEXT,
        fault         TEXT,
        ticket        BLOB NOT NULL,
        ticket_until  INTEGER,
        created_at    INTEGER NOT NULL,
        updated_at    INTEGER NOT NULL,
        PRIMARY KEY (tenant, run)
    ) STRICT;
    CREATE INDEX run_unfinished ON run (created_at) WHERE status IN ('queued', 'running', 'stopping');
    CREATE INDEX run_without_step ON run (updated_at) WHERE status IN ('failed', 'cancelled', 'interrupted');
    CREATE INDEX run_of_session ON run (tenant, session, status);
    CREATE INDEX run_of_key ON run (tenant, session_key, status) WHERE session_key IS NOT NULL;

    CREATE TABLE journal (                              -- what a run said, while it has no step that says it
        tenant  TEXT NOT NULL,
        run     TEXT NOT NULL,
        no      INTEGER NOT NULL,
        events  TEXT NOT NULL,                          -- JSON
        PRIMARY KEY (tenant, run, no)
    ) STRICT, WITHOUT ROWID;
    """,
    # 5: the queue: runs that wait for their time and are taken by a worker; jobs, which make them; parcels, which tell
    """
    ALTER TABLE run ADD COLUMN due_at INTEGER;                      -- not before; null: at once
    ALTER TABLE run ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE run ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE run ADD COLUMN timeout REAL;                        -- seconds for one attempt
    ALTER TABLE run ADD COLUMN hook_url TEXT;
    ALTER TABLE run ADD COLUMN hook_secret TEXT;
    ALTER TABLE run ADD COLUMN started_at INTEGER;
    ALTER TABLE run ADD COLUMN ended_at INTEGER;
    ALTER TABLE run ADD COLUMN job TEXT;                            -- whose schedule it follows
    ALTER TABLE run ADD COLUMN scheduled_at INTEGER;                -- by that schedule
    ALTER TABLE run ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;    -- how often it was taken, or given back
    ALTER TABLE run ADD COLUMN worker TEXT;                         -- who holds it
    ALTER TABLE run ADD COLUMN held_until INTEGER;                  -- null: nobody holds it
    UPDATE run SET ended_at = updated_at WHERE status NOT IN ('queued', 'running', 'stopping');

    DROP INDEX run_unfinished;
    DROP INDEX run_without_step;                        -- a job's runs are its history, and stay
    CREATE INDEX run_without_step ON run (updated_at)
        WHERE status IN ('failed', 'cancelled', 'interrupted') AND job IS NULL;
    CREATE INDEX run_waiting ON run (due_at, created_at, run)
        WHERE status IN ('queued', 'running', 'stopping') AND held_until IS NULL;
    CREATE INDEX run_held ON run (held_until)
        WHERE status IN ('queued', 'running', 'stopping') AND held_until IS NOT NULL;
    CREATE INDEX run_in_line ON run (tenant, session, held_until)
        WHERE status IN ('queued', 'running', 'stopping') AND held_until IS NOT NULL;
    CREATE INDEX run_of_job ON run (tenant, job, scheduled_at, run) WHERE job IS NOT NULL;
    CREATE INDEX run_of_job_unfinished ON run (tenant, job)
        WHERE job IS NOT NULL AND status IN ('queued', 'running', 'stopping');

    CREATE TABLE job (                                  -- a prompt that fires on a schedule
        tenant       TEXT NOT NULL,
        job          TEXT NOT NULL,
        session      TEXT NOT NULL,
        session_key  TEXT,
        body         TEXT NOT NULL,                     -- the whole job, JSON
        next_at      INTEGER,                           -- null: it does not fire any more
        fired        INTEGER NOT NULL,
        created_at   INTEGER NOT NULL,
        updated_at   INTEGER NOT NULL,
        removed      INTEGER NOT NULL,                  -- 1: it is gone; its runs follow in portions
        PRIMARY KEY (tenant, job)
    ) STRICT;
    CREATE INDEX job_due ON job (next_at) WHERE next_at IS NOT NULL;
    CREATE INDEX job_by_age ON job (tenant, created_at, job) WHERE removed = 0;
    CREATE INDEX job_removed ON job (tenant, job) WHERE removed = 1;

    ALTER TABLE api_key ADD COLUMN hook_url TEXT;                   -- where its rotations and reversals are told
    ALTER TABLE api_key ADD COLUMN hook_secret TEXT;
    CREATE INDEX api_key_hooked ON api_key (tenant) WHERE hook_url IS NOT NULL AND revoked_at IS NULL;

    CREATE TABLE parcel (                               -- tells a webhook what has happened
        tenant      TEXT NOT NULL,
        parcel      TEXT NOT NULL,
        run         TEXT,                               -- that it tells of: its body is made of it
        kind        TEXT NOT NULL,
        url         TEXT NOT NULL,
        secret      TEXT NOT NULL,
        body        TEXT NOT NULL,                      -- of one that tells of no run, JSON: names, no words
        state       TEXT NOT NULL,                      -- waiting, delivered, dead
        attempts    INTEGER NOT NULL,
        due_at      INTEGER NOT NULL,
        status      INTEGER,                            -- what the receiver answered at last
        fault       TEXT,                               -- why it has not arrived
        fence       INTEGER NOT NULL,
        worker      TEXT,
        held_until  INTEGER,
        created_at  INTEGER NOT NULL,
        updated_at  INTEGER NOT NULL,
        api_key     TEXT,                               -- whose webhook it is, of one that tells of no run
        about       TEXT,                               -- the session or the claim that such a one tells of
        PRIMARY KEY (tenant, parcel)
    ) STRICT;
    CREATE INDEX parcel_waiting ON parcel (due_at, parcel) WHERE state = 'waiting' AND held_until IS NULL;
    CREATE INDEX parcel_held ON parcel (held_until) WHERE state = 'waiting' AND held_until IS NOT NULL;
    CREATE INDEX parcel_of_run ON parcel (tenant, run) WHERE run IS NOT NULL;
    CREATE INDEX parcel_of_key ON parcel (api_key) WHERE api_key IS NOT NULL AND state = 'waiting';
    CREATE INDEX parcel_about ON parcel (tenant, about) WHERE about IS NOT NULL;
    CREATE INDEX parcel_done ON parcel (updated_at) WHERE state != 'waiting';
    """,
    # 6: who asked and what it took; what a key may use
    """
    ALTER TABLE step ADD COLUMN api_key TEXT;                       -- that asked; null: before this was kept
    ALTER TABLE api_key ADD COLUMN requests_per_minute INTEGER;     -- null: no limit
    ALTER TABLE api_key ADD COLUMN tokens_per_day INTEGER;
    ALTER TABLE api_key ADD COLUMN concurrent INTEGER;
    UPDATE api_key SET rights = 'chat,read,admin' WHERE tenant = 'default' AND name = 'first key';

    CREATE TABLE usage_new (                            -- what each turn took, until it is added up
        tenant      TEXT NOT NULL,
        session     TEXT NOT NULL,                      -- that its thread began with; empty: it is not kept
        day         INTEGER NOT NULL,                   -- since 1970, UTC
        api_key     TEXT NOT NULL,                      -- empty: not known
        job         TEXT NOT NULL,                      -- empty: none
        model       TEXT NOT NULL,
        requests    INTEGER NOT NULL,
        prompt      INTEGER NOT NULL,
        completion  INTEGER NOT NULL,
        cached      INTEGER NOT NULL,
        distilling  INTEGER NOT NULL,
        searching   INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE usage (                                -- in sums that stay
        tenant      TEXT NOT NULL,
        day         INTEGER NOT NULL,
        api_key     TEXT NOT NULL,
        job         TEXT NOT NULL,
        model       TEXT NOT NULL,
        requests    INTEGER NOT NULL,
        prompt      INTEGER NOT NULL,
        completion  INTEGER NOT NULL,
        cached      INTEGER NOT NULL,
        distilling  INTEGER NOT NULL,
        searching   INTEGER NOT NULL,
        PRIMARY KEY (tenant, day, api_key, job, model)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE usage_of_session (                     -- the same by session; goes with it
        tenant      TEXT NOT NULL,
        session     TEXT NOT NULL,                      -- that its thread began with
        day         INTEGER NOT NULL,
        api_key     TEXT NOT NULL,
        job         TEXT NOT NULL,
        model       TEXT NOT NULL,
        requests    INTEGER NOT NULL,
        prompt      INTEGER NOT NULL,
        completion  INTEGER NOT NULL,
        cached      INTEGER NOT NULL,
        distilling  INTEGER NOT NULL,
        searching   INTEGER NOT NULL,
        PRIMARY KEY (tenant, session, day, api_key, job, model)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO usage_of_session
        SELECT step.tenant, thread.root, step.stored_at / 86400000000, '', coalesce(run.job, ''),
            coalesce(json_extract(step.reply, '$.model'), ''), count(*), sum(step.prompt_tokens),
            sum(step.completion_tokens), sum(step.cached_tokens),
            sum(coalesce(json_extract(step.reply, '$.context.distilled'), 0)),
            sum(coalesce(json_extract(step.reply, '$.context.searching'), 0))
        FROM step JOIN thread ON thread.tenant = step.tenant AND thread.thread = step.thread
            AND thread.deleted_at IS NULL
        LEFT JOIN run ON run.tenant = step.tenant AND run.run = step.step
        WHERE step.source != 'import' GROUP BY 1, 2, 3, 5, 6;
    INSERT INTO usage
        SELECT tenant, day, api_key, job, model, sum(requests), sum(prompt), sum(completion), sum(cached),
            sum(distilling), sum(searching)
        FROM usage_of_session GROUP BY 1, 2, 3, 4, 5;
    """,
    # 7: who adds a piece of text adds its words to the index: a trigger would need the interpreter for each
    """
    DROP TRIGGER chunk_added;
    """,
    # 8: whose run it is: a key that has begun many leaves room for others
    """
    ALTER TABLE run ADD COLUMN api_key TEXT NOT NULL DEFAULT '';    -- empty: none, or from before it was noted
    DROP INDEX run_waiting;
    CREATE INDEX run_waiting ON run (due_at, created_at, run, api_key)
        WHERE status IN ('queued', 'running', 'stopping') AND held_until IS NULL;
    """,
    # 9: which of the things that people said are about the same: a later one, an earlier one, and how they go together
    """
    CREATE TABLE kin (                                  -- one scope's lie together; in step with chunk by triggers
        scope     INTEGER NOT NULL,
        later     INTEGER NOT NULL,                     -- a chunk
        earlier   INTEGER NOT NULL,                     -- another one
        replaces  REAL NOT NULL,                        -- the chance that the later one gives another value
        repeats   REAL NOT NULL,                        -- that it gives the same
        PRIMARY KEY (scope, later, earlier)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX kin_of_earlier ON kin (scope, earlier);
    DROP TRIGGER chunk_unmade;
    CREATE TRIGGER chunk_unmade AFTER DELETE ON chunk BEGIN
        DELETE FROM vector WHERE scope = old.scope AND chunk = old.no;
        DELETE FROM kin WHERE scope = old.scope AND later = old.no;
        DELETE FROM kin WHERE scope = old.scope AND earlier = old.no;
    END;
    DROP TRIGGER chunk_rescoped;
    CREATE TRIGGER chunk_rescoped AFTER UPDATE OF scope ON chunk WHEN new.scope != old.scope BEGIN
        UPDATE vector SET scope = new.scope WHERE scope = old.scope AND chunk = old.no;
        UPDATE kin SET scope = new.scope WHERE scope = old.scope AND later = old.no;
    END;
    DROP TRIGGER chunk_rewritten;
    CREATE TRIGGER chunk_rewritten AFTER UPDATE OF text ON chunk WHEN new.text != old.text BEGIN
        DELETE FROM vector WHERE scope = new.scope AND chunk = new.no;
        DELETE FROM kin WHERE scope = new.scope AND later = new.no;
        DELETE FROM kin WHERE scope = new.scope AND earlier = new.no;
    END;
    """,
)
