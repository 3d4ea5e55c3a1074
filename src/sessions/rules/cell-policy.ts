import { CodecellError } from "../../lib/errors.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import {
  addRequest,
  type LiveChange,
  liveRules,
  policyInForce,
  type RequestedRules,
} from "../../policy/change/live-rules.ts";
import { type Authority, type PolicyChange, policyChanges } from "../../policy/change/merge.ts";
import { policyHash } from "../../policy/hash.ts";
import { type PolicyFieldName, showRule } from "../../policy/rules.ts";
import type { Policy } from "../../policy/schema.ts";
import type { EnforcedRule, EnforcementReceipt } from "../../runners/receipt.ts";
import type { CellNetwork } from "../network/cell-network.ts";

/** A change that is about to be applied. */
export interface ComingPolicy {
  readonly hash: string;
  readonly changes: readonly PolicyChange[];
}

/** Called before a policy applies; if it throws, the change is cancelled. */
export type Announce = (coming: ComingPolicy) => Promise<void>;
export type OnRequested = (requestedRules: RequestedRules) => Promise<void>;

/** The policy of a cell. Its network rules can change while it is running, for all sessions that share it. */
export class CellPolicy {
  readonly #network: CellNetwork | undefined;
  readonly #started: EnforcementReceipt;
  readonly #listeners = new Set<OnRequested>();
  #operator: Policy;
  #requestedRules: RequestedRules = {};
  #policy: Policy;
  #receipt: EnforcementReceipt;
  readonly #changes = new SerialQueue();

  constructor(policy: Policy, receipt: EnforcementReceipt, network: CellNetwork | undefined) {
    this.#operator = policy;
    this.#policy = policy;
    this.#started = receipt;
    this.#receipt = receipt;
    this.#network = network;
  }

  get policy(): Policy {
    return this.#policy;
  }

  /** What is enforced now. */
  get receipt(): EnforcementReceipt {
    return this.#receipt;
  }

  get requestedRules(): RequestedRules {
    return this.#requestedRules;
  }

  /** Resolves when the change is in force and connections that it does not allow are closed. */
  change(change: LiveChange, authority: Authority, announce: Announce): Promise<readonly PolicyChange[]> {
    return this.#changes.run(async () => {
      const requestedRules = addRequest(this.#operator, this.#requestedRules, change, authority);
      if (this.#network === undefined) throw noNetwork();
      const changes = await this.#put(this.#operator, requestedRules, announce);
      // Tell every session that shares the cell: each is restored with these rules.
      await Promise.all([...this.#listeners].map((listener) => listener(requestedRules)));
      return changes;
    });
  }

  /** Applies a new operator policy; the requested rules stay. */
  follow(operator: Policy, announce: Announce): Promise<readonly PolicyChange[]> {
    return this.#changes.run(() => this.#put(operator, this.#requestedRules, announce));
  }

  /** For a fresh cell of a session that was changed before. */
  resume(requestedRules: RequestedRules): Promise<readonly PolicyChange[]> {
    return this.#changes.run(() => this.#put(this.#operator, requestedRules, async () => {}));
  }

  /** Calls the listener with the requested rules whenever they change. */
  onRequested(listener: OnRequested): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #put(operator: Policy, requestedRules: RequestedRules, announce: Announce): Promise<readonly PolicyChange[]> {
    const policy = policyInForce(operator, requestedRules);
    const changes = policyChanges(this.#policy, policy);
    if (changes.length > 0) {
      const hash = policyHash(policy);
      await announce({ hash, changes });
      await this.#network?.update(policy);
      this.#receipt = receiptUnder(this.#started, policy, hash);
    }
    this.#operator = operator;
    this.#requestedRules = requestedRules;
    this.#policy = policy;
    return changes;
  }
}

function noNetwork(): CodecellError {
  return new CodecellError("not_supported", "this session's cell was started without a network", {
    hint: "set net.enabled in the policy and open a new session",
    details: { rule: "net.enabled" },
  });
}

/** The receipt of a cell whose policy changed after its start. The same mechanisms enforce the rules. */
function receiptUnder(receipt: EnforcementReceipt, policy: Policy, policyHash: string): EnforcementReceipt {
  const rules = receipt.rules.map((row): EnforcedRule => {
    const rule = row.rule as PolicyFieldName;
    if (!liveRules.has(rule)) return row;
    const isTurnedOff = rule === "net.enabled" && row.by === "proxy" && !policy.net.enabled;
    const how = isTurnedOff ? { how: "the proxy refuses every request, because the network was turned off" } : {};
    return { ...row, ...how, value: showRule(policy, rule) };
  });
  return { ...receipt, policyHash, rules };
}
