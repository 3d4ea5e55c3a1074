import type { EgressProcess } from "../../egress/process/egress-process.ts";
import { egressEnvironment } from "../../egress/process/environment.ts";
import type { SessionEgress } from "../../egress/process/session-egress.ts";
import type { EgressEvent } from "../../egress/rules/events.ts";
import type { OnStream } from "../../kernel/connection.ts";
import type { KernelSetup } from "../../kernel/messages.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Policy } from "../../policy/schema.ts";
import type { EnforcementReceipt } from "../../runners/receipt.ts";
import type { Carrier, Cell } from "../../runners/runner.ts";
import { EgressRecord, type RunEgress } from "./egress-record.ts";
import { NetworkLog } from "./network-log.ts";
import { type CellKeys, makeCellKeys } from "./session-keys.ts";

/** The network of one cell: passes its connections to the proxy, and keeps the proxy's decisions. */
export class CellNetwork implements AsyncDisposable {
  readonly #egress: SessionEgress;
  readonly #record: EgressRecord;
  readonly #keys: CellKeys;
  /** its last decisions, as they happen */
  readonly log: NetworkLog;
  #carrier: Carrier = { kind: "streams" };

  private constructor(egress: SessionEgress, record: EgressRecord, log: NetworkLog, keys: CellKeys) {
    this.log = log;
    this.#egress = egress;
    this.#record = record;
    this.#keys = keys;
  }

  static async open(proxy: EgressProcess, policy: Policy): Promise<CellNetwork> {
    const record = new EgressRecord();
    const keys = await makeCellKeys(policy);
    const log = new NetworkLog();
    const onEvent = (event: EgressEvent) => {
      record.add(event);
      log.add(event);
    };
    return new CellNetwork(await proxy.openSession(policy.net, onEvent, keys.keys), record, log, keys);
  }

  /** Adds the variables that clients find the proxy by, and the placeholders of secrets. Those of the policy take precedence. */
  setup(setup: KernelSetup): KernelSetup {
    return { ...setup, env: { ...egressEnvironment, ...setup.env, ...this.#keys.env } };
  }

  /** Connects the cell to the proxy. Returns what its kernel needs: the trusted certificates and the streams. */
  async connect(cell: Cell): Promise<{ onStream?: OnStream; authorities: CellKeys["authorities"] }> {
    this.#carrier = await this.#serve(cell.carrier ?? { kind: "streams" });
    const { authorities } = this.#keys;
    if (this.#carrier.kind !== "streams") return { authorities };
    return { authorities, onStream: (stream) => this.#egress.accept(stream) };
  }

  async #serve(carrier: Carrier): Promise<Carrier> {
    if (carrier.kind === "streams") return carrier;
    try {
      await this.#egress.listen(carrier.listener);
      return carrier;
    } catch (error) {
      // The cell still has its socket, and accepts connections itself when it is told to use streams.
      return { kind: "streams", reason: `the proxy does not accept on the cell's socket: ${messageOf(error)}` };
    }
  }

  /** The receipt with how connections reach the proxy. */
  receipt(receipt: EnforcementReceipt): EnforcementReceipt {
    const { kind, reason } = { reason: undefined, ...this.#carrier };
    const how =
      kind === "listener" ? "the proxy accepts on the cell's own socket" : "connections travel on the cell's channel";
    const rules = receipt.rules.map((rule) => {
      return rule.rule === "net.enabled" ? { ...rule, how: `${rule.how}; ${how}${reason ? `: ${reason}` : ""}` } : rule;
    });
    return { ...receipt, rules, network: { carrier: kind, ...(reason === undefined ? {} : { reason }) } };
  }

  /** Applies the policy's rules. Returns when they are enforced and connections that they do not allow are closed. */
  update({ net }: Policy): Promise<void> {
    return this.#egress.update(net);
  }

  /** What happened since the last call. */
  async take(): Promise<RunEgress> {
    await this.#egress.flush();
    return this.#record.take();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#egress[Symbol.asyncDispose]();
  }
}
