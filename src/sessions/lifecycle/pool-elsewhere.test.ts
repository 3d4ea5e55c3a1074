import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { Policy } from "../../policy/schema.ts";
import { Codecell } from "../codecell.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "cc-pool-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** Keeps all warm cells but one itself. */
class KeepingRunner extends FakeRunner {
  readonly asked: number[] = [];

  async keepWarm({ session }: Policy): Promise<number> {
    this.asked.push(session.pool);
    return session.pool - 1;
  }
}

test.each([
  { pool: 3, asked: [3], own: 1 },
  { pool: 0, asked: [], own: 0 },
])("a pool of $pool has $own here, and the rest where the runner keeps cells", async ({ pool, asked, own }) => {
  const runner = new KeepingRunner();
  const places = { stateDir: join(base, "state"), runtimeDir: join(base, "run") };
  await using codecell = await Codecell.open({
    ...{ policy: parsePolicy({ session: { pool } }), runners: [runner], ...places },
  });
  await codecell.poolFilled();
  expect(runner.asked).toEqual(asked);
  expect(codecell.poolStatistics).toMatchObject({ target: own, ready: own });
});
