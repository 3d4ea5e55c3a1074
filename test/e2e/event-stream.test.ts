import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fastestRunner } from "../support/fastest-runner.ts";
import { eventsOf, type TestClient, TestService } from "../support/http-service.ts";

interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** One connection to the event stream; disposing it drops the connection. */
class Connection implements Disposable {
  readonly #gone = new AbortController();
  readonly #events: AsyncGenerator<StreamEvent>;
  readonly seen: StreamEvent[] = [];

  private constructor(response: Response, gone: AbortController) {
    this.#gone = gone;
    this.#events = eventsOf(response, { isOfRun: false });
  }

  static async open(client: TestClient, query = "", headers: Record<string, string> = {}): Promise<Connection> {
    const gone = new AbortController();
    const response = await client.fetch(`/v1/events${query}`, { headers, signal: gone.signal });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    return new Connection(response, gone);
  }

  /** Reads until an event of this type, which may be limited further. */
  async until(type: string, is: (data: Record<string, unknown>) => boolean = () => true): Promise<StreamEvent> {
    for (;;) {
      const { value, done } = await this.#events.next();
      if (done) throw new Error(`the stream ended before ${type}`);
      this.seen.push(value);
      if (value.event === type && is(value.data)) return value;
    }
  }

  [Symbol.dispose](): void {
    this.#gone.abort();
    this.#events.return(undefined).catch(() => {});
  }
}

// No audit is written: the stream does not need one.
const policy = { audit: { enabled: false } } as const;
let service: TestService;
let alice: TestClient;
let bob: TestClient;
let session: string;

beforeAll(async () => {
  service = await TestService.open({ runners: [fastestRunner()], policy });
  alice = await service.client("alice");
  bob = await service.client("bob", { scopes: ["admin"] });
  session = await alice.session("work");
});
afterAll(() => service?.[Symbol.asyncDispose]());

const runs = (events: readonly StreamEvent[]) =>
  events.filter(({ event }) => event.startsWith("run.")).map(({ event, data }) => `${event} ${data.run}`);

describe("the event stream of a service", () => {
  test("a dropped connection resumes, and nothing is lost or sent twice", async () => {
    const first = await Connection.open(alice);
    const { json } = await alice.run(session, "print(1)");
    const { id } = await first.until("run.ended");
    const changed = await first.until(
      "session.changed",
      ({ session: now }) => (now as { busy: boolean }).busy === false,
    );
    expect(changed.data).toMatchObject({ session_id: "work", session: { session_id: "work", runs: 1, state: "live" } });
    expect(json.status).toBe("ok");
    expect(runs(first.seen)).toEqual(["run.started 1", "run.ended 1"]);
    const started = first.seen.find(({ event }) => event === "run.started");
    expect(started?.data).toMatchObject({ type: "run.started", session_id: "work", code: "print(1)" });
    first[Symbol.dispose]();
    await alice.run(session, "print(2)");
    await alice.run(session, "print(3)");
    using again = await Connection.open(alice, "", { "last-event-id": id ?? "" });
    await again.until("run.ended", ({ run }) => run === 3);
    expect(runs(again.seen)).toEqual(["run.started 2", "run.ended 2", "run.started 3", "run.ended 3"]);
    await again.until("session.changed", ({ session: now }) => (now as { runs: number }).runs === 3);
  });

  test("tenants do not see each other; an admin sees all with their namespaces", async () => {
    using own = await Connection.open(bob);
    using all = await Connection.open(bob, "?namespaces=all");
    await alice.run(session, "1");
    await bob.session("mine");
    await bob.run("mine", "2");
    await own.until("run.ended");
    await all.until("run.ended", ({ session_id }) => session_id === "mine");
    expect(JSON.stringify(own.seen)).not.toContain('"work"');
    const aboutSessions = own.seen.filter(({ event }) => event !== "statistics");
    expect(aboutSessions.every(({ data }) => data.namespace === undefined && data.session_id === "mine")).toBe(true);
    const opened = all.seen.filter(({ event }) => event === "run.started").map(({ data }) => data);
    expect(opened.map(({ session_id }) => session_id)).toEqual(["work", "mine"]);
    expect(new Set(opened.map(({ namespace }) => namespace)).size).toBe(2);
    for (const query of ["?namespaces=all", `?namespace=${opened[1]?.namespace}`]) {
      expect((await alice.call("GET", `/v1/events${query}`)).status).toBe(403);
    }
  });

  test("a client that reads nothing costs bounded memory, and is told that it missed events", async () => {
    const socket = await service.socket();
    socket.write(`GET /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${alice.token}\r\n\r\n`);
    await once(socket, "readable");
    const key = (await service.manager.list()).find(({ id }) => id.endsWith(".work"))?.id ?? "";
    const code = "#".repeat(60_000);
    // far more than the service keeps and what sockets buffer
    for (let index = 0; index < 400; index++) {
      const facts = { run: index, language: "python", runner: "wasm", policy: "0".repeat(64), timeoutMs: 1 };
      service.manager.audit?.runStarted({ session: key, ...facts, code });
      if (index % 50 === 0) await new Promise(setImmediate);
    }
    expect(service.service.events.bytes).toBeLessThan(5 * 1024 * 1024);
    let text = "";
    for await (const chunk of socket) {
      text = `${text.slice(-100)}${chunk}`;
      if (text.includes("event: gap\n")) break;
    }
    expect(text).toContain("event: gap\n");
  });

  test("cells are measured while somebody reads, and only for those who may see them", async () => {
    using own = await Connection.open(alice);
    using all = await Connection.open(bob, "?namespaces=all");
    await alice.run(session, "1");
    const usage = await own.until("usage");
    expect(usage.data).toMatchObject({ type: "usage", session_id: session });
    expect(Object.keys(usage.data)).toEqual(expect.arrayContaining(["cpu_percent", "memory_bytes"]));
    const seen = await all.until("usage", ({ session_id }) => session_id === session);
    expect(seen.data).toMatchObject({ namespace: expect.any(String) });
  });

  test("the stream ends when the token is removed", async () => {
    const carol = await service.client("carol");
    using open = await Connection.open(carol);
    const ended = open.until("never").catch((error: unknown) => error);
    await service.tokens.remove("carol");
    await alice.call("GET", "/v1/sessions");
    expect(await ended).toBeInstanceOf(Error);
  });
});

