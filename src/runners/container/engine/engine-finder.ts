import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import type { ProbeOptions } from "../../runner.ts";
import { askEngine, type Engine, type EngineProbe, findEngine, questionMs } from "./engine.ts";
import { type AddressFacts, addressFacts, type EngineKind, namesEngine, parseEngineAddress } from "./engine-address.ts";
import { type PodmanService, removeDeadSockets, startPodmanService } from "./podman-service.ts";
import type { SilentEngines } from "./silent-engines.ts";

/** Which container engine is taken, and where it listens. */
export interface EngineFinderOptions {
  /** default: whichever answers, Docker first */
  readonly engine?: EngineKind;
  /** environment variables and files that say where engines listen; default: this process's @internal */
  readonly addresses?: AddressFacts;
  readonly runtimeDir?: string;
  /** shared by runners that may ask the same engine @internal */
  readonly silent?: SilentEngines;
}

/** Finds the engine, asks it again when it failed, and starts Podman's API where there is none and one is wanted. */
export class EngineFinder {
  readonly #options: EngineFinderOptions;
  readonly #takesOwnPodman: boolean;
  readonly #cleanup: Cleanup;
  /** the engine that answered last; forgotten when it fails us */
  #known: Engine | undefined;
  #podman: PodmanService | undefined;
  #startsPodman = false;
  /** no other runner is to be chosen instead */
  #isPatient = false;

  /** `needsOtherRuntime`: other runtimes are registered with Docker, so a Podman of our own would not help. */
  constructor(options: EngineFinderOptions, needsOtherRuntime: boolean, cleanup: Cleanup) {
    this.#options = options;
    this.#takesOwnPodman = !needsOtherRuntime && options.engine !== "docker";
    this.#cleanup = cleanup;
  }

  /** Asked each time: an engine comes and goes while we live. */
  async find({ isWanted = false, isPatient = false }: ProbeOptions = {}): Promise<EngineProbe> {
    this.#startsPodman ||= isWanted;
    this.#isPatient ||= isWanted || isPatient;
    const facts = this.#options.addresses ?? addressFacts();
    const timeoutMs = this.#isPatient ? questionMs.wanted : questionMs.inPassing;
    const silent = this.#isPatient ? undefined : this.#options.silent;
    const found = await findEngine(facts, this.#options.engine, timeoutMs, silent);
    // Who named an engine wants that one.
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

  /** It failed us: the next one is asked for first. */
  forget(): void {
    this.#known = undefined;
  }

  /** Podman without a socket: its API runs as long as this runner needs it. */
  async #ownPodman(facts: AddressFacts): Promise<Engine | undefined> {
    if (!this.#podman?.isAlive) {
      const runtimeDir = await openRuntimeDirectory(this.#options.runtimeDir);
      await removeDeadSockets(runtimeDir);
      const socket = join(runtimeDir, `podman-${randomBytes(6).toString("hex")}.sock`);
      const service = await startPodmanService({ socket, env: facts.env });
      if (!service) return undefined;
      this.#cleanup.defer(() => service[Symbol.asyncDispose]());
      this.#podman = service;
    }
    const address = parseEngineAddress("podman", `unix://${this.#podman.socket}`, "started by codecell");
    return address && (await askEngine(address).catch(() => undefined));
  }
}
