import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Codecell, parsePolicy } from "../dist/index.js";
import { containerRunner } from "../dist/runners/container/runner.js";
import { SessionManager } from "../dist/sessions/manager.js";
import { bareContainer, benchEngine, image } from "./engine.js";
import { interleave, ms, row, timed } from "./harness.js";
import { openProcess } from "./open.js";

const spacingMs = 4;
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
const openContainers = () => Codecell.open({ policy: parsePolicy(limits), runners: [runner()] });

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
    const { bare, ours } = await interleave(variants, 25);
    const detail = `${ms(ours)} / ${ms(bare)}`;
    return [row("cold container / bare create, attach, start", ours / bare, { atMost: 1.15 }, detail)];
  } finally {
    await codecell.close();
  }
}

/**
 * A run in a session that is warm, where each side has a pause before it, as calls of a model have. The kernel behind
 * HTTP is the least that one can cost: no supervisor, no limits, no streams, one connection kept open on a socket in a
 * shared directory, past the engine. The other way into a container without a network is an exec by the engine per call.
 */
async function warm(client) {
  const directory = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(directory, 0o777);
  await copyFile(new URL("http-kernel.py", import.meta.url), join(directory, "kernel.py"));
  const [inContainer, inProcess] = [await openContainers(), await openProcess(limits)];
  const http = await bareContainer(client, {
    command: ["python3", "-I", "/run/kernel/kernel.py"],
    hostConfig: { Mounts: [{ Type: "bind", Source: directory, Target: "/run/kernel", ReadOnly: false }] },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await once(http.stream, "data");
    const [container, bare] = [await inContainer.openSession(), await inProcess.openSession()];
    const post = (code) => postCode(join(directory, "http.sock"), agent, code);
    for (const start of [post, (code) => container.run(code).result, (code) => bare.run(code).result])
      await start("x = 0");
    const figures = await interleave(
      {
        container: () => spaced(() => container.run("x += 1").result),
        process: () => spaced(() => bare.run("x += 1").result),
        http: () => spaced(() => post("x += 1")),
      },
      300,
    );
    const { container: ours, process: tier, http: kernel } = figures;
    const { exec } = await interleave({ exec: () => timed(() => execIn(client, http.id)) }, 15);
    return [
      row("warm run, container / process tier", ours / tier, { atMost: 5 }, `${ms(ours)} / ${ms(tier)}`),
      row("least HTTP kernel in a container / warm run", kernel / ours, { atLeast: 8 }, `${ms(kernel)} / ${ms(ours)}`),
      row("engine's exec per call / warm run", exec / ours, { atLeast: 8 }, `${ms(exec)} / ${ms(ours)}`),
    ];
  } finally {
    agent.destroy();
    await http.remove();
    await Promise.all([inContainer.close(), inProcess.close()]);
    await rm(directory, { recursive: true, force: true });
  }
}

/** The first reply of a session from the pool, against the whole of `docker run` for the same line. */
async function pooled() {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(stateDir, 0o711);
  const policy = parsePolicy({ ...limits, session: { pool: 2, limit: 100 } });
  const manager = await SessionManager.open({ policy, runners: [runner()], stateDir });
  try {
    const figures = await interleave(
      {
        pooled: async () => {
          await manager.poolFilled();
          let session;
          const time = await timed(async () => {
            session = await manager.getOrCreate();
            await (await session.run("print(1)")).result;
          });
          await manager.close(session.id);
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

function postCode(socketPath, agent, code) {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, agent, method: "POST", path: "/run" }, async (answer) => {
      const pieces = [];
      for await (const piece of answer) pieces.push(piece);
      const { status } = JSON.parse(Buffer.concat(pieces).toString());
      if (status === "ok") resolve();
      else reject(new Error(status));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ code }));
  });
}
