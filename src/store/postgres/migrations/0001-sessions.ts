import type { Migration } from "../migrate.ts";

/**
 * Sessions, their bytes, histories and outputs, tokens, and heads of audits.
 *
 * Records are `json`, not `jsonb`: what a program names its variables is in them, and `jsonb` refuses the character U+0000. The
 * attack: a program that makes its own session, or a shared one, impossible to save.
 */
export const sessions: Migration = {
  number: 1,
  name: "sessions",
  sql: `
create sequence codecell.epochs;

create table codecell.sessions (
  id text collate "C" primary key check (length(id) between 1 and 64),
  -- the prefix of a tenant's sessions; null: a session without a tenant
  namespace text collate "C" generated always as (substring(id from '^(ns-[0-9a-f]{12})[.].')) stored,
  -- null: open, but never saved
  record json,
  workspace text collate "C",
  used_at timestamptz,
  snapshot_bytes bigint,
  -- variables changed since the last save
  unsaved boolean not null default false,
  -- who may write; null: nobody has it open
  owner text collate "C",
  -- of this ownership: never used twice, so that a write of an earlier owner is refused
  epoch bigint not null default 0,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
) with (fillfactor = 80);
create index sessions_by_namespace on codecell.sessions (namespace) where namespace is not null;
create index sessions_by_workspace on codecell.sessions (workspace) where workspace is not null;
create index sessions_by_owner on codecell.sessions (owner) where owner is not null;

create table codecell.blobs (
  id uuid primary key,
  session_id text collate "C" not null references codecell.sessions on delete cascade,
  kind text not null check (kind in ('snapshot', 'file', 'display')),
  -- null: not complete
  sha256 text collate "C" check (sha256 ~ '^[0-9a-f]{64}$'),
  bytes bigint,
  epoch bigint not null,
  created_at timestamptz not null default now()
);
create unique index blobs_by_content on codecell.blobs (session_id, kind, sha256) where sha256 is not null;
create index blobs_by_session on codecell.blobs (session_id);

create table codecell.blob_pieces (
  blob_id uuid not null references codecell.blobs on delete cascade,
  piece integer not null,
  data bytea not null,
  primary key (blob_id, piece)
);
-- compressing them costs more than it saves: most variables are numbers
alter table codecell.blob_pieces alter column data set storage external;

create table codecell.session_history (
  session_id text collate "C" not null references codecell.sessions on delete cascade,
  seq bigint generated always as identity,
  entry json not null,
  bytes integer not null,
  primary key (session_id, seq)
);

create table codecell.session_outputs (
  session_id text collate "C" not null references codecell.sessions on delete cascade,
  seq bigint generated always as identity,
  run bigint not null,
  at_ms bigint not null,
  line json not null,
  bytes integer not null,
  displays text[] not null,
  display_bytes bigint not null,
  primary key (session_id, seq)
);
create index session_outputs_by_run on codecell.session_outputs (session_id, run, at_ms);

create table codecell.tokens (
  name text collate "C" primary key,
  sha256 text not null unique check (sha256 ~ '^[0-9a-f]{64}$'),
  record json not null,
  created_at timestamptz not null default now()
);
create table codecell.token_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);
insert into codecell.token_version (version) values (1);

create table codecell.audit_heads (
  gateway text collate "C" not null,
  chain text collate "C" not null,
  seq bigint not null,
  hash text not null,
  seen_at timestamptz not null default now(),
  primary key (chain, seq, hash)
);
`,
};
