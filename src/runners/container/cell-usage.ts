import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { noUsage } from "../channel-cell.ts";
import type { CellUsage } from "../runner.ts";
import type { EngineClient } from "./engine-client.ts";

const questionMs = 2_000;

/** What a container has used, from the files of its control groups: the Engine API does not count memory kills. */
export function usageReader(
  client: EngineClient,
  containerId: string,
  root = "/sys/fs/cgroup",
): () => Promise<CellUsage> {
  let finding: Promise<Groups | undefined> | undefined;
  return async () => {
    finding ??= findGroups(client, containerId, root).catch(() => undefined);
    const groups = await finding;
    if (groups) return groups.isUnified ? unifiedUsage(groups) : separateUsage(groups);
    finding = undefined;
    return noUsage;
  };
}

interface Groups {
  readonly isUnified: boolean;
  /** the directory of a controller, or of everything where there is one hierarchy */
  readonly directory: (controller: string) => string | undefined;
}

async function findGroups(client: EngineClient, id: string, root: string): Promise<Groups | undefined> {
  const { State } = await client.json<{ State?: { Pid?: number } }>({
    ...{ path: `/containers/${id}/json`, timeoutMs: questionMs },
  });
  const pid = State?.Pid ?? 0;
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const lines = (await readFile(`/proc/${pid}/cgroup`, "utf8")).trim().split("\n");
  // An engine on another machine, or in another pid namespace, means another process by this number.
  if (!lines.some((line) => line.includes(id))) return undefined;
  return parseGroups(lines, root);
}

/** Pure: the lines of /proc/PID/cgroup, as directories below the mounted hierarchies. */
export function parseGroups(lines: readonly string[], root: string): Groups {
  const paths = new Map<string, string>();
  for (const line of lines) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue; // or the root group, the whole host's, would count
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

async function unifiedUsage({ directory }: Groups): Promise<CellUsage> {
  const read = (file: string) => readGroupFile(directory(""), file);
  const cpuUs = numberAfter("usage_usec", await read("cpu.stat"));
  return {
    memoryBytes: wholeNumber(await read("memory.current")),
    peakMemoryBytes: wholeNumber(await read("memory.peak")),
    cpuMs: cpuUs === undefined ? undefined : cpuUs / 1000,
    oomKills: numberAfter("oom_kill", await read("memory.events")) ?? 0,
  };
}

async function separateUsage({ directory }: Groups): Promise<CellUsage> {
  const read = (controller: string, file: string) => readGroupFile(directory(controller), file);
  const cpuNs = wholeNumber(await read("cpuacct", "cpuacct.usage"));
  return {
    memoryBytes: wholeNumber(await read("memory", "memory.usage_in_bytes")),
    peakMemoryBytes: wholeNumber(await read("memory", "memory.max_usage_in_bytes")),
    cpuMs: cpuNs === undefined ? undefined : cpuNs / 1e6,
    oomKills: numberAfter("oom_kill", await read("memory", "memory.oom_control")) ?? 0,
  };
}

async function readGroupFile(directory: string | undefined, file: string): Promise<string> {
  return directory === undefined ? "" : readFile(join(directory, file), "utf8").catch(() => "");
}

function wholeNumber(text: string): number | undefined {
  return /^\d+\s*$/.test(text) ? Number(text) : undefined;
}

function numberAfter(key: string, text: string): number | undefined {
  const match = new RegExp(`^${key} (\\d+)$`, "m").exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}
