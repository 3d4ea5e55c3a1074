import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename, normalize } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { janitorScript } from "./janitor-script.ts";

/** What a host process owns outside of itself and what must not outlive it. */
export interface JanitorOwner {
  /** lower case letters and digits, unique to this host; processes carry it as one whole argument */
  readonly tag: string;
  /** directories in which groups named `<tag>-…` are removed */
  readonly cgroupDirs: readonly string[];
  /** directories to remove; their last part has to contain the tag */
  readonly directories: readonly string[];
}

/** Disposing removes what is left, as after a crash, and returns when the janitor has ended. */
export interface Janitor extends AsyncDisposable {
  readonly pid: number;
}

const endingMs = 10_000;

/**
 * Starts a shell that waits on a pipe from us. When we end, however we end, the pipe closes and the shell kills the
 * processes that carry the tag (bubblewrap can be caught between clone and its own death signal), then removes our
 * cgroups and directories. It has a session of its own, so a signal to our group does not reach it.
 */
export function startJanitor(owner: JanitorOwner): Janitor {
  checkOwner(owner);
  const paths = [...owner.cgroupDirs, "--", ...owner.directories];
  const child = spawn("/bin/sh", ["-c", janitorScript, "codecell-janitor", ...paths], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: {},
    cwd: "/",
  });
  const exited = once(child, "exit").catch(() => {});
  child.stdin.on("error", () => {}); // it ended before us: nothing more to tell it
  // by the pipe and not as an argument, so that the janitor never finds itself
  child.stdin.write(`${owner.tag}\n`);
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  if (child.pid === undefined) {
    throw new CodecellError("cell_start_failed", "the janitor could not start", { hint: "check that /bin/sh exists" });
  }
  let ending: Promise<void> | undefined;
  const end = async () => {
    child.ref();
    child.stdin.end("done\n");
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

/** A wrong path here would be removed with everything in it, as root. */
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
