import { CodecellError } from "../lib/errors.ts";
import { SerialQueue } from "../lib/serial-queue.ts";
import { type AskedRules, addAsked, type LiveChange, liveRules, policyInForce } from "../policy/change/live-rules.ts";
import { type Authority, type PolicyChange, policyChanges } from "../policy/change/merge.ts";
import { policyHash } from "../policy/hash.ts";
import { type PolicyFieldName, showRule } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcedRule, EnforcementReceipt } from "../runners/receipt.ts";
import type { CellNetwork } from "./network/cell-network.ts";

/** A change that is about to hold. */
export interface ComingPolicy {
  readonly hash: string;
  readonly changes: readonly PolicyChange[];
}

/** Hears of it before it holds; what throws here stops it. */
export type Announce = (coming: ComingPolicy) => Promise<void>;
export type OnAsked = (asked: AskedRules) => Promise<void>;

/** The policy that a cell is under. The rules of its network may change while it lives, for all sessions that share it. */
export class CellPolicy {
  readonly #network: CellNetwork | undefined;
  readonly #started: EnforcementReceipt;
  readonly #listeners = new Set<OnAsked>();
  #operator: Policy;
  #asked: AskedRules = {};
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

  get asked(): AskedRules {
    return this.#asked;
  }

  /** Returns when the change holds: what it does not allow has ended then. */
  change(change: LiveChange, authority: Authority, announce: Announce): Promise<readonly PolicyChange[]> {
    return this.#changes.run(async () => {
      const asked = addAsked(this.#operator, this.#asked, change, authority);
      if (this.#network === undefined) throw noNetwork();
      const changes = await this.#put(this.#operator, asked, announce);
      // All of them, whoever asked: each session that shares the cell comes back with these rules.
      await Promise.all([...this.#listeners].map((listener) => listener(asked)));
      return changes;
    });
  }

  /** The operator's policy is another one; what was asked of this cell stays asked. */
  follow(operator: Policy, announce: Announce): Promise<readonly PolicyChange[]> {
    return this.#changes.run(() => this.#put(operator, this.#asked, announce));
  }

  /** For a fresh cell of a session that was changed before. */
  resume(asked: AskedRules): Promise<readonly PolicyChange[]> {
    return this.#changes.run(() => this.#put(this.#operator, asked, async () => {}));
  }

  /** Tells what was asked each time that it is something else. */
  onAsked(listener: OnAsked): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #put(operator: Policy, asked: AskedRules, announce: Announce): Promise<readonly PolicyChange[]> {
    const policy = policyInForce(operator, asked);
    const changes = policyChanges(this.#policy, policy);
    if (changes.length > 0) {
      const hash = policyHash(policy);
      await announce({ hash, changes });
      await this.#network?.update(policy);
      this.#receipt = receiptUnder(this.#started, policy, hash);
    }
    this.#operator = operator;
    this.#asked = asked;
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

/** The receipt of a cell whose policy is another one than it started under. What holds the rules is what held them before. */
function receiptUnder(receipt: EnforcementReceipt, policy: Policy, policyHash: string): EnforcementReceipt {
  const rules = receipt.rules.map((row): EnforcedRule => {
    const rule = row.rule as PolicyFieldName;
    if (!liveRules.has(rule)) return row;
    const isTurnedOff = rule === "net.enabled" && row.by === "proxy" && !policy.net.enabled;
    const how = isTurnedOff ? { how: "the proxy refuses everything since it was turned off" } : {};
    return { ...row, ...how, value: showRule(policy, rule) };
  });
  return { ...receipt, policyHash, rules };
}
