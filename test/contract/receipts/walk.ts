import { homedir, tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RuleName, ruleNames } from "../../../src/policy/rules.ts";
import type { EnforcedRule } from "../../../src/runners/receipt.ts";
import type { Probe, SandboxRunner } from "../../../src/runners/runner.ts";
import { Codecell } from "../../../src/sessions/codecell.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { skippedWithout } from "../required.ts";
import type { Attacked } from "./attacked.ts";
import { claims } from "./claims.ts";
import { Place } from "./place.ts";
import { type AttackedPolicy, policiesFor, type RunnerKind } from "./policies.ts";

/** The claims that a row makes: exactly one, unless its wording has no attack. */
const claimsOf = ({ rule, by, how }: EnforcedRule) =>
  claims[rule as RuleName].filter((one) => one.by === by && one.how.test(how));

/** A row without the figures in it, which depend on the value. */
const saying = (row: EnforcedRule) => `${row.rule} by ${row.by}: ${claimsOf(row)[0]?.wording ?? row.how}`;

export interface WalkOptions {
  /** rules or their sections that another walk attacks, because the same code enforces them on every runner */
  readonly without?: readonly string[];
  /** policies beyond those of the kind of runner */
  readonly more?: readonly AttackedPolicy[];
  /** the name that REQUIRE_RUNNERS and reports have for it; default: the runner's own */
  readonly name?: string;
  /** default: the runner's own answer, however long it takes */
  readonly probe?: (runner: SandboxRunner) => Promise<Probe>;
}

/**
 * What codecell itself enforces outside the cell, with the same code on every runner: the walk of the process runner attacks
 * it. `session.recovery` and `session.checkpoints` depend on the runner.
 */
export const enforcedByHost = [
  ...["audit", "llm", "tools"],
  ...["session.idle", "session.lifetime", "session.limit", "session.persist", "session.pool"],
] as const;

/** What the proxy on the host enforces, with the same code for every runner whose cells have sockets. */
export const enforcedByProxy = [
  ...["net.allowlist", "net.deny", "net.inspect", "net.rules", "net.secrets"],
  ...["net.connections", "net.requests", "net.sent", "net.received"],
] as const;

/** What the supervisor in the cell enforces, with the same programs in every cell on the same Linux kernel. */
export const enforcedBySupervisor = [
  ...["proc.timeout", "proc.output", "proc.background", "session", "kernel.preload"],
] as const;

/** Attacks every row of every receipt that a runner gives under these policies. */
export async function walkReceipts(
  title: string,
  make: () => SandboxRunner,
  kind: RunnerKind,
  { more = [], without = [], ...options }: WalkOptions = {},
): Promise<void> {
  const sample = make();
  const probe = await (options.probe?.(sample) ?? sample.probe({ isPatient: true }));
  await sample[Symbol.asyncDispose]();

  describe(`the receipt of ${title}`, skippedWithout(options.name ?? sample.name, probe), () => {
    /** what receipts said, and what of it was attacked */
    const said = new Set<string>();
    const attacked = new Set<string>();
    let place: Place;
    const isWalked = (rule: string) => !without.some((other) => rule === other || rule.startsWith(`${other}.`));
    const walks = [...policiesFor(kind), ...more]
      .map((policy) => {
        const rules = ruleNames.filter((rule) => policy.rows(sampleKeys)[rule] !== undefined && isWalked(rule));
        return { policy, rules, opened: new OpenedPolicy(policy, make, () => place) };
      })
      .filter(({ rules }) => rules.length > 0);
    beforeAll(async () => {
      place = await Place.make(kind.directories === "at their own path" ? persistentDirectory() : tmpdir());
      // all at once, because a start mostly waits
      await Promise.all(walks.map(({ opened }) => opened.open()));
    });
    afterAll(async () => {
      await Promise.all(walks.map(({ opened }) => opened.close()));
      await place?.[Symbol.asyncDispose]();
    });

    for (const { policy, rules, opened } of walks) {
      describe(`under ${policy.title}`, () => {
        afterAll(() => opened.close());

        test("has every rule once, in the order of the policy file", () => {
          expect(opened.rows.map(({ rule }) => rule)).toEqual(ruleNames);
          for (const row of opened.rows) if (isWalked(row.rule)) said.add(saying(row));
        });

        test.each(rules)("says of %s what an attack cannot disprove", async (rule) => {
          const row = opened.row(rule);
          expect(row.value).toBe(policy.rows(place)[rule]);
          const matching = claimsOf(row);
          expect(matching, `no attack is known for the claim "${saying(row)}"`).toHaveLength(1);
          await matching[0]?.attack(opened.attacked(row));
          attacked.add(saying(row));
        });
      });
    }

    test("says nothing that was not attacked", () => {
      expect([...said].filter((claim) => !attacked.has(claim))).toEqual([]);
    });
  });
}

/** `/tmp` and `/var/tmp` of a cell are its own: what keeps its path in the cell must be elsewhere. */
function persistentDirectory(): string {
  return process.getuid?.() === 0 ? "/srv" : homedir();
}

/** Stands in for the place where only the names of rows are wanted. */
const sampleKeys = {
  root: "",
  path: () => "",
  web: { port: 1 },
  trusted: { port: 2 },
  untrusted: { port: 3 },
} as unknown as Place;

/** A sandbox under one policy, and what attacks need of it. */
class OpenedPolicy {
  readonly #policy: AttackedPolicy;
  readonly #make: () => SandboxRunner;
  readonly #place: () => Place;
  #parts: Omit<Attacked, "row"> | undefined;
  #session: Session | undefined;
  rows: readonly EnforcedRule[] = [];

  constructor(policy: AttackedPolicy, make: () => SandboxRunner, place: () => Place) {
    this.#policy = policy;
    this.#make = make;
    this.#place = place;
  }

  async open(): Promise<void> {
    const place = this.#place();
    const input = this.#policy.input(place);
    const options = this.#policy.options?.(place) ?? {};
    const stateDir = await place.stateDir();
    const open = (policy: typeof input, dir: string) =>
      Codecell.open({ policy, runners: [this.#make()], stateDir: dir, runtimeDir: `${dir}/run`, ...options });
    const codecell = await open(input, stateDir);
    this.#parts = {
      ...{ codecell, stateDir, place, policy: codecell.policy, make: this.#make, input, options },
      session: () => this.#shared(codecell),
      fresh: () => codecell.session(),
      another: async (other, dir) => open(other, dir ?? (await place.stateDir())),
    };
    const session = await codecell.session();
    this.rows = (await session.receipt()).rules;
    // attacks on the lives of sessions count all of them
    if (input.session?.persist || input.session?.idle) await session.close({ forget: true });
    else this.#session = session;
  }

  row(rule: RuleName): EnforcedRule {
    const row = this.rows.find((one) => one.rule === rule);
    if (row === undefined) throw new Error(`the receipt does not mention ${rule}`);
    return row;
  }

  attacked(row: EnforcedRule): Attacked {
    if (this.#parts === undefined) throw new Error("nothing is open");
    return { ...this.#parts, row };
  }

  async close(): Promise<void> {
    await this.#parts?.codecell.close();
  }

  /** One cell for many attacks: each begins with a fresh interpreter. */
  async #shared(codecell: Codecell): Promise<Session> {
    if (this.#session?.state === "live") await this.#session.reset();
    else this.#session = await codecell.session();
    return this.#session;
  }
}
