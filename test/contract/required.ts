import type { Probe } from "../../src/runners/runner.ts";

/** Something that tests need and this machine lacks, and how to install it. */
export interface Missing {
  readonly name: string;
  readonly reason: string;
  readonly hint: string;
}

declare module "vitest" {
  interface TaskMeta {
    /** on skipped tests: the last line of `npm test` names it */
    missing?: Missing;
  }
}

const required = new Set((process.env.REQUIRE_RUNNERS ?? "").split(",").filter(Boolean));

/** Skips tests of a missing runtime with its name and the fix. Where REQUIRE_RUNNERS names it, fails instead. */
export function skipOrFail(name: string, probe: Probe): boolean {
  if (probe.available) return false;
  if (required.has(name)) throw new Error(`REQUIRE_RUNNERS names ${name}, but ${probe.reason} (${probe.hint})`);
  console.warn(`skipped: the ${name} runner is not available: ${probe.reason}. To bring it: ${probe.hint}`);
  return true;
}

/** The options of a suite that needs a runtime: skipped where it is missing, and then a report says what is. */
export function skippedWithout(name: string, probe: Probe): { skip?: true; meta?: { missing: Missing } } {
  if (!skipOrFail(name, probe) || probe.available) return {}; // `skip: false` would undo every skip inside
  const { reason, hint } = probe;
  return { skip: true, meta: { missing: { name, reason, hint } } };
}
