import type { Attack, AttackException, AttackTier } from "../attack.ts";

type Reasons = NonNullable<Attack["notTried"]>;
type Exceptions = NonNullable<Attack["exceptions"]>;

// Reasons and defences that many attacks share, so that the same thing has one wording.

export const noSystemCalls: Reasons = { wasm: "WebAssembly has no system calls" };
export const noSockets: Reasons = { wasm: "the interpreter has no such sockets" };
export const noProcesses: Reasons = { wasm: "there are no processes" };
export const noProc: Reasons = { wasm: "there is no /proc" };

/** The tiers whose cells are processes on Linux, and not JavaScript. */
export const noJavaScript: Reasons = Object.fromEntries(
  (["process", "srt", "container", "podman", "kata", "gvisor", "kubernetes"] as const).map((tier) => [
    tier,
    "there is no JavaScript in these cells",
  ]),
);

/** Who keeps host files out of a cell. */
export const byMounts: Attack["containedBy"] = {
  default: "mount namespace: the host's files are not in it",
  wasm: "files are in the interpreter's memory",
  gvisor: "gVisor's own kernel; its file broker serves the cell's mounts only",
};

/** Who keeps a cell from writing. */
export const byReadOnly: Attack["containedBy"] = {
  default: "read-only mounts, unprivileged user",
  wasm: "files are in the interpreter's memory",
};

/** Who keeps a cell from the network. */
export const byNoLink: Attack["containedBy"] = {
  default: "network namespace without a link",
  wasm: "the interpreter has no sockets",
  gvisor: "gVisor's own network stack has no link",
  "kubernetes-gvisor": "a network namespace without a link, in gVisor's own kernel",
};

/** Who refuses dangerous system calls. */
export const byFilter: Attack["containedBy"] = {
  default: "system call filter",
  gvisor: "system call filter, and gVisor's own kernel behind it",
};

/** Who hides what the OS tells about the host. */
export const byMasks: Attack["containedBy"] = {
  default: "masked or absent in the cell's /proc and /sys",
  gvisor: "gVisor's own kernel has its own /proc",
};

/** Who keeps processes apart. */
export const byPids: Attack["containedBy"] = { default: "pid namespace", gvisor: "gVisor's own kernel" };

/** One tier's other verdict. */
export function except(tier: AttackTier, verdict: string, because: string): Exceptions {
  const exception: AttackException = { verdict, because };
  return { [tier]: exception };
}

/** WebAssembly cells have files of their own, which a program may change as it likes. */
export function inMemory(verdict: string): Exceptions {
  return except("wasm", verdict, "the interpreter's own files, in its memory");
}

/** sandbox-runtime masks nothing in /proc, and cannot map paths. */
export const shownBySrt = (verdict: string): Exceptions =>
  except("srt", verdict, "sandbox-runtime shows what every user of the host sees there, and host paths as they are");

/** Nothing can be mounted over files of /proc in a pod whose node lets it make no namespaces. */
export const shownInPods = (verdict: string): Exceptions =>
  except("kubernetes", verdict, "a pod that may make no namespaces shows what every pod of its node sees there");

/** What sandbox-runtime and pods show alike. */
export const shownUnmasked = (verdict: string): Exceptions => ({ ...shownBySrt(verdict), ...shownInPods(verdict) });

/** A pod without a network namespace of its own in it has an interface, which leads nowhere. */
export const closedByPolicy: Exceptions = except(
  "kubernetes",
  "found",
  "the pod's own link, which a NetworkPolicy closes; probe pods showed that the cluster enforces it",
);

/** Python: prints what stands in its memory where the host's secret begins. The host looks for the secret in what was printed. */
export const searchOwnMemory = `needle = "".join(host["needle"]).encode()
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        span, rights = line.split()[:2]
        if "r" not in rights or "[v" in line: continue
        start, end = (int(part, 16) for part in span.split("-"))
        try:
            memory.seek(start)
            data = memory.read(min(end - start, 64 << 20))
        except (OSError, ValueError, OverflowError): continue
        at = data.find(needle)
        while at >= 0:
            print(data[at:at + 64])
            at = data.find(needle, at + 64)
`;
