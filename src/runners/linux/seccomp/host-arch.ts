import type { Probe } from "../../runner.ts";
import type { FilterArch } from "./syscalls.ts";

/** The architecture of system call filters on this host. */
export function hostArch(): FilterArch {
  return process.arch === "arm64" ? "arm64" : "x64";
}

/** Unavailable if there is no system call filter for this architecture. */
export function noFilterHere(): Extract<Probe, { available: false }> | undefined {
  if (process.arch === "x64" || process.arch === "arm64") return undefined;
  const reason = `there is no system call filter for ${process.arch}`;
  return { available: false, reason, hint: "use the wasm runner" };
}