const page = "<h1>hi</h1><script>alert(1)</script>";
const shown = `
class Page:
    def _repr_html_(self): return ${JSON.stringify(page)}
    def _repr_svg_(self): return "<svg xmlns='http://www.w3.org/2000/svg'></svg>"
Page()
`;

describe("links to displays", () => {
  let run: number;
  let link: Record<string, unknown>;

  async function displayOf(mimeType: string): Promise<Record<string, unknown>> {
    const { json } = await alice.call("GET", `/v1/sessions/${session}/history?outputs=true`);
    const last = json.history.at(-1);
    run = last.run;
    const found = last.outputs.events.find((event: { mime_type: string }) => event.mime_type === mimeType);
    return { run, display: found.display, mime_type: mimeType };
  }

  const create = (body: object) => alice.call("POST", `/v1/sessions/${session}/displays`, body);

  test("the page is sent behind a style sheet, with headers that let it run and load nothing", async () => {
    await alice.run(session, shown);
    const { status, json } = await create(await displayOf("text/html"));
    expect(status).toBe(201);
    link = json;
    const response = await service.anonymous().fetch(json.url);
    expect((await response.text()).split("\n").at(-1)).toBe(page);
    expect(json.url.endsWith(json.path)).toBe(true);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "private, no-store",
    });
    const svg = await create(await displayOf("image/svg+xml"));
    const picture = await service.anonymous().fetch(svg.json.url);
    expect(picture.headers.get("content-type")).toBe("image/svg+xml; charset=utf-8");
  });

  test("other types, displays that are not kept and sessions of others have no link", async () => {
    const found = await displayOf("text/html");
    expect((await create({ ...found, mime_type: "application/javascript" })).status).toBe(415);
    expect((await create({ ...found, mime_type: "text/plain" })).status).toBe(415);
    expect((await create({ ...found, run: run + 1 })).json.error.code).toBe("output_gone");
    expect((await bob.call("POST", `/v1/sessions/${session}/displays`, found)).status).toBe(404);
  });

  test("a forged link, one for another purpose, an expired one and one of a removed token show nothing", async () => {
    const stranger = service.anonymous();
    const path = String(link.path);
    const forged = path.replace(/\.(.)/, (_all, one: string) => `.${one === "A" ? "B" : "A"}`);
    expect((await stranger.call("GET", forged)).status).toBe(404);
    expect((await stranger.call("GET", path.replace("/v1/display/", "/v1/download/"))).status).toBe(404);
    const { json } = await create({ ...(await displayOf("text/html")), expires_in: 1 });
    await expect.poll(async () => (await stranger.call("GET", json.path)).json?.error.code).toBe("link_expired");
    await service.tokens.remove("alice");
    expect((await stranger.call("GET", path)).status).toBe(404);
  });
});
