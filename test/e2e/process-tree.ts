import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Every descendant of a process, as `pid/start time`. */
export function descendantsOf(top: number): string[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => factsOf(name) ?? []);
  const below = new Set([String(top)]);
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const { pid, parent } of all) if (below.has(parent)) below.add(pid);
  }
  below.delete(String(top));
  return all.filter(({ pid }) => below.has(pid)).map(({ pid, started }) => `${pid}/${started}`);
}

/** Waits until a process has exited, even if it is not our child. */
export async function ended(pid: number, limitMs = 30_000): Promise<void> {
  const end = performance.now() + limitMs;
  for (let facts = factsOf(String(pid)); facts && facts.state !== "Z"; facts = factsOf(String(pid))) {
    if (performance.now() > end) throw new Error(`process ${pid} still lives`);
    await sleep(10);
  }
}

function factsOf(pid: string) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = "", ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { pid, state, parent, started: rest[17] ?? "" };
  } catch {
    return undefined;
  }
}
