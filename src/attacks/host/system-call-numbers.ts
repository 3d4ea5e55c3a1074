import { syscallNumbers } from "../../runners/linux/seccomp/syscalls.ts";

/** Numbers of the system calls that attacks name, for the processor of this host. */
export function systemCallNumbers(): Readonly<Record<string, number>> {
  return syscallNumbers(process.arch === "arm64" ? "arm64" : "x64");
}
