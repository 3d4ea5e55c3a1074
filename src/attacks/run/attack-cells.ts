import { join } from "node:path";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { SandboxRunner } from "../../runners/runner.ts";
import { Codecell } from "../../sessions/codecell.ts";
import type { Session } from "../../sessions/session.ts";
import type { AttackTier, Scenario } from "../attack.ts";
import type { AttackHost } from "../host/attack-host.ts";
import { egress, policyFor } from "../scenarios.ts";

/** A kind of isolation that attacks run in. */
export interface AttackedTier {
  readonly name: AttackTier;
  /** A runner of its own for each policy; the suite disposes it. */
  make(): SandboxRunner | Promise<SandboxRunner>;
}

/** The cells of one tier: one shared session per scenario, and new ones for attacks that may spoil theirs. */
export class AttackCells implements AsyncDisposable {
  readonly tier: AttackTier;
  readonly host: AttackHost;
  readonly #make: AttackedTier["make"];
  readonly #codecells = new Map<Scenario, Promise<Codecell>>();
  readonly #shared = new Map<Scenario, Session>();
  readonly #neighbours = new Map<Scenario, Session>();
  readonly #cleanup = new Cleanup();

  constructor({ name, make }: AttackedTier, host: AttackHost) {
    this.tier = name;
    this.#make = make;
    this.host = host;
  }

  /** The session that attacks of a scenario share. */
  async shared(scenario: Scenario): Promise<Session> {
    const known = this.#shared.get(scenario);
    if (known) return known;
    const session = await this.fresh(scenario);
    this.#shared.set(scenario, session);
    return session;
  }

  /** A new session in a new cell; the caller closes it. */
  async fresh(scenario: Scenario): Promise<Session> {
    return (await this.codecell(scenario)).session();
  }

  /** Closes the shared session, so that the next attack gets another. */
  async replace(scenario: Scenario): Promise<void> {
    const session = this.#shared.get(scenario);
    this.#shared.delete(scenario);
    await session?.close();
  }

  /** The second session of a scenario, which attacks must not reach. */
  async neighbour(scenario: Scenario): Promise<Session> {
    const known = this.#neighbours.get(scenario);
    if (known) return known;
    const session = await this.fresh(scenario);
    this.#neighbours.set(scenario, session);
    return session;
  }

  /** Closes the second session, so that the next attack gets another. */
  async replaceNeighbour(scenario: Scenario): Promise<void> {
    const session = this.#neighbours.get(scenario);
    this.#neighbours.delete(scenario);
    await session?.close();
  }

  /** Everything under the policy of a scenario. */
  codecell(scenario: Scenario): Promise<Codecell> {
    const known = this.#codecells.get(scenario);
    if (known) return known;
    const opening = this.#open(scenario);
    this.#codecells.set(scenario, opening);
    return opening;
  }

  async #open(scenario: Scenario): Promise<Codecell> {
    const policy = parsePolicy(policyFor(scenario, this.tier, this.host));
    const runner = await this.#make();
    const [refusal] = (await runner.plan(policy)).refused;
    if (refusal) {
      await runner[Symbol.asyncDispose]();
      throw new CodecellError("policy_refused", `it refuses ${refusal.rule}: ${refusal.reason}`);
    }
    const codecell = await Codecell.open({
      ...{ policy, runners: [runner] },
      stateDir: this.stateDir(scenario),
      egress,
    });
    this.#cleanup.defer(() => codecell.close());
    return codecell;
  }

  /** Where the files of a scenario's sessions are on the host. */
  stateDir(scenario: Scenario): string {
    return join(this.host.directory, "state", `${this.tier}-${scenario}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}
