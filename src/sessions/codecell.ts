import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "../artifacts/workspace-files.ts";
import { KernelClient, type OnLost } from "../kernel/client.ts";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import { denyMatcher } from "../policy/deny.ts";
import { policyHash } from "../policy/hash.ts";
import type { Policy } from "../policy/schema.ts";
import { type Choice, chooseRunner } from "../runners/registry.ts";
import type { Cell, SandboxRunner, SessionWorkspace } from "../runners/runner.ts";
import { endedEarly } from "./ended-early.ts";
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

/** A cell whose interpreter is ready for code. */
interface ReadyCell {
  readonly cell: Cell;
  readonly kernel: KernelClient;
  readonly runner: SandboxRunner;
}

/** Failures that say that a runner is not what it was when it was chosen. */
const replaceable: ReadonlySet<CodecellErrorCode> = new Set(["runner_unavailable", "policy_refused"]);

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
    await using cleanup = new Cleanup();
    const lostNotes: string[] = [];
    let session: Session | undefined;
    // the latest only: user code decides how often its interpreter dies
    const onLost: OnLost = (message) => {
      lostNotes.splice(0, Number.POSITIVE_INFINITY, "between two runs:", ...message.notes);
      if (message.state === "lost") session?.interpreterLost();
    };
    const { cell, kernel, runner } = await this.#startCell(id, options, onLost);
    cleanup.defer(() => cell[Symbol.asyncDispose]());
    const files = kernel.info.features.includes("files")
      ? kernelFiles(kernel.files)
      : await this.#openFiles(runner, options.workspace);
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

  /** An engine may stop answering, or lose its image, while we live: where the policy leaves the choice, we choose anew. */
  async #startCell(id: string, options: OpenSessionOptions, onLost: OnLost): Promise<ReadyCell> {
    const { runner } = this.#choice;
    try {
      return await this.#startIn(runner, id, options, onLost);
    } catch (error) {
      const isRunners = error instanceof CodecellError && replaceable.has(error.code);
      if (!isRunners || this.policy.isolation.runner !== "auto") throw error;
      const next = await chooseRunner(this.#runners, this.policy);
      if (next.runner === runner) throw error;
      this.#choice = next;
      return await this.#startIn(next.runner, id, options, onLost);
    }
  }

  async #startIn(
    runner: SandboxRunner,
    id: string,
    { workspace, signal }: OpenSessionOptions,
    onLost: OnLost,
  ): Promise<ReadyCell> {
    const { policy } = this;
    const directory = workspace && runner.takesWorkspace ? { workspace } : {};
    const signals = signal ? { signal } : {};
    await using cleanup = new Cleanup();
    const cell = await runner.start({ id, policy, policyHash: policyHash(policy), ...directory }, signals);
    cleanup.defer(() => cell[Symbol.asyncDispose]());
    const kernel = await KernelClient.connect(cell.channel, cell.setup, { ...signals, onLost }).catch(
      async (error: unknown) => {
        throw await endedEarly(error, cell);
      },
    );
    cleanup.move();
    return { cell, kernel, runner };
  }

  /** The workspace as the host reaches it, where it has one. */
  async #openFiles(runner: SandboxRunner, own: SessionWorkspace | undefined): Promise<WorkspaceFiles | undefined> {
    const { fs } = this.policy;
    if (fs.workspace) return openWorkspaceFiles(await realpath(fs.workspace), { deny: denyMatcher(fs.deny) });
    if (!own || !runner.takesWorkspace) return undefined;
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
