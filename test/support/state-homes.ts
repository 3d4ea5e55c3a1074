import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** A worker runs many files and is killed in the end, so only this process can remove what its files share. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "cc-states-"));
  project.provide("stateHomes", directory);
  return () => rm(directory, { recursive: true, force: true });
}
