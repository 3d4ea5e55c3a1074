import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { CallingSession, FunctionTable } from "./function-table.ts";
import type { HostFunctions } from "./host-function.ts";

/** Functions that a session exposes. Disposing removes them; a run that is running keeps what it has. */
export interface ExposedFunctions extends AsyncDisposable {
  readonly names: readonly string[];
}

/** All functions that the programs of one session may call. */
export class SessionFunctions {
  readonly #session: CallingSession;
  readonly #sets = new Set<HostFunctions>();
  readonly #changes = new SerialQueue();
  readonly #own: (() => Promise<HostFunctions>) | undefined;
  #table: FunctionTable | undefined;
  #owned: HostFunctions | undefined;

  /** `own`: what the session itself offers to its programs; loaded before the first run */
  constructor(session: CallingSession, own?: () => Promise<HostFunctions>) {
    this.#session = session;
    this.#own = own;
  }

  /** Undefined: nothing is left to load. */
  loading(): Promise<void> | undefined {
    if (!this.#own || this.#owned) return undefined;
    return this.#changes.run(() => this.#use([...this.#sets]));
  }

  /** What the next run may call; undefined: nothing was ever exposed. */
  get table(): FunctionTable | undefined {
    return this.#table;
  }

  /** Adds functions. A later one replaces an earlier one with the same name until it is removed. */
  async expose(functions: HostFunctions): Promise<ExposedFunctions> {
    const added = { ...functions };
    await this.#changes.run(() => this.#use([...this.#sets, added]));
    return {
      names: Object.keys(added),
      [Symbol.asyncDispose]: () =>
        this.#changes.run(async () => {
          if (this.#sets.has(added)) await this.#use([...this.#sets].filter((set) => set !== added));
        }),
    };
  }

  /** The same functions for another session, such as a fork. */
  async copyTo(other: SessionFunctions): Promise<void> {
    for (const set of this.#sets) await other.expose(set);
  }

  /** Changes nothing if one of the functions cannot be exposed. Most sessions expose none, so the table is loaded here. */
  async #use(sets: readonly HostFunctions[]): Promise<void> {
    const { FunctionTable } = await import("./function-table.ts");
    this.#owned ??= await this.#own?.();
    this.#table = new FunctionTable(Object.assign({}, ...sets, this.#owned) as HostFunctions, this.#session);
    this.#sets.clear();
    for (const set of sets) this.#sets.add(set);
  }
}
