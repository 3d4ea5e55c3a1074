import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { Agent, createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { Codecell } from "../dist/sessions/codecell.js";
import { interleave, ms, row, timed } from "./harness.js";

const launcher = fileURLToPath(new URL("../bin/codecell.js", import.meta.url));
const token = "the-token-of-the-benchmark";
const spacingMs = 4;

/** Compares a run over HTTP with the same run through the library and with a server that does nothing. */
export async function http() {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateDir, 0o711); // if we are root, cells run as another user and must be able to enter
  const agent = new Agent({ keepAlive: true });
  const manager = await Codecell.open({ policy: parsePolicy({}), runners: [processRunner()], stateDir });
  const echo = createServer((_request, response) => response.end("{}")).listen(0, "127.0.0.1");
  const server = spawn(
    process.execPath,
    [launcher, "serve", "--port", "0", "--json", "--runner", "process", "--state-dir", stateDir],
    {
      env: { ...process.env, CODECELL_TOKEN: token },
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  try {
    const [line] = await once(server.stdout, "data");
    const { url } = JSON.parse(String(line));
    await send(agent, "POST", `${url}/v1/sessions`, { session_id: "bench" });
    const session = await manager.session();
    const spaced = async (work) => {
      await pause(spacingMs);
      return timed(work);
    };
    const code = { code: "1+1" };
    const variants = {
      library: () => spaced(async () => session.run("1+1")),
      echo: () => spaced(() => send(agent, "POST", `http://127.0.0.1:${echo.address().port}/`, code)),
      http: () => spaced(() => send(agent, "POST", `${url}/v1/sessions/bench/runs`, code)),
      health: () => spaced(() => send(agent, "GET", `${url}/v1/health`)),
    };
    await interleave(variants, 50); // warm-up
    const figures = await interleave(variants, 300);
    const detail = `${ms(figures.http)} / ${ms(figures.library)}; a server that does nothing takes ${ms(figures.echo)}, /v1/health ${ms(figures.health)}`;
    return [row("a run over HTTP / the library", figures.http / figures.library, { atMost: 3 }, detail)];
  } finally {
    agent.destroy();
    echo.close();
    server.kill("SIGTERM");
    await once(server, "exit");
    await manager[Symbol.asyncDispose]();
    await rm(stateDir, { recursive: true, force: true });
  }
}

function send(agent, method, url, body) {
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
