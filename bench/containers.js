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

/** Containers through our runner, against the engine alone, the process tier, a kernel behind HTTP and `docker run`. */
export async function containers() {
  const { client, lacking } = await benchEngine();
  if (!client) {
    console.error(`skipped: the containers need an engine: ${lacking}`);
    return [];
  }
  return [...(await cold(client)), ...(await warm(client)), ...(await pooled())];
}

const runner = () => containerRunner({ engine: "docker", image });
const openContainers = () => LiveSessions.open({ policy: parsePolicy(limits), runners: [runner()] });

/**
 * A cold container until its Python has answered. Bare prints one line from the same image, with no hardening, limits or
 * mounts; ours is the session that is ready for code: hardened, supervised, its interpreter forked. What neither pays for
 * in the clock is the removal.
 */
async function cold(client) {
  const codecell = await openContainers();
  const command = ["python3", "-I", "-S", "-c", "print(1)"];
  const measured = (start) => async () => {
    const began = performance.now();
    const close = await start();
    const time = performance.now() - began;
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
 * A run in a session that is warm, where each side has had as many before it, and a pause, as calls of a model have. What
 * it is held against is the usual design: FastAPI and an IPython kernel in a container, one connection kept open; as it
 * comes, and with its history turned off. Told beside it, without a bound: the same with IPython in the server's own
 * process, and the least that HTTP can cost, which is a server of thirty lines on a socket past the engine; neither has
 * limits, streams, or anything that could end a run.
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
    // How V8 and Python come to know a program is in the first runs of every process, whatever the design.
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

/** The least one always; the usual design where its packages can be fetched. */
async function httpKernels(client) {
  const least = await startHttpKernel(client, { program: "least.py" });
  const kernels = [{ ...least, name: "least HTTP kernel in a container", bound: {} }];
  try {
    const from = await fastapiImage(client);
    const published = await hasBridge(client);
    const way = published ? "port" : "socket";
    const start = (kind) => {
      const args = (place) => [kind, published ? "tcp" : "unix", String(place)];
      return startHttpKernel(client, { program: "fastapi_kernel.py", args, from, published });
    };
    const name = `FastAPI + IPython kernel (${way})`;
    kernels.push({ ...(await start("usual")), name, bound: { atLeast: 8 } });
    kernels.push({ ...(await start("process")), name: `${name}, no history`, bound: { atLeast: 8 } });
    kernels.push({ ...(await start("shell")), name: `FastAPI + IPython in process (${way})`, bound: {} });
  } catch (error) {
    console.error(`skipped: FastAPI + IPython kernel, its image or container could not be made: ${error.message}`);
  }
  return kernels;
}

/** The first reply of a session from the pool, against the whole of `docker run` for the same line. */
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

/** A program in a container that runs already, by the Engine API and not by its command line. */
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
  if (code !== 0) throw new Error(`docker run ended with ${code}`);
}

async function spaced(work) {
  await pause(spacingMs);
  return timed(work);
}
