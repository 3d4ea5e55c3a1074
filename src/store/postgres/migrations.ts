import type { Migration } from "./migrate.ts";
import { sessions } from "./migrations/0001-sessions.ts";
import { gateways } from "./migrations/0002-gateways.ts";
import { runKeys } from "./migrations/0003-run-keys.ts";

/** Every migration, in order. One that was released is never changed: its checksum is in databases. */
export const migrations: readonly Migration[] = [sessions, gateways, runKeys];
