import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { EnforcedRule } from "../../src/runners/receipt.ts";
import type { Probe, SandboxRunner } from "../../src/runners/runner.ts";
import { encodeReceiptSummary } from "../../src/service/wire/receipt-summary.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { CodecellOptions } from "../../src/sessions/codecell-options.ts";
import { skippedWithout } from "../contract/required.ts";
import { TestService } from "../support/http-service.ts";
import { codecell } from "./codecell-process.ts";
import { McpPair } from "./mcp-client.ts";

export interface ComparedRunner {
  readonly make: () => SandboxRunner;
  /** as `codecell run` makes it, which starts one cell; default: the same */
  readonly makeForOneCell?: () => SandboxRunner;
  /** the name that REQUIRE_RUNNERS and reports have for it; default: the runner's own */
  readonly name?: string;
  /** default: the runner's own answer, however long it takes */
  readonly probe?: (runner: SandboxRunner) => Promise<Probe>;
  /** variables by which the `codecell` command finds the same runner; absent: it cannot */
  readonly env?: Record<string, string>;
  /** a runner with the same code as one that is compared on every surface: only `codecell run` is, which has to find it */
  readonly onlyRun?: boolean;
}

/** The same call has the same receipt in the library, on the command line, over HTTP and over MCP. */
export async function compareSurfaces(title: string, compared: ComparedRunner): Promise<void> {
  const { make, makeForOneCell = make, env, onlyRun = false } = compared;
  const sample = make();
  const probe = await (compared.probe?.(sample) ?? sample.probe({ isPatient: true }));
  await sample[Symbol.asyncDispose]();
  const policy: PolicyInput = {
    ...{ isolation: { runner: sample.name }, proc: { timeout: "20s" }, env: { GREETING: "hello" } },
    ...{ session: { limit: 4 }, audit: { code: "hash" } },
  };

  describe(`the receipt of ${title}`, skippedWithout(compared.name ?? sample.name, probe), () => {
    let root: string;
    let file: string;
    beforeAll(async () => {
      root = await mkdtemp(join(tmpdir(), "cc-compare-"));
      await chmod(root, 0o711);
      file = join(root, "policy.json");
      await writeFile(file, JSON.stringify(policy));
    });
    afterAll(() => rm(root, { recursive: true, force: true }));

    const openLibrary = async (input: PolicyInput, options: CodecellOptions = {}) => {
      const stateDir = await mkdtemp(join(root, "library-"));
      await chmod(stateDir, 0o711);
      await mkdir(join(stateDir, "run"), { mode: 0o711 });
      const places = { stateDir, runtimeDir: join(stateDir, "run") };
      await using sandbox = await Codecell.open({ policy: input, runners: [make()], ...places, ...options });
      await using session = await sandbox.session();
      return await session.receipt();
    };
    /** The library's receipt for the policy, which several surfaces are compared with. */
    let received: ReturnType<typeof openLibrary> | undefined;
    const inLibrary = () => {
      received ??= openLibrary(policy);
      return received;
    };
    const command = async (
      ...argv: string[]
    ): Promise<{ rules: EnforcedRule[]; receipt: { rules: EnforcedRule[] } }> => {
      const { stdout, stderr } = await codecell(argv, env === undefined ? {} : { env });
      if (stdout === "") throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const run = async (...argv: string[]) => {
      const places = ["--policy", file, "--state-dir", join(root, "state")];
      return (await command("run", "--json", ...places, ...argv, "-c", "1")).receipt.rules;
    };

    test.skipIf(onlyRun)("is the same in the library and over HTTP", async () => {
      await using service = await TestService.open({ runners: [make()], policy, audit: true });
      const client = await service.client("alice");
      await client.session("one");
      const { json } = await client.run("one", "1");
      const { json: receipt } = await client.call("GET", `/v1/sessions/one/runs/${json.run_id}/receipt`);
      expect(receipt.rules).toEqual((await inLibrary()).rules);
    });

    test.skipIf(env === undefined || onlyRun)("is what `codecell policy explain` promises for a session", async () => {
      expect((await command("policy", "explain", file, "--json")).rules).toEqual((await inLibrary()).rules);
    });

    test.skipIf(env === undefined)(
      "is the same for `codecell run` and a session whose files stay in the cell",
      async () => {
        expect(await run()).toEqual(
          (await openLibrary(policy, { filesStayInCell: true, runners: [makeForOneCell()] })).rules,
        );
      },
    );

    test.skipIf(env === undefined || onlyRun)(
      "is the same for `codecell run --session` and a session that persists",
      async () => {
        const persistent = { ...policy, session: { ...policy.session, persist: true } };
        expect(await run("--session", "kept")).toEqual((await openLibrary(persistent)).rules);
      },
    );

    test.skipIf(env === undefined || onlyRun)("is summarised over MCP, where a client asks for it", async () => {
      await using pair = await McpPair.open("stdio", "modern", ["--policy", file, "--structured"], env);
      const { facts } = await pair.call("run_python", { code: "1" });
      expect(facts).not.toHaveProperty("receipt");
      const asked = await pair.call("get_run", { run_id: facts.run_id, receipt: true });
      const summary = encodeReceiptSummary(await inLibrary(), sample.isolation);
      expect(asked.facts.receipt).toEqual(summary);
      expect(asked.text).toContain(`${summary.enforced} rules are enforced, 0 are not`);
      const plain = await pair.call("get_run", { run_id: facts.run_id });
      expect(plain.facts).not.toHaveProperty("receipt");
    });
  });
}
