import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { TokenStore } from "../dist/service/tenants/token-store.js";
import { row, timed } from "./harness.js";

const launcher = fileURLToPath(new URL("../bin/codecell.js", import.meta.url));
const hostileClients = fileURLToPath(new URL("hostile-clients.js", import.meta.url));
const heapMiB = 1024;

/** Compares the requests of one tenant with and without 64 hostile clients of another. */
export async function hostileTenant() {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateDir, 0o711); // if we are root, cells run as another user and must be able to enter
  const store = await TokenStore.open(join(stateDir, "tokens.json"));
  const create = async (name) =>
    (await store.create({ name, scopes: ["run"], sessions: 10, expiresMs: undefined }, Date.now())).token;
  const [hostile, other] = [await create("hostile"), await create("other")];
  const flags = ["serve", "--port", "0", "--json", "--runner", "process", "--state-dir", stateDir];
  const server = spawn(process.execPath, [`--max-old-space-size=${heapMiB}`, launcher, ...flags], {
    env: { ...process.env, CODECELL_TOKEN: undefined },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const agent = new Agent({ keepAlive: true });
  let attack;
  try {
    const [line] = await once(server.stdout, "data");
    const { url } = JSON.parse(String(line));
    for (const token of [hostile, other]) await send(agent, token, "POST", `${url}/v1/sessions`, { session_id: "s" });
    const measure = async (rounds) => {
      const samples = [];
      for (let round = 0; round < rounds; round++) {
        samples.push(await timed(() => send(agent, other, "POST", `${url}/v1/sessions/s/runs`, { code: "1+1" })));
        await pause(20);
      }
      return samples.sort((a, b) => a - b)[Math.floor(rounds * 0.99)];
    };
    await measure(50); // warm-up
    const calmMs = await measure(200);
    attack = spawn(process.execPath, [hostileClients, url, hostile], { stdio: ["ignore", "pipe", "inherit"] });
    await once(attack.stdout, "data");
    const attackedMs = await measure(200);
    const peakMiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;
    const detail = `p99 of a run: ${attackedMs.toFixed(1)} ms / ${calmMs.toFixed(1)} ms`;
    return [
      row("p99 beside 64 hostile clients of another tenant", attackedMs / calmMs, { atMost: 5 }, detail),
      row("its peak of memory / 1 GiB", peakMiB / 1024, { atMost: 0.6 }, `${Math.round(peakMiB)} MiB`),
    ];
  } finally {
    agent.destroy();
    for (const child of [attack, server]) {
      if (child && child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
    }
    await rm(stateDir, { recursive: true, force: true });
  }
}

function send(agent, token, method, url, body) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const sent = request(url, { agent, method, headers }, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      if (response.statusCode >= 300) reject(new Error(`${response.statusCode} ${text}`));
      else resolve(text);
    });
    sent.once("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}
