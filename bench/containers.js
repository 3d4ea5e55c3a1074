import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parsePolicy } from "../dist/index.js";
import { containerRunner } from "../dist/runners/container/runner.js";
import { Codecell } from "../dist/sessions/codecell.js";
import { LiveSessions } from "../dist/sessions/live-sessions.js";
import { bareContainer, benchEngine, image } from "./engine.js";
import { interleave, ms, row, timed } from "./harness.js";
import { fastapiImage, hasBridge, startHttpKernel } from "./http-kernel.js";
import { openProcess } from "./open.js";

const spacingMs = 4;
const warmUpRounds = 200;
const limits = { proc: { memory: "512MiB" } };

/** Compares the container runner with the engine alone, the process runner, a kernel over HTTP and `docker run`. */
export async function containers() {
  const { client, lacking } = await benchEngine();
  if (!client) {
    console.error(`skipped containers: ${lacking}`);
    return [];
  }
  return [...(await cold(client)), ...(await warm(client)), ...(await pooled())];
}

const runner = () => containerRunner({ engine: "docker", image });
const openContainers = () => LiveSessions.open({ policy: parsePolicy(limits), runners: [runner()] });

/**
 * Time until the Python of a cold container responds. `bare` prints one line from the same image, without hardening,
 * limits or mounts. `ours` is a session that is ready for code. Neither includes the removal of the container.
 */
async function cold(client) {
  const codecell = await openContainers();
  const command = ["python3", "-I", "-S", "-c", "print(1)"];
  const measured = (start) => async () => {
    const startedAt = performance.now();
    const close = await start();
    const time = performance.now() - startedAt;
    await close();
    return time;
  };
  try {
    const variants = {
      bare: measured(async () => {
        const { stream, remove } = await bareContainer(client, { command });
        await once(stream, "data");
        return remove;
      }),
      ours: measured(async () => {
        const session = await codecell.openSession();
        return () => session.close();
      }),
    };
    for (const measure of Object.values(variants)) await measure();
    const { bare, ours } = await interleave(variants, 60);
    const detail = `${ms(ours)} / ${ms(bare)}`;
    return [row("cold container / bare create, attach, start", ours / bare, { atMost: 1.15 }, detail)];
  } finally {
    await codecell.close();
  }
}

/**
 * Compares a run in a warm session with the usual design: FastAPI and an IPython kernel in a container, over a kept-alive
 * connection, with and without history. All variants get the same warm-up, and a pause between runs, as a model makes.
 * Two more variants have no bound, because they have no limits, no streams and no way to stop a run: IPython in the
 * server's own process, and a minimal HTTP server of thirty lines on a Unix socket.
 */
async function warm(client) {
  const [inContainer, inProcess] = [await openContainers(), await openProcess(limits)];
  const kernels = await httpKernels(client);
  try {
    const [container, bare] = [await inContainer.openSession(), await inProcess.openSession()];
    for (const session of [container, bare]) await session.run("x = 0");
    const variants = {
      container: () => container.run("x += 1"),
      process: () => bare.run("x += 1"),
      ...Object.fromEntries(kernels.map(({ name, post }) => [name, () => post("x += 1")])),
    };
    // V8 and Python optimize code during its first runs, so these are not measured.
    for (let round = 0; round < warmUpRounds; round++) for (const run of Object.values(variants)) await run();
    const spacedOut = Object.entries(variants).map(([name, run]) => [name, () => spaced(run)]);
    const figures = await interleave(Object.fromEntries(spacedOut), 300);
    const { container: ours, process: tier } = figures;
    const { exec } = await interleave({ exec: () => timed(() => execIn(client, kernels[0].id)) }, 15);
    const against = (name, bound, other) =>
      row(`${name} / warm run`, other / ours, bound, `${ms(other)} / ${ms(ours)}`);
    return [
      row("warm run, container / process tier", ours / tier, { atMost: 5 }, `${ms(ours)} / ${ms(tier)}`),
      ...kernels.map(({ name, bound }) => against(name, bound, figures[name])),
      against("engine's exec per call", { atLeast: 8 }, exec),
    ];
  } finally {
    for (const { close } of kernels) await close();
    await Promise.all([inContainer.close(), inProcess.close()]);
  }
}

/** Starts the minimal HTTP kernel and, if its packages can be downloaded, the usual design. */
async function httpKernels(client) {
  const minimal = await startHttpKernel(client, { program: "least.py" });
  const kernels = [{ ...minimal, name: "minimal HTTP kernel in a container", bound: {} }];
  try {
    const from = await fastapiImage(client);
    const published = await hasBridge(client);
    const transport = published ? "port" : "socket";
    const start = (kind) => {
      const args = (address) => [kind, published ? "tcp" : "unix", String(address)];
      return startHttpKernel(client, { program: "fastapi_kernel.py", args, from, published });
    };
    const name = `FastAPI + IPython kernel (${transport})`;
    kernels.push({ ...(await start("usual")), name, bound: { atLeast: 8 } });
    kernels.push({ ...(await start("process")), name: `${name}, no history`, bound: { atLeast: 8 } });
    kernels.push({ ...(await start("shell")), name: `FastAPI + IPython in process (${transport})`, bound: {} });
  } catch (error) {
    console.error(
      `skipped the FastAPI + IPython kernel: its image or container could not be created: ${error.message}`,
    );
  }
  return kernels;
}

/** Compares the first result of a pooled session with `docker run` for the same code. */
async function pooled() {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateDir, 0o711);
  const policy = parsePolicy({ ...limits, session: { pool: 2, limit: 100 } });
  const manager = await Codecell.open({ policy, runners: [runner()], stateDir });
  try {
    const figures = await interleave(
      {
        pooled: async () => {
          await manager.poolFilled();
          let session;
          const time = await timed(async () => {
            session = await manager.session();
            await session.run("print(1)");
          });
          await manager.closeSession(session.id);
          return time;
        },
        docker: async () => {
          await manager.poolFilled();
          return timed(dockerRun);
        },
      },
      15,
    );
    const figure = figures.pooled / figures.docker;
    return [
      row(
        "first reply from the pool / docker run",
        figure,
        { atMost: 1 / 20 },
        `${ms(figures.pooled)} / ${ms(figures.docker)}`,
      ),
    ];
  } finally {
    await manager[Symbol.asyncDispose]();
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** Runs a program in a running container through the Engine API, without the `docker` command. */
async function execIn(client, id) {
  const Cmd = ["python3", "-I", "-S", "-c", "x = 1; print(x)"];
  const path = `/containers/${id}/exec`;
  const { Id } = await client.json({ method: "POST", path, json: { AttachStdout: true, Cmd } });
  await client.bytes({ method: "POST", path: `/exec/${Id}/start`, json: { Detach: false, Tty: false } });
}

async function dockerRun() {
  const args = ["run", "--rm", "--network", "none", "--entrypoint", "python3", image, "-I", "-S", "-c", "print(1)"];
  const child = spawn("docker", args, { stdio: ["ignore", "pipe", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`docker run exited with ${code}`);
}

async function spaced(work) {
  await pause(spacingMs);
  return timed(work);
}
