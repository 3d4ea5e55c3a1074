import type { PodProcess } from "../node/pod-process.ts";
import { type ChannelSocket, channels } from "./channel-socket.ts";

/** Connects a client with the streams of a container that runs. What was printed before is not shown. */
export function attach(
  socket: ChannelSocket,
  container: PodProcess,
  { query, stdinOnce }: { query: URLSearchParams; stdinOnce: boolean },
): void {
  const wants = (name: string) => ["true", "1"].includes(query.get(name) ?? "");
  const { streams } = container;
  // an empty message tells the client that the streams are connected
  socket.send(wants("stdout") ? channels.stdout : wants("stderr") ? channels.stderr : channels.status, Buffer.alloc(0));
  const listener = {
    output: (stream: "stdout" | "stderr", bytes: Buffer) =>
      !wants(stream) || socket.send(channels[stream], bytes, () => streams.drained(listener)),
  };
  const detach = streams.attach(listener);
  socket.onMessage((channel, bytes, done) => {
    if (channel === channels.stdin && wants("stdin")) return streams.write(bytes, done);
    if (channel === channels.close && bytes[0] === channels.stdin && stdinOnce) streams.endInput();
    done();
  });
  socket.onClose(() => {
    detach();
    if (stdinOnce && wants("stdin")) streams.endInput();
  });
  void container.exited.then(() => socket.finish({ status: "Success" }));
}
