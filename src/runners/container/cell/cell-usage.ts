import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CellUsage } from "../../cell-usage.ts";
import { noUsage } from "../../channel-cell.ts";
import { separateFiles, separateUsage, unifiedFiles, unifiedUsage } from "../../linux/cgroup-usage.ts";
import type { EngineClient } from "../engine/engine-client.ts";

const probeTimeoutMs = 2_000;

/** Reads a container's usage from its cgroup files, because the Engine API does not count out-of-memory kills. */
export function usageReader(
  client: EngineClient,
  containerId: string,
  root = "/sys/fs/cgroup",
): () => Promise<CellUsage> {
  let finding: Promise<Groups | undefined> | undefined;
  return async () => {
    finding ??= findGroups(client, containerId, root).catch(() => undefined);
    const groups = await finding;
    if (groups) return await usageOf(groups);
    finding = undefined;
    return noUsage;
  };
}

interface Groups {
  readonly isUnified: boolean;
  /** the directory of a controller; with cgroup v2, the same for every controller */
  readonly directory: (controller: string) => string | undefined;
}

async function findGroups(client: EngineClient, id: string, root: string): Promise<Groups | undefined> {
  const { State } = await client.json<{ State?: { Pid?: number } }>({
    ...{ path: `/containers/${id}/json`, timeoutMs: probeTimeoutMs },
  });
  const pid = State?.Pid ?? 0;
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const lines = (await readFile(`/proc/${pid}/cgroup`, "utf8")).trim().split("\n");
  // With an engine on another machine or in another pid namespace, this pid is another process here.
  if (!lines.some((line) => line.includes(id))) return undefined;
  return parseGroups(lines, root);
}

/** Pure: the lines of /proc/PID/cgroup, as directories below the mounted hierarchies. */
export function parseGroups(lines: readonly string[], root: string): Groups {
  const paths = new Map<string, string>();
  for (const line of lines) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue; // otherwise the root group would be read, which is the whole host's usage
    for (const controller of controllers.split(",")) paths.set(controller, path);
  }
  const isUnified = !paths.has("memory");
  return {
    isUnified,
    directory: (controller) => {
      const path = paths.get(isUnified ? "" : controller);
      if (path === undefined || path.includes("..")) return undefined;
      return isUnified ? join(root, path) : join(root, controller, path);
    },
  };
}

async function usageOf({ isUnified, directory }: Groups): Promise<CellUsage> {
  const wanted = isUnified ? unifiedFiles.map((file) => ["", file] as const) : separateFiles;
  const read = async ([controller, file]: readonly [string, string]) =>
    [file, await readGroupFile(directory(controller), file)] as const;
  const texts = new Map<string, string>(await Promise.all(wanted.map(read)));
  const text = (file: string) => texts.get(file) ?? "";
  return isUnified ? unifiedUsage(text) : separateUsage((_, file) => text(file));
}

async function readGroupFile(directory: string | undefined, file: string): Promise<string> {
  return directory === undefined ? "" : readFile(join(directory, file), "utf8").catch(() => "");
}
