import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { messageOf } from "../../lib/errors.ts";
import { killAfter } from "../../lib/kill-after.ts";
import { collectText } from "../linux/collect-text.ts";
import { findHostRoot } from "../linux/mounts/host-root.ts";
import { privateUids } from "../linux/users/private-uid.ts";
import { explainBubblewrapFailure } from "./explain-failure.ts";
import { type HostFacts, readHostFacts } from "./host-facts.ts";
import { mappingArguments, mappingStdio, mapUsers, userMap } from "./user-map.ts";

export type BubblewrapProbe =
  | {
      readonly available: true;
      readonly path: string;
      readonly version: string;
      /** which layouts work on this host; at least one */
      readonly layouts: { readonly template: boolean; readonly direct: boolean };
      /** a template of root can give each of its cells another uid */
      readonly mapsUsers: boolean;
    }
  | { readonly available: false; readonly reason: string; readonly hint: string };

/** Timeouts of a trial: shorter while `auto` can still choose another runner. */
export const trialMs = { quick: 1_800, patient: 15_000 };

/** Starts a real jail with the uid of cells, because settings and versions do not show whether it works. */
export async function probeBubblewrap(limitMs: number, known?: HostFacts): Promise<BubblewrapProbe> {
  const facts = known ?? readHostFacts();
  const path = facts.bubblewrap;
  if (facts.platform !== "linux" || path === undefined) return unavailable("", facts);
  const uid = facts.isRoot ? privateUids(await readFile("/proc/self/uid_map", "utf8"))?.shared.first : undefined;
  if (facts.isRoot && uid === undefined) {
    const reason = "codecell runs as root inside another sandbox, whose user namespace has no other uid";
    return { available: false, reason, hint: "start codecell outside that sandbox, or map a range of uids in it" };
  }

  const { links, directories, etc } = findHostRoot();
  const jail = [
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"],
    ...["--uid", "1000", "--gid", "1000", "--hostname", "cell", "--die-with-parent", "--new-session", "--as-pid-1"],
    ...["--clearenv", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"],
    ...links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...[...directories, ...etc].flatMap((path) => ["--ro-bind", path, path]),
    ...["--ro-bind", path, "/.bwrap", "--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"],
  ];
  // the same as a template does: nested namespaces with their own /proc
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
  const map = uid === undefined ? undefined : userMap(uid, uid + 1);
  const showRights = ["/usr/bin/head", "-c", "2000", "/proc/self/status"];
  const [version, nested, plain, mapped] = await Promise.all([
    attempt(path, ["--version"], uid, limitMs),
    attempt(path, [...jail, "--", ...inner, "--", "/usr/bin/env"], uid, limitMs),
    attempt(path, [...jail, "--disable-userns", "--", "/usr/bin/env"], uid, limitMs),
    map === undefined
      ? undefined
      : attempt(path, [...jail, ...mappingArguments, "--", ...showRights], uid, limitMs, map),
  ]);
  const layouts = { template: nested.ok, direct: plain.ok };
  if (!layouts.template && !layouts.direct) {
    // bubblewrap before 0.8 has no --disable-userns, so report the error of the other attempt
    return unavailable(/unknown option --disable-userns/i.test(plain.stderr) ? nested.stderr : plain.stderr, facts);
  }
  const mapsUsers = mapped?.ok === true && /^CapEff:\s*0*e0$/m.test(mapped.stdout);
  return {
    available: true,
    path,
    version: /\d+\.\d+(\.\d+)?/.exec(version.stdout)?.[0] ?? "unknown",
    layouts,
    mapsUsers,
  };
}

function unavailable(stderr: string, facts: HostFacts): BubblewrapProbe {
  return { available: false, ...explainBubblewrapFailure(stderr, facts) };
}

interface Attempt {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function attempt(
  path: string,
  args: readonly string[],
  uid: number | undefined,
  limitMs: number,
  map?: string,
): Promise<Attempt> {
  const child = spawn(path, args, {
    env: {},
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe", ...(map === undefined ? [] : (["ignore", "ignore", ...mappingStdio] as const))],
    // Ctrl-C at the wrong moment would kill bubblewrap before it sets its death signal, and leave a process behind.
    detached: true,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  killAfter(child, limitMs, "SIGKILL");
  const [stdout, stderr] = [collectText(child.stdout), collectText(child.stderr)];
  if (map !== undefined) mapUsers(child, map).catch(() => child.kill("SIGKILL"));
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ ok: false, stdout: "", stderr: messageOf(error) }));
    child.on("close", (code, signal) => {
      const silence = child.killed ? `it timed out after ${limitMs / 1000} s` : `it exited with ${signal ?? code}`;
      const complaint = stderr() === "" && code !== 0 ? silence : stderr();
      resolve({ ok: code === 0, stdout: stdout(), stderr: complaint });
    });
  });
}
