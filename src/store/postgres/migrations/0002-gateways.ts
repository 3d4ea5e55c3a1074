import type { Migration } from "../migrate.ts";

/** Leases of gateways, and keys that they share. Sessions have an owner since the first migration. */
export const gateways: Migration = {
  number: 2,
  name: "gateways",
  sql: `
create table codecell.gateways (
  id text collate "C" primary key check (id ~ '^g-[0-9a-f]{10}$'),
  -- how the other gateways reach it
  url text not null check (length(url) between 1 and 2000),
  started_at timestamptz not null default clock_timestamp(),
  -- the end of its lease, by this server's clock
  renewed_until timestamptz not null
);

create table codecell.shared_keys (
  name text collate "C" primary key,
  key bytea not null check (length(key) = 32)
);
`,
};
