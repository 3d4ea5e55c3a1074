import type { Duplex } from "node:stream";
import type { EgressProcess } from "../egress/egress-process.ts";
import { egressEnvironment } from "../egress/environment.ts";
import type { SessionEgress } from "../egress/session-egress.ts";
import type { Policy } from "../policy/schema.ts";
import type { KernelSetup } from "../runners/runner.ts";
import { EgressRecord, type RunEgress } from "./egress-record.ts";

/** The network of one cell: introduces its connections to the proxy, and keeps what was decided. */
export class CellNetwork implements AsyncDisposable {
  readonly #egress: SessionEgress;
  readonly #record: EgressRecord;

  private constructor(egress: SessionEgress, record: EgressRecord) {
    this.#egress = egress;
    this.#record = record;
  }

  static async open(proxy: EgressProcess, { net }: Policy): Promise<CellNetwork> {
    const record = new EgressRecord();
    return new CellNetwork(await proxy.openSession(net, (event) => record.add(event)), record);
  }

  /** The same cell with the variables by which clients find the proxy; what the policy sets wins. */
  setup(setup: KernelSetup): KernelSetup {
    return { ...setup, env: { ...egressEnvironment, ...setup.env } };
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
