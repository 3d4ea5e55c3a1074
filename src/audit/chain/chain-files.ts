import { randomBytes } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import type { ChainHead } from "../event.ts";

/** More than the line of the longest code that a run accepts. */
export const maxLineBytes = 32 * 1024 * 1024;
/** `c-…`, or `c-….ns-…` for the events of one tenant. */
const chainName = /^c-[0-9a-f]{16}(?:\.(ns-[0-9a-f]{12}))?$/;
const fileName = /^(\d{8})\.jsonl$/;

/** The audit directory of a state directory. */
export function auditDirectory(stateDir: string): string {
  return join(stateDir, "audit");
}

export function newChainName(namespace?: string): string {
  return `c-${randomBytes(8).toString("hex")}${namespace === undefined ? "" : `.${namespace}`}`;
}

/** The tenant whose events a chain holds; undefined: events of everybody who has no chain of their own. */
export function namespaceOfChain(chain: string): string | undefined {
  return chainName.exec(chain)?.[1];
}

/** Creates the directory for the first writer. Only its owner may read the code that ran. */
export async function makeAuditDirectory(dir: string): Promise<void> {
  const parent = dirname(dir);
  // As root, cells have another uid and must be able to traverse the state directory to their workspaces.
  await makeDirectories(parent, process.getuid?.() === 0 ? 0o711 : 0o700);
  await makeDirectories(dir, 0o700);
  const [stats, around] = [await lstat(dir), await lstat(parent)];
  // The attack: another user creates the directory first, to read or rewrite the audit.
  const isPrivate = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
  if (!isPrivate || (around.mode & 0o022) !== 0) {
    throw new CodecellError("audit_failed", `${dir} is not a directory that only this user can read`, {
      hint: "run chmod 700 on it and its parent, or use another state directory",
    });
  }
}

/** Names of the chains, in a stable order. */
export async function listChains(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => chainName.test(name)).sort();
}

/** Numbers of a chain's files, in order. Regular files only: a reader would hang forever on a named pipe. */
export async function listFiles(dir: string, chain: string): Promise<number[]> {
  const entries = await readdir(join(dir, chain), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return entries
    .flatMap((entry) => {
      const number = entry.isFile() ? fileName.exec(entry.name)?.[1] : undefined;
      return number === undefined ? [] : [Number(number)];
    })
    .sort((a, b) => a - b);
}

export function filePath(dir: string, chain: string, number: number): string {
  return join(dir, chain, nameOfFile(number));
}

export function nameOfFile(number: number): string {
  return `${String(number).padStart(8, "0")}.jsonl`;
}

export function headPath(dir: string, chain: string): string {
  return join(dir, chain, "head");
}

/** `<seq> <hash>`, of fixed length, so that one call can overwrite it in place. */
export function headText({ seq, hash }: Pick<ChainHead, "seq" | "hash">): string {
  return `${String(seq).padStart(15, "0")} ${hash}\n`;
}

/** `empty` before anything is synced to disk; `damaged` when it is not in our format. */
export async function readHead(dir: string, chain: string): Promise<ChainHead | "missing" | "empty" | "damaged"> {
  const text = await readFile(headPath(dir, chain), "latin1").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return "missing";
  if (text === "") return "empty";
  const match = /^(\d{15}) ([0-9a-f]{64})\n$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return "damaged";
  return { chain, seq: Number(match[1]), hash: match[2] };
}

/**
 * The readable heads of the other chains. The chain of a tenant leaves out those of other tenants: with a thousand of them,
 * their heads would be most of what is written.
 */
export async function headsOfOthers(dir: string, own: string): Promise<ChainHead[]> {
  const tenant = namespaceOfChain(own);
  const heads: ChainHead[] = [];
  for (const chain of await listChains(dir)) {
    const whose = namespaceOfChain(chain);
    if (chain === own || (tenant !== undefined && whose !== undefined && whose !== tenant)) continue;
    const head = await readHead(dir, chain).catch(() => "damaged" as const);
    if (typeof head === "object") heads.push(head);
  }
  return heads;
}
