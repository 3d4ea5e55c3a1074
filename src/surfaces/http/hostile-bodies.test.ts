import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type FakeRun, FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { type TestClient, TestService } from "../../../test/support/http-service.ts";

const MiB = 2 ** 20;
const nested = `[${"[[[]]],".repeat(MiB / 7)}0]`;
const picture = Buffer.alloc(2.5 * MiB, "picture");

/** `show`: displays 7.5 MiB, which are 10 MiB in a response. */
async function program(run: FakeRun) {
  if (run.code === "show") for (let at = 0; at < 3; at++) run.display("image/png", picture);
  return {};
}

let here: TestService;
let client: TestClient;
let other: TestClient;
let variables: Map<string, Uint8Array>;
beforeEach(async () => {
  variables = new Map();
  here = await TestService.open({ runners: [new FakeRunner({ program, variables })] });
  [client, other] = [await here.client("a"), await here.client("b")];
  await Promise.all([client.session("s"), other.session("s")]);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await here[Symbol.asyncDispose]();
});

const path = (name: string) => `/v1/sessions/s/variables/${name}`;
const headers = { "content-type": "application/json" };
const put = (name: string, body: string) => client.fetch(path(name), { method: "PUT", headers, body });
const bodyBytes = () => Number(/^codecell_http_body_bytes (\d+)$/m.exec(here.service.metricsText())?.[1]);

/** Sends a request and reads nothing of the response after its first bytes. Resolves to the status. */
async function unread(target: string): Promise<{ status: string; socket: Socket }> {
  const socket = await here.socket();
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${client.token}\r\n\r\n`);
  const [bytes] = (await once(socket, "data")) as [Buffer];
  socket.pause();
  return { status: bytes.toString("latin1", 9, 12), socket };
}

describe("a large value of a variable", () => {
  test("goes to the cell and back as it is, and the service does not parse it", async () => {
    const parsed = vi.spyOn(JSON, "parse");
    const written = vi.spyOn(JSON, "stringify");
    expect((await put("x", ` {\n"value" : ${nested} } \n`)).status).toBe(204);
    expect(
      Buffer.from(variables.get("x") ?? [])
        .toString()
        .trim(),
    ).toBe(nested);
    const answers = [
      await (await client.fetch(path("x"))).text(),
      await (
        await client.fetch("/v1/sessions/s/values", { method: "POST", headers, body: '{"expression":"x"}' })
      ).text(),
    ];
    expect(answers).toEqual([`{"name":"x","value": ${nested} }`, `{"value": ${nested} }`]);
    const longest = (texts: unknown[]) => Math.max(0, ...texts.map((text) => String(text ?? "").length));
    expect(longest(parsed.mock.calls.map(([text]) => text))).toBeLessThan(10_000);
    expect(longest(written.mock.results.map(({ value }) => value))).toBeLessThan(10_000);
  });

  test.each([
    ["no value", "{}"],
    ["another member", '{"value":1,"x":2}'],
    ["two values", '{"value":1,"value":2}'],
    ["a value that ends early", '{"value":[1}'],
    ["more after the object", '{"value":1}{}'],
    ["a value that is missing", '{"value":}'],
    ["a number that JSON does not have", '{"value":NaN}'],
    ["deep nesting", `{"value":${"[".repeat(129)}${"]".repeat(129)}}`],
    ["nothing", ""],
  ])("is refused if its body has %s", async (_what, body) => {
    expect((await put("x", body)).status).toBe(400);
    expect(variables.size).toBe(0);
  });

  test("that a program forged is refused instead of becoming a part of the response", async () => {
    for (const forged of ['1},"name":"y"', "NaN", '"', "1 2", "", "\xff"]) {
      variables.set("x", Buffer.from(forged, "latin1"));
      const { status, json } = await client.call("GET", path("x"));
      expect([forged, status, json.error.code]).toEqual([forged, 422, "variable_unserializable"]);
    }
  });
});

describe("many large bodies of one token", () => {
  test("are refused while their cell does not take them, and keep no other token out", async () => {
    const size = here.service.limits.jsonBytes - 1_000;
    const stuck = await TestService.open({ runners: [new FakeRunner({ program })], limits: { bodyWaitMs: 100 } });
    onTestFinished(() => stuck[Symbol.asyncDispose]());
    const hostile = await stuck.client("a");
    await hostile.session("s");
    const leaving = new AbortController();
    const body = `{"value":"${"x".repeat(size)}"}`;
    const statuses: number[] = [];
    const sent = Array.from({ length: 7 }, () =>
      hostile.fetch(path("x"), { method: "PUT", headers, body, signal: leaving.signal }).then(
        ({ status }) => statuses.push(status),
        () => {},
      ),
    );
    await expect.poll(() => statuses).toEqual([429, 429, 429]);
    expect((await (await stuck.client("b")).call("GET", "/v1/sessions")).status).toBe(200);
    leaving.abort();
    await Promise.all(sent);
  });

  test("are refused while nobody reads the responses, and keep no other token out", async () => {
    variables.set("x", Buffer.from(`"${"x".repeat(15 * MiB)}"`));
    const answers = [];
    for (let at = 0; at < 8; at++) answers.push(await unread(path("x")));
    expect(answers.map(({ status }) => status)).toEqual([...Array(4).fill("200"), ...Array(4).fill("429")]);
    expect(bodyBytes()).toBeLessThanOrEqual(64 * MiB);
    expect((await other.call("GET", path("x"))).json.value).toHaveLength(15 * MiB);
    for (const { socket } of answers) socket.destroy();
    await expect.poll(bodyBytes).toBe(0);
    expect((await client.call("GET", path("x"))).status).toBe(200);
  });

  test("wait for each other if they are results of runs, and none is lost", async () => {
    const { json } = await client.run("s", "show");
    const target = `/v1/sessions/s/runs/${json.run_id}`;
    const answers: { status: string; socket: Socket }[] = [];
    const all = Array.from({ length: 8 }, () => unread(target).then((answer) => answers.push(answer)));
    await expect.poll(() => answers.length).toBe(6);
    expect([bodyBytes() > 59 * MiB, bodyBytes() <= 64 * MiB]).toEqual([true, true]);
    const read = client.call("GET", target);
    while (answers.length < all.length) {
      const before = answers.length;
      for (const { socket } of answers) socket.destroy();
      await expect.poll(() => answers.length).toBeGreaterThan(before);
    }
    for (const { socket } of answers) socket.destroy();
    expect((await read).json.displays).toHaveLength(3);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["200"]));
    await expect.poll(bodyBytes).toBe(0);
  });
});
