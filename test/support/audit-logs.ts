import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filePath, listChains, listFiles } from "../../src/audit/chain/chain-files.ts";
import type { AuditEvent } from "../../src/audit/event.ts";
import { AuditLog, type AuditLogOptions } from "../../src/audit/log.ts";

/** An audit directory for one test. */
export async function newAuditDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const root = await mkdtemp(join(tmpdir(), "codecell-audit-"));
  return {
    path: join(root, "audit"),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

export function openLog(dir: string, options: Partial<AuditLogOptions> = {}): AuditLog {
  return new AuditLog({ dir, durable: false, keepBytes: 2 ** 30, keepMs: 10 ** 9, ...options });
}

/** A small event with a distinct name. */
export function checkpoint(name: string): AuditEvent {
  return { type: "session.checkpoint", session: "s-1", name };
}

/** Writes events with a new log, and closes it. */
export async function writeEvents(dir: string, names: readonly string[], options: Partial<AuditLogOptions> = {}) {
  await using log = openLog(dir, options);
  for (const name of names) log.record(checkpoint(name));
}

/** The only chain in the directory. */
export async function onlyChain(dir: string): Promise<string> {
  const [chain, ...more] = await listChains(dir);
  if (chain === undefined || more.length > 0) throw new Error(`not one chain: ${[chain, ...more].join(", ")}`);
  return chain;
}

export async function lastFile(dir: string): Promise<string> {
  const chain = await onlyChain(dir);
  return filePath(dir, chain, (await listFiles(dir, chain)).at(-1) ?? 0);
}

export async function eventsIn(file: string): Promise<({ type: string } & Record<string, unknown>)[]> {
  const lines = (await readFile(file, "utf8"))
    .split("\n")
    .filter((line) => line.startsWith('{"v":1') && line.endsWith('"}') && !line.includes("\0"));
  return lines.map((line) => JSON.parse(line).event);
}
