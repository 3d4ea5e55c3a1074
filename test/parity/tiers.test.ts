import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { isMissing, type Tier, tiers } from "../support/tiers.ts";
import { type Probe, prelude, type Verdict } from "./probe.ts";
import { probes } from "./probes.ts";

const missing = await Promise.all(tiers.map(isMissing));

for (const [index, tier] of tiers.entries()) {
  describe.skipIf(missing[index])(`the verdict in ${tier.name} on a program that`, () => {
    let codecell: LiveSessions;
    let session: LiveSession;
    beforeAll(async () => {
      const policy = parsePolicy({ proc: { pids: 32, timeout: "20s" }, env: { GREETING: "hello" } });
      codecell = await LiveSessions.open({ policy, runners: [tier.make()] });
      session = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    test.each(probes.map((probe) => [probe.name, probe] as const))("%s", async (_, probe) => {
      const { verdict, because } = expected(probe, tier);
      expect(await verdictOf(session, probe), because).toEqual(verdict);
    });
  });
}

function expected(probe: Probe, { name }: Tier): { verdict: Verdict; because: string } {
  return probe.except?.[name] ?? { verdict: probe.expect, because: "the same on every tier" };
}

async function verdictOf(session: LiveSession, { code, language = "python" }: Probe): Promise<Verdict> {
  try {
    const program = language === "python" ? `${prelude}\n${code}\nprint(json.dumps(verdict))` : code;
    const result = await session.run(program, { language });
    if (result.status === "ok") return JSON.parse(result.stdout) as Verdict;
    return result.status === "error" ? (result.error?.name ?? "error") : result.status;
  } catch (error) {
    if (error instanceof CodecellError) return error.code;
    throw error;
  }
}
