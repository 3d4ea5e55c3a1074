import { createHash } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { type TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe.skipIf(skipsProcess)("the HTTP service", () => {
  let service: TestService;
  let client: TestClient;
  let other: TestClient;
  let nowMs = Date.now();
  beforeAll(async () => {
    const policy = { proc: { timeout: "20s", disk: "4MiB" } } as const;
    service = await TestService.open({ runners: [processRunner()], policy, now: () => nowMs });
    client = await service.client("alice");
    other = await service.client("bob");
    await client.session("s");
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  const file = (path: string, init: Parameters<TestClient["fetch"]>[1] = {}) =>
    client.fetch(`/v1/sessions/s/files/${path}`, init);

  /** Sends the path as it is: `fetch` would resolve the dots. */
  function raw(path: string): Promise<{ status: number | undefined; text: string }> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(client.url);
      const asked = httpRequest(
        { hostname, port, path, headers: client.headers },
        async (response: IncomingMessage) => {
          let text = "";
          for await (const chunk of response) text += chunk;
          resolve({ status: response.statusCode, text });
        },
      );
      asked.once("error", reject);
      asked.end();
    });
  }

  test("runs code in a session that keeps its variables, and returns errors", async () => {
    expect((await client.run("s", "x = 6 * 7\nprint('hi')\nx")).json).toMatchObject({
      ...{ status: "ok", state: "kept", value: "42", stdout: "hi\n", error: null, runner: "process" },
    });
    expect((await client.run("s", "y = x / 0")).json).toMatchObject({
      ...{ status: "error", error: { type: "ZeroDivisionError" } },
    });
    expect((await client.run("s", "x")).json.value).toBe("42");
  });

  test("gives a program its arguments, name and standard input", async () => {
    const code = "import sys\nprint(sys.argv, __file__, sys.stdin.read())";
    const more = { args: ["-v", "ü"], file: "job.py", stdin: "data" };
    expect((await client.run("s", code, more)).json.stdout).toBe("['job.py', '-v', 'ü'] job.py data\n");
    expect((await client.run("s", "sys.argv, sys.stdin.read()")).json.value).toBe("([''], '')");
    for (const bad of [{ file: "/etc/passwd" }, { args: ["a\0"] }, { stdin: "x", stdin_stream: true }]) {
      expect((await client.run("s", "1", bad)).json).toMatchObject({ error: { code: "usage" } });
    }
    expect((await client.run("s", "1", { stdin: "x".repeat(2 ** 20 + 1) })).status).toBe(400);
  });

  describe("a run with streamed standard input", () => {
    const start = async (code: string) => {
      const { status, json } = await client.run("s", code, { stdin_stream: true });
      expect(status).toBe(202);
      const path = `/v1/sessions/s/runs/${json.run_id}`;
      return { path, stdin: `${path}/stdin`, result: async () => (await client.call("GET", `${path}?wait=20`)).json };
    };
    /** Sends `count` MiB in pieces, and counts what the service has taken. */
    const send = (path: string, count: number) => {
      const sent = { mebibytes: 0 };
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            if (sent.mebibytes === count) return controller.close();
            sent.mebibytes++;
            controller.enqueue(Buffer.alloc(1 << 20, "x"));
          },
        },
        { highWaterMark: 0 },
      );
      const init = { method: "PUT", body, duplex: "half" } as RequestInit;
      return { sent, answer: client.fetch(path, init as Parameters<TestClient["fetch"]>[1]) };
    };

    test("gets bytes of any size, as fast as it reads", async () => {
      const slow = "import sys, time\nfirst = len(sys.stdin.buffer.read(1))\ntime.sleep(1)\n";
      const run = await start(`${slow}first + len(sys.stdin.buffer.read())`);
      const { sent, answer } = send(run.stdin, 64);
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(sent.mebibytes).toBeLessThan(48);
      expect(await (await answer).json()).toEqual({ size: 64 << 20, is_complete: true });
      expect(await run.result()).toMatchObject({ status: "ok", value: String(64 << 20) });
    });

    test("may end without reading it, and the next run is unaffected", async () => {
      const run = await start("import sys\nlen(sys.stdin.buffer.read(10))");
      const response = await send(run.stdin, 16).answer.catch(() => undefined);
      // the client may see the end of the connection first: it is still sending
      if (response) expect(await response.json()).toMatchObject({ is_complete: false });
      expect(await run.result()).toMatchObject({ status: "ok", value: "10" });
      const late = await client.call("PUT", run.stdin);
      expect(late.json).toMatchObject({ error: { code: "usage" } });
      expect((await client.run("s", "sys.stdin.read()", { stdin: "own" })).json.value).toBe("'own'");
    });

    test("is interrupted if the client disconnects before the end", async () => {
      const run = await start("import sys\nprint('began', flush=True)\nlen(sys.stdin.buffer.read())");
      const { hostname, port } = new URL(client.url);
      const sending = httpRequest({ hostname, port, path: run.stdin, method: "PUT", headers: client.headers });
      sending.on("error", () => {});
      sending.write("half");
      await expect.poll(async () => (await client.call("GET", run.path)).json.stdout).toBe("began\n");
      sending.destroy();
      const result = await run.result();
      expect(result).toMatchObject({ status: "interrupted", state: "kept", value: null });
      expect(result.notes.join()).toContain("stdin failed");
    });

    test("gets its input once, and only if it was started for that", async () => {
      const { json } = await client.run("s", "1");
      expect((await client.call("PUT", `/v1/sessions/s/runs/${json.run_id}/stdin`)).status).toBe(400);
      const run = await start("import sys, time\nprint(sys.stdin.read())\ntime.sleep(30)");
      expect((await client.fetch(run.stdin, { method: "PUT", body: "one" })).status).toBe(200);
      expect((await client.fetch(run.stdin, { method: "PUT", body: "two" })).status).toBe(400);
      await expect.poll(async () => (await client.call("GET", run.path)).json.stdout).toBe("one\n");
      await client.call("POST", `${run.path}/cancel`);
      expect(await run.result()).toMatchObject({ status: "cancelled", stdout: "one\n" });
    });
  });

  test("sets, gets and lists variables", async () => {
    const value = { rows: [1, "zwei", null], größe: 1.5 };
    expect((await client.call("PUT", "/v1/sessions/s/variables/table", { value })).status).toBe(204);
    expect((await client.call("GET", "/v1/sessions/s/variables/table")).json).toEqual({ name: "table", value });
    const { variables } = (await client.call("GET", "/v1/sessions/s/variables")).json;
    expect(variables).toContainEqual(expect.objectContaining({ name: "table", type: "dict" }));
    expect((await client.call("GET", "/v1/sessions/s/variables/nope")).json.error.code).toBe("variable_missing");
    await client.run("s", "lock = __import__('threading').Lock()");
    expect((await client.call("GET", "/v1/sessions/s/variables/lock")).status).toBe(422);
  });

  test("makes checkpoints, rolls back and forks", async () => {
    await client.run("s", "z = 1");
    expect((await client.call("POST", "/v1/sessions/s/checkpoints", { name: "one" })).status).toBe(201);
    await client.run("s", "z = 2");
    expect((await client.call("POST", "/v1/sessions/s/fork", { session_id: "f" })).json).toMatchObject({
      session_id: "f",
      shared_cell: 2,
    });
    expect((await client.call("POST", "/v1/sessions/s/checkpoints/one/rollback")).json).toMatchObject({ name: "one" });
    expect((await client.run("s", "z")).json.value).toBe("1");
    expect((await client.run("f", "z")).json.value).toBe("2");
    expect((await client.call("GET", "/v1/sessions/s/checkpoints")).json.checkpoints).toMatchObject([{ name: "one" }]);
    expect((await client.call("DELETE", "/v1/sessions/s/checkpoints/one")).status).toBe(204);
    expect((await client.call("POST", "/v1/sessions/s/checkpoints/one/rollback")).status).toBe(404);
    expect((await client.call("DELETE", "/v1/sessions/f")).status).toBe(204);
    expect((await client.call("GET", "/v1/sessions/f")).status).toBe(404);
  });

  test("accepts uploads as raw bytes, and serves files whole or in ranges", async () => {
    const text = "0123456789".repeat(20_000);
    const put = await file("data/in.txt", { method: "PUT", body: text });
    expect(await put.json()).toEqual({ name: "data/in.txt", size: 200_000 });
    expect((await client.run("s", "len(open('data/in.txt').read())")).json.value).toBe("200000");
    const whole = await file("data/in.txt");
    expect(await whole.text()).toBe(text);
    expect(whole.headers.get("etag")).toBe(`"${sha256(text)}"`);
    const part = await file("data/in.txt", { headers: { range: "bytes=199995-" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 199995-199999/200000"]);
    expect(await part.text()).toBe("56789");
    const stale = await file("data/in.txt", { headers: { range: "bytes=0-1", "if-range": '"other"' } });
    expect([stale.status, (await stale.text()).length]).toEqual([200, 200_000]);
    const beyond = await file("data/in.txt", { headers: { range: "bytes=200000-" } });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */200000"]);
    await beyond.text();
    const head = await file("data/in.txt", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "200000", ""]);
    expect((await file("data/in.txt", { method: "DELETE" })).status).toBe(204);
    expect((await file("data/in.txt")).status).toBe(404);
  });

  test("refuses an upload over the policy's disk limit, and keeps no part of it", async () => {
    const large = Buffer.alloc(5 * 1024 * 1024);
    expect((await file("large.bin", { method: "PUT", body: large })).status).toBe(413);
    const body = new Blob([large]).stream();
    const streamed = { method: "PUT", body, duplex: "half" } as RequestInit & { headers?: Record<string, string> };
    expect((await file("large.bin", streamed)).status).toBe(413);
    const { files } = (await client.call("GET", "/v1/sessions/s/files?prefix=large")).json;
    expect(files).toEqual([]);
  });

  test("keeps no part of an upload whose client disconnects", async () => {
    const { hostname, port } = new URL(client.url);
    const path = "/v1/sessions/s/files/half.bin";
    const headers = { ...client.headers, "content-length": 1_000_000 };
    const upload = httpRequest({ hostname, port, path, method: "PUT", headers });
    upload.on("error", () => {});
    await new Promise((resolve) => upload.write("x".repeat(100_000), resolve));
    upload.destroy();
    // the metrics count a request when it ends, in whatever way
    const admin = await service.client("watcher", { scopes: ["metrics"] });
    const isOver = async () =>
      /PUT",route="[^"]+\{path\.\.\.\}",status="499"/.test((await admin.call("GET", "/metrics")).text);
    await expect.poll(isOver, { timeout: 20_000 }).toBe(true);
    const { json } = await client.run(
      "s",
      "import os; sorted(name for name in os.listdir() if 'half' in name or '.part' in name)",
    );
    expect(json.value).toBe("[]");
  });

  test.each([
    "/v1/sessions/s/files/../../../etc/passwd",
    "/v1/sessions/s/files/%2e%2e/%2e%2e/etc/passwd",
    "/v1/sessions/s/files/..%2f..%2fetc%2fpasswd",
    "/v1/sessions/s/files/%2fetc%2fpasswd",
    "/v1/sessions/s/files/a%00b",
    "/v1/sessions/s/files/a%5c..%5cb",
    "/v1/sessions/s/files//etc/passwd",
    "/v1/sessions/..%2f..%2fx/files/a",
    "/v1/download/../sessions",
  ])("serves no file for the path %s", async (path) => {
    const { status, text } = await raw(path);
    expect([400, 403, 404]).toContain(status);
    expect(text).not.toContain("root:");
  });

  test("refuses variables that Python could not have, and ones that belong to the interpreter", async () => {
    for (const name of ["class", "None", "__builtins__", "__name__"]) {
      expect([name, (await client.call("PUT", `/v1/sessions/s/variables/${name}`, { value: 1 })).status]).toEqual([
        name,
        400,
      ]);
      expect([name, (await client.call("GET", `/v1/sessions/s/variables/${name}`)).status]).toEqual([name, 400]);
    }
    expect((await client.run("s", "len('ok')")).json.value).toBe("2");
  });

  test("refuses uploads that no listing would show, and says when a listing is truncated", async () => {
    const deep = (parts: number) => Array.from({ length: parts }, () => "d").join("/");
    expect((await file(deep(65), { method: "PUT", body: "x" })).status).toBe(403);
    expect((await file(deep(64), { method: "PUT", body: "x" })).status).toBe(200);
    const listing = async (kind: string) => (await client.call("GET", `/v1/sessions/s/${kind}?prefix=d/`)).json;
    expect((await listing("files")).files).toMatchObject([{ name: deep(64) }]);
    expect(await listing("artifacts")).toMatchObject({ artifacts: [{ name: deep(64) }], truncated: false });
    await client.run("s", "import os, shutil\nshutil.rmtree('d')\nos.makedirs('d/' * 70)");
    expect([(await listing("files")).truncated, (await listing("artifacts")).truncated]).toEqual([true, true]);
    await client.run("s", "import shutil\nshutil.rmtree('d')");
  });

  test("does not follow symlinks that code made", async () => {
    await client.run("s", "import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/etc', 'dir')");
    expect((await file("link")).status).toBe(403);
    expect((await file("dir/passwd")).status).toBe(403);
    expect((await client.call("POST", "/v1/sessions/s/links", { path: "link" })).status).toBe(403);
  });

  test("returns a download link for every artifact, valid for its content and a limited time", async () => {
    const { json } = await client.run("s", "open('out.csv', 'w').write('a,b')");
    const [artifact] = json.artifacts;
    expect(artifact).toMatchObject({ name: "out.csv", mime_type: "text/csv; charset=utf-8", sha256: sha256("a,b") });
    const listed = (await client.call("GET", "/v1/sessions/s/artifacts?prefix=out")).json.artifacts;
    expect(listed).toMatchObject([{ name: "out.csv", sha256: sha256("a,b") }]);

    const anonymous = service.anonymous();
    const answer = await anonymous.fetch(artifact.download_url);
    expect([answer.status, await answer.text()]).toEqual([200, "a,b"]);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment; filename="out.csv"/);
    expect(await (await anonymous.fetch(artifact.download_url, { headers: { range: "bytes=2-" } })).text()).toBe("b");
    expect((await anonymous.fetch(`${artifact.download_url.slice(0, -1)}x`)).status).toBe(404);

    await client.run("s", "open('out.csv', 'w').write('c,d')");
    expect((await anonymous.call("GET", artifact.download_url)).json.error.code).toBe("link_stale");
    const { json: link } = await client.call("POST", "/v1/sessions/s/links", { path: "out.csv", expires_in: 60 });
    expect((await anonymous.fetch(link.url)).status).toBe(200);
    const before = nowMs;
    nowMs += 61_000;
    expect((await anonymous.call("GET", link.url)).json.error.code).toBe("link_expired");
    nowMs = before;
  });

  test("serves an HTML page that code wrote as a plain download", async () => {
    await client.run("s", "open('page.html', 'w').write('<script>1</script>')");
    const body = { path: "page.html", disposition: "inline" };
    const { json } = await client.call("POST", "/v1/sessions/s/links", body);
    const { headers } = await service.anonymous().fetch(json.url);
    expect(headers.get("content-type")).toBe("application/octet-stream");
    expect(headers.get("content-disposition")).toMatch(/^attachment/);
    expect(headers.get("content-security-policy")).toContain("sandbox");
  });

  test("invalidates the links of a token together with the token", async () => {
    const gone = await service.client("gone");
    await gone.session("s");
    const { json } = await gone.run("s", "open('x', 'w').write('x')");
    const { download_url } = json.artifacts[0];
    expect((await service.anonymous().fetch(download_url)).status).toBe(200);
    await service.tokens.remove("gone");
    expect((await service.anonymous().fetch(download_url)).status).toBe(404);
  });

  describe.each(["legacy", "modern"] as const)("as an MCP server to a %s client", (era) => {
    async function connected(owner: TestClient): Promise<Client> {
      const mode = era === "legacy" ? ("legacy" as const) : { pin: "2026-07-28" };
      const mcp = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      const requestInit = { headers: owner.headers };
      await mcp.connect(new StreamableHTTPClientTransport(new URL(`${owner.url}/mcp`), { requestInit }));
      onTestFinished(() => mcp.close());
      return mcp;
    }
    const facts = async (mcp: Client, name: string, args: Record<string, unknown>) =>
      (await mcp.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>;

    test("uses the same sessions and returns the same links", async () => {
      const mcp = await connected(client);
      const code = "open('mcp.txt', 'w').write('from mcp')\nshared = 'both'";
      const answer = await facts(mcp, "run_python", { code, session_id: "s" });
      const [artifact] = answer.artifacts as { download_url: string }[];
      expect(await (await service.anonymous().fetch(artifact?.download_url ?? "")).text()).toBe("from mcp");
      expect((await client.run("s", "shared")).json.value).toBe("'both'");
      const { runs } = (await client.call("GET", "/v1/sessions/s/runs")).json;
      expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toContain(answer.run_id);
    });

    test("shows nothing of another tenant", async () => {
      const mine = await facts(await connected(client), "run_python", { code: "1" });
      const mcp = await connected(other);
      for (const [name, args] of [
        ["run_python", { code: "1", session_id: mine.session_id }],
        ["get_run", { run_id: mine.run_id }],
        ["list_artifacts", { session_id: mine.session_id }],
        ["close_session", { session_id: mine.session_id }],
        ["checkpoint", { action: "fork", session_id: mine.session_id }],
      ] as const) {
        const { isError, content } = await mcp.callTool({ name, arguments: args });
        expect([name, isError]).toEqual([name, true]);
        expect(JSON.stringify(content)).toMatch(/session_unknown|run_gone/);
        expect(JSON.stringify(content)).not.toMatch(/ns-[0-9a-f]{12}/);
      }
      const { resources } = await mcp.listResources();
      expect(resources.filter(({ uri }) => uri.includes(String(mine.session_id)) || uri.includes("/s/"))).toEqual([]);
      await client.call("DELETE", `/v1/sessions/${mine.session_id}`);
    });
  });
});
