/** The kernel's settings in a cell, which `Cell.setup` carries. */
export type { KernelSetup } from "../kernel/messages.ts";
export type { ModuleHint } from "../kernel/preload-failure.ts";
/** The hint, cause and details of a `CodecellError`. */
export type { CodecellErrorOptions } from "../lib/errors.ts";
/** A listening socket that a cell handed to the host. */
export type { PassedListener } from "../lib/passed-listener.ts";
/** How strong an isolation is. `isolation.minimum` is compared with it. */
export type { IsolationLevel } from "../policy/isolation.ts";
/** Every rule of a policy with its value: a plan answers each of them. */
export { type PolicyFieldName, policyRules, type RuleName } from "../policy/rules.ts";
/** The runners that `isolation.runner` can name. */
export type { RunnerName } from "../policy/schema.ts";
/** Every runner of this package. Creating them starts nothing. */
export { builtInRunners } from "./built-in-runners.ts";
/** The packages of a cell, and the Python that they are for. */
export type { CellPackages, CellPython } from "./cell-packages.ts";
export type { CellUsage } from "./cell-usage.ts";
/** A container engine. */
export type { EngineKind } from "./container/engine/engine-address.ts";
/** Which container engine to use. */
export type { EngineFinderOptions } from "./container/engine/engine-finder.ts";
/** Turns a plan into the receipt of a cell, or throws `policy_refused`. */
export { enforcedReceipt } from "./enforced-receipt.ts";
/** The files of the Python kernel, to copy into a cell. */
export { type KernelSource, kernelSources, writeKernelSources } from "./kernel-sources.ts";
/** How the process runner sets up its host. */
export type { HostOptions } from "./process/host.ts";
/** Whether cells are forked from a template or started one by one. */
export type { Layout } from "./process/process-facts.ts";
/** What a runner would enforce, what it enforced, and what it refuses. */
export type {
  EnforcedBy,
  EnforcedRule,
  EnforcementPlan,
  EnforcementReceipt,
  NetworkCarrier,
  RefusedRule,
} from "./receipt.ts";
/** The runner that was chosen for a policy, and the stronger ones that were skipped. */
export type { Choice, PassedOver, PassedOverKind } from "./registry.ts";
/** The interface of a runner, and of the cells that it starts. */
export type {
  Carrier,
  Cell,
  CellDisk,
  CellExit,
  CellSpec,
  DiskFinding,
  Guarantee,
  InsideSandbox,
  Probe,
  ProbeOptions,
  SandboxRunner,
  SessionWorkspace,
  StartOptions,
} from "./runner.ts";
/** How the srt runner sets up its host. */
export type { SrtHostOptions } from "./srt/host.ts";
