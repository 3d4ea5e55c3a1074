import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { HostOptions } from "../../src/runners/process/host.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { LiveRunOptions } from "../../src/sessions/runs/live-run-options.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import { skipOrFail } from "../contract/required.ts";
import { isThorough } from "./thorough.ts";
import { containerTiers, isMissing, testsContainersOnly } from "./tiers.ts";

export interface Layout {
  readonly name: string;
  readonly options: HostOptions;
  /** a runner other than the process runner */
  readonly make?: () => SandboxRunner;
  readonly isMissing?: boolean;
  /** the host does not see the cell's processes, and the Linux kernel does not protect its supervisor */
  readonly hasOwnKernel?: boolean;
}

const sample = processRunner();
const probe = await sample.probe({ isPatient: true });
await sample[Symbol.asyncDispose]();

export const skipsProcess = testsContainersOnly || skipOrFail("process", probe);
export const hasMemoryGroup = probe.available && probe.guarantees.includes("os-memory-limit");

const template: Layout = { name: "template layout", options: { layout: "template" } };
const direct: Layout = { name: "direct layout", options: { layout: "direct" } };
export const withoutGroups: Layout = {
  name: "template layout without control groups",
  options: { layout: "template", cgroups: false },
};
export const bothLayouts: readonly Layout[] = [template, direct];
export const everyLayout: readonly Layout[] = [template, direct, withoutGroups];
/** For what the supervisor does with the processes of a cell: both layouts give it the same namespaces and control groups. */
export const withAndWithoutGroups: readonly Layout[] = isThorough ? everyLayout : [template, withoutGroups];

const containerLayouts: readonly Layout[] = await Promise.all(
  containerTiers.map(async (tier) => ({
    name: tier.name,
    options: {},
    make: tier.make,
    isMissing: await isMissing(tier),
    hasOwnKernel: tier.name === "gvisor",
  })),
);

const hasDocker = containerLayouts.some(({ name, isMissing }) => name === "docker" && !isMissing);
/**
 * Docker and Podman get the same request from the same code, and start the same programs on the same Linux kernel. So Podman is attacked
 * here only where there is no Docker. What Podman itself has to enforce is attacked by the walk of its receipt
 * (test/containers/receipts.test.ts), and what it tells its runtime is compared with Docker (test/containers/podman.test.ts).
 */
export const oneTierPerKernel = containerLayouts.filter(({ name }) => isThorough || name !== "podman" || !hasDocker);
/** Those whose cells run on the host's Linux kernel. */
export const sharedKernelTiers = oneTierPerKernel.filter(({ hasOwnKernel }) => !hasOwnKernel);

/** gVisor gets the same request as Docker's own runtime. */
const tiersByRequest = isThorough || !hasDocker ? oneTierPerKernel : sharedKernelTiers;
/** Whether a question to the host, in a group of questions to a cell, was asked of Docker already. */
export const repeatsDocker = ({ hasOwnKernel }: Layout): boolean => hasOwnKernel === true && hasDocker && !isThorough;

/**
 * The same attacks on every layout of the process runner and on a container tier. In each run, gVisor answers its contract, the walk of its
 * receipt, the attacks of the catalogue and the bombs that its own kernel has to contain. With `ATTACKS=all` it answers everything.
 */
export function describeAttacks(
  layouts: readonly Layout[],
  title: string,
  attacks: (layout: Layout) => void,
  containers: readonly Layout[] = tiersByRequest,
): void {
  for (const layout of layouts)
    describe.skipIf(skipsProcess)(title.replace("$name", layout.name), () => attacks(layout));
  for (const tier of containers)
    describe.skipIf(tier.isMissing)(title.replace("$name", tier.name), () => attacks(tier));
  const isLeftOut = testsContainersOnly && containers === tiersByRequest && !isThorough && hasDocker;
  // so that the report of a run names it
  if (isLeftOut) test.skip(`${title.replace("$name", "gvisor")} is asked with ATTACKS=all`, () => {});
}

