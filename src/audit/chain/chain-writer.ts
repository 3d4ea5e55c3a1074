import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Cleanup } from "../../lib/cleanup.ts";
import type { LivenessLock } from "../../lib/files/liveness-lock.ts";
import { syncDirectory } from "../../lib/files/sync-directory.ts";
import type { AuditEvent } from "../event.ts";
import { findPrunable, type KeepLimits } from "../prune.ts";
import { genesisHash, sealLine } from "./chain.ts";
import { type ChainEnd, findChainEnd } from "./chain-end.ts";
import {
  filePath,
  headPath,
  headsOfOthers,
  headText,
  listChains,
  makeAuditDirectory,
  namespaceOfChain,
  newChainName,
} from "./chain-files.ts";
import { lockChain } from "./chain-lock.ts";

export interface ChainWriterOptions {
  readonly dir: string;
  /** the tenant whose events are written; absent: those of everybody else */
  readonly namespace?: string | undefined;
  readonly limits: KeepLimits;
  /** at this size a file is closed and the next one started */
  readonly fileBytes: number;
  readonly now: () => number;
  /** the content of its first line */
  readonly openedMs: number;
  readonly toJson: (event: AuditEvent) => string;
}

/** How long a file is written at most, so that old events can be removed by whole files. */
const fileMs = 24 * 3_600_000;

/** How often another process may take a new chain before we give up. */
const mostTries = 20;

/**
 * The only writer of one chain. Lines are sealed in memory and written later. A line that a full disk cuts off is kept and
 * finished when there is space again, so that a running writer never leaves half a line.
 */
export class ChainWriter implements AsyncDisposable {
  readonly chain: string;
  readonly #options: ChainWriterOptions;
  readonly #lock: LivenessLock;
  readonly #head: FileHandle;
  #file: FileHandle;
  #number: number;
  #fileBytes: number;
  #begunMs: number;
  #seq: number;
  #hash: string;
  #unwritten: Buffer[] = [];
  #needsSync = false;
  #needsHeadSync = false;

  private constructor(
    options: ChainWriterOptions,
    parts: { chain: string; lock: LivenessLock; file: FileHandle; head: FileHandle; end: ChainEnd },
  ) {
    this.#options = options;
    this.chain = parts.chain;
    this.#lock = parts.lock;
    this.#file = parts.file;
    this.#head = parts.head;
    this.#number = parts.end.file;
    this.#fileBytes = parts.end.fileBytes;
    this.#begunMs = parts.end.begunMs;
    this.#seq = parts.end.seq;
    this.#hash = parts.end.hash;
    if (parts.end.lacksLineFeed) this.#push(Buffer.from("\n"));
    if (parts.end.torn) this.add({ type: "audit.torn", ...parts.end.torn }, options.openedMs);
  }

  /** Takes the first chain that has no writer and ends properly, or starts a new one. */
  static async open(options: ChainWriterOptions): Promise<ChainWriter> {
    await makeAuditDirectory(options.dir);
    for (const chain of await listChains(options.dir)) {
      // The attack: a tenant fills a chain that holds the history of others, until `audit.keep` removes it.
      if (namespaceOfChain(chain) !== options.namespace) continue;
      const writer = await ChainWriter.take(options, chain);
      if (writer) return writer;
    }
    for (let tries = 0; tries < mostTries; tries++) {
      const chain = newChainName(options.namespace);
      await mkdir(join(options.dir, chain), { mode: 0o700 });
      const writer = await ChainWriter.take(options, chain);
      if (!writer) continue; // another process took it at the same moment
      await syncDirectory(options.dir);
      return writer;
    }
    throw new Error("a new chain could not be started");
  }

  /** Takes this chain, unless it has a writer or does not end as a writer leaves it. */
  static async take(options: ChainWriterOptions, chain: string): Promise<ChainWriter | undefined> {
    const { dir } = options;
    await using cleanup = new Cleanup();
    const lock = await lockChain(dir, chain);
    if (!lock) return undefined;
    cleanup.defer(() => lock[Symbol.asyncDispose]());
    const found = await findChainEnd(dir, chain);
    if (!found) return undefined;
    const end = placeToWrite(found, options);
    const head = await openHead(dir, chain);
    cleanup.defer(() => head.close());
    const file = await open(filePath(dir, chain, end.file), "a", 0o600);
    cleanup.defer(() => file.close());
    if (end.file !== found.file) await syncDirectory(join(dir, chain));
    const others = await headsOfOthers(dir, chain);
    cleanup.move();
    const writer = new ChainWriter(options, { chain, lock, file, head, end });
    writer.add({ type: "audit.opened", pid: process.pid, others }, options.openedMs);
    return writer;
  }

