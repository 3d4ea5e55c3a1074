import type { Duplex } from "node:stream";
import type { KernelSetup } from "../kernel/messages.ts";
import type { CodecellError } from "../lib/errors.ts";
import type { PassedListener } from "../lib/passed-listener.ts";
import type { IsolationLevel } from "../policy/isolation.ts";
import type { Policy, RunnerName } from "../policy/schema.ts";
import type { EnforcementPlan, EnforcementReceipt } from "./receipt.ts";

/** A property of the isolation itself, beyond single rules. */
export type Guarantee =
  | "no-network"
  | "private-filesystem"
  | "private-processes"
  | "empty-environment"
  | "os-memory-limit"
  | "syscall-filter"
  /** the whole interpreter, as it was before the run that crashed */
  | "crash-recovery"
  /** variables that pickle, as they were at the last snapshot */
  | "snapshot-recovery"
  | "no-native-code"
  /** a kernel of the OS that is not the host's */
  | "own-kernel";

/** Whether a runner works on this machine: what it guarantees, or why not and what would help. */
export type Probe =
  | { readonly available: true; readonly version: string; readonly guarantees: readonly Guarantee[] }
  | { readonly available: false; readonly reason: string; readonly hint: string };

/** What a cell is to be. */
export interface CellSpec {
  /** unique among the living cells of this host process */
  readonly id: string;
  readonly policy: Policy;
  readonly policyHash: string;
  /** a host directory for this session alone, to be seen at /workspace; it outlives the cell */
  readonly workspace?: SessionWorkspace;
}

/** A directory of the host that becomes `/workspace`. */
export interface SessionWorkspace {
  /** directory in which all such workspaces lie */
  readonly root: string;
  /** name of this one in it */
  readonly name: string;
}

/** How a cell ended. */
export interface CellExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** what the isolation printed about its own failure, cut; never shown to the program inside */
  readonly diagnostics: string;
  /** what the runner knows about an ending that was not the cell's own: killed from outside, the engine is gone */
  readonly reason?: CodecellError;
}

/** What a cell takes, as far as its runner can tell. */
export interface CellUsage {
  readonly memoryBytes: number | undefined;
  readonly peakMemoryBytes: number | undefined;
  readonly cpuMs: number | undefined;
  /** how often the OS's OOM killer struck in this cell so far */
  readonly oomKills: number;
}

/** How the connections of a cell's programs reach the host, where the policy gives a network. */
export type Carrier =
  /** on the cell's own socket, which the cell handed over; it is closed with the cell */
  | { readonly kind: "listener"; readonly listener: PassedListener }
  /** as streams on the channel; `reason` says why, where the other way was open */
  | { readonly kind: "streams"; readonly reason?: string };

/** One isolated place where code runs. Disposing ends everything inside and returns when it is gone. */
export interface Cell extends AsyncDisposable {
  readonly id: string;
  /** the kernel's frames; everything that comes out of it is untrusted */
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  /** absent: streams */
  readonly carrier?: Carrier;
  usage(): Promise<CellUsage>;
}

/** What a probe may take into account. */
export interface ProbeOptions {
  /** the policy names this runner: what it needs may be started, which takes longer than a look */
  readonly isWanted?: boolean;
  /** a machine that is busy is waited for: no other runner is left to be chosen, or nobody chooses */
  readonly isPatient?: boolean;
}

/** How a cell is started. */
export interface StartOptions {
  readonly signal?: AbortSignal;
}

/**
 * Whether cells start while another sandbox surrounds this process. `works`: they do. `needs engine`: an engine outside
 * that sandbox starts them. `blocked`: they need namespaces of their own, which sandboxes usually forbid.
 */
export type InsideSandbox = "works" | "needs engine" | "blocked";

/** Starts cells of one kind of isolation. Disposing ends what the runner keeps between cells (templates, snapshots). */
export interface SandboxRunner extends AsyncDisposable {
  readonly name: RunnerName;
  /** how strong its isolation is; `isolation.minimum` is compared with this */
  readonly isolation: IsolationLevel;
  /** whether `CellSpec.workspace` can be held; elsewhere files live in the cell alone */
  readonly takesWorkspace: boolean;
  readonly insideSandbox: InsideSandbox;
  /** Answers within two seconds whatever the host does, unless it is wanted or asked patiently: available, or the reason and the exact fix. */
  probe(options?: ProbeOptions): Promise<Probe>;
  /** Says for each rule how it would be enforced here, or that it would be refused. Starts nothing. */
  plan(policy: Policy): Promise<EnforcementPlan>;
  /**
   * Refuses with `policy_refused` when the plan refuses a rule; never weakens a policy. It plans this cell itself instead of
   * taking the plan that the runner was chosen by. Only the cell's specification says whether it has a directory of its own,
   * and since the choice an image's name may mean another image, or the engine may be another one. A receipt made of the
   * older plan would describe a cell that did not start.
   */
  start(spec: CellSpec, options?: StartOptions): Promise<Cell>;
}
