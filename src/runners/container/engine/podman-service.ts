import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const startMs = 5_000;
const lookMs = 20;
/** It exits after this long without a connection, so it also exits if codecell was killed. */
const idleSeconds = 60;

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
}

/** Starts Podman's API on a private socket. Undefined if Podman is not installed or does not start. */
export async function startPodmanService(options: PodmanServiceOptions): Promise<PodmanService | undefined> {
  const { socket, env, program = "podman" } = options;
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
    if (await answers(socket)) return new Service(child, socket, ended, () => isAlive);
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

  constructor(child: ChildProcess, socket: string, ended: Promise<unknown>, isAlive: () => boolean) {
    this.#child = child;
    this.socket = socket;
    this.#ended = ended;
    this.#isAlive = isAlive;
    child.unref();
  }

  get isAlive(): boolean {
    return this.#isAlive();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), startMs);
    await this.#ended;
    clearTimeout(late);
    await rm(this.socket, { force: true });
  }
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
