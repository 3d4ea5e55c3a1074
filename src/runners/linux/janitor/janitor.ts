import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename, normalize } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { withStreams } from "../../../lib/with-streams.ts";
import { janitorScript } from "./janitor-script.ts";
import { tidyUp } from "./tidy-up.ts";

/** What a host process owns, and what must be removed after it exits. */
export interface JanitorOwner {
  /** lower-case letters and digits, unique to this host process; its processes have it as an argument */
  readonly tag: string;
  /** directories in which cgroups named `<tag>-…` are removed */
  readonly cgroupDirs: readonly string[];
  /** directories to remove; their names must contain the tag */
  readonly directories: readonly string[];
}

/** Disposing removes everything, as after a crash, and returns when the janitor has exited. */
export interface Janitor extends AsyncDisposable {
  readonly pid: number;
}

const endingMs = 10_000;

/**
 * Starts a shell that waits on a pipe from codecell. When codecell exits, even if it is killed, the pipe closes. The shell
 * then kills the processes that have the tag, because a bubblewrap that has not set its death signal yet would survive. Then
 * it removes the cgroups and directories. It has its own session, so signals to codecell's process group do not reach it.
 */
export function startJanitor(owner: JanitorOwner): Janitor {
  checkOwner(owner);
  const paths = [...owner.cgroupDirs, "--", ...owner.directories];
  const spawned = spawn("/bin/sh", ["-c", janitorScript, "codecell-janitor", ...paths], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: {},
    cwd: "/",
  });
  const child = withStreams(spawned);
  const exited = once(child, "exit").catch(() => {});
  child.stdin.on("error", () => {}); // it exited first
  // through the pipe, not as an argument, so that the janitor does not kill itself
  child.stdin.write(`${owner.tag}\n`);
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  if (child.pid === undefined) {
    throw new CodecellError("cell_start_failed", "the janitor could not start", { hint: "check that /bin/sh exists" });
  }
  let ending: Promise<void> | undefined;
  const end = async () => {
    child.ref();
    child.stdin.end(tidyUp(owner) ? "nothing left\n" : "done\n");
    const timer = setTimeout(() => child.kill("SIGKILL"), endingMs);
    await exited;
    clearTimeout(timer);
  };
  return {
    pid: child.pid,
    [Symbol.asyncDispose]() {
      ending ??= end();
      return ending;
    },
  };
}

/** Stops a wrong path from being deleted recursively, possibly as root. */
function checkOwner(owner: JanitorOwner): void {
  if (!/^[a-z0-9]{6,64}$/.test(owner.tag)) throw new CodecellError("internal", `not an owner tag: ${owner.tag}`);
  for (const path of [...owner.cgroupDirs, ...owner.directories]) {
    const isPlain = path.startsWith("/") && path !== "/" && !path.endsWith("/") && normalize(path) === path;
    if (!isPlain) throw new CodecellError("internal", `not a plain absolute path: ${path}`);
  }
  for (const path of owner.directories) {
    if (!basename(path).includes(owner.tag))
      throw new CodecellError("internal", `not a directory of ${owner.tag}: ${path}`);
  }
}
