import { lstat, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { isHeld } from "../../lib/files/liveness-lock.ts";
import type { ProcessStatus } from "./process-status.ts";
import { statusQuestion } from "./status-answers.ts";

/** A busy process answers within milliseconds; one that is stopped (SIGSTOP) never does. */
const answerWithinMs = 2_000;
const maxAnswerBytes = 1024 * 1024;
const atOnce = 32;
const ownerName = /^owner-m[0-9a-f]{12}$/;

const count = z.int().min(0);
const name = z.string().max(200);

const sessionSchema = z.object({
  ...{ id: name.optional(), tenant: name.optional(), runner: name },
  activity: z.enum(["running", "starting", "saving", "idle", "suspended"]),
  ...{ createdMs: z.number(), usedMs: z.number(), runs: count, busyMs: z.number().optional() },
  ...{ memoryBytes: count.optional(), isPersistent: z.boolean() },
});

const processSchema = z.object({
  ...{ pid: count, heldBy: name, runner: name, startedMs: z.number(), stateDir: z.string().max(4096).optional() },
  ...{ readyCells: count, sessions: z.array(sessionSchema), leftOut: count },
});

export interface HoldingProcesses {
  /** the oldest first */
  readonly processes: readonly ProcessStatus[];
  /** processes that run but do not answer: they are starting, stopped, or of another version of codecell */
  readonly silent: number;
}

/**
 * Asks every process of this user that holds sessions. A process that has exited is not listed: the OS refuses connections
 * to its socket, whatever it left on disk.
 */
export async function askProcesses(runtimeDir: string): Promise<HoldingProcesses> {
  const names = (await readdir(runtimeDir).catch(() => [])).filter((entry) => ownerName.test(entry));
  const answers: (ProcessStatus | "silent" | "gone")[] = [];
  for (let at = 0; at < names.length; at += atOnce) {
    const some = names.slice(at, at + atOnce).map((entry) => ask(join(runtimeDir, entry)));
    answers.push(...(await Promise.all(some)));
  }
  const processes = answers.filter((answer): answer is ProcessStatus => typeof answer === "object");
  processes.sort((a, b) => a.startedMs - b.startedMs);
  return { processes, silent: answers.filter((answer) => answer === "silent").length };
}

async function ask(path: string): Promise<ProcessStatus | "silent" | "gone"> {
  const found = await lstat(path).catch(() => undefined);
  if (!found || found.uid !== process.getuid?.()) return "gone"; // the attack: another user's socket, which tells us stories
  const text = found.isSocket() ? await answerOf(path) : undefined;
  const status = text === undefined ? undefined : parsed(text);
  return status ?? ((await isHeld(path)) ? "silent" : "gone");
}

function answerOf(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = "";
    let isWhole = false;
    const socket = connect(path);
    const limit = setTimeout(() => socket.destroy(), answerWithinMs);
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > maxAnswerBytes) socket.destroy();
    });
    socket.on("end", () => {
      isWhole = true;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(limit);
      resolve(isWhole && text !== "" ? text : undefined);
    });
    socket.write(statusQuestion);
  });
}

function parsed(text: string): ProcessStatus | undefined {
  try {
    return processSchema.parse(JSON.parse(text)) as ProcessStatus;
  } catch {
    return undefined;
  }
}
