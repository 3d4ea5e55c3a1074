import { once } from "node:events";
import { chmod, lstat, mkdir, rm, rmdir } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { takeLock } from "../../../lib/files/liveness-lock.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import { warmDirectory } from "../../../lib/files/warm-directory.ts";
import { silentLogger } from "../../../lib/log/logger.ts";
import { codecellVersion } from "../../../service/version.ts";
import { Codecell } from "../../../sessions/codecell.ts";
import { milliseconds } from "../../../sessions/runs/run-options.ts";
import type { CommandContext } from "../command.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import { commandAudit } from "../shell/command-audit.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import { frame } from "./frames.ts";
import { HolderConnection } from "./holder-connection.ts";
import type { HolderFacts, HolderSettings } from "./holder-settings.ts";
import { warmObstacle } from "./start-holder.ts";
import { warmKey } from "./warm-key.ts";

const defaultIdle = "5m";
const poolSize = 2;
const maxConnections = 64;

/** Holds warm cells for callers with the same key, until none has called for a while or a signal arrives. */
export async function holdCells(settings: HolderSettings, context: CommandContext): Promise<void> {
  const terminal = { ...context.terminal, cwd: settings.cwd };
  // The policy file may have changed since the caller read it: then nobody looks for this holder.
  if (warmKey(settings.flags, terminal) !== settings.key) return;
  await using cleanup = new Cleanup();
  const path = await claim(settings.key, cleanup);
  if (path === undefined) return;
  const codecell = await openCodecell(settings, { ...context, terminal });
  cleanup.defer(() => codecell.close());
  await codecell.poolFilled(); // before anybody can connect: a caller would wait longer here than for a cell of its own
  await serve(path, codecell, settings, context, cleanup);
}

/** The path of the socket, if no other process holds it. Two first calls may start two holders at once. */
async function claim(key: string, cleanup: Cleanup): Promise<string | undefined> {
  const directory = warmDirectory();
  if (directory === undefined) return undefined;
  await openRuntimeDirectory();
  await mkdir(directory, { mode: 0o700 }).catch(() => {});
  const { uid, mode } = await lstat(directory);
  if (uid !== process.getuid?.() || (mode & 0o170077) !== 0o040000) {
    throw new CodecellError("cell_start_failed", `${directory} is not a directory that only this user can enter`, {
      hint: "remove it",
    });
  }
  cleanup.defer(() => rmdir(directory).catch(() => {})); // others may use it
  const lock = await takeLock(join(directory, `${key}.lock`));
  if (!lock) return undefined;
  cleanup.defer(() => lock[Symbol.asyncDispose]());
  return join(directory, `${key}.sock`);
}

async function openCodecell({ flags }: HolderSettings, { terminal, runners }: CommandContext): Promise<Codecell> {
  const effective = await effectivePolicy(flags, terminal);
  const obstacle = warmObstacle(effective.policy);
  if (obstacle !== undefined) throw new CodecellError("policy_refused", obstacle);
  const session = { ...effective.policy.session, persist: false, pool: poolSize };
  const policy = { ...effective.policy, session };
  using logger = openCommandLogger({}, terminal);
  return await Codecell.open({
    policy,
    audit: await commandAudit({ ...effective, policy }, flags, terminal, logger),
    runners: await runners(silentLogger, { named: policy.isolation.runner }),
    stateDir: stateDirOf(flags, terminal),
    hostCalls: { models: false },
    heldBy: "warm",
    filesStayInCell: true,
  });
}

async function serve(
  path: string,
  codecell: Codecell,
  { flags, idle = defaultIdle }: HolderSettings,
  { terminal }: CommandContext,
  cleanup: Cleanup,
): Promise<void> {
  const idleMs = milliseconds(idle);
  const startedAt = performance.now();
  let usedAt = startedAt;
  let runs = 0;
  const running = new Set<Promise<void>>();
  const connections = new Map<Socket, HolderConnection>();
  const waitingForExit = new WeakSet<Socket>();
  const stopped = new AbortController();
  const facts = (): HolderFacts => ({
    ...{ pid: process.pid, version: codecellVersion(), runner: codecell.runner },
    ...{ ready: codecell.poolStatistics.ready, running: running.size, runs },
    uptime_seconds: Math.round((performance.now() - startedAt) / 1000),
    idle_seconds: running.size > 0 ? 0 : Math.round((performance.now() - usedAt) / 1000),
  });
  const holder = {
    ...{ codecell, flags },
    onAsked({ ask }: { ask: string }, socket: Socket) {
      const reply = frame("facts", JSON.stringify(facts()));
      if (ask !== "stop") return void socket.end(reply);
      socket.write(reply);
      socket.unref(); // the kernel closes it when this process has exited: that is the answer to "stop"
      waitingForExit.add(socket);
      stopped.abort();
    },
    onRun(run: Promise<void>) {
      runs += 1;
      running.add(run);
      void run.finally(() => {
        running.delete(run);
        usedAt = performance.now();
      });
    },
  };
  const server = createServer((socket) => {
    connections.set(socket, new HolderConnection(holder, socket));
    socket.on("close", () => connections.delete(socket));
  });
  server.maxConnections = maxConnections;
  const isIdle = () => connections.size === 0 && running.size === 0 && performance.now() - usedAt >= idleMs;
  const timer = setInterval(() => isIdle() && stopped.abort(), Math.min(idleMs, 5_000));
  using _ = terminal.onSignal(() => stopped.abort());
  await rm(path, { force: true }); // of a holder that was killed: the lock says that no other one is running
  server.listen(path);
  await once(server, "listening");
  cleanup.defer(() => rm(path, { force: true }));
  await chmod(path, 0o600);
  if (!stopped.signal.aborted) await once(stopped.signal, "abort");
  clearInterval(timer);
  await rm(path, { force: true }); // first, so that no new caller comes
  server.close();
  for (const connection of connections.values()) connection.stop("SIGTERM");
  await Promise.all(running);
  for (const socket of connections.keys()) if (!waitingForExit.has(socket)) socket.destroySoon();
}
