import { spawn } from "node:child_process";
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

/** One port: its bytes are on channel 0, its errors on channel 1. The first message of each is the port's number. */
export function portForward(socket: ChannelSocket, running: PodProcess, query: URLSearchParams): void {
  const port = Number(query.get("ports"));
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  for (const channel of [0, 1]) socket.send(channel, number);
  const relay = spawn(
    "nsenter",
    [`--target=${running.networkPid}`, "--net", "--", "/usr/bin/python3", "-I", "-S", "-c", relayProgram, String(port)],
    { stdio: ["pipe", "pipe", "ignore"] },
  );
  relay.stdin.on("error", () => {}); // the connection is closed
  relay.stdout.on("data", (bytes: Buffer) => {
    if (!socket.send(0, bytes, () => void relay.stdout.resume())) relay.stdout.pause();
  });
  socket.onMessage((channel, bytes, done) => {
    if (channel !== 0 || relay.stdin.writableEnded || relay.stdin.write(bytes)) return done();
    relay.stdin.once("drain", done);
  });
  socket.onClose(() => void relay.kill("SIGKILL"));
  relay.once("close", (code) => {
    if (code !== 0)
      socket.send(
        1,
        Buffer.from(`error forwarding port ${port}: dial tcp4 127.0.0.1:${port}: connect: connection refused`),
      );
    socket.drop();
  });
}
