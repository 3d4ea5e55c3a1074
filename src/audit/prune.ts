import { stat } from "node:fs/promises";
import { lastLineOf } from "./chain/chain-end.ts";
import { filePath, listFiles, nameOfFile } from "./chain/chain-files.ts";
import type { AuditEvent } from "./event.ts";

export interface KeepLimits {
  readonly keepBytes: number;
  readonly keepMs: number;
}

export interface Prunable {
  readonly event: Extract<AuditEvent, { type: "audit.pruned" }>;
  readonly paths: readonly string[];
}

/** The oldest files of a chain that the policy does not keep; never the one that is being written. */
export async function findPrunable(
  dir: string,
  chain: string,
  current: { readonly file: number; readonly bytes: number },
  { keepBytes, keepMs }: KeepLimits,
  nowMs: number,
): Promise<Prunable | undefined> {
  const older = (await listFiles(dir, chain)).filter((number) => number < current.file);
  const facts = await Promise.all(
    older.map(async (number) => ({ number, size: (await stat(filePath(dir, chain, number))).size })),
  );
  let total = facts.reduce((sum, { size }) => sum + size, current.bytes);
  const removed: number[] = [];
  let why = "";
  for (const { number, size } of facts) {
    const isOver = total > keepBytes;
    if (!isOver && !(await isOlderThan(keepMs, filePath(dir, chain, number), nowMs))) break;
    why = isOver ? "audit.keep" : "audit.age";
    removed.push(number);
    total -= size;
  }
  const newest = removed.at(-1);
  if (newest === undefined) return undefined;
  const last = await lastLineOf(filePath(dir, chain, newest));
  // A file that we did not close properly is evidence of tampering.
  if (last === undefined) return undefined;
  const files = removed.map(nameOfFile);
  return {
    event: { type: "audit.pruned", files, throughSeq: last.seq, hash: last.hash, why },
    paths: removed.map((number) => filePath(dir, chain, number)),
  };
}

/**
 * The age by the last line, which the chain protects. The attack: forging the file's modification time, so that the next
 * process removes the file in the name of the policy.
 */
export async function isOlderThan(ms: number, path: string, nowMs: number): Promise<boolean> {
  const last = await lastLineOf(path);
  return last !== undefined && nowMs - Date.parse(last.time) > ms;
}
