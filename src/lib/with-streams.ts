import type { ChildProcess } from "node:child_process";
import { CodecellError } from "./errors.ts";

/**
 * The process, if it has its streams. Without free descriptors, Node returns one that has none and emits an error in the next turn:
 * code that uses the streams would throw before it listens for that error, which would then end this process.
 */
export function withStreams<Child extends ChildProcess>(child: Child): Child {
  if (child.stdio !== undefined) return child;
  child.on("error", () => {}); // the same error, once more
  throw new CodecellError("cell_start_failed", "no file descriptors are left to start a process", {
    hint: "close sessions, or raise the limit of open files (ulimit -n)",
  });
}