  get hasUnwritten(): boolean {
    return this.#unwritten.length > 0;
  }

  /** Whether a power cut could still lose something that was written. */
  get needsSync(): boolean {
    return this.#needsSync || this.#needsHeadSync;
  }

  get unwrittenBytes(): number {
    return this.#unwritten.reduce((sum, { length }) => sum + length, 0);
  }

  get isFileFull(): boolean {
    return this.#fileBytes >= this.#options.fileBytes || this.#options.now() - this.#begunMs > fileMs;
  }

  /** Seals an event as the next line. */
  add(event: AuditEvent, atMs = this.#options.now()): void {
    const facts = { seq: this.#seq + 1, time: new Date(atMs).toISOString(), prev: this.#hash };
    const { text, hash } = sealLine(facts, this.#options.toJson(event));
    this.#seq = facts.seq;
    this.#hash = hash;
    this.#push(Buffer.from(`${text}\n`));
  }

  /** Writes the pending lines. After a failure the next call continues where this one stopped. */
  async write(): Promise<void> {
    while (this.#unwritten.length > 0) {
      const batch =
        this.#unwritten.length === 1 && this.#unwritten[0] ? this.#unwritten[0] : Buffer.concat(this.#unwritten);
      this.#unwritten = [batch];
      const { bytesWritten } = await this.#file.write(batch);
      this.#needsSync = true;
      // Lines that were added meanwhile come after the batch.
      this.#unwritten = [batch.subarray(bytesWritten), ...this.#unwritten.slice(1)].filter(({ length }) => length > 0);
    }
  }

  /** Syncs everything written so far to disk, and only then updates the head. */
  async sync(): Promise<void> {
    await this.write();
    if (!this.#needsSync) return;
    const head = { seq: this.#seq, hash: this.#hash };
    await this.#file.datasync();
    this.#needsSync = false;
    this.#needsHeadSync = true;
    await this.#head.write(headText(head), 0, "latin1");
  }

  /** Syncs the head; no run waits for this. The attack: a power cut restores an old head, and lines after it are cut off. */
  async syncHead(): Promise<void> {
    if (!this.#needsHeadSync) return;
    await this.#head.datasync();
    this.#needsHeadSync = false;
  }

  /** Starts the next file and removes what the policy does not keep. */
  async rotate(): Promise<void> {
    await this.sync();
    const { dir } = this.#options;
    const next = await open(filePath(dir, this.chain, this.#number + 1), "ax", 0o600);
    const full = this.#file;
    this.#file = next;
    this.#number++;
    this.#fileBytes = 0;
    this.#begunMs = this.#options.now();
    await full.close();
    await syncDirectory(join(dir, this.chain));
    await this.prune();
  }

  /** Records what is removed, synced to disk, before it is removed. */
  async prune(): Promise<void> {
    const { dir, limits, now } = this.#options;
    const current = { file: this.#number, bytes: this.#fileBytes };
    const prunable = await findPrunable(dir, this.chain, current, limits, now());
    if (!prunable) return;
    this.add(prunable.event);
    await this.sync();
    for (const path of prunable.paths) await rm(path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using cleanup = new Cleanup();
    cleanup.defer(() => this.#lock[Symbol.asyncDispose]());
    cleanup.defer(() => this.#head.close());
    cleanup.defer(() => this.#file.close());
  }

  #push(bytes: Buffer): void {
    this.#unwritten.push(bytes);
    this.#fileBytes += bytes.length;
  }
}

/** Whether to start a new file: there is none, or the last one is full or old. */
function placeToWrite(end: ChainEnd, { fileBytes, now }: ChainWriterOptions): ChainEnd {
  const isFull = end.file === 0 || end.fileBytes >= fileBytes || now() - end.begunMs > fileMs;
  if (!end.isOnDisk || !isFull) return end;
  return { ...end, file: end.file + 1, fileBytes: 0, begunMs: now() };
}

/**
 * Not opened for appending: on Linux that would ignore the position of a write. The head of a new chain is on disk before its
 * first line, so a chain without a head was tampered with.
 */
async function openHead(dir: string, chain: string): Promise<FileHandle> {
  const path = headPath(dir, chain);
  const head = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    if ((await head.stat()).size > 0) return head;
    await head.write(headText({ seq: 0, hash: genesisHash(chain) }), 0, "latin1");
    await head.datasync();
    return head;
  } catch (error) {
    await head.close();
    throw error;
  }
}