/** A policy's sessions in one layout. */
export function openCells(layout: Layout, policy: PolicyInput = {}): Promise<LiveSessions> {
  const runner = layout.make?.() ?? processRunner(layout.options);
  return LiveSessions.open({ policy: parsePolicy(policy), runners: [runner] });
}

/** Runs code that must succeed, and returns the JSON that it printed. */
export async function look(session: LiveSession, code: string, options?: LiveRunOptions): Promise<unknown> {
  const result = await session.run(`import json\n${code}`, options);
  if (result.status !== "ok")
    throw new Error(`${result.status}: ${result.error?.traceback ?? result.notes.join("; ")}`);
  return JSON.parse(result.stdout);
}

export function run(session: LiveSession, code: string, options?: LiveRunOptions): Promise<RunResult> {
  return session.run(code, options);
}

/** Waits long enough for the copy that is made while idle. */
export function idle(ms = 80): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Waits for `LONGEST_WITHOUT_COPY` of the kernel's copier. After that, the next request finds a copy of the latest state or
 * makes one first, however busy the machine is.
 */
export function copied(): Promise<void> {
  return idle(1_100);
}

/** Fails instead of waiting forever, because a hung client may be the attacker's goal. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hung for ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export interface HostProcess {
  readonly pid: number;
  readonly uid: number;
  readonly command: string;
  readonly status: Readonly<Record<string, string>>;
}

/** Running processes of the host, without zombies. Tests ask many times, so what is not asked for is neither read nor parsed. */
export function hostProcesses(): HostProcess[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/status`, "utf8");
        return text.includes("\nState:\tZ") ? [] : [new ListedProcess(Number(name), text)];
      } catch {
        return []; // it exited in the meantime
      }
    });
}

class ListedProcess implements HostProcess {
  readonly pid: number;
  readonly #text: string;
  #status: Readonly<Record<string, string>> | undefined;
  #command: string | undefined;

  constructor(pid: number, text: string) {
    this.pid = pid;
    this.#text = text;
  }

  get uid(): number {
    return Number(this.status.Uid?.split("\t")[0]);
  }

  get command(): string {
    const isKernelThread = !this.#text.includes("\nVmSize:");
    this.#command ??= isKernelThread ? "" : commandOf(this.pid);
    return this.#command;
  }

  get status(): Readonly<Record<string, string>> {
    this.#status ??= fieldsOf(this.#text);
    return this.#status;
  }
}

function fieldsOf(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  return fields;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // it exited in the meantime
  }
}

/** The first processes of the cells that this process started. `depth` counts pid namespaces, the host's included. */
export function ownCells(ancestor = process.pid, depth = 3): HostProcess[] {
  const all = hostProcesses();
  const parents = new Map(all.map(({ pid, status }) => [pid, Number(status.PPid)]));
  const descends = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === ancestor || (parent !== undefined && parent > 1 && descends(parent));
  };
  // Cells of the template layout are in a second pid namespace, below the template's.
  const isFirst = (pids: readonly string[]) => pids.length === depth && pids.at(-1) === "1";
  return all.filter(({ pid, status }) => isFirst((status.NSpid ?? "").split("\t")) && descends(pid));
}

/** Processes of the host whose command line contains a mark. */
export function marked(mark: string): HostProcess[] {
  return hostProcesses().filter(({ command }) => command.includes(mark));
}

/** Waits until the condition is true. Returns false if it never is. */
export async function eventually(holds: () => boolean, ms = 30_000): Promise<boolean> {
  const end = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > end) return false;
    await idle(20);
  }
  return true;
}

/** Python that finds the worker's token in its own memory and sends messages as the worker would. */
export const forging = `
import gc, json, os, threading, time
from codecell_kernel.worker import worker as _kernel
_worker = next(one for one in gc.get_objects() if type(one) is _kernel.Worker)
def forge(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    os.writev(_worker.replies, [_worker.token, len(text).to_bytes(4, "little"), text, body])
`;
