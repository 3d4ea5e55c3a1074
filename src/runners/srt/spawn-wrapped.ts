import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { killGroup } from "../../lib/kill-group.ts";
import { withStreams } from "../../lib/with-streams.ts";
import { collectText } from "../linux/collect-text.ts";
import type { CellExit } from "../runner.ts";
import { searchPath } from "./wrap-service.ts";

export interface WrappedProcess {
  /** descriptor 3 inside: a two-way socket pair */
  readonly channel: Socket;
  readonly exited: Promise<CellExit>;
  /** kills the whole process group, because bubblewrap may be killed before its child is set to exit with it */
  readonly kill: () => void;
}

/** Runs a command that srt has wrapped. */
export function spawnWrapped(wrapped: string, uid: number | undefined): WrappedProcess {
  const spawned = spawn("/bin/sh", ["-c", `exec ${wrapped}`], {
    // srt passes its environment on, so this is the environment of the cell's first process. Without SHLVL, a bash whose
    // input is a socket assumes that it is a remote login, and reads startup files.
    env: { PATH: searchPath, SHLVL: "1" },
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    detached: true, // Ctrl-C in the terminal must not kill the cell; codecell handles it
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const child = withStreams(spawned);
  const diagnostics = collectText(child.stderr);
  const exited = once(child, "exit").then(
    ([code, signal]): CellExit => ({ code, signal, diagnostics: diagnostics() }),
    (error: Error): CellExit => ({ code: null, signal: null, diagnostics: error.message }),
  );
  return { channel: child.stdio[3] as Socket, exited, kill: () => killGroup(child) };
}
