import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { connect, type RemoteCodecell, type RemoteSession } from "../../src/client/index.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { CodeSession } from "../../src/sessions/code-session.ts";
import type { Session } from "../../src/sessions/session.ts";
import { openApiDocument } from "../../src/surfaces/http/openapi.ts";
import { routes } from "../../src/surfaces/http/routes.ts";
import { TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

test("a session of the client is a code session", () => {
  expectTypeOf<RemoteSession>().toExtend<CodeSession>();
});

/** Operations for pages, editors, routers and operators, which no method of the client calls. In the order of the OpenAPI document. */
const forPages = [
  ...["me", "listUsage", "getUsage", "exportSession", "listNetwork", "listModels", "getTrajectory", "appendStdin"],
  ...["complete", "createDisplayLink", "showDisplay", "getLineage", "streamEvents", "ready"],
  ...["listGateways", "getStatistics"],
];

/** What both kinds of session have. */
type Either = Session | RemoteSession;
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (data: Uint8Array) => new TextDecoder().decode(data);
const failure = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => "done",
    ({ code }) => code,
  );

describe.skipIf(skipsProcess)("sessions of the library and of the client", () => {
  let service: TestService;
  let codecell: RemoteCodecell;
  beforeAll(async () => {
    const policy = { session: { persist: true, undo: 1 }, net: { enabled: true, allowlist: ["a.example"] } };
    service = await TestService.open({ runners: [processRunner()], policy, audit: true });
    const { url, token = "" } = await service.client("all", { scopes: ["admin"], sessions: 50 });
    codecell = await connect({ url, token });
  });
  afterAll(async () => {
    await codecell?.close();
    await service?.[Symbol.asyncDispose]();
  });

  const kinds: [string, (id?: string) => Promise<Either>][] = [
    ["the library", (id) => service.manager.session(id)],
    ["the client", (id) => codecell.session(id)],
  ];

  describe.each(kinds)("a session of %s", (name, open) => {
    const id = name.replace(" ", "-");
    let session: Either;
    beforeAll(async () => {
      session = await open(id);
    });
    afterAll(() => session?.close({ forget: true }));

    test("runs code whose result has the same fields and values", async () => {
      const code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('a.txt', 'w').write('hello')\n6 * 7";
      const result = await session.run(code);
      expect(result).toMatchObject({
        ...{ status: "ok", state: "kept", stdout: "out\n", stderr: "err\n", value: "42", runner: "process" },
        ...{ exitCode: 0, error: undefined, truncated: false, stdoutBytes: 4, stderrBytes: 4, displays: [] },
        ...{ leftOutBytes: { stdout: 0, stderr: 0 }, recoveredTo: undefined, leftOut: [], notes: [] },
        artifacts: [{ name: "a.txt", size: 5, mimeType: "text/plain; charset=utf-8", run: result.id }],
        receipt: { runner: "process", policyHash: expect.stringMatching(/^[0-9a-f]{64}$/) },
        usage: { sentBytes: 0, receivedBytes: 0, wallMs: expect.any(Number) },
      });
      expect(result.receipt.rules.find(({ rule }) => rule === "proc.memory")?.by).toBeTypeOf("string");
      expect(Date.now() - (result.artifacts[0]?.modifiedMs ?? 0)).toBeLessThan(60_000);
      const failed = await session.run("1 / 0");
      expect(failed).toMatchObject({ id: result.id + 1, status: "error", error: { name: "ZeroDivisionError" } });
    });

    test("takes language, arguments, file name, standard input and timeout", async () => {
      const code = "import sys\nprint(sys.argv, sys.stdin.read())";
      const one = await session.run(code, { args: ["-v"], file: "job.py", stdin: "in" });
      expect(one.stdout).toBe("['job.py', '-v'] in\n");
      expect((await session.run("cat", { language: "bash", stdin: bytes("bytes\0") })).stdout).toBe("bytes\0");
      async function* parts() {
        yield "a";
        yield bytes("b");
      }
      const { status, value, notes } = await session.run("input() * 2", { stdin: parts() });
      expect({ status, value, notes }).toEqual({ status: "ok", value: "'abab'", notes: [] });
      const slow = await session.run("import time\ntime.sleep(60)", { timeout: "3s" });
      expect(slow).toMatchObject({ status: "timeout", stoppedAtLine: 2, state: "kept" });
      expect(await failure(session.run("1", { timeout: "soon" }))).toBe("usage");
      expect(await failure(session.run(7 as unknown as string))).toBe("usage");
    });

    test("streams events, is interrupted and cancelled, and settles although nobody reads", async () => {
      const code = "import time\nprint('ready', flush=True)\ntime.sleep(60)";
      const run = session.run(code);
      const seen = [];
      for await (const event of run) {
        seen.push(event);
        run.interrupt();
      }
      expect(seen).toEqual([{ type: "stdout", text: "ready\n" }]);
      expect(await run).toMatchObject({ status: "interrupted", stdout: "ready\n", state: "kept" });
      // a second reader after the end
      const again = [];
      for await (const event of run) again.push(event);
      expect(again).toEqual(seen);
      const stopping = new AbortController();
      const second = session.run(code, { signal: stopping.signal });
      for await (const _ of second) stopping.abort();
      expect((await second).status).toBe("cancelled");
    });

    test("shows displays in events and in the result", async () => {
      const code = "print('x')\nclass A:\n  def _repr_html_(self): return '<b>'\ndisplay(A())";
      const run = session.run(code);
      const displays = [];
      for await (const event of run) if (event.type === "display") displays.push(event);
      const { displays: kept } = await run;
      expect(kept.find(({ mime }) => mime === "text/html")).toMatchObject({ stdoutOffset: 2 });
      expect(kept.map(({ mime, data }) => [mime, textOf(data)])).toEqual(
        displays.map(({ mime, data }) => [mime, textOf(data)]),
      );
    });

    test("refuses a second run, or queues it, in the order of the calls", async () => {
      const first = session.run("order = ['a']\nimport time; time.sleep(0.3)");
      for (const letter of ["b", "c", "d"]) void session.run(`order.append('${letter}')`, { whenBusy: "queue" });
      const last = session.run("order", { whenBusy: "queue" });
      expect((await first).status).toBe("ok");
      expect((await last).value).toBe("['a', 'b', 'c', 'd']");
    });

    test("reads and writes variables", async () => {
      await session.set("rows", [3, 1, { x: null }]);
      await session.set("raw", bytes("\0\xff"));
      await session.set("text", "é");
      expect(await session.get("rows")).toEqual([3, 1, { x: null }]);
      expect(await session.get("sum(rows[:2])")).toBe(4);
      expect([...(await session.getBytes("raw"))]).toEqual([...bytes("\0\xff")]);
      expect(textOf(await session.getBytes("text"))).toBe("é");
      expect(await session.preview("'x' * 1000", { maxBytes: 200 })).toMatchObject({ form: "json", isCut: true });
      const rows = (await session.variables()).find((one) => one.name === "rows");
      expect(rows).toMatchObject({ name: "rows", type: "list" });
      expect(await failure(session.get("nothing"))).toBe("variable_missing");
      expect(await failure(session.get("object()"))).toBe("variable_unserializable");
      expect(await failure(session.set("f", () => 1))).toBe("variable_unserializable");
      expect(await failure(session.set("big", 1n))).toBe("variable_unserializable");
      expect(await failure(session.set("sizes", [1, Number.NaN]))).toBe("variable_unserializable");
      await session.run("exact = 2**53 + 1");
      expect(await failure(session.get("exact"))).toBe("variable_unserializable");
      expect(await failure(session.get("[exact]"))).toBe("variable_unserializable");
      expect((await session.preview("exact")).text).toBe("9007199254740993");
      expect(await failure(session.set("class", 1))).toBe("usage");
      await session.reset();
      expect(await failure(session.get("rows"))).toBe("variable_missing");
    });

    test("moves files", async () => {
      async function* chunks() {
        for (let at = 0; at < 3; at++) yield new Uint8Array(100_000).fill(at);
      }
      expect(await session.upload("data/ä #?%2f.bin", chunks())).toEqual({ size: 300_000 });
      expect(await session.upload("empty", new Uint8Array(0))).toEqual({ size: 0 });
      const files = await session.files();
      const { data, size } = await files.read("data/ä #?%2f.bin", { start: 99_999, end: 100_001 });
      expect([[...data], size]).toEqual([[0, 1], 300_000]);
      expect((await files.read("data/ä #?%2f.bin", { start: 300_000 })).data.byteLength).toBe(0);
      expect((await files.read("empty")).data.byteLength).toBe(0);
      await using stream = await files.stream("data/ä #?%2f.bin");
      let total = 0;
      for await (const chunk of stream.data) total += chunk.byteLength;
      expect([total, stream.size]).toEqual([300_000, 300_000]);
      expect(Math.abs(stream.modifiedMs - Date.now())).toBeLessThan(60_000);
      const page = await session.listFiles({ prefix: "data/" });
      expect(page).toMatchObject({ files: [{ path: "data/ä #?%2f.bin", size: 300_000 }], truncated: false });
      expect(await files.stat("empty")).toMatchObject({ path: "empty", size: 0 });
      const { artifacts } = await session.artifacts({ prefix: "data/" });
      expect(artifacts).toMatchObject([{ name: "data/ä #?%2f.bin", size: 300_000 }]);
      expect(await failure(files.read("data/ä #?%2f.bin", { maxBytes: 10 }))).toBe("too_large");
      expect(await failure(files.read("none"))).toBe("file_missing");
      for (const path of ["../x", "/etc/passwd", "a//b", "", ".", "a/../../b"])
        expect([path, await failure(files.read(path))]).toEqual([path, "file_refused"]);
      await session.removeFile("empty");
      expect(await failure(files.remove("empty"))).toBe("file_missing");
    });

    test("has checkpoints, forks, history, saves and facts about its cell", async () => {
      await session.set("x", 1);
      expect(await session.checkpoint("one")).toMatchObject({ name: "one" });
      await session.set("x", 2);
      const fork = await session.fork(`${id}-fork`);
      expect(await fork.get("x")).toBe(2);
      await fork.close({ forget: true });
      await session.rollback("one");
      expect(await session.get("x")).toBe(1);
      const kept = session.checkpoints;
      expect(typeof kept === "function" ? await kept.call(session) : kept).toMatchObject([{ name: "one" }]);
      await session.forgetCheckpoint("one");
      expect(await failure(session.rollback("one"))).toBe("checkpoint_unknown");
      const undone = await session.run("x = 3");
      expect(await session.undo()).toEqual({ run: undone.id, left: 0 });
      expect(await session.get("x")).toBe(1);
      expect(await failure(session.undo())).toBe("nothing_to_undo");
      const policy = await session.updatePolicy({ net: { deny: ["internal.example"] } });
      expect(policy).toMatchObject([{ rule: "net.deny", direction: "narrower" }]);
      await session.run("y = 'saved'");
      expect(await session.save()).toMatchObject({ runner: "process", saved: expect.arrayContaining(["x", "y"]) });
      expect((await session.history(1)).map(({ code, status }) => [code, status])).toEqual([["y = 'saved'", "ok"]]);
      expect(await session.languages()).toContain("python");
      expect(await session.pythonVersion()).toMatch(/^3\./);
      expect((await session.usage()).oomKills).toBe(0);
      expect((await session.receipt()).runner).toBe("process");
    });

    test("lets programs call functions of this process", async () => {
      const calls: unknown[] = [];
      const exposed = await session.expose({
        price: {
          description: "The price of a fruit.",
          input: z.object({ fruit: z.string(), count: z.number().default(2) }),
          call: ({ fruit, count }, { run, sessionId }) => {
            calls.push([fruit, count, typeof run, sessionId]);
            if (fruit === "stone") throw new RangeError("no fruit");
            if (fruit === "none") return { total: Number.NaN };
            return { total: count * 1.5 };
          },
        },
      });
      expect((await session.run("price('apple')['total']")).value).toBe("3");
      const failed = await session.run("price(fruit='stone', count=1)");
      expect(failed.error).toMatchObject({
        name: "codecell_host.ValueError",
        message: expect.stringContaining("no fruit"),
      });
      expect((await session.run("price('none')")).error).toMatchObject({
        name: "codecell_host.HostError",
        message: expect.stringContaining("price returned a value that is not JSON: NaN at total"),
      });
      expect(calls.map((call) => (call as unknown[]).slice(0, 3))).toEqual([
        ["apple", 2, "number"],
        ["stone", 1, "number"],
        ["none", 2, "number"],
      ]);
      await exposed[Symbol.asyncDispose]();
      expect((await session.run("price('apple')")).error?.name).toBe("NameError");
    });

    test("names its errors alike", async () => {
      expect(await failure(session.run("1", { language: "cobol" as "bash" }))).toMatch(
        /^(?:usage|language_unavailable)$/,
      );
      expect(await failure(session.run("1", { file: "a/b" }))).toBe("usage");
      expect(await failure(open("../x"))).toBe("usage");
    });
  });

  test("the client reaches every route of the OpenAPI document", async () => {
    const reached = new Set<string>();
    const routed = openApiDocument(routes, "1") as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const operations = Object.entries(routed.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({
        ...{ id: operationId, method: method.toUpperCase() },
        pattern: new RegExp(`^${path.replaceAll(/\{path\}/g, ".+").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
        isOpen: path.includes("{path}"),
      })),
    );
    const spy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const { pathname } = new URL(String(input));
      const found = operations.filter(({ method, pattern }) => method === init?.method && pattern.test(pathname));
      const one = found.find(({ isOpen }) => !isOpen) ?? found[0];
      if (response.ok && one) reached.add(one.id);
      return response;
    };
    const { url, token = "" } = await service.client("routes", { scopes: ["admin"] });
    await using box = await connect({ url, token, fetch: spy });
    const session = await box.session("routes");
    await box.list();
    await box.info("routes");
    const exposed = await session.expose({ one: { description: "One.", input: { type: "object" }, call: () => 1 } });
    const run = session.run("one()", { stdin: bytes("x") });
    for await (const _ of run);
    const { runId } = await run;
    await exposed[Symbol.asyncDispose]();
    expect((await session.runs()).map((one) => one.runId)).toContain(runId);
    expect((await session.run("1")).value).toBe("1");
    expect((await session.getRun(runId)).status).toBe("ok");
    expect((await session.attachRun(runId)).runId).toBe(runId);
    await session.runReceipt(runId);
    await session.cancelRun(runId);
    const long = session.run("import time; print('ready', flush=True); time.sleep(60)");
    for await (const _ of long) long.interrupt(); // before that, it may still wait for its turn, and would be cancelled
    expect((await long).status).toBe("interrupted");
    await session.set("x", 1);
    await session.set("raw", bytes("x"));
    await session.get("x");
    await session.get("x + 1");
    await session.getBytes("raw");
    await session.variables();
    await session.upload("a.txt", bytes("hello"));
    const files = await session.files();
    await files.read("a.txt");
    await session.listFiles();
    await session.artifacts();
    const link = await session.link("a.txt", { expiresInMs: 60_000 });
    const file = await box.download(link.url);
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.data) chunks.push(chunk);
    expect(textOf(chunks[0] ?? new Uint8Array())).toBe("hello");
    await session.removeFile("a.txt");
    await session.checkpoint("c");
    await session.checkpoints();
    await session.rollback("c");
    await session.forgetCheckpoint("c");
    await session.undo().catch(() => {});
    await session.policy();
    await session.updatePolicy({ net: { deny: ["x.example"] } });
    await session.usage();
    await session.save();
    await session.restore();
    await session.history();
    await (await session.fork()).close({ forget: true });
    await session.reset();
    const page = await box.audit({ types: ["run.ended"], session: "routes" });
    expect(page.events.every(({ type }) => type === "run.ended")).toBe(true);
    for await (const { type } of box.followAudit({ from: "start", limit: 1 })) {
      expect(type).toBeTypeOf("string");
      break;
    }
    expect((await box.verifyAudit()).isSound).toBe(true);
    expect(await box.metrics()).toContain("codecell_http_requests_total");
    expect(await box.openApi()).toMatchObject({ openapi: "3.1.0" });
    await session.close({ forget: true });
    expect(operations.map(({ id }) => id).filter((id) => !reached.has(id))).toEqual(forPages);
  });
});
