// Data for the plot in the README: the first result of a new sandbox, and the next run in a warm session.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Codecell, parsePolicy } from "../dist/index.js";
import { containerRunner } from "../dist/runners/container/runner.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { wasmRunner } from "../dist/runners/wasm/runner.js";
import { interleave, timed } from "./harness.js";
import { startHttpKernel } from "./http-kernel.js";

const python = "/usr/bin/python3";
const launcher = fileURLToPath(new URL("../bin/codecell.js", import.meta.url));
const rounds = { first: 15, restarted: 15, warm: 200, warmUp: 100 };
const spacingMs = 4;

/**
 * Medians in milliseconds. `engine`: a Docker client, the address for the `docker` command, and an image with Python.
 * Without it, the measurements that need Docker are skipped.
 */
export async function latency(engine) {
  const directory = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(directory, 0o755); // if we are root, the cell runs as another user
  const runners = {
    process: [processRunner()],
    wasm: [wasmRunner({ runtimeDir: directory })],
    ...(engine ? { container: [containerRunner({ engine: "docker", image: engine.image })] } : {}),
  };
  const opened = {};
  const closing = [];
  try {
    for (const [name, list] of Object.entries(runners)) {
      opened[name] = await Codecell.open({ policy: parsePolicy({}), runners: list, stateDir: join(directory, name) });
      closing.push(opened[name]);
    }
    return { first: await firstResult(opened, engine, directory), next: await nextRun(opened, engine) };
  } finally {
    for (const codecell of closing.reverse()) await codecell.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Time from the start to the output of `print(1)`. The cleanup is not included. */
async function firstResult(opened, engine, stateHome) {
  const command = [launcher, "run", "--runner", "process", "-c", "print(1)"];
  const fresh = (codecell) => async () => {
    let session;
    const time = await timed(async () => {
      session = await codecell.session();
      await ran(session, "print(1)");
    });
    await session.close();
    return time;
  };
  return await measured({
    python: () => timed(() => finished(python, ["-c", "print(1)"])),
    ...Object.fromEntries(Object.entries(opened).map(([name, codecell]) => [name, fresh(codecell)])),
    cli: () => timed(() => finished(process.execPath, command, { XDG_STATE_HOME: stateHome })),
    ...(engine ? { docker: () => timed(() => docker(engine, ["run", "--rm", ...programIn(engine, "print(1)")])) } : {}),
  });
}

/** `x += 1` in a session that keeps `x`, with pauses between runs as a model makes; and programs that start for each call. */
async function nextRun(opened, engine) {
  const sessions = {};
  for (const [name, codecell] of Object.entries(opened)) {
    sessions[name] = await codecell.session();
    await ran(sessions[name], "x = 0");
  }
  const kernel = engine && (await startHttpKernel(engine.client, { program: "least.py", from: engine.image }));
  try {
    const again = (run) => async () => {
      await pause(spacingMs);
      return timed(run);
    };
    const warm = {
      ...Object.fromEntries(Object.entries(sessions).map(([name, one]) => [name, again(() => ran(one, "x += 1"))])),
      ...(kernel ? { http: again(() => kernel.post("x += 1")) } : {}),
    };
    for (let round = 0; round < rounds.warmUp; round++) for (const run of Object.values(warm)) await run();
    const restarted = {
      python: () => timed(() => finished(python, ["-c", "x = 1"])),
      ...(kernel ? { exec: () => timed(() => docker(engine, ["exec", kernel.id, "python3", "-c", "x = 1"])) } : {}),
    };
    return { ...(await interleave(warm, rounds.warm)), ...(await interleave(restarted, rounds.restarted)) };
  } finally {
    await kernel?.close();
    for (const session of Object.values(sessions)) await session.close();
  }
}

/** Runs each variant once before measuring, so that files are cached and snapshots and templates exist. */
async function measured(variants) {
  for (const measure of Object.values(variants)) await measure();
  return await interleave(variants, rounds.first);
}

async function ran(session, code) {
  const result = await session.run(code);
  if (result.status !== "ok") throw new Error(result.error?.traceback ?? result.status);
}

function programIn({ image }, code) {
  return ["--network", "none", "--entrypoint", "python3", image, "-c", code];
}

function docker({ host }, argv) {
  return finished("docker", argv, { DOCKER_HOST: host });
}

async function finished(program, argv, env = {}) {
  const options = { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] };
  const [code] = await once(spawn(program, argv, options), "exit");
  if (code !== 0) throw new Error(`${program} ${argv.join(" ")} exited with ${code}`);
}
