import { randomBytes } from "node:crypto";
import { KernelClient } from "../kernel/client.ts";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError } from "../lib/errors.ts";
import { policyHash } from "../policy/hash.ts";
import type { Policy } from "../policy/schema.ts";
import { type Choice, chooseRunner } from "../runners/registry.ts";
import type { SandboxRunner } from "../runners/runner.ts";
import { Session } from "./session.ts";
import { SharedCell } from "./shared-cell.ts";

export interface CodecellOptions {
  readonly policy: Policy;
  /** the runners to choose from, owned by this Codecell: disposing it disposes them */
  readonly runners: readonly SandboxRunner[];
}

/** Opens sessions under one policy, in the runner that was chosen for it. */
export class Codecell implements AsyncDisposable {
  readonly policy: Policy;
  readonly choice: Choice;
  readonly #runners: readonly SandboxRunner[];
  readonly #sessions = new Set<Session>();
  #closing: Promise<void> | undefined;

  private constructor(policy: Policy, choice: Choice, runners: readonly SandboxRunner[]) {
    this.policy = policy;
    this.choice = choice;
    this.#runners = runners;
  }

  static async open(options: CodecellOptions): Promise<Codecell> {
    await using cleanup = new Cleanup();
    for (const runner of options.runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
    const choice = await chooseRunner(options.runners, options.policy);
    cleanup.move();
    return new Codecell(options.policy, choice, options.runners);
  }

  get runner(): string {
    return this.choice.runner.name;
  }

  /** A fresh cell with its interpreter ready. */
  async openSession(options: { signal?: AbortSignal } = {}): Promise<Session> {
    if (this.#closing) throw new CodecellError("session_closed", "this codecell is closed");
    const id = randomBytes(9).toString("base64url");
    const { policy } = this;
    await using cleanup = new Cleanup();
    const cell = await this.choice.runner.start({ id, policy, policyHash: policyHash(policy) }, options);
    cleanup.defer(() => cell[Symbol.asyncDispose]());
    const lostNotes: string[] = [];
    const kernel = await KernelClient.connect(cell.channel, cell.setup, {
      ...options,
      // the latest only: user code decides how often its interpreter dies
      onLost: (message) => lostNotes.splice(0, Number.POSITIVE_INFINITY, "between two runs:", ...message.notes),
    });
    cleanup.move();
    const onClose = (closed: Session) => this.#sessions.delete(closed);
    const session = new Session({ ...{ id, policy, kernel, lostNotes, onClose }, cell: new SharedCell(cell) });
    this.#sessions.add(session);
    return session;
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
