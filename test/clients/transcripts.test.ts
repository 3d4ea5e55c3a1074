import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { estimateTokens } from "../../src/service/output/estimate-tokens.ts";
import { type ClaudeHome, call, converseAll, idIn, newClaudeHome, textOf } from "./claude-code.ts";
import { lacking } from "./lacking.ts";
import type { SeenResult, ToolUse, Turn } from "./scripted-messages-api.ts";

/** One outcome of a run as a model meets it: the calls that it takes, and what each of them shows. */
interface Outcome {
  readonly name: string;
  /** each call may use the results so far of its own outcome */
  readonly calls: readonly ((own: readonly SeenResult[]) => ToolUse)[];
  /** the whole text of each call, with ids and times replaced; a pattern where parts depend on the machine */
  readonly shows: readonly (string | RegExp)[];
  /** at most this many, in all calls together; half of what structured content took, or less */
  readonly tokens: number;
  readonly images?: number;
}

const python = (code: string, more: object = {}) => call("run_python", { code, ...more });
const wait = (own: readonly SeenResult[], more: object = {}) =>
  call("get_run", { run_id: idIn(own[0], "run_id"), ...more });

/** prints a step whenever a file comes into being, so that the test decides when */
const steps = `import os, time
for step in range(3):
    print('step', step, flush=True)
    while step < 2 and not os.path.exists(f'go{step}'): time.sleep(0.02)
'done'`;

const outcomes: readonly Outcome[] = [
  { name: "print", calls: [() => python("print('hello')")], shows: ["status: ok · N ms\n[stdout]\nhello"], tokens: 12 },
  { name: "value", calls: [() => python("6 * 7")], shows: ["status: ok · N ms\n[value]\n42"], tokens: 12 },
  {
    name: "plot",
    calls: [() => python("import matplotlib.pyplot as plt\nplt.plot([3, 1, 2])\nplt.savefig('line.png')\nplt.show()")],
    shows: [/^status: ok · N ms\n\[stdout\]\n\[image 1\]\n\[artifacts\]\nline\.png \(image\/png, \d+ bytes\)(?:\n|$)/],
    images: 1,
    tokens: 90,
  },
  {
    name: "table",
    calls: [() => python("import pandas as pd\npd.DataFrame({'city': ['Oslo', 'Nairobi'], 'celsius': [9, 25]})")],
    shows: [/^status: ok · N ms\n\[value\]\n {6}city {2}celsius\n0 {5}Oslo {8}9\n1 {2}Nairobi {7}25/],
    tokens: 45,
  },
  {
    name: "exception",
    calls: [() => python("import json\ndef load(text):\n    return json.loads(text)\nload('{bad')")],
    shows: [
      /^status: error · N ms\n[\w.]*JSONDecodeError: Expecting property name .*\n\[traceback\]\n {2}File "<run \d+>", line 4, in <module>\n {4}load\('\{bad'\)\n[\s\S]* {2}… 3 frames in json/,
    ],
    tokens: 95,
  },
  {
    name: "timeout",
    calls: [() => python("import time\nprint('start', flush=True)\nwhile True:\n    time.sleep(0.01)", { timeout: 1 })],
    shows: [
      "status: timeout · N ms · stopped at line 4\n[notes]\n- the timeout of the call passed: pass a longer timeout up to 30, with wait=0 to poll with get_run\n[stdout]\nstart",
    ],
    tokens: 50,
  },
  {
    name: "memory",
    calls: [() => python("print('start', flush=True)\nx = []\nwhile True: x.append(bytearray(10_000_000))")],
    shows: [
      /^status: out_of_memory · N ms · variables (?:as after run \d+|as before the first run)\n\[notes\]\n- memory limit 512MiB \(proc\.memory\), peak \d+MiB: work on the data in parts\n[\s\S]*\[stdout\]\nstart$/,
    ],
    tokens: 59,
  },
  {
    name: "5 MB output",
    calls: [() => python("for i in range(100_000): print(f'line {i:06d} ' + 'x' * 38)")],
    shows: [/^status: ok · N ms\n\[stdout\]\nline 000000 x[\s\S]*read them with handle out_[\s\S]*bytes[\s\S]*$/],
    tokens: 2_084,
  },
  {
    name: "a run that is longer than a call",
    calls: [
      () => python(steps, { wait: 1.5 }),
      () => call("upload_file", { path: "go0", content: "" }),
      (own) => wait(own, { wait: 1.5 }),
      () => call("upload_file", { path: "go1", content: "" }),
      (own) => wait(own),
    ],
    shows: [
      "status: running · N ms\n[stdout]\nstep 0\nrun_id: run_ID; get_run waits for it, and stops it with cancel=true",
      "wrote 0 bytes to go0",
      "status: running · N ms · output since the last look\n[stdout]\nstep 1\nrun_id: run_ID; get_run waits for it, and stops it with cancel=true",
      "wrote 0 bytes to go1",
      "status: ok · N ms · output since the last look\n[value]\n'done'\n[stdout]\nstep 2",
    ],
    tokens: 120,
  },
  {
    name: "cancelled",
    calls: [
      () => python("import time\nprint('busy', flush=True)\nwhile True: time.sleep(0.02)", { wait: 1 }),
      (own) => wait(own, { cancel: true }),
    ],
    shows: [
      "status: running · N ms\n[stdout]\nbusy\nrun_id: run_ID; get_run waits for it, and stops it with cancel=true",
      "status: cancelled · N ms · stopped at line 3 · output since the last look",
    ],
    tokens: 60,
  },
  {
    name: "denied file",
    calls: [() => python("open('/etc/shadow').read()")],
    shows: [
      /^status: error · N ms\nFileNotFoundError: \[Errno 2\] No such file or directory: '\/etc\/shadow'\n\[notes\]\n- files of the user's machine are not visible here: rlm_load or upload_file brings one in\n\[traceback\]\n {2}File "<run \d+>", line 1, in <module>/,
    ],
    tokens: 77,
  },
  {
    name: "refused network",
    calls: [() => python("import urllib.request\nurllib.request.urlopen('https://example.com/').read()")],
    shows: [
      /^status: error · N ms\n[\w.]*URLError: .*\n\[notes\]\n- there is no network in this sandbox \(net\.enabled\): bring data in with rlm_load or upload_file, or tell the user\n\[traceback\]\n {2}… \d+ frames in urllib, http, socket\n/,
    ],
    tokens: 180,
  },
];

