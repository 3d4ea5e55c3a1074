import type { Duplex } from "node:stream";
import type { EgressProcess } from "../egress/egress-process.ts";
import { egressEnvironment } from "../egress/environment.ts";
import type { SessionEgress } from "../egress/session-egress.ts";
import type { Policy } from "../policy/schema.ts";
import type { KernelSetup } from "../runners/runner.ts";
import { EgressRecord, type RunEgress } from "./egress-record.ts";
import { type CellKeys, makeCellKeys } from "./session-keys.ts";

/** The network of one cell: introduces its connections to the proxy, and keeps what was decided. */
export class CellNetwork implements AsyncDisposable {
  readonly #egress: SessionEgress;
  readonly #record: EgressRecord;
  readonly #keys: CellKeys;

  private constructor(egress: SessionEgress, record: EgressRecord, keys: CellKeys) {
    this.#egress = egress;
    this.#record = record;
    this.#keys = keys;
  }

  static async open(proxy: EgressProcess, policy: Policy): Promise<CellNetwork> {
    const record = new EgressRecord();
    const keys = await makeCellKeys(policy);
    return new CellNetwork(await proxy.openSession(policy.net, (event) => record.add(event), keys.keys), record, keys);
  }

  /** The same cell with the variables by which clients find the proxy and hold placeholders; what the policy sets wins. */
  setup(setup: KernelSetup): KernelSetup {
    return { ...setup, env: { ...egressEnvironment, ...setup.env, ...this.#keys.env } };
  }

  /** Whom the cell's clients are to trust, where their TLS is opened. */
  get authorities(): CellKeys["authorities"] {
    return this.#keys.authorities;
  }

  accept(connection: Duplex): void {
    this.#egress.accept(connection);
  }

  /** Puts the policy's rules in force, and returns when they are; what they do not allow has ended then. */
  update({ net }: Policy): Promise<void> {
    return this.#egress.update(net);
  }

  /** What happened since the last time. */
  async take(): Promise<RunEgress> {
    await this.#egress.flush();
    return this.#record.take();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#egress[Symbol.asyncDispose]();
  }
}
