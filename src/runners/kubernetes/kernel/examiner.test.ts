import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../../lib/files/package-root.ts";
import { examinerPreamble } from "./examiner.ts";

const hasPython = spawnSync("python3", ["-c", ""]).status === 0;

test.skipIf(!hasPython)(
  "an image is asked for the namespaces that its cells move into, with gVisor and without",
  () => {
    const program = `import sys
sys.path.insert(0, sys.argv[1])
from codecell_kernel.entry import pod, jail
class Libc:
    def unshare(self, flags):
        print(flags)
        return -1
jail.LIBC = Libc()
def fail(reason): raise SystemError
pod.fail = fail
for hidden in ([], None):
    try: pod.leave_network(hidden)
    except SystemError: pass
`;
    const { stdout } = spawnSync("python3", ["-c", program, join(packageRoot(), "python")], { encoding: "utf8" });
    const asked = [false, true].map((isGvisor) => /unshare\((\d+)\)/.exec(examinerPreamble(isGvisor))?.[1]);
    expect(stdout.trim().split("\n")).toEqual(asked);
  },
);
