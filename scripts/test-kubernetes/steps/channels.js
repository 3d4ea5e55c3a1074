import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { interleave, timed } from "../../../bench/harness.js";
import {
  attachNumbers,
  portForwardNumbers,
  SocketStream,
} from "../../../dist/runners/kubernetes/channel/socket-stream.js";
import { ClusterApi } from "../../../dist/runners/kubernetes/client/cluster-api.js";
import { openConnection } from "../../../dist/runners/kubernetes/client/cluster-connection.js";
import { kubernetesSettings } from "../../../dist/runners/kubernetes/settings.js";
import { bridge } from "../cluster/layout.js";
import { waitUntil } from "../cluster/wait-until.js";
import { cellsNamespace } from "./context.js";
import { expect } from "./expect.js";
import { plainPodSpec } from "./plain-pod.js";
import { withEnvironment } from "./with-environment.js";

const rounds = 300;
const warmUpRounds = 50;
const bulkRounds = 5;
const frame = Buffer.alloc(100, "f");
const bulk = Buffer.alloc(8 * 2 ** 20, "b");
const port = 7000;
const container = "echo";

/** Echoes its standard input, a port on its loopback, and a connection that it opens itself. */
const echo = `
import socket, sys, threading

def pump(read, write):
    while data := read(65536):
        write(data)

def serve():
    listener = socket.create_server(("127.0.0.1", ${port}))
    while True:
        one, _ = listener.accept()
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=pump, args=(one.recv, one.sendall), daemon=True).start()

def dial(host, port):
    one = socket.create_connection((host, int(port)))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pump(one.recv, one.sendall)

threading.Thread(target=serve, daemon=True).start()
threading.Thread(target=dial, args=sys.argv[1:], daemon=True).start()
import os
pump(lambda size: os.read(0, size), lambda data: sys.stdout.buffer.write(data) and sys.stdout.buffer.flush())
threading.Event().wait()
`;

/** @type {import("./steps.js").Step} */
export const channels = {
  name: "channels",
  asks: "how long does a frame take to a pod and back, by each way that needs no right to run programs in pods?",
  needsOwnCluster: true, // the pod has to reach this process
  run: (context) => withEnvironment(context.env, () => measure(context)),
};

async function measure(context) {
  const closing = [];
  try {
    const dialled = await listen(closing);
    const name = `channels-${Date.now().toString(36)}`;
    closing.push(() => context.core.deleteNamespacedPod({ name, namespace: cellsNamespace, gracePeriodSeconds: 0 }));
    await startEcho(context, name, dialled.address);
    const api = new ClusterApi(await openConnection(kubernetesSettings()));
    closing.push(() => api[Symbol.dispose]?.());
    const attach = new URLSearchParams({ container, stdin: "true", stdout: "true", stderr: "true", tty: "false" });
    const streams = {
      attach: await connect(api, `${api.path("pods", name)}/attach?${attach}`, attachNumbers),
      forward: await connect(api, `${api.path("pods", name)}/portforward?ports=${port}`, portForwardNumbers),
      dial: await dialled.connection,
    };
    for (const stream of Object.values(streams)) closing.push(() => stream.destroy());
    const trips = await interleaved(streams, frame, rounds, warmUpRounds);
    const whole = await interleaved(streams, bulk, bulkRounds, 1);
    const rate = (ms) => bulk.length / 2 ** 20 / (ms / 1000);
    const shown = Object.keys(streams).map(
      (way) => `${way} ${trips[way].toFixed(2)} ms, ${rate(whole[way]).toFixed(0)} MiB/s`,
    );
    return {
      detail: `${frame.length} bytes there and back (median), and ${bulk.length / 2 ** 20} MiB there and back: ${shown.join("; ")}`,
      figures: Object.fromEntries(Object.entries(trips).map(([way, ms]) => [`${way}TripMs`, ms])),
    };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function interleaved(streams, bytes, count, warmUp) {
  const variants = Object.fromEntries(
    Object.entries(streams).map(([way, stream]) => [way, () => timed(() => echoed(stream, bytes))]),
  );
  await interleave(variants, warmUp);
  return await interleave(variants, count);
}

/** Sends bytes, and waits until as many have come back. */
async function echoed(stream, bytes) {
  let missing = bytes.length;
  const back = new Promise((resolve, reject) => {
    const onData = (data) => {
      missing -= data.length;
      if (missing > 0) return;
      stream.off("data", onData).off("close", onClose);
      if (missing === 0) resolve();
      else reject(new Error(`${-missing} bytes too many came back`));
    };
    const onClose = () => reject(new Error("the connection ended"));
    stream.on("data", onData).on("close", onClose);
  });
  stream.write(bytes);
  await back;
}

async function connect(api, path, numbers) {
  const stream = new SocketStream(numbers);
  return stream.carry(await api.connection.socket(path, stream.onMessage, { timeoutMs: 10_000 }));
}

/** Where a pod can reach this process: only on the bridge of the test cluster. */
async function listen(closing) {
  const server = createServer({ noDelay: true });
  const { address } = networkInterfaces()[bridge].find(({ family }) => family === "IPv4");
  const connection = once(server, "connection").then(([socket]) => socket);
  server.listen(0, address);
  await once(server, "listening");
  closing.push(() => server.close());
  return { address: `${address} ${server.address().port}`, connection };
}

async function startEcho({ core, env }, name, address) {
  const command = ["python3", "-u", "-c", echo, ...address.split(" ")];
  const spec = plainPodSpec(env, { name: container, command, stdin: true });
  await core.createNamespacedPod({ namespace: cellsNamespace, body: { metadata: { name }, spec } });
  const isRunning = async () => {
    const { status } = await core.readNamespacedPod({ name, namespace: cellsNamespace });
    expect(status.phase !== "Failed", "the pod that echoes runs", status);
    return status.phase === "Running";
  };
  await waitUntil("the pod that echoes runs", isRunning, { timeoutMs: 60_000 });
}
