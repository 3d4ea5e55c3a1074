import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "../artifacts/workspace-files.ts";
import { KernelClient } from "../kernel/client.ts";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError } from "../lib/errors.ts";
import { denyMatcher } from "../policy/deny.ts";
import { policyHash } from "../policy/hash.ts";
import type { Policy } from "../policy/schema.ts";
import { type Choice, chooseRunner } from "../runners/registry.ts";
import type { Cell, SandboxRunner, SessionWorkspace } from "../runners/runner.ts";
import { kernelFiles } from "./kernel-files.ts";
import { Session } from "./session.ts";
import { newSessionId } from "./session-id.ts";
import { SharedCell } from "./shared-cell.ts";

export interface CodecellOptions {
  readonly policy: Policy;
  /** the runners to choose from, owned by this Codecell: disposing it disposes them */
  readonly runners: readonly SandboxRunner[];
}

export interface OpenSessionOptions {
  readonly id?: string;
  /** a host directory for this session alone; ignored by runners that cannot take one */
  readonly workspace?: SessionWorkspace;
  readonly signal?: AbortSignal;
}

/** Opens sessions under one policy, in the runner that was chosen for it. */
export class Codecell implements AsyncDisposable {
  readonly policy: Policy;
  #choice: Choice;
  readonly #runners: readonly SandboxRunner[];
  readonly #sessions = new Set<Session>();
  #closing: Promise<void> | undefined;

  private constructor(policy: Policy, choice: Choice, runners: readonly SandboxRunner[]) {
    this.policy = policy;
    this.#choice = choice;
    this.#runners = runners;
  }

  static async open(options: CodecellOptions): Promise<Codecell> {
    await using cleanup = new Cleanup();
    for (const runner of options.runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
    const choice = await chooseRunner(options.runners, options.policy);
    cleanup.move();
    return new Codecell(options.policy, choice, options.runners);
  }

  /** The runner that new sessions get, and why not a stronger one. */
  get choice(): Choice {
    return this.#choice;
  }

  get runner(): string {
    return this.choice.runner.name;
  }

  /** A fresh cell with its interpreter ready. */
  async openSession(options: OpenSessionOptions = {}): Promise<Session> {
    if (this.#closing) throw new CodecellError("session_closed", "this codecell is closed");
    const id = options.id ?? newSessionId();
    const { policy } = this;
    const signal = options.signal ? { signal: options.signal } : {};
    await using cleanup = new Cleanup();
    const cell = await this.#startCell(id, options);
    cleanup.defer(() => cell[Symbol.asyncDispose]());
    const lostNotes: string[] = [];
    let session: Session | undefined;
    const kernel = await KernelClient.connect(cell.channel, cell.setup, {
      ...signal,
      // the latest only: user code decides how often its interpreter dies
      onLost: (message) => {
        lostNotes.splice(0, Number.POSITIVE_INFINITY, "between two runs:", ...message.notes);
        if (message.state === "lost") session?.interpreterLost();
      },
    });
    const files = kernel.info.features.includes("files")
      ? kernelFiles(kernel.files)
      : await this.#openFiles(options.workspace);
    cleanup.move();
    const onClose = (closed: Session) => {
      this.#sessions.delete(closed);
    };
    const cellShare = new SharedCell(cell, async () => files?.[Symbol.asyncDispose]());
    const onFork = (fork: Session) => {
      this.#sessions.add(fork);
    };
    const parts = { id, policy, kernel, lostNotes, onClose, onFork, cell: cellShare };
    session = new Session({ ...parts, ...(files ? { files } : {}) });
    this.#sessions.add(session);
    return session;
  }

  /** An engine may stop answering while we live: where the policy leaves the choice, the next best one is taken. */
  async #startCell(id: string, options: OpenSessionOptions): Promise<Cell> {
    try {
      return await this.#startIn(this.#choice.runner, id, options);
    } catch (error) {
      if (!(error instanceof CodecellError) || error.code !== "runner_unavailable") throw error;
      if (this.policy.isolation.runner !== "auto") throw error;
      const next = await chooseRunner(this.#runners, this.policy);
      if (next.runner === this.#choice.runner) throw error;
      this.#choice = next;
      return await this.#startIn(next.runner, id, options);
    }
  }

  #startIn(runner: SandboxRunner, id: string, { workspace, signal }: OpenSessionOptions): Promise<Cell> {
    const { policy } = this;
    const directory = workspace && runner.takesWorkspace ? { workspace } : {};
    return runner.start({ id, policy, policyHash: policyHash(policy), ...directory }, signal ? { signal } : {});
  }

  /** The workspace as the host reaches it, where it has one. */
  async #openFiles(own: SessionWorkspace | undefined): Promise<WorkspaceFiles | undefined> {
    const { fs } = this.policy;
    if (fs.workspace) return openWorkspaceFiles(await realpath(fs.workspace), { deny: denyMatcher(fs.deny) });
    if (!own || !this.choice.runner.takesWorkspace) return undefined;
    return openWorkspaceFiles(await realpath(join(own.root, own.name)), { deny: denyNothing });
  }

  /** Closes every session and the runners; the same as disposing, for code without `await using`. */
  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await using cleanup = new Cleanup();
    for (const runner of this.#runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
    await Promise.all([...this.#sessions].map((session) => session[Symbol.asyncDispose]()));
  }
}
