import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../e2e/codecell-process.ts";
import { AgentHome, bash, calling, run } from "./agent-sdk.ts";
import { installProgram } from "./installed-program.ts";
import { lacking } from "./lacking.ts";
import { runToEnd } from "./run-to-end.ts";
import { startScriptedMessagesApi } from "./scripted-messages-api.ts";

describe.skipIf(await lacking("claude", "process runner"))(
  "a program with codecell and the Agent SDK installed",
  () => {
    let agent: AgentHome;
    let directory: string;
    beforeAll(async () => {
      agent = await AgentHome.open();
      directory = join(agent.home.top, "program");
      await installProgram(directory);
    });
    afterAll(() => agent?.[Symbol.asyncDispose]());

    test("runs examples/agent-sdk as it stands", async () => {
      await cp(join(root, "examples/agent-sdk/ask.js"), join(directory, "ask.js"));
      const { stdout } = await play("ask.js");
      expect(stdout).toMatch(
        /^session s-\S+ in process\n(allowed mcp__sandboxed_code__run: the sandbox\n){2}The answer is 42\.\n$/,
      );
    });

    test("runs the program of the README", async () => {
      const page = await readFile(join(root, "README.md"), "utf8");
      const [code = ""] = /^import \{ sandboxedQuery \}[\s\S]*?(?=^```$)/m.exec(page) ?? [];
      await writeFile(join(directory, "readme.mjs"), code);
      expect((await play("readme.mjs")).stdout).toBe("The answer is 42.\n");
    });

    test("runs the programs of docs/agent-sdk.md", async () => {
      const page = await readFile(join(root, "docs/agent-sdk.md"), "utf8");
      const blocks = [...page.matchAll(/```js runnable\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
      expect(blocks.length).toBeGreaterThanOrEqual(3);
      await writeFile(join(directory, "sandbox.policy.yaml"), /```yaml runnable\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
      for (const [index, code] of blocks.entries()) {
        await writeFile(join(directory, `doc-${index}.js`), code);
        const { stdout } = await play(`doc-${index}.js`);
        expect(stdout).toContain("The answer is 42.");
      }
    });

    async function play(file: string) {
      const [first] = calling(run("print(6 * 7)"), bash("echo 42"));
      if (first === undefined) throw new Error("no turn");
      await using api = await startScriptedMessagesApi([
        first,
        (seen) => (seen.every(({ texts }) => texts.join().includes("42")) ? "The answer is 42." : JSON.stringify(seen)),
      ]);
      const { env } = agent.options(api);
      const ended = await runToEnd(process.execPath, [file], { cwd: directory, env: env as Record<string, string> });
      expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
      return ended;
    }
  },
);
