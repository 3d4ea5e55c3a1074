import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditDirectory, readAudit } from "../../src/audit/index.ts";
import type { QuerySandbox } from "../../src/surfaces/agent-sdk/index.ts";
import { AgentHome, bash, calling, run, seenTexts } from "./agent-sdk.ts";
import { lacking } from "./lacking.ts";

describe.skipIf(await lacking("claude", "process runner"))("a query of the Agent SDK in a sandbox", () => {
  let agent: AgentHome;
  beforeAll(async () => {
    agent = await AgentHome.open();
  });
  afterAll(() => agent?.[Symbol.asyncDispose]());

  describe("with the strictest policy", () => {
    let texts: string[];
    let offered: readonly string[];
    let briefing: string;
    let result: string | undefined;
    let sandbox: QuerySandbox;
    beforeAll(async () => {
      const env = { AGENT_SECRET: "host-secret-value" };
      const talk = await agent.talk(
        [
          () => [run("greeting = 'hello world'\nprint(greeting)")],
          () => [
            run("greeting.upper()"),
            bash('echo "$0 as $(whoami)" && cat /proc/version >/dev/null && echo done'),
            run("import os\nprint(dict(os.environ), open('/proc/self/environ').read())"),
            run("for n in range(9000): print('line', n)"),
            run("1/0"),
            { name: "mcp__sandboxed_code__run", input: { language: "python" } },
            run("import urllib.request\nurllib.request.urlopen('http://a.example')"),
            run("open('/home/user/data.csv')"),
            run("for n in range(30): open(f'{n}.txt', 'w').close()\nimport time; time.sleep(20)", { timeout: 1 }),
          ],
          () => "That was all.",
        ],
        {
          env,
          onSession(opened) {
            sandbox = opened;
          },
        },
      );
      if (talk.failure) throw talk.failure;
      texts = seenTexts(talk);
      ({ result } = talk);
      ({ offered, briefing } = talk.api);
    });

    test("runs hello world in the sandbox and keeps its variables for the next call", () => {
      expect(texts[0]).toMatch(/^status: ok · \d+ ms\n\[stdout\]\nhello world$/);
      expect(texts[1]).toContain("HELLO WORLD");
      expect(result).toBe("That was all.");
    });

    test("offers the model the sandbox and no other tool", () => {
      expect(offered).toEqual(["mcp__sandboxed_code__run"]);
    });

    test("runs a forged Bash call in the sandbox, in bash", () => {
      expect(texts[2]).toMatch(/\nbash as cell\ndone$/);
    });

    test("gives code no variable of the host's environment", () => {
      expect(texts[3]).toContain("status: ok");
      expect(texts[3]).not.toMatch(/host-secret-value|none-needed|ANTHROPIC/);
    });

    test("says what to do about limits, and names no tool that the model does not have", () => {
      expect(texts[4]).toMatch(/too long to show in full: print less, [\s\S]*characters left out …/);
      expect(texts[7]).toContain("there is no network in this sandbox (net.enabled): tell the user");
      expect(texts[8]).toContain("files of the user's machine are not visible here: tell the user which one you need");
      expect(texts[9]).toMatch(/pass a longer timeout up to 30\n[\s\S]*5 more files were written; list them in code/);
      for (const text of texts) expect(text).not.toMatch(/handle|rlm_|_file|_run\b|_output|_artifact|session_id/);
    });

    test("reports a failing program and a call without code as the other surfaces do", () => {
      expect(texts[5]).toMatch(/^status: error .*\nZeroDivisionError: division by zero/);
      expect(texts[6]).toContain("pass either code or command");
    });

    test("tells the model the limits of the policy", () => {
      expect(briefing).toContain("Limits: 30s per run, 512MiB memory, 256MiB disk, no network.");
    });

    test("gives the host program the receipt of the session, which is closed afterwards", async () => {
      expect(sandbox.receipt.rules.find(({ rule }) => rule === "net.enabled")).toMatchObject({
        value: "false",
        by: "os",
      });
      await expect(async () => sandbox.session.run("1")).rejects.toMatchObject({ code: "session_closed" });
    });

    test("records the calls in the audit without their input", async () => {
      const decisions = await agent.decisions(sandbox.session.id);
      expect(decisions).toHaveLength(10);
      expect(new Set(decisions.map(({ type, tool, reason }) => `${type} ${tool} ${reason}`))).toEqual(
        new Set(["tool.allowed mcp__sandboxed_code__run the sandbox"]),
      );
      expect(JSON.stringify(decisions)).not.toContain("greeting");
    });
  });

  describe("with a policy file", () => {
    let file: string;
    const override = { net: { enabled: true, allowlist: ["packages.example"] } };
    beforeAll(async () => {
      file = join(agent.home.top, "sandbox.policy.yaml");
      await writeFile(
        file,
        "version: 1\noverrides:\n  ceiling:\n    net:\n      enabled: true\n      allowlist: [packages.example]\n",
      );
    });

    test("an override opens the network for one query only, as both receipts and the audit show", async () => {
      const reach = `import urllib.request
try: urllib.request.urlopen("http://other.example/", timeout=5)
except Exception as error: print(type(error).__name__, error)`;
      const opened: QuerySandbox[] = [];
      const onSession = (one: QuerySandbox) => void opened.push(one);
      const stateDir = join(agent.home.top, "override-state");
      const [closed, open] = await Promise.all([
        agent.talk(calling(run(reach)), { stateDir, sandboxPolicy: file, onSession }),
        agent.talk(calling(run(reach)), { stateDir, sandboxPolicy: { file, override }, onSession }),
      ]);
      expect(seenTexts(closed)[0]).toMatch(/URLError .*(Name or service|name resolution)/);
      expect(seenTexts(open)[0]).toMatch(/HTTPError HTTP Error 403/); // the proxy answers: only packages.example is allowed
      const rowOf = ({ receipt }: QuerySandbox) => receipt.rules.find(({ rule }) => rule === "net.enabled");
      expect(opened.map(rowOf)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ value: "false" }),
          expect.objectContaining({ value: "true" }),
        ]),
      );
      const changed = opened.find(({ changes }) => changes.length > 0);
      const overrides = [];
      for await (const { event } of readAudit(auditDirectory(stateDir), { types: ["override.applied"] }))
        overrides.push(event);
      expect(overrides).toMatchObject([
        { by: "host", session: changed?.session.id, changes: [{ rule: "net.enabled" }, { rule: "net.allowlist" }] },
      ]);
    });

    test("an override beyond the ceiling of the file fails the query before the model is asked", async () => {
      const wide = { net: { enabled: true, allowlist: ["other.example"] } };
      const { failure, api } = await agent.talk(calling(run("1")), { sandboxPolicy: { file, override: wide } });
      expect(failure).toMatchObject({ code: "override_refused" });
      expect([...api.paths]).toEqual([]);
    });
  });

  test("an answer in the caller's output format still works", async () => {
    const schema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] };
    const talk = await agent.talk(calling({ name: "StructuredOutput", input: { answer: 42 } }), {
      outputFormat: { type: "json_schema", schema },
    });
    expect(talk.messages.at(-1)).toMatchObject({ subtype: "success", structured_output: { answer: 42 } });
  });

  test("queries at the same time share a codecell if their policies are equal, and never a session", async () => {
    const stateDir = join(agent.home.top, "shared-state");
    const own = (name: string) =>
      calling(run(`print(globals().get("name"), open("/proc/sys/kernel/hostname").read())\nname = "${name}"`));
    const sessions: string[] = [];
    let meet = () => {};
    const all = new Promise<void>((resolve) => {
      meet = resolve;
    });
    // Each waits for the others, so all three are open at once.
    const onSession = async ({ session }: QuerySandbox) => {
      if (sessions.push(session.id) === 3) meet();
      await all;
    };
    const talks = await Promise.all([
      agent.talk(own("a"), { stateDir, onSession }),
      agent.talk(own("b"), { stateDir, onSession, sandboxPolicy: {} }),
      agent.talk(own("c"), { stateDir, onSession, sandboxPolicy: { proc: { memory: "300MiB" } } }),
    ]);
    for (const talk of talks) expect(seenTexts(talk)[0]).toContain("None");
    expect(new Set(sessions).size).toBe(3);
    const chains = new Map<unknown, number>();
    for await (const { event, chain } of readAudit(auditDirectory(stateDir), {})) {
      if (event.type === "session.opened") chains.set(chain, (chains.get(chain) ?? 0) + 1);
    }
    expect([...chains.values()].sort()).toEqual([1, 2]); // each codecell writes a chain of its own
  });
});
