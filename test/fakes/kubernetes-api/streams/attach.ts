import { badRequest } from "../api/api-error.ts";
import type { PodProcess } from "../node/pod-process.ts";
import { type ChannelSocket, channels } from "./channel-socket.ts";

/** What a client wants of the streams: at least one. */
export function checkAttach(query: URLSearchParams): void {
  if (["stdin", "stdout", "stderr"].some((name) => isSet(query, name))) return;
  throw badRequest("you must specify at least 1 of stdin, stdout, stderr");
}

const isSet = (query: URLSearchParams, name: string) => ["true", "1"].includes(query.get(name) ?? "");

/** Connects a client with the streams of a container that runs. What was printed before is not shown. */
export function attach(
  socket: ChannelSocket,
  container: PodProcess,
  { query, stdinOnce }: { query: URLSearchParams; stdinOnce: boolean },
): void {
  const wants = (name: string) => isSet(query, name);
  const { streams } = container;
  // an empty message tells the client that the streams are connected
  socket.send(wants("stdout") ? channels.stdout : wants("stderr") ? channels.stderr : channels.status, Buffer.alloc(0));
  const listener = {
    output: (stream: "stdout" | "stderr", bytes: Buffer) =>
      !wants(stream) || socket.send(channels[stream], bytes, () => streams.drained(listener)),
  };
  const detach = streams.attach(listener);
  let isEnded = false;
  socket.onMessage((channel, bytes, done) => {
    if (channel === channels.stdin && wants("stdin") && !isEnded) return streams.write(bytes, done);
    const closesInput = socket.canCloseStreams && channel === channels.close && bytes[0] === channels.stdin;
    if (closesInput && stdinOnce) streams.endInput();
    else if (closesInput) {
      // the input is for others too: only this client ends
      isEnded = true;
      detach();
      socket.finish({ status: "Success" });
    }
    done();
  });
  socket.onClose(() => {
    detach();
    if (stdinOnce && wants("stdin")) streams.endInput();
  });
  void container.exited.then(() => socket.finish({ status: "Success" }));
}
