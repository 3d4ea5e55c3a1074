import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** The directory of an engine that the tests start. */
export interface EngineHome extends AsyncDisposable {
  readonly directory: string;
  /** the parent control group of its containers */
  readonly cgroup: string;
}

/**
 * Waits for the end of its input, which comes when the tests end in any way. Then it kills every process with the directory in
 * its command line, unmounts everything below it, and removes the directory and its control groups.
 */
export const keeper = `
directory=$1 cgroup=$2
living() { # the bracket keeps grep from finding itself
  grep -ls "[/]\${directory#/}/" /proc/[0-9]*/cmdline | cut -d / -f 3
}
while read -r _; do :; done
for pid in $(living); do kill -CONT "$pid" 2>/dev/null; kill -TERM "$pid" 2>/dev/null; done
for _ in $(seq 100); do [ -z "$(living)" ] && break; sleep 0.1; done
for pid in $(living); do kill -KILL "$pid" 2>/dev/null; done
cut -d ' ' -f 5 /proc/self/mountinfo | grep -F "$directory/" | sort -r | while read -r mount; do umount --lazy "$mount"; done
find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" -exec rmdir {} + 2>/dev/null
rm -rf -- "$directory"
`;

/** Creates one with a short path, because the path of a Unix socket has at most 107 characters. */
export async function openEngineHome(): Promise<EngineHome> {
  const directory = await mkdtemp(join(tmpdir(), "cc-"));
  await chmod(directory, 0o711);
  const cgroup = `codecell-test-${basename(directory)}`;
  const keeping = spawn("sh", ["-c", keeper, "sh", directory, cgroup], {
    stdio: ["pipe", "ignore", "inherit"],
    detached: true, // Ctrl-C in a terminal ends the tests, and then this process cleans up
  });
  const exited = once(keeping, "exit");
  return {
    ...{ directory, cgroup },
    async [Symbol.asyncDispose]() {
      keeping.stdin.end();
      await exited;
    },
  };
}
