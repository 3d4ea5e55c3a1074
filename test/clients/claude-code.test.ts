import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { living } from "../e2e/codecell-process.ts";
import { httpAddress, startHttp, stopped } from "../e2e/mcp-client.ts";
import { descendantsOf } from "../e2e/process-tree.ts";
import {
  type ClaudeHome,
  type Conversation,
  call,
  converse,
  converseAll,
  factsOf,
  idIn,
  newClaudeHome,
  onlyServer,
  startClaude,
  stdioServer,
  textOf,
} from "./claude-code.ts";
import { lacking } from "./lacking.ts";
import { type SeenResult, startScriptedMessagesApi, type Turn } from "./scripted-messages-api.ts";

/** runs until a file exists, so that the test decides when it ends */
const untilTold =
  "import os, time\nprint('waiting', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('went')";
/** runs forever, and writes a file when it is interrupted */
const untilStopped =
  "import time\ntry:\n  print('busy', flush=True)\n  while True: time.sleep(0.02)\nfinally: open('stopped', 'w').write('yes')";

/** What the model calls for each test. Starting Claude Code takes longer than all the calls, so one conversation has them all. */
const scripts = {
  variables: [
    () => [
      call("run_python", {
        code: "a, b, row = 0, 1, []\nfor _ in range(20): row.append(a); a, b = b, a + b\nprint(*row)\nlen(row)",
      }),
    ],
    () => [call("run_python", { code: "row[-1]" })],
  ],
  figure: [
    () => [
      call("run_python", {
        code: "import matplotlib.pyplot as plt\nplt.plot([3, 1, 2])\nplt.savefig('line.png')\nplt.show()",
      }),
    ],
  ],
  error: [
    () => [call("run_python", { code: "rows = [1, 2]\nrows[2]" })],
    () => [call("run_python", { code: "rows[1]" })],
  ],
  failures: [
    () => [call("run_python", { code: "1", session_id: "nobody" })],
    () => [call("run_python", { code: "1", sesion_id: "s" })],
    () => [call("get_run", { run_id: "none" })],
  ],
  waiting: [
    () => [call("run_python", { code: untilTold, wait: 3 })],
    () => [call("upload_file", { path: "go", content: "" })],
    ([run]) => [call("get_run", { run_id: idIn(run, "run_id") })],
  ],
  stopping: [
    () => [call("run_python", { code: untilStopped, wait: 3 })],
    ([run]) => [call("get_run", { run_id: idIn(run, "run_id"), cancel: true })],
    () => [call("run_python", { code: "open('stopped').read()" })],
  ],
  parallel: [
    () => ["a", "b"].map((who) => call("run_python", { code: `who = '${who}'`, session_id: "new" })),
    ([a, b]) => [a, b].map((run) => call("run_python", { code: "who", session_id: idIn(run, "session_id") })),
  ],
} satisfies Record<string, readonly Turn[]>;

