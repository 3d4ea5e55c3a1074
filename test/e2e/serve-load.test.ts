import { readdir } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { descriptors as openFiles } from "../support/descriptors.ts";
import { availableRunners, type CodecellProcess } from "./codecell-process.ts";
import { ServiceDirectory } from "./running-service.ts";

const hasProcess = (await availableRunners()).includes("process");
const token = "the-token-of-the-load-test";
const clients = 50;
const rounds = 5;
const sessions = 10;
const shortLived = 5;

/** The output of a run. Leaked results would show: 500 of them are 8 MB. */
const outputBytes = 16_000;
/** V8 compiles about a megabyte of code late. A leak of 1.3 KB in each of 2,000 requests exceeds this limit. */
const heapGrowth = 2.5 * 2 ** 20;
/** Finds leaks outside the heap, such as buffers. Generous, because the allocator keeps pages for reuse. */
const residentGrowth = 48 * 2 ** 20;

/** Loaded into the service: reports its memory after garbage collection on SIGUSR2. */
const teller = `process.on("SIGUSR2", () => {
  for (let round = 0; round < 3; round++) gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.stderr.write("memory " + JSON.stringify({ heap: heapUsed + external, rss }) + "\\n");
});`;

describe.skipIf(!hasProcess)("the HTTP service under load", () => {
  let directory: ServiceDirectory;
  let server: CodecellProcess;
  let url: string;
  beforeAll(async () => {
    directory = await ServiceDirectory.make();
    const nodeArgs = ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(teller)}`];
    const started = await directory.serve(["--runner", "process"], { env: { CODECELL_TOKEN: token }, nodeArgs });
    server = started.server;
    url = started.facts.url;
  });
  afterAll(() => directory?.[Symbol.asyncDispose]());

  /** One request on a connection of this agent. Unlike those of `fetch`, the test can close them. */
  function ask(agent: Agent, method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const asked = request(`${url}${path}`, { agent, method, headers }, async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, text });
      });
      asked.once("error", reject);
      asked.end(body);
    });
  }

  async function client(agent: Agent, at: number): Promise<number[]> {
    const session = `/v1/sessions/s${at % sessions}`;
    const file = `${session}/files/f${at}.txt`;
    const statuses: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const code = `print("x" * ${outputBytes})\n${at} + ${round}`;
      const run = await ask(agent, "POST", `${session}/runs`, JSON.stringify({ code, when_busy: "wait", wait: 60 }));
      const put = await ask(agent, "PUT", file, code);
      const got = await ask(agent, "GET", file);
      const looked = await ask(agent, "GET", session);
      expect(JSON.parse(run.text)).toMatchObject({ status: "ok", value: String(at + round) });
      expect(got.text).toBe(code);
      statuses.push(...[run, put, got, looked].map(({ status }) => status));
    }
    return statuses;
  }

  async function load(): Promise<number[]> {
    const agent = new Agent({ keepAlive: true });
    try {
      const statuses = (await Promise.all(Array.from({ length: clients }, (_, at) => client(agent, at)))).flat();
      for (let at = 0; at < shortLived; at++) {
        const made = await ask(agent, "POST", "/v1/sessions", "{}");
        const { session_id: id } = JSON.parse(made.text);
        expect((await ask(agent, "DELETE", `/v1/sessions/${id}`)).status).toBe(204);
      }
      return statuses;
    } finally {
      agent.destroy();
    }
  }

  /** Sockets, files and pipes of the service, once two counts agree because closing has finished. */
  async function descriptors(): Promise<number> {
    let before = -1;
    const isSettled = async () => {
      const now = openFiles(server.pid).length;
      const isSame = now === before;
      before = now;
      return isSame;
    };
    await expect.poll(isSettled, { interval: 500, timeout: 20_000 }).toBe(true);
    return before;
  }

  /** What the service has open, if it is more than this. */
  function moreThan(count: number): string[] {
    const open = openFiles(server.pid);
    return open.length <= count ? [] : open;
  }

  function memory(): Promise<{ heap: number; rss: number }> {
    return new Promise((resolve) => {
      let printed = "";
      const take = (bytes: Buffer) => {
        printed += bytes;
        const told = /^memory (.*)\n/m.exec(printed)?.[1];
        if (told === undefined) return;
        server.child.stderr?.off("data", take);
        resolve(JSON.parse(told));
      };
      server.child.stderr?.on("data", take);
      server.child.kill("SIGUSR2");
    });
  }

  async function held() {
    const workspaces = await readdir(join(directory.path, "state", "workspaces"));
    return { descriptors: await descriptors(), workspaces: workspaces.length, ...(await memory()) };
  }

  test("answers every request of fifty clients, and leaks neither memory nor descriptors", {
    timeout: 600_000,
  }, async () => {
    const agent = new Agent();
    for (let at = 0; at < sessions; at++) {
      expect((await ask(agent, "POST", "/v1/sessions", JSON.stringify({ session_id: `s${at}` }))).status).toBe(201);
    }
    for (let round = 0; round < 2; round++) await load(); // warm-up: opens, caches and compiles what happens only once
    const before = await held();
    const statuses = [...(await load()), ...(await load())];
    expect(statuses.length).toBe(2 * clients * rounds * 4);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    const after = await held();
    // What is still being closed goes away; a leak stays, and the failure shows what it is.
    await expect.poll(() => moreThan(before.descriptors)).toEqual([]);
    expect(after.workspaces).toBe(before.workspaces);
    expect(after.heap - before.heap).toBeLessThan(heapGrowth);
    expect(after.rss - before.rss).toBeLessThan(residentGrowth);
    const { text } = await ask(agent, "GET", "/metrics");
    expect(text).toContain(`codecell_runs_total{status="ok"} ${4 * clients * rounds}`);
    expect(text).toContain(`codecell_sessions_live ${sessions}`);
    expect(text).toContain("codecell_runs_running 0");
    expect(text).toContain("codecell_http_requests_in_flight 1");
    expect(text).not.toMatch(/status="[45]\d\d"/);
    console.info(`heap ${before.heap} -> ${after.heap}, resident ${before.rss} -> ${after.rss}`);
  });
});
