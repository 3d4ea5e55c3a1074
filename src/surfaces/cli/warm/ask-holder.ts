import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { isHeld } from "../../../lib/files/liveness-lock.ts";
import { socketProblem } from "../../../lib/files/warm-directory.ts";
import { FrameReader, frame } from "./frames.ts";
import type { HolderFacts } from "./holder-settings.ts";
import type { WarmRequest } from "./warm-request.ts";

const replyWithinMs = 5_000;
const maxReplyBytes = 64 * 1024;

/** The locks of this user's holders: those that are running, and those that are starting. */
export async function heldLocks(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const paths = names.filter((name) => name.endsWith(".lock")).map((name) => join(directory, name));
  const held = await Promise.all(paths.map(isHeld));
  return paths.filter((_, index) => held[index]);
}

export function socketOf(lock: string): string {
  return lock.replace(/\.lock$/, ".sock");
}

/**
 * Asks a holder about itself, or to stop; the second is answered when the process has exited. Undefined: it is starting, has
 * exited, or does not answer.
 */
export function askHolder(
  path: string,
  ask: Exclude<WarmRequest["ask"], "run">,
  withinMs = replyWithinMs,
): Promise<HolderFacts | undefined> {
  if (socketProblem(path) !== undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const reader = new FrameReader(maxReplyBytes);
    let facts: HolderFacts | undefined;
    const socket = connect(path);
    socket.setTimeout(withinMs, () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const one of reader.push(chunk)) if (one.type === "facts") facts = JSON.parse(one.data.toString());
      } catch {
        socket.destroy();
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(facts));
    socket.write(frame("request", JSON.stringify({ ask })));
  });
}
