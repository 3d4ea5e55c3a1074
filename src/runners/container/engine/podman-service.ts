import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, stat } from "node:fs/promises";
import { get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const startMs = 5_000;
const lookMs = 20;
/** It exits after this long without a connection, so it also exits if codecell was killed. */
const defaultIdleSeconds = 60;
/** pings per idle time, so that a late one does not matter */
const pingsPerIdleTime = 4;

const socketName = /^podman-[0-9a-f]{12}\.sock$/;
/** A new socket may not accept connections yet. */
const freshMs = 60_000;

/** Podman has no daemon. This is its API as a child process of codecell. */
export interface PodmanService extends AsyncDisposable {
  readonly socket: string;
  /** false after it has exited */
  readonly isAlive: boolean;
}

export interface PodmanServiceOptions {
  readonly socket: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** default: `podman` in PATH */
  readonly program?: string;
  /** Keep it running until it is disposed, also while no request is made: a step between two requests may take minutes. */
  readonly staysAlive?: boolean;
  /** how long it runs without a connection; default: 60 */
  readonly idleSeconds?: number;
}

/** Starts Podman's API on a private socket. Undefined if Podman is not installed or does not start. */
export async function startPodmanService(options: PodmanServiceOptions): Promise<PodmanService | undefined> {
  const { socket, env, program = "podman", idleSeconds = defaultIdleSeconds } = options;
  const child = spawn(program, ["system", "service", `--time=${idleSeconds}`, `unix://${socket}`], {
    stdio: "ignore",
    env: { ...env },
    detached: true, // Ctrl-C in the terminal must not kill it, because that would end every cell
  });
  const ended = Promise.race([once(child, "exit"), once(child, "error")]).catch(() => {});
  const deadline = performance.now() + startMs;
  let isAlive = true;
  void ended.then(() => {
    isAlive = false;
  });
  while (isAlive && performance.now() < deadline) {
    if (await answers(socket)) {
      const pingMs = options.staysAlive ? (idleSeconds * 1000) / pingsPerIdleTime : undefined;
      return new Service(child, socket, ended, () => isAlive, pingMs);
    }
    await Promise.race([ended, pause(lookMs)]);
  }
  child.kill("SIGKILL");
  await rm(socket, { force: true });
  return undefined;
}

/** Removes sockets whose service has exited without cleaning up. */
export async function removeDeadSockets(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter((one) => socketName.test(one))) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > freshMs && !(await answers(path))) await rm(path, { force: true });
  }
}

class Service implements PodmanService {
  readonly socket: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #isAlive: () => boolean;
  readonly #pings: NodeJS.Timeout | undefined;

  constructor(
    child: ChildProcess,
    socket: string,
    ended: Promise<unknown>,
    isAlive: () => boolean,
    pingMs: number | undefined,
  ) {
    this.#child = child;
    this.socket = socket;
    this.#ended = ended;
    this.#isAlive = isAlive;
    child.unref();
    // From here and not as a longer idle time: if codecell is killed, the pings stop and the service exits.
    this.#pings = pingMs === undefined ? undefined : setInterval(() => ping(socket), pingMs).unref();
  }

  get isAlive(): boolean {
    return this.#isAlive();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#pings);
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), startMs);
    await this.#ended;
    clearTimeout(late);
    await rm(this.socket, { force: true });
  }
}

/** A request restarts the idle time. Its answer does not matter. */
function ping(socketPath: string): void {
  const options = { socketPath, path: "/_ping", agent: false, timeout: startMs };
  const request = get(options, (response) => response.resume());
  request.on("timeout", () => request.destroy());
  request.on("error", () => {});
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const settle = (does: boolean) => {
      connection.destroy();
      resolve(does);
    };
    connection.on("connect", () => settle(true));
    connection.on("error", () => settle(false));
  });
}
