import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { killGroup } from "../../lib/kill-group.ts";
import { collectText } from "../linux/collect-text.ts";
import type { CellExit } from "../runner.ts";
import { searchPath } from "./wrap-service.ts";

export interface WrappedProcess {
  /** descriptor 3 inside: a socket pair, open in both directions */
  readonly channel: Socket;
  readonly exited: Promise<CellExit>;
  /** ends it with all of its group: bubblewrap can be caught before its child is tied to it */
  readonly kill: () => void;
}

/** Runs what srt made of a command. */
export function spawnWrapped(wrapped: string, uid: number | undefined): WrappedProcess {
  const child = spawn("/bin/sh", ["-c", `exec ${wrapped}`], {
    // srt passes its environment on, so this is what the cell's first process has. A bash that is run without SHLVL and
    // with a socket as its input takes itself for a login from another machine, and reads start-up files.
    env: { PATH: searchPath, SHLVL: "1" },
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    detached: true, // a Ctrl-C in our terminal is ours to handle: it must not end every cell
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const diagnostics = collectText(child.stderr);
  const exited = once(child, "exit").then(
    ([code, signal]): CellExit => ({ code, signal, diagnostics: diagnostics() }),
    (error: Error): CellExit => ({ code: null, signal: null, diagnostics: error.message }),
  );
  return { channel: child.stdio[3] as Socket, exited, kill: () => killGroup(child) };
}
