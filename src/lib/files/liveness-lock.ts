import { randomBytes } from "node:crypto";
import { link, lstat, mkdir, rm, rmdir, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { holdPipe, isPipeHeld } from "./held-pipe.ts";

const staleTakeoverMs = 10_000;
const takeoverTries = 200;

/** Held as long as the process lives: the OS answers for us, so neither a reused pid nor an old file can lie. */
export interface LivenessLock extends AsyncDisposable {
  readonly path: string;
}

/**
 * Takes the lock at `path`, or answers undefined when a living process holds it. The lock is a listening unix socket: a
 * connection is accepted while its owner lives and refused from the moment it is dead. Where another sandbox around this
 * process forbids unix sockets, it is a named pipe, which tells the same.
 */
export async function takeLock(path: string): Promise<LivenessLock | undefined> {
  const own = `${path}.${randomBytes(4).toString("hex")}`;
  const release = await hold(own);
  try {
    if ((await linked(own, path)) || (await takeOver(own, path))) return held(release, path);
    await release();
    return undefined;
  } finally {
    await rm(own, { force: true });
  }
}

/** Whether a living process holds the lock. */
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
    // A full backlog means that somebody listens; who may not ask must not take it.
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => answer(["EAGAIN", "EPERM"].includes(code)));
  });
}

type Release = () => Promise<void>;

async function hold(path: string): Promise<Release> {
  try {
    return await listen(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
    return holdPipe(path);
  }
}

function listen(path: string): Promise<Release> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.on("error", reject);
    server.listen(path, () => {
      server.unref();
      resolve(() => new Promise<void>((closed) => server.close(() => closed())));
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

/** Removes a dead owner's socket. A directory is the mutex, so that two who find it dead do not remove each other's. */
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
    if (age > staleTakeoverMs) await rmdir(mutex).catch(() => {}); // whoever made it died in the middle
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
