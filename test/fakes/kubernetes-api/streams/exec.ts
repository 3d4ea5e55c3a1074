import { type ChildProcess, spawn } from "node:child_process";
import type { V1Container, V1Pod } from "@kubernetes/client-node";
import { becomeUser, userOf } from "../node/bubblewrap-arguments.ts";
import type { PodProcess } from "../node/pod-process.ts";
import { type ChannelSocket, channels } from "./channel-socket.ts";

const isRoot = process.getuid?.() === 0;

/** Runs another program in a container's namespaces. */
export function exec(
  socket: ChannelSocket,
  {
    pod,
    container,
    running,
    query,
  }: { pod: V1Pod; container: V1Container; running: PodProcess; query: URLSearchParams },
): void {
  const wants = (name: string) => ["true", "1"].includes(query.get(name) ?? "");
  const command = query.getAll("command");
  const inside = [
    "--mount",
    "--uts",
    "--ipc",
    "--net",
    "--pid",
    "--root",
    "--wd",
    ...(isRoot ? [] : ["--user", "--preserve-credentials"]),
  ];
  const child = spawn(
    "nsenter",
    [
      `--target=${running.pid}`,
      ...inside,
      "--",
      ...(isRoot ? becomeUser(pod, userOf(pod, container)) : []),
      ...command,
    ],
    { stdio: ["pipe", "pipe", "pipe"], env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" } },
  );
  socket.send(channels.stdout, Buffer.alloc(0));
  relay(child, socket, wants);
  socket.onClose(() => void child.kill("SIGKILL"));
  child.once("close", (code) => socket.finish(statusOf(code ?? 137)));
}

/** Bytes both ways. In v5 a message of its own ends the input; before v5, only closing everything does. */
function relay(child: ChildProcess, socket: ChannelSocket, wants: (name: string) => boolean): void {
  child.stdin?.on("error", () => {}); // the program does not read
  for (const name of ["stdout", "stderr"] as const) {
    const stream = child[name];
    stream?.on("data", (bytes: Buffer) => {
      if (wants(name) && !socket.send(channels[name], bytes, () => void stream.resume())) stream.pause();
    });
  }
  if (!wants("stdin")) child.stdin?.end();
  socket.onMessage((channel, bytes, done) => {
    if (socket.canCloseStreams && channel === channels.close && bytes[0] === channels.stdin) child.stdin?.end();
    if (channel !== channels.stdin || !wants("stdin") || child.stdin === null) done();
    else child.stdin.write(bytes, () => done()); // also when the program has exited
  });
}

function statusOf(code: number): Record<string, unknown> {
  if (code === 0) return { status: "Success" };
  return {
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(code) }] },
  };
}
