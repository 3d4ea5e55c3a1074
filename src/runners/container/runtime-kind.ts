/** What a runner of this family is: the same code with another runtime of the engine. */
export interface RuntimeKind {
  readonly name: "container" | "gvisor" | "kata";
  /** matches the engine's names of the runtimes that will do; undefined: the engine's own default */
  readonly runtime: RegExp | undefined;
  readonly missing: string;
}

export const runtimeKinds = {
  container: { name: "container", runtime: undefined, missing: "" },
  gvisor: {
    name: "gvisor",
    runtime: /^(runsc|gvisor|io\.containerd\.runsc\.)/,
    missing: "install runsc and register it with the engine: gvisor.dev/docs/user_guide/install",
  },
  kata: {
    name: "kata",
    runtime: /^(kata|io\.containerd\.kata\.)/,
    missing: "install Kata Containers and register kata-runtime with the engine",
  },
} as const satisfies Record<string, RuntimeKind>;

/** Pure: which of an engine's runtimes to ask for, or what to do where it has none that will do. */
export function chooseRuntime(
  { runtime: wanted, missing }: RuntimeKind,
  offered: readonly string[],
): { readonly runtime?: string; readonly hint?: string } {
  if (wanted === undefined) return {};
  const runtime = offered.find((name) => wanted.test(name));
  return runtime === undefined ? { hint: missing } : { runtime };
}
