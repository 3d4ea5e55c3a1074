import { readdirSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { availableRunners, CodecellProcess, launcher } from "./codecell-process.ts";

const hasProcess = (await availableRunners()).includes("process");
const token = "the-token-of-the-load-test";
const clients = 50;
const rounds = 5;
const sessions = 10;

describe.skipIf(!hasProcess)("the HTTP service under load", () => {
  let directory: string;
  let server: CodecellProcess;
  let url: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "codecell-load-"));
    await chmod(directory, 0o711); // as root, cells run under another uid and pass through
    const place = ["--state-dir", join(directory, "state"), "--runtime-dir", join(directory, "run")];
    const argv = ["serve", "--port", "0", "--json", "--runner", "process", ...place];
    const env = { CODECELL_TOKEN: token, CODECELL_POLICY: "" };
    server = new CodecellProcess(launcher, argv, { cwd: directory, env });
    url = await new Promise<string>((resolve, reject) => {
      server.child.stdout?.once("data", (bytes) => resolve(JSON.parse(String(bytes)).url));
      void server.finished.then((end) => reject(new Error(JSON.stringify(end))));
    });
  });
  afterAll(async () => {
    server.child.kill("SIGTERM");
    await server.finished;
    await rm(directory, { recursive: true, force: true });
  });

  /** One request on a connection of this agent: unlike those of `fetch`, they close when the test says so. */
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
      const code = `${at} + ${round}`;
      const run = await ask(agent, "POST", `${session}/runs`, JSON.stringify({ code, when_busy: "wait", wait: 60 }));
      const put = await ask(agent, "PUT", file, code);
      const got = await ask(agent, "GET", file);
      const looked = await ask(agent, "GET", session);
      expect(JSON.parse(run.text)).toMatchObject({ status: "ok", result: String(at + round) });
      expect(got.text).toBe(code);
      statuses.push(...[run, put, got, looked].map(({ status }) => status));
    }
    return statuses;
  }

  async function load(): Promise<number[]> {
    const agent = new Agent({ keepAlive: true });
    try {
      return (await Promise.all(Array.from({ length: clients }, (_, at) => client(agent, at)))).flat();
    } finally {
      agent.destroy();
    }
  }

  /** Sockets, files and pipes of the service; two looks agree when what was closed is gone. */
  async function descriptors(): Promise<number> {
    let before = -1;
    const isSettled = async () => {
      const now = readdirSync(`/proc/${server.pid}/fd`).length;
      const isSame = now === before;
      before = now;
      return isSame;
    };
    await expect.poll(isSettled, { interval: 500, timeout: 20_000 }).toBe(true);
    return before;
  }

  test("answers every request of fifty clients, and holds no more afterwards than before", {
    timeout: 240_000,
  }, async () => {
    const agent = new Agent();
    for (let at = 0; at < sessions; at++) {
      expect((await ask(agent, "POST", "/v1/sessions", JSON.stringify({ id: `s${at}` }))).status).toBe(201);
    }
    await load(); // whatever is opened once is open after this
    const before = await descriptors();
    const statuses = await load();
    expect(statuses.length).toBe(clients * rounds * 4);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(await descriptors()).toBeLessThanOrEqual(before);
    const { text } = await ask(agent, "GET", "/metrics");
    expect(text).toContain(`codecell_runs_total{status="ok"} ${2 * clients * rounds}`);
    expect(text).toContain("codecell_runs_running 0");
    expect(text).toContain("codecell_http_requests_in_flight 1");
    expect(text).not.toMatch(/status="[45]\d\d"/);
  });
});
