import { AttachedStream } from "../dist/runners/container/engine/attached-stream.js";
import { findEngine } from "../dist/runners/container/engine/engine.js";
import { addressFacts } from "../dist/runners/container/engine/engine-address.js";

export const image = process.env.CODECELL_BENCH_IMAGE ?? "codecell-python:latest";

/** A client of the Docker engine (DOCKER_HOST or the default socket) if it has the image; otherwise what is missing. */
export async function benchEngine() {
  const found = await findEngine(addressFacts(), "docker");
  if (!found.available) return { lacking: `${found.reason}; ${found.hint}` };
  const { client } = found.engine;
  try {
    await client.json({ path: `/images/${encodeURIComponent(image)}/json` });
  } catch {
    return { lacking: `Docker has no image ${image}. Run \`codecell image build\`, or set CODECELL_BENCH_IMAGE` };
  }
  return { client };
}

/** Creates, attaches to and starts a container, and nothing else: the minimum cost of using the engine directly. */
export async function bareContainer(client, { command, from = image, env = [], published, hostConfig = {} }) {
  const ports = published === undefined ? undefined : `${published}/tcp`;
  const network = ports
    ? { NetworkMode: "bridge", PortBindings: { [ports]: [{ HostIp: "127.0.0.1", HostPort: "" }] } }
    : { NetworkMode: "none" };
  const { Id: id } = await client.json({
    ...{ method: "POST", path: "/containers/create" },
    json: {
      ...{ Image: from, Entrypoint: command, Env: env, OpenStdin: true, StdinOnce: true },
      ...{ AttachStdin: true, AttachStdout: true, AttachStderr: true, NetworkDisabled: ports === undefined },
      ...(ports ? { ExposedPorts: { [ports]: {} } } : {}),
      HostConfig: { AutoRemove: true, ...network, LogConfig: { Type: "none", Config: {} }, ...hostConfig },
    },
  });
  const query = { stream: true, stdin: true, stdout: true, stderr: true };
  const { socket, head } = await client.hijack({ method: "POST", path: `/containers/${id}/attach`, query });
  const stream = new AttachedStream(socket, head);
  await client.bytes({ method: "POST", path: `/containers/${id}/start` });
  const remove = async () => {
    stream.destroy();
    await client.bytes({ method: "DELETE", path: `/containers/${id}`, query: { force: true } }).catch(() => {});
  };
  return { id, stream, remove };
}
