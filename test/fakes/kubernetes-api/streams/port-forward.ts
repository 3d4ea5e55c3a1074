import { spawn } from "node:child_process";
import { once } from "node:events";
import { badRequest } from "../api/api-error.ts";
import type { PodProcess } from "../node/pod-process.ts";
import type { ChannelSocket } from "./channel-socket.ts";

/** Joins a pod's network, connects to its loopback, and copies bytes between the connection and its own streams. */
const relayProgram = `
import os, socket, sys, threading
end = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
end.settimeout(None)
def up():
    while True:
        data = os.read(0, 65536)
        if not data:
            return end.shutdown(socket.SHUT_WR)
        end.sendall(data)
threading.Thread(target=up, daemon=True).start()
while True:
    data = end.recv(65536)
    if not data:
        break
    while data:
        data = data[os.write(1, data):]
`;

/** What a client asks for: at least one port. */
export function forwardedPorts(query: URLSearchParams): number[] {
  const asked = query.getAll("ports").flatMap((one) => one.split(","));
  if (asked.length === 0) throw badRequest('query parameter "port" is required');
  const wrong = asked.find((one) => !/^\d+$/.test(one));
  if (wrong === undefined) return asked.map(Number);
  throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing "${wrong}": invalid syntax`);
}

/** Each port has a channel for its bytes and one for its errors. The first message of each is the port's number. */
export function portForward(socket: ChannelSocket, running: PodProcess, ports: readonly number[]): void {
  const relays = ports.map((port, index) => forwardPort(socket, running, { port, data: 2 * index }));
  socket.onMessage((channel, bytes, done) => {
    const relay = channel % 2 === 0 ? relays[channel / 2] : undefined;
    if (relay === undefined) done();
    else relay.stdin.write(bytes, () => done()); // also when the relay has exited
  });
  socket.onClose(() => {
    for (const relay of relays) relay.kill("SIGKILL");
  });
  void Promise.all(relays.map((relay) => once(relay, "close"))).then(
    () => socket.end(),
    () => socket.end(), // there is no nsenter
  );
}

function forwardPort(socket: ChannelSocket, running: PodProcess, { port, data }: { port: number; data: number }) {
  const errors = data + 1;
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  for (const channel of [data, errors]) socket.send(channel, number);
  const relay = spawn(
    "nsenter",
    [`--target=${running.networkPid}`, "--net", "--", "/usr/bin/python3", "-I", "-S", "-c", relayProgram, String(port)],
    { stdio: ["pipe", "pipe", "ignore"] },
  );
  relay.stdin.on("error", () => {}); // the connection is closed
  relay.stdout.on("data", (bytes: Buffer) => {
    if (!socket.send(data, bytes, () => void relay.stdout.resume())) relay.stdout.pause();
  });
  relay.once("close", (code) => {
    if (code !== 0) socket.send(errors, Buffer.from(refusal(port)));
  });
  return relay;
}

/** As the node's runtime puts it. */
function refusal(port: number): string {
  const sandbox = "0".repeat(64);
  const network = "/var/run/netns/cni-00000000-0000-0000-0000-000000000000";
  return [
    `error forwarding port ${port} to pod ${sandbox}, uid : failed to execute portforward in network namespace "${network}":`,
    `failed to connect to localhost:${port} inside namespace "${sandbox}",`,
    `IPv4: dial tcp4 127.0.0.1:${port}: connect: connection refused IPv6 dial tcp6: address localhost: no suitable address found `,
  ].join(" ");
}
