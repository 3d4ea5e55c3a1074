import type { Probe } from "../runner.ts";
import type { FilterArch } from "./syscalls.ts";

/** What system call filters of this host's programs are made for. */
export function hostArch(): FilterArch {
  return process.arch === "arm64" ? "arm64" : "x64";
}

/** Why no cell can be held here by a filter, where that is so. */
export function noFilterHere(): Extract<Probe, { available: false }> | undefined {
  if (process.arch === "x64" || process.arch === "arm64") return undefined;
  const reason = `there is no system call filter for ${process.arch}`;
  return { available: false, reason, hint: "use the wasm runner" };
}
