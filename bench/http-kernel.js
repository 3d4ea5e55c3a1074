import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { imageContext } from "../dist/runners/container/image/image-context.js";
import { findImage } from "../dist/runners/container/image/image-list.js";
import { followProgress } from "../dist/runners/container/image/image-progress.js";
import { bareContainer, image } from "./engine.js";

const port = 8080;
const buildMs = 600_000;
const readyMs = 60_000;
const files = new URL("http-kernels/", import.meta.url);

/** Starts a kernel with an HTTP API in a container. It has one kept-alive connection, and each run is a request. */
export async function startHttpKernel(client, { program, args = () => [], from = image, published = false }) {
  const directory = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(directory, 0o777);
  await copyFile(new URL(program, files), join(directory, "kernel.py"));
  const command = ["python3", "-I", "/run/kernel/kernel.py", ...args(published ? port : "/run/kernel/http.sock")];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const close = async () => {
    agent.destroy();
    await container?.remove();
    await rm(directory, { recursive: true, force: true });
  };
  let container;
  try {
    container = await bareContainer(client, {
      ...{ command, from, published: published ? port : undefined },
      env: ["HOME=/tmp", "IPYTHONDIR=/tmp/ipython", "JUPYTER_RUNTIME_DIR=/tmp/jupyter"],
      hostConfig: { Mounts: [{ Type: "bind", Source: directory, Target: "/run/kernel", ReadOnly: false }] },
    });
    await once(container.stream, "data");
    const address = published
      ? { host: "127.0.0.1", port: await publishedPort(client, container.id) }
      : { socketPath: join(directory, "http.sock") };
    const post = (code) => postCode({ ...address, agent }, code);
    await waitUntilReady(post);
    return { id: container.id, post, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The image of the usual design: ours plus Debian's packages of FastAPI and the IPython kernel. Rebuilt only on changes. */
export async function fastapiImage(client) {
  const dockerfile = await readFile(new URL("Dockerfile", files), "utf8");
  const version = createHash("sha256").update(`${image}\n${dockerfile}`).digest("hex").slice(0, 12);
  const name = `codecell-bench-fastapi:${version}`;
  if ((await findImage(client, name)) !== undefined) return name;
  console.error(`building ${name}: FastAPI and an IPython kernel, from Debian's packages …`);
  const answer = await client.stream({
    ...{ method: "POST", path: "/build", timeoutMs: buildMs },
    query: {
      ...{ t: name, buildargs: JSON.stringify({ BASE: image }), rm: true, forcerm: true },
      networkmode: (await hasBridge(client)) ? undefined : "host",
    },
    ...{ body: imageContext("Dockerfile", dockerfile), bodyType: "application/x-tar" },
  });
  await followProgress(
    answer,
    () => {},
    (text) => Object.assign(new Error(text)),
  );
  return name;
}

/** Ports of a container can be published only with a bridge network. */
export async function hasBridge(client) {
  const networks = await client.json({ path: "/networks" });
  return networks.some(({ Name }) => Name === "bridge");
}

async function publishedPort(client, id) {
  const { NetworkSettings } = await client.json({ path: `/containers/${id}/json` });
  return Number(NetworkSettings.Ports[`${port}/tcp`][0].HostPort);
}

/** Retries, because the server reports that it is ready just before it listens. */
async function waitUntilReady(post) {
  const end = performance.now() + readyMs;
  while (true) {
    try {
      return await post("x = 0");
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(50);
    }
  }
}

function postCode(address, code) {
  const body = JSON.stringify({ code });
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request({ ...address, method: "POST", path: "/exec", headers }, async (answer) => {
      const pieces = [];
      for await (const piece of answer) pieces.push(piece);
      const text = Buffer.concat(pieces).toString();
      if (answer.statusCode === 200 && JSON.parse(text).status === "ok") resolve();
      else reject(new Error(text));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
