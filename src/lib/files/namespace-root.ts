import { lstatSync, readFileSync } from "node:fs";

/**
 * The user of the machine who is root here, in a user namespace and among the machine's own files: `unshare --map-root-user
 * --map-auto`. Undefined for everybody else, also for root in a rootless container, who owns the files there.
 */
export function namespaceRoot(uid = process.getuid?.(), procSelf = "/proc/self", machine = "/run"): number | undefined {
  if (uid !== 0) return undefined;
  try {
    if (lstatSync(machine).uid === 0) return undefined;
    return hostUserOf(readFileSync(`${procSelf}/uid_map`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Pure: the uid outside that uid 0 stands for, from the text of a uid_map. Undefined if that is root, or nobody. */
export function hostUserOf(uidMap: string): number | undefined {
  const outside = /^\s*0\s+(\d+)\s+\d+$/m.exec(uidMap)?.[1];
  return outside === undefined || outside === "0" ? undefined : Number(outside);
}

/** The home directory of a user of the machine, whose uid is another one here. Undefined if its list of users has none. */
export function accountHome(uid: number, users = "/etc/passwd"): string | undefined {
  const accounts = readFileSync(users, "utf8").split("\n");
  return accounts.map((line) => line.split(":")).find((fields) => fields[2] === String(uid))?.[5];
}
