import { randomBytes } from "node:crypto";
import { chmod, link, lstat, mkdir, rm, rmdir, stat } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { holdPipe, isPipeHeld } from "./held-pipe.ts";

const staleTakeoverMs = 10_000;
const takeoverTries = 200;

/** A socket without an owner, or no socket. */
const errorsOfFreeLocks: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOENT", "ENOTDIR", "ENOTSOCK"]);

/** Held while the process runs. The OS answers the check, so a reused pid or a stale file cannot mislead it. */
export interface LivenessLock extends AsyncDisposable {
  readonly path: string;
}

/**
 * Takes the lock at `path`, or returns undefined if a running process holds it. The lock is a listening Unix socket: the OS
 * accepts connections while its owner runs, and refuses them once it has exited. If a sandbox around this process forbids Unix
 * sockets, the lock is a named pipe, which works the same way. With `answer`, whoever connects to the socket is answered; only
 * this user can.
 */
export async function takeLock(path: string, answer?: (socket: Socket) => void): Promise<LivenessLock | undefined> {
  const own = `${path}.${randomBytes(4).toString("hex")}`;
  const release = await hold(own, answer);
  try {
    if ((await linked(own, path)) || (await takeOver(own, path))) return held(release, path);
    await release();
    return undefined;
  } finally {
    await rm(own, { force: true });
  }
}

/** Whether a running process holds the lock. */
export async function isHeld(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isFIFO() ? isPipeHeld(path) : isSocketHeld(path);
}

function isSocketHeld(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const answer = (isAlive: boolean) => {
      socket.destroy();
      resolve(isAlive);
    };
    socket.on("connect", () => answer(true));
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => answer(!isFree(code)));
  });
}

/**
 * Whether the error of a connection says that nobody holds the lock. Others say nothing about the owner, such as a full backlog, a missing
 * permission, or no descriptor left in this process. Then the owner is taken to run: two owners would be worse than none.
 */
export function isFree(errorCode: string): boolean {
  return errorsOfFreeLocks.has(errorCode);
}

type Release = () => Promise<void>;

async function hold(path: string, answer?: (socket: Socket) => void): Promise<Release> {
  try {
    const release = await listen(path, answer);
    if (answer) await chmod(path, 0o600);
    return release;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
    return holdPipe(path);
  }
}

function listen(path: string, answer?: (socket: Socket) => void): Promise<Release> {
  return new Promise((resolve, reject) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      if (!answer) return void socket.destroy();
      sockets.add(socket.unref());
      socket.on("error", () => {}); // who checked the lock is gone
      socket.on("close", () => sockets.delete(socket));
      answer(socket);
    });
    server.on("error", reject);
    server.listen(path, () => {
      server.unref();
      resolve(() => {
        for (const socket of sockets) socket.destroy();
        return new Promise<void>((closed) => server.close(() => closed()));
      });
    });
  });
}

async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes a stale socket. A directory is the mutex, so that two processes do not remove each other's new socket. */
async function takeOver(own: string, path: string): Promise<boolean> {
  const mutex = `${path}.takeover`;
  for (let attempt = 0; attempt < takeoverTries; attempt++) {
    if (await isHeld(path)) return false;
    if (await made(mutex)) {
      try {
        if (await isHeld(path)) return false;
        await rm(path, { force: true });
        return await linked(own, path);
      } finally {
        await rmdir(mutex).catch(() => {});
      }
    }
    await pause(5);
  }
  return false;
}

async function made(mutex: string): Promise<boolean> {
  try {
    await mkdir(mutex);
    return true;
  } catch {
    const age = await stat(mutex).then(
      (stats) => Date.now() - stats.mtimeMs,
      () => 0,
    );
    if (age > staleTakeoverMs) await rmdir(mutex).catch(() => {}); // its creator was killed in between
    return false;
  }
}

function held(release: Release, path: string): LivenessLock {
  let isReleased = false;
  return {
    path,
    async [Symbol.asyncDispose]() {
      if (isReleased) return;
      isReleased = true;
      await rm(path, { force: true });
      await release();
    },
  };
}
