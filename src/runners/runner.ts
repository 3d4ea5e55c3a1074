import type { Duplex } from "node:stream";
import type { KernelSetup } from "../kernel/messages.ts";
import type { ModuleHint } from "../kernel/preload-failure.ts";
import type { CodecellError } from "../lib/errors.ts";
import type { PassedListener } from "../lib/passed-listener.ts";
import type { IsolationLevel } from "../policy/isolation.ts";
import type { Policy, RunnerName } from "../policy/schema.ts";
import type { CellPackages, CellPython } from "./cell-packages.ts";
import type { CellUsage } from "./cell-usage.ts";
import type { EnforcementPlan, EnforcementReceipt } from "./receipt.ts";

/** A property of the isolation itself that no single rule expresses. */
export type Guarantee =
  | "no-network"
  | "private-filesystem"
  | "private-processes"
  | "empty-environment"
  | "os-memory-limit"
  | "syscall-filter"
  /** after a crash, the whole interpreter is as it was before the run */
  | "crash-recovery"
  /** after a crash, variables that can be pickled are as they were at the last snapshot */
  | "snapshot-recovery"
  | "no-native-code"
  /** an OS kernel that is not the host's */
  | "own-kernel";

/** Whether a runner works on this machine: its guarantees, or the reason and the fix. */
export type Probe =
  | { readonly available: true; readonly version: string; readonly guarantees: readonly Guarantee[] }
  | { readonly available: false; readonly reason: string; readonly hint: string };

/** The cell to start. */
export interface CellSpec {
  /** unique among the running cells of this host process */
  readonly id: string;
  readonly policy: Policy;
  readonly policyHash: string;
  /** a host directory for this session alone, mounted at /workspace; it outlives the cell */
  readonly workspace?: SessionWorkspace;
  /** packages for its Python; the runner says which Python that is */
  readonly packages?: CellPackages;
}

/** A directory of the host that becomes `/workspace`. */
export interface SessionWorkspace {
  /** directory that contains all such workspaces */
  readonly root: string;
  /** name of this workspace in it */
  readonly name: string;
}

/** How a cell ended. */
export interface CellExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** what the sandbox printed about its own failure, truncated; never shown to the program inside */
  readonly diagnostics: string;
  /** why the cell exited, if the cause is outside it: it was killed, or the engine stopped */
  readonly reason?: CodecellError;
}

/** How the connections of a cell's programs reach the host, if the policy enables the network. */
export type Carrier =
  /** on the cell's own socket, which the cell passed to the host; it is closed with the cell */
  | { readonly kind: "listener"; readonly listener: PassedListener }
  /** as streams on the channel; `reason` says why the listener is not used, if it is available */
  | { readonly kind: "streams"; readonly reason?: string };

/** What became of the size limit of a workspace. */
export interface DiskFinding {
  /** the cell was ended for it */
  readonly isEnded: boolean;
  /** what is over the limit and what to do, one sentence each */
  readonly notes: readonly string[];
}

/** The size limit of a workspace that no file system enforces. */
export interface CellDisk {
  /** Bytes until the limit. */
  leftBytes(): Promise<number>;
  /** Size of its files without counting them now: as it was last measured, or as the file system knows it. */
  usedBytes(): Promise<number>;
  /** `afterRun` has nothing to find after a run without changes, so that such a run need not wait for it. */
  readonly isWithinLimit: boolean;
  /** Looks at the size while no code runs. `hasChanges`: files were written or deleted. */
  afterRun(hasChanges: boolean): Promise<DiskFinding>;
}

/** One isolated place where code runs. Disposing kills every process inside, and returns when they have exited. */
export interface Cell extends AsyncDisposable {
  readonly id: string;
  /** the kernel's frames; everything that is read from it is untrusted */
  readonly channel: Duplex;
  readonly setup: KernelSetup;
  readonly receipt: EnforcementReceipt;
  readonly exited: Promise<CellExit>;
  /** how long after its end the reason may take to be known; default 1 s */
  readonly exitKnownMs?: number | undefined;
  /** why the host ends this cell; known before the cell has exited, which can take an engine seconds */
  readonly endedFor?: CodecellError | undefined;
  /** default: streams */
  readonly carrier?: Carrier;
  /** absent: the file system enforces the limit */
  readonly disk?: CellDisk;
  /** how to get a module that its Python lacks */
  readonly moduleHint?: ModuleHint;
  usage(): Promise<CellUsage>;
  /** Gives way to other programs where processors are scarce, or no longer. Absent: the runner cannot. */
  giveWay?(givesWay: boolean): void;
  /** Its kernel answers: what was only needed for the start can be released. */
  isReady?(): void;
}

/** How thorough a probe is. */
export interface ProbeOptions {
  /** the policy names this runner, so the probe may start what it needs, which takes longer */
  readonly isWanted?: boolean;
  /** no other runner can be chosen instead, so the probe waits longer for a busy machine */
  readonly isPatient?: boolean;
  /** do not believe what an earlier process found out */
  readonly isFresh?: boolean;
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

/** Starts cells of one kind of isolation. Disposing ends everything that the runner keeps between cells, such as templates. */
export interface SandboxRunner extends AsyncDisposable {
  readonly name: RunnerName;
  /** how strong its isolation is; compared with `isolation.minimum` */
  readonly isolation: IsolationLevel;
  /** whether it supports `CellSpec.workspace`; otherwise files exist only in the cell */
  readonly takesWorkspace: boolean;
  readonly insideSandbox: InsideSandbox;
  /** Whoever may start its cells can do everything on the machine that they start on: the engine's socket is as good as root. */
  readonly controlsMachine?: boolean;
  /** Answers within two seconds, unless `isWanted` or `isPatient`: available, or the reason and the exact fix. */
  probe(options?: ProbeOptions): Promise<Probe>;
  /** Says for each rule how it would be enforced here, or that it would be refused. Starts nothing. */
  plan(policy: Policy): Promise<EnforcementPlan>;
  /** The Python of a policy's cells. Absent: this runner cannot give them packages. */
  python?(policy: Policy): Promise<CellPython>;
  /**
   * Keeps cells of this policy ready outside of this process, for every later start under it. Returns how many: the caller keeps
   * that many fewer. Absent: none.
   */
  keepWarm?(policy: Policy): Promise<number>;
  /**
   * Throws `policy_refused` if the plan refuses a rule. Never weakens a policy. It plans this cell itself instead of taking
   * the plan that the runner was chosen by. Only the cell's specification says whether it has a directory of its own, and
   * since the choice an image's name may mean another image, or the engine may be another one. A receipt made of the older
   * plan would describe a cell that did not start.
   */
  start(spec: CellSpec, options?: StartOptions): Promise<Cell>;
}
