import type { Migration } from "../migrate.ts";

/** Idempotency keys of runs: whoever continues a session knows which requests its earlier gateways have started. */
export const runKeys: Migration = {
  number: 3,
  name: "run-keys",
  sql: `
create table codecell.run_keys (
  -- the prefix of a tenant's sessions
  namespace text collate "C" not null,
  -- sha256 of the key: clients choose it
  key text collate "C" not null,
  -- digest of the request, which names the session too
  request text collate "C" not null,
  -- the gateway that started the run
  gateway text collate "C" not null,
  started_at timestamptz not null default clock_timestamp(),
  primary key (namespace, key)
);
create index run_keys_by_age on codecell.run_keys (namespace, started_at);
`,
};
