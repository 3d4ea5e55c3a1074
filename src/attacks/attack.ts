import type { RunStatus } from "../kernel/messages.ts";

/** What an attacker wants. */
export type AttackKind = "escape" | "exfiltration" | "exhaustion" | "persistence" | "cross-session" | "protocol";

/** Every kind, in the order of the summary. */
export const attackKinds: readonly AttackKind[] = [
  ...(["escape", "exfiltration", "exhaustion", "persistence", "cross-session", "protocol"] as const),
];

/** What an attack runs in: a runner, and for containers the engine if it is not Docker. */
export type AttackTier =
  | "process"
  | "wasm"
  | "srt"
  | "container"
  | "podman"
  | "kata"
  | "gvisor"
  | "kubernetes"
  | "kubernetes-gvisor";

/**
 * The cell that an attack needs. `./scenarios.ts` has their policies.
 * - `plain`: no network, no mounts, small limits
 * - `mounts`: host directories, read-only and read-write, with files that deny globs hide
 * - `network`: a proxy that allows two web servers on loopback, and a secret for one of them
 * - `neighbour`: a second session of the same policy, which holds something worth stealing
 * - `next-session`: after the attack its session is closed, and `afterwards` looks around in a new one
 * - `workspace`: the workspace is a directory of the host, as a project that somebody works on
 */
export type Scenario = "plain" | "mounts" | "network" | "neighbour" | "next-session" | "workspace";

/**
 * Harm that only the host can see, besides the canaries that are checked after each attack (./host/canaries.ts).
 * `./host/host-checks.ts` has the code.
 * - `process-survived`: a process of the cell is running after its session was closed
 * - `host-stalled`: the host's event loop stood still, or a new session could not start
 * - `neighbour-changed`: the other session lost a variable, a file or its life (always checked in `neighbour`)
 * - `disk-filled`: the cell's files take more of the host's disk than `proc.disk`
 * - `memory-grew`: this process grew by more than a few times what one run may send
 * - `session-misled`: a later question to the same session hangs, is answered wrongly, or breaks the host
 * - `still-beating`: something of the cell writes to `/shared` after its session was closed (in `mounts`)
 * - `voice-forged`: what the program wrote stands in codecell's own notes as if codecell had said it
 * - `plant-untold`: the program left a file that tools on the host obey, and the result does not name it
 * - `call-forged`: a function of the host was called after its run, with arguments it does not take, or too often at once
 */
export type HostCheck =
  | "process-survived"
  | "host-stalled"
  | "neighbour-changed"
  | "disk-filled"
  | "memory-grew"
  | "session-misled"
  | "still-beating"
  | "voice-forged"
  | "plant-untold"
  | "call-forged";

/** Walls that the control leaves out, in a disposable container, so that the same attack does harm there. */
export type ControlWeakness =
  /** the network of the host */
  | "host-network"
  /** the directories of the canaries, at the same paths, and everything else of the container as root */
  | "host-files"
  /** the processes of the host */
  | "host-processes"
  /** the environment of the host */
  | "host-environment"
  /** every capability, no system call filter, root, devices */
  | "privileged"
  /** no system call filter, but an ordinary user */
  | "no-filter"
  /** no limits of memory, processes, files, disk or time */
  | "no-limits"
  /** attacker and victim, or the first and the next session, in one container */
  | "shared-cell"
  /** mounts without deny globs */
  | "no-deny"
  /** a way out without a proxy that checks names and addresses */
  | "no-proxy"
  /** a host that believes every message, and a supervisor that is an ordinary process */
  | "trusting-host";

/** One attack, as data. */
export interface Attack {
  /** stable: `network/host-loopback`; used in the matrix, `--only`, JSON and SECURITY.md */
  readonly id: string;
  readonly kind: AttackKind;
  /** completes "A program that …": "connects to a port of the host's loopback" */
  readonly title: string;
  /** Python that runs in the cell after the prelude (./prelude.ts), or bash. It sets `verdict`: `contained`, or the harm that it saw. */
  readonly code: string;
  /** default: python. Bash prints its verdict as its last line. */
  readonly language?: "python" | "bash";
  /** default: plain */
  readonly scenario?: Scenario;
  /** Python for the new session of `next-session`, with a `verdict` of its own */
  readonly afterwards?: string;
  /** Python for the other session of `neighbour`: before the attack, and after it with a `verdict` of its own */
  readonly victim?: { readonly before?: string; readonly after?: string };
  readonly hostChecks?: readonly HostCheck[];
  /** ends of the run that also count as contained: `out_of_memory`, `timeout` … Default: none; a run that ends so has failed. */
  readonly endings?: readonly RunStatus[];
  /** it may spoil the interpreter or the cell for later attacks, so it gets a cell of its own */
  readonly needsOwnCell?: boolean;
  /** a parked copy of the interpreter must exist before it starts */
  readonly afterIdle?: boolean;
  /** limit of the run; default: 10 s */
  readonly timeoutMs?: number;
  /** which defence contains it, in a few words: "no network namespace link"; `default` for all other tiers */
  readonly containedBy: Partial<Record<AttackTier, string>> & { readonly default: string };
  /** tiers where the question makes no sense, with the reason: "there are no processes" */
  readonly notTried?: Partial<Record<AttackTier, string>>;
  /** tiers whose verdict differs, and why that is not harm */
  readonly exceptions?: Partial<Record<AttackTier, AttackException>>;
  /** how the control makes the harm visible, or why there can be none */
  readonly control: { readonly weakness: ControlWeakness } | { readonly none: string };
}

/** A verdict that would be harm elsewhere. */
export interface AttackException {
  /** the beginning of what the program says, or how its run ends */
  readonly verdict: string;
  readonly because: string;
}

/** `failed`: the attack could not be carried out. That proves nothing, so it is not a pass. */
export type AttackVerdict = "contained" | "harmed" | "not tried" | "failed";

/** How one attack ended on one tier. */
export interface AttackResult {
  readonly attack: Attack;
  readonly tier: AttackTier;
  readonly verdict: AttackVerdict;
  /** contained: by what. Harmed: what happened. Not tried, failed: why */
  readonly detail: string;
  readonly durationMs: number;
}

/** A tier that is a variant of others has their entries too. */
const wider: Partial<Record<AttackTier, readonly AttackTier[]>> = {
  podman: ["container"],
  kata: ["container"],
  "kubernetes-gvisor": ["gvisor", "kubernetes"],
};

/**
 * The entry for a tier, or for the nearest that it is a variant of. What a program says is judged by this one alone: a pod under gVisor
 * must not be excused for what pods show of their node, or for a link that a NetworkPolicy closes.
 */
export function forTier<Value>(
  entries: Partial<Record<AttackTier, Value>> | undefined,
  tier: AttackTier,
): Value | undefined {
  const nearest = wider[tier]?.[0];
  return entries?.[tier] ?? (nearest === undefined ? undefined : entries?.[nearest]);
}

/** The entries for a tier and for those that it is a variant of, its own first: for how runs end. */
export function allForTier<Value>(
  entries: Partial<Record<AttackTier, Value>> | undefined,
  tier: AttackTier,
): readonly Value[] {
  return [tier, ...(wider[tier] ?? [])].flatMap((one) => entries?.[one] ?? []);
}
