import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import {
  bothLayouts,
  describeAttacks,
  forging,
  idle,
  type Layout,
  openCells,
  run,
  skipsProcess,
  within,
} from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** Code that sends messages as the worker. `@id` is the id of the run that it is in. */
const forgeries: readonly (readonly [string, string])[] = [
  ["that the start failed", "forge({'t': 'failed', 'reason': 'no'})"],
  ["that the worker is ready, again", "[forge({'t': 'ready'}) for _ in range(1000)]"],
  ["that a copy was resumed", "forge({'t': 'resumed'})"],
  ["confirmations of interrupts", "[forge({'t': kind}) for kind in ('noticed', 'calmed') for _ in range(500)]"],
  ["that no copy can be made", "forge({'t': 'unparked'})"],
  ["that a copy exists", "[forge({'t': 'copied', 'pid': pid}) for pid in (0, 1, 2, -1, '2', 10**30, None)]"],
  ["an end with an unknown status", "forge({'t': 'done', 'id': @id, 'status': 'root'})"],
  ["an end whose status is an object", "forge({'t': 'done', 'id': @id, 'status': {}})"],
  ["an end with an exit code out of range", "forge({'t': 'done', 'id': @id, 'status': 'ok', 'exitCode': 300})"],
  ["an end whose error is incomplete", "forge({'t': 'done', 'id': @id, 'status': 'error', 'error': {'name': 3}})"],
  [
    "an end nested too deeply to encode",
    "forge(b'{\"t\":\"done\",\"id\":@id,\"status\":' + b'[' * 900 + b']' * 900 + b'}')",
  ],
  ["JSON nested too deeply to decode", "forge(b'[' * 150000)"],
  ["a number of 100000 digits", "forge(b'{\"t\":\"done\",\"id\":' + b'9' * 100000 + b'}')"],
  ["an id that is a string", "forge({'t': 'done', 'id': '@id', 'status': 'ok'})"],
  ["a header that is not an object", "forge([1, 2]); forge(b'null'); forge(b''); forge(b'{')"],
  ["a kind that is an object", "forge({'t': {}, 'id': @id}); forge({'t': [], 'id': @id}); forge({'id': @id})"],
  ["a display without its fields", "forge({'t': 'display', 'id': @id})"],
  ["a display whose number is NaN", 'forge(b\'{"t":"display","id":@id,"display":NaN,"mime":"a","more":false}\')'],
  [
    "text that grows when it is re-encoded",
    'forge(b\'{"t":"display","id":@id,"display":1,"more":false,"mime":"\' + \'é\'.encode() * 90000 + b\'"}\')',
  ],
  [
    "text of control characters that grow when re-encoded",
    'forge(b\'{"t":"done","id":@id,"status":"ok","result":"\' + b\'\\x7f\' * 150000 + b\'"}\')',
  ],
  ["data for a run", "forge({'t': 'data', 'id': @id}, bytes(100000))"],
  [
    "a reply without a request",
    "forge({'t': 'reply', 'id': @id, 'ok': True}); forge({'t': 'reply', 'id': 4294967297, 'ok': True})",
  ],
  [
    "output and credit, which only the supervisor sends",
    "forge({'t': 'out', 'id': @id, 'stream': 'stdout'}, b'x'); forge({'t': 'credit', 'id': @id, 'bytes': 2**60})",
  ],
  [
    "a header longer than its packet",
    "os.writev(_worker.replies, [_worker.token, (2**32 - 1).to_bytes(4, 'little'), b'{}'])",
  ],
  ["packets without the token", "[os.write(_worker.replies, os.urandom(n)) for n in (1, 16, 19, 20, 21, 60000)]"],
];

/** A run is compiled as the file `<run ID>`. That this is the right id shows in the run that is ended too early below. */
const currentRun = `current_run = (lambda: 0).__code__.co_filename.strip("<run >")`;

/** The same supervisor reads the messages in both layouts, so one of them has its forgeries. */
const forgedIn = (layout: Layout) =>
  isThorough || layout.options.layout !== "direct" ? forgeries : forgeries.slice(0, 1);

