import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import type { ProbeOptions } from "../../runner.ts";
import { askEngine, type Engine, type EngineProbe, findEngine, probeTimeoutMs } from "./engine.ts";
import { type AddressFacts, addressFacts, type EngineKind, namesEngine, parseEngineAddress } from "./engine-address.ts";
import { type PodmanService, removeDeadSockets, startPodmanService } from "./podman-service.ts";
import type { SilentEngines } from "./silent-engines.ts";

/** Which container engine to use, and where it listens. */
export interface EngineFinderOptions {
  /** default: the first that answers, Docker before Podman */
  readonly engine?: EngineKind;
  /** environment variables and files that name engines; default: those of this process @internal */
  readonly addresses?: AddressFacts;
  readonly runtimeDir?: string;
  /** whether a Podman that codecell starts stays alive between requests, also for minutes @internal */
  readonly keepsPodman?: boolean;
  /** shared by runners that may use the same engine @internal */
  readonly silent?: SilentEngines;
}

/** Finds the engine, and finds it again after a failure. If none answers and the user wants one, it starts Podman's API. */
export class EngineFinder {
  readonly #options: EngineFinderOptions;
  readonly #takesOwnPodman: boolean;
  readonly #cleanup: Cleanup;
  /** the engine that answered last; forgotten after a failure */
  #known: Engine | undefined;
  #podman: PodmanService | undefined;
  #startsPodman = false;
  /** no other runner can be chosen instead, so wait longer */
  #isPatient = false;

  /** `needsOtherRuntime`: other runtimes are registered with Docker, so starting Podman would not help. */
  constructor(options: EngineFinderOptions, needsOtherRuntime: boolean, cleanup: Cleanup) {
    this.#options = options;
    this.#takesOwnPodman = !needsOtherRuntime && options.engine !== "docker";
    this.#cleanup = cleanup;
  }

  /** Searches each time, because engines start and stop while codecell runs. */
  async find({ isWanted = false, isPatient = false }: ProbeOptions = {}): Promise<EngineProbe> {
    this.#startsPodman ||= isWanted;
    this.#isPatient ||= isWanted || isPatient;
    const facts = this.#options.addresses ?? addressFacts();
    const timeoutMs = this.#isPatient ? probeTimeoutMs.patient : probeTimeoutMs.quick;
    const silent = this.#isPatient ? undefined : this.#options.silent;
    const found = await findEngine(facts, this.#options.engine, timeoutMs, silent);
    // If the user named an engine, use no other.
    if (found.available || namesEngine(facts) || !this.#takesOwnPodman || !this.#startsPodman) return found;
    const podman = await this.#ownPodman(facts);
    return podman ? { available: true, engine: podman } : found;
  }

  /** The engine that answered last, or the one that answers now. */
  async known(): Promise<Engine> {
    return this.#known ?? (await this.need());
  }

  /** The engine that answers now. */
  async need(): Promise<Engine> {
    const found = await this.find();
    if (!found.available) throw new CodecellError("runner_unavailable", found.reason, { hint: found.hint });
    this.#known = found.engine;
    return found.engine;
  }

  /** Forgets an engine that failed, so that the next call searches again. */
  forget(): void {
    this.#known = undefined;
  }

  /** Starts Podman's API, which runs as long as this runner needs it. */
  async #ownPodman(facts: AddressFacts): Promise<Engine | undefined> {
    if (!this.#podman?.isAlive) {
      const runtimeDir = await openRuntimeDirectory(this.#options.runtimeDir);
      await removeDeadSockets(runtimeDir);
      const socket = join(runtimeDir, `podman-${randomBytes(6).toString("hex")}.sock`);
      const service = await startPodmanService({
        ...{ socket, env: facts.env, staysAlive: this.#options.keepsPodman ?? false },
      });
      if (!service) return undefined;
      this.#cleanup.defer(() => service[Symbol.asyncDispose]());
      this.#podman = service;
    }
    const address = parseEngineAddress("podman", `unix://${this.#podman.socket}`, "started by codecell");
    return address && (await askEngine(address).catch(() => undefined));
  }
}
