import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { messageOf } from "../../lib/errors.ts";
import { collectText } from "../linux/collect-text.ts";
import { findHostRoot } from "../linux/host-root.ts";
import { privateUids } from "../linux/private-uid.ts";
import { explainBubblewrapFailure } from "./explain-failure.ts";
import { type HostFacts, readHostFacts } from "./host-facts.ts";

export type BubblewrapProbe =
  | {
      readonly available: true;
      readonly path: string;
      readonly version: string;
      /** which layouts work here; at least one */
      readonly layouts: { readonly template: boolean; readonly direct: boolean };
    }
  | { readonly available: false; readonly reason: string; readonly hint: string };

/** Somebody may wait for `auto` to choose: what does not answer soon is passed over, unless nothing else is to be chosen. */
export const trialMs = { quick: 1_800, patient: 15_000 };

/** Really starts a jail, as the uid that cells will have, because settings and versions promise nothing. */
export async function probeBubblewrap(limitMs: number, known?: HostFacts): Promise<BubblewrapProbe> {
  const facts = known ?? (await readHostFacts());
  const path = facts.bubblewrap;
  if (facts.platform !== "linux" || path === undefined) return unavailable("", facts);
  const uid = facts.isRoot ? privateUids(await readFile("/proc/self/uid_map", "utf8"))?.first : undefined;
  if (facts.isRoot && uid === undefined) {
    const reason = "another sandbox around this process made its user namespace, and root has no other uid in it";
    return { available: false, reason, hint: "start codecell outside of that sandbox, or map a range of uids in it" };
  }

  const { links, directories, etc } = await findHostRoot();
  const jail = [
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"],
    ...["--uid", "1000", "--gid", "1000", "--hostname", "cell", "--die-with-parent", "--new-session", "--as-pid-1"],
    ...["--clearenv", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"],
    ...links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...[...directories, ...etc].flatMap((path) => ["--ro-bind", path, path]),
    ...["--ro-bind", path, "/.bwrap", "--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"],
  ];
  // what a template does: namespaces and a proc of its own inside the jail
  const inner = [
    "/.bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
  ];
  const [version, nested, plain] = await Promise.all([
    attempt(path, ["--version"], uid, limitMs),
    attempt(path, [...jail, "--", ...inner, "--", "/usr/bin/env"], uid, limitMs),
    attempt(path, [...jail, "--disable-userns", "--", "/usr/bin/env"], uid, limitMs),
  ]);
  const layouts = { template: nested.ok, direct: plain.ok };
  if (!layouts.template && !layouts.direct) {
    // bubblewrap before 0.8 has no --disable-userns: the other attempt tells more
    return unavailable(/unknown option --disable-userns/i.test(plain.stderr) ? nested.stderr : plain.stderr, facts);
  }
  return { available: true, path, version: /\d+\.\d+(\.\d+)?/.exec(version.stdout)?.[0] ?? "unknown", layouts };
}

function unavailable(stderr: string, facts: HostFacts): BubblewrapProbe {
  return { available: false, ...explainBubblewrapFailure(stderr, facts) };
}

interface Attempt {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function attempt(path: string, args: readonly string[], uid: number | undefined, limitMs: number): Promise<Attempt> {
  const child = spawn(path, args, {
    env: {},
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
    killSignal: "SIGKILL",
    // A Ctrl-C that reached bubblewrap between its clone and its death signal would leave a process for ever.
    detached: true,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const [stdout, stderr] = [collectText(child.stdout), collectText(child.stderr)];
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ ok: false, stdout: "", stderr: messageOf(error) }));
    child.on("close", (code, signal) => {
      const silence = child.killed ? `it did not end within ${limitMs / 1000} s` : `it ended with ${signal ?? code}`;
      const complaint = stderr() === "" && code !== 0 ? silence : stderr();
      resolve({ ok: code === 0, stdout: stdout(), stderr: complaint });
    });
  });
}