describeAttacks(bothLayouts, "a forged message in the $name", (layout) => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "5s" } });
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());
  // a fresh interpreter for each attack, in one cell as long as none of them ends it
  beforeEach(async () => {
    if (session.isAlive) await session.reset();
    else session = await codecell.openSession();
  });

  test.each(forgedIn(layout))("(%s) does not stop the session, and the variables are kept", async (_, code) => {
    await run(session, "before = 'kept'");
    const forgery = `exec(${JSON.stringify(code)}.replace("@id", current_run))`;
    const result = await within(10_000, run(session, `${forging}\n${currentRun}\n${forgery}\ntime.sleep(0.05)`));
    expect(["ok", "error"]).toContain(result.status);
    expect(await within(10_000, run(session, "before"))).toMatchObject({ status: "ok", value: "'kept'" });
  });

  test("written to every descriptor arrives only in the program's own output", async () => {
    const code = `import os
for fd in range(256):
    for data in (b"\\0" * 64, b'{"t":"ready"}', (4 << 20).to_bytes(4, "little") * 2):
        try: os.set_blocking(fd, False); os.write(fd, data)
        except OSError: pass`;
    await within(10_000, run(session, code));
    expect(await within(20_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
  });
});

describe.skipIf(skipsProcess)("a cell that lies to the library", () => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await openCells({ name: "", options: { layout: "template" } }, { proc: { timeout: "5s" } });
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());

  test("by ending its run too early is believed, and the session stays usable", async () => {
    await using session = await codecell.openSession();
    await run(session, "1");
    await session.reset();
    const early = "forge({'t': 'done', 'id': int(current_run), 'status': 'ok'})\nwhile True: time.sleep(0.01)";
    const result = await within(5_000, run(session, `${forging}\n${currentRun}\n${early}`));
    expect(result).toMatchObject({ status: "ok" });
    const next = await within(20_000, run(session, "1"));
    expect(["ok", "timeout"]).toContain(next.status);
    expect(await within(20_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
  });

  test("or steals the worker's requests does not hang the caller", async () => {
    await using session = await codecell.openSession();
    const thief = `${forging}
def steal():
    while True: os.read(_worker.requests, 100000)
for _ in range(8): threading.Thread(target=steal, daemon=True).start()`;
    await run(session, thief);
    const next = await within(20_000, run(session, "1", { timeoutMs: 1_000 }));
    expect(["ok", "timeout", "crashed"]).toContain(next.status);
    await within(20_000, session.reset());
    expect(await within(20_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
  });

  test("about a variable's size does not break the list of variables", async () => {
    await run(session, "class Huge:\n    nbytes = 2 ** 70\nhuge = Huge()");
    expect(await session.variables()).toContainEqual(expect.objectContaining({ name: "huge" }));
  });

  test.each(["'x'", "'[' * 1000000", "'{\"a\": 1e999999999}' * 2"])(
    "with the invalid JSON %s causes an error with a code",
    async (json) => {
      await session.reset();
      await run(session, `import json\njson.dumps = lambda *a, **k: ${json}`);
      await expect(session.get("1")).rejects.toBeInstanceOf(CodecellError);
      await expect(session.variables()).rejects.toBeInstanceOf(CodecellError);
    },
  );

  test("and sends more data than requested ends only its own session", async () => {
    await using liar = await codecell.openSession();
    await run(
      liar,
      `${forging}\n_worker.request = lambda kind, header: [forge({'t': 'data', 'id': header['id']}, bytes(150000)) for _ in range(100)]`,
    );
    await expect(within(15_000, liar.variables())).rejects.toMatchObject({ code: "cell_lost" });
    await session.reset();
    expect(await run(session, "1")).toMatchObject({ status: "ok" });
  });

  test("and floods the host with displays uses a bounded amount of the host's memory", async () => {
    await session.reset();
    const { id } = await run(session, forging);
    const before = process.memoryUsage().rss;
    // 150 MB
    const flood = `for _ in range(1000):
    forge({'t': 'display', 'id': ${id + 1}, 'display': 1, 'mime': 'm' * 150000, 'more': False})`;
    await within(20_000, run(session, flood));
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 2 ** 20);
  });

  test("and raises an error of a million wide characters still returns a result and keeps the state", async () => {
    await session.reset();
    await run(session, "before = 'kept'");
    const result = await run(session, "raise ValueError('\\U0001F600' * 1000000)");
    expect(result).toMatchObject({ status: "error", state: "kept", error: { name: "ValueError" } });
    expect(await run(session, "before")).toMatchObject({ value: "'kept'" });
  });

  test("answers or refuses each of a hundred simultaneous requests", async () => {
    await session.reset();
    const answers = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => session.get(String(n))));
    for (const [n, answer] of answers.entries()) {
      if (answer.status === "fulfilled") expect(answer.value).toBe(n);
      else expect(answer.reason).toMatchObject({ code: "too_large" });
    }
    expect(await run(session, "1")).toMatchObject({ status: "ok" });
    await idle(1);
  });
});
