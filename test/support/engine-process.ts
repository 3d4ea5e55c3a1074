import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { messageOf } from "../../src/lib/errors.ts";
import { deadline } from "../../src/lib/waiting/deadline.ts";

const startMs = 60_000;
const stopMs = 20_000;
const knockEveryMs = 20;

/** How to start a daemon. */
export interface EngineProcessOptions {
  readonly socket: string;
  readonly env?: Record<string, string>;
  /** a process whose mount namespace it shares; default: one of its own */
  readonly mountsOf?: EngineProcess;
  /** files that nobody in its mount namespace can read or execute */
  readonly hidden?: readonly string[];
}

/** A daemon that the test run starts and stops. */
export interface EngineProcess extends AsyncDisposable {
  readonly pid: number;
  readonly socket: string;
}

/**
 * Starts a daemon and waits until its socket accepts connections. Its mounts are in its own mount namespace, or in that of
 * another such process, and disappear with it. It gets a signal when this process dies in any way.
 */
export async function startEngineProcess(
  command: readonly string[],
  { socket, env = {}, mountsOf, hidden = [] }: EngineProcessOptions,
): Promise<EngineProcess> {
  const namespace = mountsOf
    ? ["nsenter", "--mount", "--target", String(mountsOf.pid)]
    : ["unshare", "--mount", "--propagation", "slave"];
  const hiding = hidden.map((path) => `[ ! -e ${path} ] || mount --bind /dev/null ${path}`).join("; ");
  const argv = ["--pdeathsig", "TERM", ...namespace, "sh", "-c", `${hiding || ":"}; exec "$@"`, "sh", ...command];
  const child = spawn("setpriv", argv, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: "/nonexistent", ...env },
    cwd: dirname(socket), // conmon leaves a file there when a container runs out of memory
    detached: true, // Ctrl-C in a terminal ends the tests, which then stop this process
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const log = lastOutput(child);
  try {
    using limit = deadline(startMs);
    const died = exited.then(() => Promise.reject(new Error(`${command[0]} ended: ${log()}`)));
    await Promise.race([takesConnections(socket, limit.signal), died]);
    died.catch(() => {}); // later, its exit is expected
  } catch (error) {
    child.kill("SIGKILL");
    await exited;
    throw new Error(`${command[0]} did not start: ${messageOf(error)}; ${log()}`, { cause: error });
  }
  return { pid: child.pid ?? 0, socket, [Symbol.asyncDispose]: () => stop(child, exited) };
}

async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill("SIGTERM");
  using limit = deadline(stopMs);
  limit.signal.addEventListener("abort", () => child.kill("SIGKILL"));
  await exited;
}

/** Polls, because there is no event for a socket that starts to listen. */
async function takesConnections(socket: string, signal: AbortSignal): Promise<void> {
  while (!(await isOpen(socket))) {
    signal.throwIfAborted();
    await setTimeout(knockEveryMs, undefined, { signal });
  }
}

function isOpen(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const knock = connect(socket);
    knock.once("connect", () => resolve(true)).once("error", () => resolve(false));
    knock.once("connect", () => knock.destroy());
  });
}

/** The last lines of its output, for the error. */
function lastOutput(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (piece: string) => {
      text = (text + piece).slice(-4000);
    });
  }
  return () => text.trim();
}
