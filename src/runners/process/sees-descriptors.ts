import { release } from "node:os";
import { readText } from "./host-facts.ts";

const sysPtrace = 1n << 19n;

/** Whether codecell can look at the open files of a cell: Linux 5.6, and nothing forbids pidfd_getfd. */
export function seesDescriptors(): boolean {
  return maySeeDescriptors({
    release: release(),
    status: readText("/proc/self/status"),
    ptraceScope: readText("/proc/sys/kernel/yama/ptrace_scope"),
  });
}

/** Pure: the same for a host with these facts. */
export function maySeeDescriptors(facts: { release: string; status: string; ptraceScope: string }): boolean {
  const [major = 0, minor = 0] = facts.release.split(".").map(Number.parseFloat);
  const isOld = major < 5 || (major === 5 && minor < 6);
  if (isOld || facts.ptraceScope.trim() === "3") return false;
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(facts.status)?.[1] ?? "0";
  if ((BigInt(`0x${effective}`) & sysPtrace) !== 0n) return true;
  // Root gives cells other uids, so it needs the capability. A container engine's filter forbids the call without it.
  const isRoot = /^Uid:\s*\d+\s+0\s/m.test(facts.status);
  return !isRoot && /^Seccomp:\s*0$/m.test(facts.status);
}
