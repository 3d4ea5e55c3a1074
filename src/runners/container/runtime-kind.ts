import type { IsolationLevel } from "../../policy/isolation.ts";

/** A runner of this family: the same code with another runtime of the engine. */
export interface RuntimeKind {
  readonly name: "container" | "gvisor" | "kata";
  readonly isolation: IsolationLevel;
  /** matches the engine's names of suitable runtimes */
  readonly runtime: RegExp;
  /** the cell has its own OS kernel, not the host's */
  readonly hasOwnKernel: boolean;
  readonly missing: string;
}

export const runtimeKinds = {
  container: {
    name: "container",
    isolation: "container",
    runtime: /^(runc|crun|youki|io\.containerd\.runc\.)/,
    hasOwnKernel: false,
    missing: "register runc with the engine, or use the runner that its default runtime belongs to",
  },
  gvisor: {
    name: "gvisor",
    isolation: "gvisor",
    runtime: /^(runsc|gvisor|io\.containerd\.runsc\.)/,
    hasOwnKernel: true,
    missing: "install runsc and register it with the engine: gvisor.dev/docs/user_guide/install",
  },
  kata: {
    name: "kata",
    isolation: "kata",
    runtime: /^(kata|io\.containerd\.kata\.)/,
    hasOwnKernel: true,
    missing: "install Kata Containers and register kata-runtime with the engine",
  },
} as const satisfies Record<string, RuntimeKind>;

/**
 * Pure: which of an engine's runtimes to use, or a hint if it has none that is suitable. The container runner uses the
 * engine's default runtime, unless that has its own OS kernel: the receipt would then be wrong about its limits.
 */
export function chooseRuntime(
  { runtime: wanted, hasOwnKernel, missing }: RuntimeKind,
  { runtimes, defaultRuntime }: { readonly runtimes: readonly string[]; readonly defaultRuntime: string },
): { readonly runtime?: string; readonly hint?: string } {
  const { gvisor, kata } = runtimeKinds;
  if (!hasOwnKernel && ![gvisor, kata].some((other) => other.runtime.test(defaultRuntime))) return {};
  const runtime = runtimes.find((name) => wanted.test(name));
  return runtime === undefined ? { hint: missing } : { runtime };
}