describe.skipIf(await lacking("claude", "process runner"))("what a model in Claude Code sees", () => {
  let home: ClaudeHome;
  let talk: Awaited<ReturnType<typeof converseAll>>;

  beforeAll(async () => {
    home = await newClaudeHome();
    // One conversation for all: starting Claude Code takes longer than all the calls.
    const scripts = outcomes.map(
      ({ name, calls }) =>
        [
          name,
          calls.map(
            (make): Turn =>
              (own) => [make(own)],
          ),
        ] as const,
    );
    talk = await converseAll(home, Object.fromEntries(scripts));
  });
  afterAll(() => home[Symbol.asyncDispose]());

  test.each(outcomes)("$name: the text and at most $tokens tokens", ({ name, shows, tokens, images = 0 }) => {
    const seen = talk.seenIn(name);
    const texts = seen.map(textOf);
    expect(texts.map(steady)).toEqual(
      shows.map((shown) => (typeof shown === "string" ? shown : expect.stringMatching(shown))),
    );
    expect(seen.filter(({ isError }) => isError)).toEqual([]);
    expect(seen.flatMap((one) => one.images)).toHaveLength(images);
    const ours = seen.flatMap((one) => one.texts).filter((text) => !text.startsWith("[Image: source: "));
    const taken = ours.reduce((sum, text) => sum + estimateTokens(text.trimEnd()), 0);
    expect(taken, texts.join("\n---\n")).toBeLessThanOrEqual(tokens);
  });

  test("nothing that is empty, and no id that nobody needs", () => {
    const all = talk.seen.map(textOf).join("\n");
    for (const noise of ["null", "[]", '""', "session_id", "sha256", "/usr/lib/python"])
      expect(all).not.toContain(noise);
  });

  test("the definitions of all tools take at most 1,900 tokens of the model's context", () => {
    const own = talk.definitions.filter(({ name }) => name.startsWith("mcp__codecell__"));
    expect(own).toHaveLength(13);
    expect(estimateTokens(JSON.stringify(own))).toBeLessThanOrEqual(1_900);
  });
});

/** Ids and times differ from run to run. */
function steady(text: string): string {
  return text.replace(/ \d+ ms/g, " N ms").replace(/run_[\w-]{16}/g, "run_ID");
}
