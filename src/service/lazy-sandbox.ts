import { CodecellError } from "../lib/errors.ts";
import type { Sandbox, SandboxOptions } from "./sandbox.ts";
import { type PolicyFacts, policyFacts } from "./tools/policy-facts.ts";
import type { HostEffects } from "./tools/tool-hints.ts";

/** A sandbox whose code is loaded by the first call: many clients start a server only to list its tools. */
export class LazySandbox implements AsyncDisposable {
  readonly #options: SandboxOptions;
  readonly #artifactListeners = new Set<() => void>();
  #sandbox: Sandbox | undefined;
  #opening: Promise<Sandbox> | undefined;
  #isClosed = false;

  constructor(options: SandboxOptions) {
    this.#options = options;
  }

  /** The sandbox, or undefined before the first call of `open`. */
  get opened(): Sandbox | undefined {
    return this.#sandbox;
  }

  /** What code may do outside its cell. Unless the options say otherwise, assume the worst. */
  get effects(): HostEffects {
    return this.#options.effects ?? { writesHost: true, reachesNetwork: true };
  }

  /** What the policy gives to a program; undefined if the options do not say. */
  get facts(): PolicyFacts | undefined {
    const policy = this.#sandbox?.opened?.policy; // it may have been reloaded
    const known = this.#options.functions?.();
    const functions = known === undefined ? {} : { functions: known };
    const { facts } = this.#options;
    if (policy) return { ...facts, ...policyFacts(policy), ...functions };
    return facts && { ...facts, ...functions };
  }

  get isForGuests(): boolean {
    return this.#options.isForGuests === true;
  }

  get hasOnlyTool(): boolean {
    return this.#options.hasOnlyTool === true;
  }

  /** Throws `session_closed` after disposal. */
  async open(): Promise<Sandbox> {
    if (this.#isClosed) throw new CodecellError("session_closed", "the server is shutting down");
    this.#opening ??= this.#load();
    return this.#sandbox ?? this.#opening;
  }

  onArtifactsChanged(listener: () => void): () => void {
    this.#artifactListeners.add(listener);
    return () => this.#artifactListeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const sandbox = await this.#opening;
    await sandbox?.[Symbol.asyncDispose]();
  }

  async #load(): Promise<Sandbox> {
    const { Sandbox } = await import("./sandbox.ts");
    this.#sandbox = new Sandbox(this.#options, () => {
      for (const listener of this.#artifactListeners) listener();
    });
    return this.#sandbox;
  }
}