describe.skipIf(await lacking("claude", "process runner"))("a model in Claude Code", () => {
  let home: ClaudeHome;
  beforeAll(async () => {
    home = await newClaudeHome();
  });
  afterAll(() => home[Symbol.asyncDispose]());

  describe("without Claude Code's own tools", () => {
    let talk: Conversation & { readonly seenIn: (script: keyof typeof scripts) => readonly SeenResult[] };
    beforeAll(async () => {
      talk = await converseAll(home, scripts, (seen) => `The last one is ${textOf(seen[1]).split("\n").at(-1)}.`);
    });

    test("sees a run's output and value, and its variables in the next run", () => {
      const seen = talk.seenIn("variables");
      expect(textOf(seen[0])).toMatch(
        /^status: ok · \d+ ms\n\[value\]\n20\n\[stdout\]\n0 1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 4181$/,
      );
      expect(seen.map(({ isError }) => isError)).toEqual([false, false]);
      expect(talk.printed).toBe("The last one is 4181.");
    });

    test("sees a figure as an image, and only the files that its program wrote", () => {
      const seen = talk.seenIn("figure");
      const [image] = seen[0]?.images ?? [];
      expect(image?.mediaType).toBe("image/png");
      expect(
        Buffer.from(image?.data ?? "", "base64")
          .subarray(1, 4)
          .toString(),
      ).toBe("PNG");
      expect(seen[0]?.images).toHaveLength(1);
      expect(textOf(seen[0])).toMatch(/^status: ok · [\s\S]*\[artifacts\]\nline\.png \(image\/png, \d+ bytes\)/);
      const links = seen[0]?.texts.filter((text) => text.startsWith("[Resource link: ")) ?? [];
      expect(links).toEqual([
        expect.stringMatching(/^\[Resource link: line\.png\] codecell:\/\/sessions\/[\w-]+\/artifacts\/line\.png\s*$/),
      ]);
    });

    test("sees a failing program's error as a result that it can correct", () => {
      const seen = talk.seenIn("error");
      expect(seen[0]?.isError).toBe(false);
      expect(textOf(seen[0])).toMatch(
        /^status: error · \d+ ms\nIndexError: list index out of range\n\[traceback\]\n[\s\S]*rows\[2\]/,
      );
      expect(textOf(seen[1])).toMatch(/^status: ok · \d+ ms\n\[value\]\n2$/);
    });

    test("sees a tool's failure with its error code and what to do next", () => {
      const seen = talk.seenIn("failures");
      expect(seen.map(({ isError }) => isError)).toEqual([true, true, true]);
      expect(seen[0]?.texts[0]).toMatch(/^session_unknown: .*nobody[\s\S]*next: check the id; without session_id/);
      expect(seen[1]?.texts[0]).toContain('Unrecognized key: "sesion_id"');
      expect(seen[2]?.texts[0]).toMatch(/^run_gone: [\s\S]*next: run the code again/);
    });

    test("is told before the client's timeout that a long run is still running, and waits for it with get_run", () => {
      const seen = talk.seenIn("waiting");
      expect(textOf(seen[0])).toMatch(
        /^status: running · \d+ ms\n\[stdout\]\nwaiting\nrun_id: \S+; get_run .*cancel=true$/,
      );
      expect(textOf(seen[2])).toMatch(/^status: ok · \d+ ms · output since the last look\n\[stdout\]\nwent$/);
    });

    test("stops a run with get_run, and the session stays usable", () => {
      const seen = talk.seenIn("stopping");
      expect(textOf(seen[0])).toMatch(/^status: running · \d+ ms\n\[stdout\]\nbusy\n/);
      expect(textOf(seen[1])).toMatch(/^status: cancelled · \d+ ms · stopped at line \d+ · output since the last look/);
      expect(textOf(seen[1])).not.toContain("variables are");
      expect(textOf(seen[2])).toMatch(/^status: ok · \d+ ms\n\[value\]\n'yes'$/);
    });

    test("runs two sessions at the same time with parallel calls", () => {
      const seen = talk.seenIn("parallel");
      expect(seen.slice(2).map((run) => textOf(run).split("\n").at(-1))).toEqual(["'a'", "'b'"]);
    });
  });

  describe("beside Claude Code's own tools, as users have it", () => {
    let talk: Conversation;
    beforeAll(async () => {
      talk = await converse(
        home,
        [
          () => [{ name: "ToolSearch", input: { query: "select:mcp__codecell__checkpoint" } }],
          () => [call("run_python", { code: "open('table.csv', 'w').write('a,b\\n1,2\\n')" })],
          ([, run]) => {
            const uri = /codecell:\/\/\S+/.exec(run?.texts.join("\n") ?? "")?.[0];
            return [{ name: "ReadMcpResourceTool", input: { server: "codecell", uri } }];
          },
        ],
        onlyServer({ codecell: stdioServer(home) }),
      );
    });

    test("has the main tools and the instructions in its context, although other tools are deferred to a search", () => {
      const { offered, briefing, seen } = talk;
      const main = ["run_python", "get_run", "rlm_exec", "rlm_load"].map((name) => `mcp__codecell__${name}`);
      expect(offered).toEqual(expect.arrayContaining([...main, "mcp__codecell__checkpoint"]));
      expect(offered).not.toContain("mcp__codecell__rlm_vars");
      expect(briefing).toContain("run_python runs Python (or bash) in an isolated session");
      expect(briefing).toContain("Do not work around a refusal of the policy; tell the user");
      expect(briefing).toContain("Limits: 30s per run, 512MiB memory, 256MiB disk, no network.");
      expect(seen[0]?.isError).toBe(false);
    });

    test("reads a session's file as a resource", () => {
      const resource = talk.seen[2];
      expect(resource?.isError).toBe(false);
      expect(factsOf(resource).contents).toMatchObject([{ text: "a,b\n1,2\n" }]);
    });
  });

  test("runs code over HTTP with the token in a header, and sees structured content if the server is asked for it", async () => {
    const server = startHttp(home, ["--structured"]);
    onTestFinished(() => stopped(server));
    const { url, token } = await httpAddress(server);
    const codecell = { type: "http", url: url.href, headers: { Authorization: `Bearer ${token}` } };
    const { seen } = await converse(
      home,
      [() => [call("run_python", { code: "6 * 7" })]],
      [...onlyServer({ codecell }), "--tools", ""],
    );
    expect(seen[0]?.isError).toBe(false);
    expect(factsOf(seen[0])).toMatchObject({ status: "ok", value: "42", runner: "process", state: "kept" });
  });

  test("leaves no running code when the user ends Claude Code", async () => {
    await using api = await startScriptedMessagesApi([
      () => [call("run_python", { code: untilStopped, wait: 0.2, session_id: "new" })],
      () => [call("run_python", { code: untilStopped })], // Claude Code waits for this one
    ]);
    const claude = startClaude(home, api.url);
    await api.reached(1);
    const pid = claude.child.pid ?? 0;
    const processes = descendantsOf(pid);
    expect(processes.length).toBeGreaterThan(1); // the server and the cell of the first run
    claude.child.kill("SIGINT");
    await claude.ended;
    await gone(processes);
  });
});

async function gone(processes: readonly string[], limitMs = 30_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (living(processes).length > 0) {
    if (performance.now() > end) throw new Error(`still there: ${living(processes)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
