import type { Probe } from "../../src/runners/runner.ts";

const required = new Set((process.env.REQUIRE_RUNNERS ?? "").split(",").filter(Boolean));

/** A missing runtime may skip on a laptop, by name and with the fix; where it is required it fails. */
export function skipOrFail(name: string, probe: Probe): boolean {
  if (probe.available) return false;
  if (required.has(name)) throw new Error(`REQUIRE_RUNNERS names ${name}, but ${probe.reason} (${probe.hint})`);
  console.warn(`skipped: the ${name} runner is not available: ${probe.reason}. To bring it: ${probe.hint}`);
  return true;
}
