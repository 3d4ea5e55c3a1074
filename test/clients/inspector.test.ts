import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cleanup } from "../../src/lib/cleanup.ts";
import {
  httpAddress,
  newTestDirectories,
  serverArguments,
  startHttp,
  stopped,
  type TestDirectories,
} from "../e2e/mcp-client.ts";
import { isThorough } from "../support/thorough.ts";
import { installed } from "./installed.ts";
import { lacking } from "./lacking.ts";
import { runToEnd } from "./run-to-end.ts";

/** what a model writes when asked for the first 20 Fibonacci numbers */
const fibonacci = "a, b = 0, 1\nfor _ in range(20):\n    print(a, end=' ')\n    a, b = b, a + b";
const numbers = "0 1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 4181 ";

/**
 * Every way lists and calls a tool. What the server does behind a transport is the same, so the rest is asked once in each era, over
 * another transport.
 */
const ways = ["stdio", "http"].flatMap((over) => ["legacy", "modern"].map((era) => [over, era] as const));

describe.skipIf(await lacking("inspector", "node22", "process runner")).each(ways)(
  "the Inspector over %s in its %s era",
  (over, era) => {
    const cleanup = new Cleanup();
    let directories: TestDirectories;
    let target: string[];

    beforeAll(async () => {
      directories = await newTestDirectories();
      cleanup.defer(() => rm(directories.top, { recursive: true, force: true }));
      await mkdir(join(directories.top, "home"));
      target =
        over === "stdio" ? [process.execPath, ...serverArguments(directories)] : await httpTarget(directories, cleanup);
    });
    afterAll(() => cleanup[Symbol.asyncDispose]());

    async function ask(method: string, ...args: string[]) {
      const all = [
        installed.inspector,
        "--cli",
        ...target,
        "--protocol-era",
        era,
        "--format",
        "json",
        "--method",
        method,
      ];
      const env = { PATH: process.env.PATH ?? "", HOME: join(directories.top, "home") };
      const { code, stdout, stderr } = await runToEnd(installed.node22, [...all, ...args], {
        cwd: directories.project,
        env,
      });
      if (code !== 0) throw new Error(`${method} ended with ${code}: ${stdout}${stderr}`);
      return JSON.parse(stdout).result;
    }

    test("lists tools whose schemas every client can read", async () => {
      const { tools } = await ask("tools/list", "--strict");
      expect(tools.map(({ name }: { name: string }) => name)).toEqual(
        expect.arrayContaining(["run_python", "rlm_exec"]),
      );
    });

    const asksAll = isThorough || over === (era === "legacy" ? "stdio" : "http");

    test.each(asksAll ? ["run_python", "rlm_exec"] : ["run_python"])(
      "calculates the first 20 Fibonacci numbers with %s",
      async (tool) => {
        const args = ["--tool-name", tool, "--tool-args-json", JSON.stringify({ code: fibonacci })];
        const { content } = await ask("tools/call", ...args);
        expect(content[0].text).toMatch(/^status: ok · /);
        expect(content[0].text).toContain(`[stdout]\n${numbers.trimEnd()}`);
      },
    );

    if (asksAll)
      test("lists resources", async () => {
        expect(await ask("resources/list")).toMatchObject({ resources: [] });
        expect((await ask("resources/templates/list")).resourceTemplates).toMatchObject([{ name: "artifact" }]);
      });
  },
);

async function httpTarget(directories: TestDirectories, cleanup: Cleanup): Promise<string[]> {
  const server = startHttp(directories);
  cleanup.defer(() => stopped(server));
  const { url, token } = await httpAddress(server);
  return [url.href, "--transport", "http", "--header", `Authorization: Bearer ${token}`];
}
