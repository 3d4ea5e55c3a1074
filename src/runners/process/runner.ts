import { join } from "node:path";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { hostGrants } from "../../policy/paths/host-grants.ts";
import type { Policy } from "../../policy/schema.ts";
import { type CellPython, linuxPython } from "../cell-packages.ts";
import { ChannelCell, noUsage } from "../channel-cell.ts";
import { enforcedReceipt } from "../enforced-receipt.ts";
import { CellDisks } from "../linux/disk/cell-disks.ts";
import { countDeletedFiles } from "../linux/disk/deleted-files.ts";
import { DiskWatch } from "../linux/disk/disk-watch.ts";
import { imageDisk } from "../linux/disk/image/image-disk.ts";
import { namespaceGuarantees } from "../linux/guarantees.ts";
import { removeDeadHosts } from "../linux/janitor/dead-hosts.ts";
import { prepareKernelFiles } from "../linux/kernel-files.ts";
import { type CellMount, closedWorkspace, resolveMounts } from "../linux/mounts/mounts.ts";
import { prepareWorkspace } from "../linux/mounts/prepare-workspace.ts";
import { missingModuleHint } from "../linux/python/missing-module.ts";
import { type PythonInstallation, probeTimeoutMs, pythonFinder, pythonWithPackages } from "../linux/python/python.ts";
import { hostArch, noFilterHere } from "../linux/seccomp/host-arch.ts";
import { killNotifyFilter } from "../linux/seccomp/seccomp.ts";
import { writableOwner } from "../linux/users/cell-user.ts";
import type { EnforcementPlan } from "../receipt.ts";
import type {
  Carrier,
  Cell,
  CellSpec,
  Guarantee,
  Probe,
  ProbeOptions,
  SandboxRunner,
  StartOptions,
} from "../runner.ts";
import { groupLimits, kernelSetup } from "./cell-config.ts";
import { type CellCgroup, createCellCgroup } from "./cgroup/cell-cgroup.ts";
import { type DirectJail, startDirect } from "./direct.ts";
import { type Host, type HostOptions, openHost, usersOf } from "./host.ts";
import { takeListener } from "./listener-registry.ts";
import { MountPasser } from "./mount-passer.ts";
import { planProcess } from "./plan.ts";
import { trialMs } from "./probe.ts";
import { RememberedProbe } from "./remembered-probe.ts";
import { RememberedTrial } from "./remembered-trial.ts";
import { Template } from "./template.ts";

/** Options of the process runner. All have defaults. */
export interface ProcessRunnerOptions extends HostOptions {
  readonly logger?: Logger;
  /** how connections of cells reach the proxy; `streams` is for tests and measurements, and no policy can set it @internal */
  readonly carrier?: Carrier["kind"];
}

const guarantees: readonly Guarantee[] = [...namespaceGuarantees, "syscall-filter"];

/** Linux namespaces through bubblewrap, with a system call filter and cgroups. Creating the runner starts nothing. */
export function processRunner(options: ProcessRunnerOptions = {}): SandboxRunner {
  return new ProcessRunner(options);
}

/** A template, and the host directories that it was started with. */
interface StartedTemplate {
  readonly sources: string;
  readonly template: Promise<Template>;
}

/** Where a session's own files are. */
interface CellFiles {
  readonly own: string | undefined;
  /** it is a file system of its own */
  readonly isMounted: boolean;
  /** settles when the directory was measured, which has to be before the cell starts */
  readonly isReadOnly: Promise<boolean>;
}

class ProcessRunner implements SandboxRunner {
  readonly name = "process";
  readonly isolation = "process";
  readonly takesWorkspace = true;
  readonly insideSandbox = "blocked";
  readonly #options: ProcessRunnerOptions;
  readonly #logger: Logger;
  readonly #cleanup = new Cleanup();
  readonly #templates = new Map<string, StartedTemplate>();
  readonly #python: ReturnType<typeof pythonFinder>;
  readonly #prober: RememberedProbe;
  readonly #trial: RememberedTrial | undefined;
  readonly #disks: CellDisks;
  readonly #passer: MountPasser;
  #probe: ReturnType<RememberedProbe["find"]> | undefined;
  #host: Promise<Host> | undefined;
  #cells = 0;

  constructor(options: ProcessRunnerOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
    this.#prober = new RememberedProbe({ runtimeDir: options.runtimeDir });
    // Only for one cell: a process that starts many pays for the trial once.
    this.#trial = options.isForOneCell ? new RememberedTrial({ runtimeDir: options.runtimeDir }) : undefined;
    this.#python = pythonFinder(process.getuid?.() === 0, { runtimeDir: options.runtimeDir });
    this.#disks = new CellDisks({ ...options, logger: this.#logger });
    // not kernel.python: a policy does not choose what runs outside of cells
    this.#passer = new MountPasser(async () => (await this.#python(undefined)).executable);
    this.#cleanup.defer(() => this.#disks[Symbol.asyncDispose]());
    this.#cleanup.defer(() => this.#passer[Symbol.asyncDispose]());
  }

  async probe({ isWanted = false, isPatient = false, isFresh = false }: ProbeOptions = {}): Promise<Probe> {
    const unheld = noFilterHere();
    if (unheld) return unheld;
    if (isFresh) this.#probe ??= this.#prober.findAgain(trialMs.patient);
    const patience = isWanted || isPatient ? "patient" : "quick";
    const found = await this.#bubblewrap(trialMs[patience]);
    if (!found.available) return found;
    try {
      await this.#python(undefined, { timeoutMs: probeTimeoutMs[patience], isFresh });
    } catch (error) {
      if (!(error instanceof CodecellError)) throw error;
      return { available: false, reason: error.message, hint: error.hint ?? "" };
    }
    const { facts } = await this.#openHost();
    const limited = facts.cgroups.kind === "none" ? [] : (["os-memory-limit"] as const);
    return { available: true, version: `bubblewrap ${found.version}`, guarantees: [...guarantees, ...limited] };
  }

  async plan(policy: Policy): Promise<EnforcementPlan> {
    // Each session has its own directory, unless the policy names one for all of them.
    const { facts } = this.#hostFor(policy, await this.#openHost());
    return planProcess(policy, facts, policy.fs.workspace === undefined, await this.#disks.support(policy));
  }

  async python({ kernel }: Policy): Promise<CellPython> {
    const { version, libc } = await this.#python(kernel.python);
    return linuxPython(version, process.arch, libc);
  }

  async start(spec: CellSpec, options: StartOptions = {}): Promise<Cell> {
    try {
      return await this.#startWithGroups(spec, options);
    } catch (error) {
      const isOurs = error instanceof CodecellError && error.code === "cell_start_failed";
      if (!isOurs || !(await this.#bubblewrap(trialMs.patient)).isRemembered) throw error;
      // What an earlier process found out may no longer be true. Then its failure explains more than ours.
      const found = await this.#prober.findAgain(trialMs.patient);
      if (found.available) throw error;
      throw new CodecellError("runner_unavailable", found.reason, { hint: found.hint, cause: error });
    }
  }

  /** Retries without the memory of a trial if a cell's groups cannot be created. The new trial says what this host can limit. */
  async #startWithGroups(spec: CellSpec, options: StartOptions): Promise<Cell> {
    try {
      return await this.#start(spec, options);
    } catch (error) {
      if (!(error instanceof CodecellError) || error.details.hasNoGroups !== true || !this.#trial) throw error;
      await this.#trial.forget();
      this.#host = undefined;
      return await this.#start(spec, options);
    }
  }

  async #start(spec: CellSpec, options: StartOptions): Promise<Cell> {
    const host = this.#hostFor(spec.policy, await this.#openHost());
    const hasDirectory = spec.workspace !== undefined && spec.policy.fs.workspace === undefined;
    const plan = planProcess(spec.policy, host.facts, hasDirectory, await this.#disks.support(spec.policy));
    const runnerVersion = `bubblewrap ${host.facts.bubblewrap}`;
    const receipt = enforcedReceipt(plan, { runner: this.name, runnerVersion, policyHash: spec.policyHash });
    const python = pythonWithPackages(await this.#python(spec.policy.kernel.python), spec.packages);
    const setup = kernelSetup(spec.policy, host.facts, python, host.root.certificates !== undefined);
    await using cleanup = new Cleanup();
    const pinned = await this.#disks.pin(spec);
    cleanup.defer(() => pinned?.letGo());
    const own = pinned?.directory ?? ownDirectory(spec);
    const directory = spec.policy.fs.workspace ?? own;
    const isHeld = pinned !== undefined && spec.policy.proc.exactDisk;
    // Measured while the cell's groups are created.
    const watching = directory && !isHeld ? this.#watchDisk(directory, spec.policy, host) : Promise.resolve(undefined);
    const isReadOnly = watching.then((watch) => watch?.isReadOnly === true);
    isReadOnly.catch(() => {}); // something else may fail first
    const files = { own, isMounted: pinned !== undefined, isReadOnly };
    const jail =
      host.facts.layout === "template"
        ? await this.#forkFromLivingTemplate(spec, host, python, cleanup, { ...options, ...files })
        : await this.#startDirect(spec, host, python, cleanup, files);
    if (this.#options.isForOneCell) this.#removeDeadHosts(host);
    const disk = isHeld ? imageDisk(pinned.directory) : await watching;
    const { channel, exited, cgroup } = jail;
    const carrier: Carrier = jail.expected
      ? await takeListener(jail.expected, channel, options)
      : { kind: "streams", reason: "the embedding program chose streams" };
    // after the cell has exited, so that code in it cannot listen in place of the proxy
    cleanup.defer(() => carrier.kind === "listener" && carrier.listener.close());
    return new ChannelCell({
      ...{ id: spec.id, setup, receipt, channel, exited, carrier, cleanup: cleanup.move() },
      ...{ disk, moduleHint: missingModuleHint(python) },
      usage: async () => (await cgroup?.usage()) ?? noUsage,
      giveWay: (givesWay) => void cgroup?.giveWay(givesWay).catch(() => {}), // the cell may have ended
      ...{ hasten: jail.hasten, onReady: jail.onReady },
      kill: () => {
        jail.kill();
        void cgroup?.kill();
      },
    });
  }

  #watchDisk(directory: string, { proc }: Policy, { facts }: Host): Promise<DiskWatch> {
    // not kernel.python: a policy does not choose what runs outside of cells
    const countDeleted = async () => countDeletedFiles(directory, (await this.#python(undefined)).executable);
    return DiskWatch.open(directory, proc.diskBytes, this.#logger, facts.seesDescriptors ? countDeleted : undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }

  /**
   * A single cell starts twice as fast without a template. Not if the policy opens host directories, or without cgroups: there the
   * template also notices new mounts, and limits the number of files in memory.
   */
  #hostFor(policy: Policy, host: Host): Host {
    const { facts, layouts } = host;
    const isPlain = hostGrants(policy).length === 0 && policy.kernel.preload.length === 0;
    const isDirect = this.#options.isForOneCell && layouts.direct && isPlain && facts.cgroups.kind !== "none";
    return isDirect ? { ...host, facts: { ...facts, layout: "direct", users: usersOf(host.users) } } : host;
  }

  /** Retries with a new template, because the last one may have exited since the last cell. */
  async #forkFromLivingTemplate(
    spec: CellSpec,
    host: Host,
    python: PythonInstallation,
    cleanup: Cleanup,
    options: StartOptions & CellFiles,
  ) {
    try {
      return await this.#forkFromTemplate(spec, host, python, cleanup, options);
    } catch (error) {
      if (!(error instanceof CodecellError) || error.details.isTemplateGone !== true) throw error;
      return this.#forkFromTemplate(spec, host, python, cleanup, options);
    }
  }

  async #forkFromTemplate(
    spec: CellSpec,
    host: Host,
    python: PythonInstallation,
    cleanup: Cleanup,
    options: StartOptions & CellFiles,
  ) {
    const mounts = await resolveMounts(spec.policy);
    const { own, isMounted } = options;
    const template = await this.#template(spec, host, python, mounts, options.signal);
    const passing = own && isMounted ? this.#passer.pass(own, template.mountsSocket) : undefined;
    // Waiting for the helper meanwhile. It may also fail after something else has.
    cleanup.defer(async () => (await passing?.catch(() => undefined))?.release());
    const uid = template.givesUids ? await this.#cellUid(spec, host, mounts, own, cleanup) : template.uid;
    const cgroup = await this.#cgroup(host, spec, template.uid, cleanup, template.cgroups);
    const isReadOnly = await options.isReadOnly;
    await prepareWorkspace(own, uid);
    const passed = await passing?.catch((error: unknown) => {
      if (error instanceof CodecellError && error.details.isTemplateGone === true) template.isGone();
      throw error;
    });
    const expected = template.listeners?.expect();
    cleanup.defer(() => expected?.cancel());
    const name = own && spec.workspace?.name;
    const channel = await template.connect({
      ...{ uid, cgroup, workspace: name, disk: passed?.ticket, isReadOnly, ticket: expected?.ticket },
      mounts: closedWorkspace(mounts, isReadOnly),
    });
    cleanup.defer(() => channel.destroy());
    const exited = template.cellGone(channel).then(() => ({ code: null, signal: null, diagnostics: "" }));
    const onReady = () => passed?.release();
    return { channel, cgroup, exited, expected, onReady, kill: () => channel.destroy(), hasten: undefined };
  }

  async #startDirect(
    spec: CellSpec,
    host: Host,
    python: PythonInstallation,
    cleanup: Cleanup,
    { own, isReadOnly: knowsReadOnly }: CellFiles,
  ) {
    const mounts = await resolveMounts(spec.policy);
    const uid = await this.#cellUid(spec, host, mounts, own, cleanup);
    const kernelDirectory = await prepareKernelFiles(host.runtimeDir, python, killNotifyFilter(hostArch()));
    const cgroup = await this.#cgroup(host, spec, uid, cleanup);
    const isReadOnly = await knowsReadOnly;
    await prepareWorkspace(own, uid);
    const jail: DirectJail = startDirect({
      ...{ host, python, kernelDirectory, policy: spec.policy, uid, arch: hostArch(), cgroup, isReadOnly },
      ...{ mounts: closedWorkspace(mounts, isReadOnly), workspace: own },
      handsOver: this.#handsOver(spec),
    });
    cleanup.defer(jail.kill);
    // The supervisor would notice its closed channel 10 ms later and exit, and Linux would kill the rest. bubblewrap is
    // spared: it exits when nothing is left, and nobody has to poll for that.
    const hasten = () => void (jail.pid !== undefined && cgroup?.killAllBut(jail.pid).catch(() => {}));
    return { ...jail, cgroup, onReady: undefined, hasten: this.#options.isForOneCell ? hasten : undefined };
  }

  async #cellUid(
    spec: CellSpec,
    { users }: Host,
    mounts: readonly CellMount[],
    own: string | undefined,
    cleanup: Cleanup,
  ): Promise<number | undefined> {
    const owner = { mounts, policyHash: spec.policyHash, workspace: own };
    return await users?.forCell(owner, cleanup);
  }

  async #cgroup(
    host: Host,
    spec: CellSpec,
    uid: number | undefined,
    cleanup: Cleanup,
    cgroups = host.facts.cgroups,
  ): Promise<CellCgroup | undefined> {
    if (cgroups.kind === "none") return undefined;
    const name = `${host.tag}-${++this.#cells}`;
    const owner = uid === undefined ? {} : { ownerUid: uid };
    const limits = groupLimits(spec.policy, ownDirectory(spec) !== undefined);
    const cgroup = await createCellCgroup(cgroups, name, limits, owner).catch((cause: unknown) => {
      const why = `the cgroups of the cell could not be created: ${messageOf(cause)}`;
      throw new CodecellError("cell_start_failed", why, { cause, details: { hasNoGroups: true } });
    });
    cleanup.defer(() => cgroup[Symbol.asyncDispose]());
    return cgroup;
  }

  /** While the cell starts, this process has nothing else to do. Closing waits for it. */
  #removeDeadHosts({ runtimeDir }: Host): void {
    const removed = removeDeadHosts(runtimeDir).catch((error: unknown) => {
      this.#logger.warn("what a dead process left behind could not be removed", { error });
    });
    this.#cleanup.defer(() => removed);
  }

  /**
   * One template per policy. It is replaced if it has exited, if a host directory was replaced, or if a file system was
   * mounted or unmounted below a read-only directory: the old template may not see it, or see it writable. The old template
   * exits with its last cell.
   */
  async #template(
    spec: CellSpec,
    host: Host,
    python: PythonInstallation,
    mounts: readonly CellMount[],
    signal?: AbortSignal,
  ): Promise<Template> {
    const sources = mounts
      .flatMap(({ source, identity, ownerUid, readOnly, nested }) => [
        `${identity} ${ownerUid} ${source}`,
        ...(readOnly ? nested.map((one) => `${one.identity} ${source}/${one.path}`) : []),
      ])
      .join("\0");
    // A cell must never be forked from a template with other packages: what it imported stays in memory.
    const key = `${spec.policyHash}\0${spec.packages?.key ?? ""}\0${spec.workspace?.root ?? ""}`;
    const last = this.#templates.get(key);
    const known = last?.sources === sources ? await last.template.catch(() => undefined) : undefined;
    if (known?.isAlive) return known;
    const meanwhile = this.#templates.get(key);
    if (meanwhile && meanwhile !== last && meanwhile.sources === sources) return await meanwhile.template;
    const template = this.#startTemplate(spec, host, python, mounts, signal);
    this.#templates.set(key, { sources, template });
    template.catch(() => {
      if (this.#templates.get(key)?.template === template) this.#templates.delete(key);
    });
    void meanwhile?.template.then((old) => old.retire()).catch(() => {});
    return await template;
  }

  async #startTemplate(
    spec: CellSpec,
    host: Host,
    python: PythonInstallation,
    mounts: readonly CellMount[],
    signal?: AbortSignal,
  ): Promise<Template> {
    const { policy } = spec;
    const lease = host.facts.users === "session" && writableOwner(mounts) === undefined ? host.users?.lease : undefined;
    const ownUid = lease?.takeForTemplate();
    const uid = ownUid ?? host.users?.forPolicy({ mounts, policyHash: spec.policyHash });
    const kernelDirectory = await prepareKernelFiles(host.runtimeDir, python, killNotifyFilter(hostArch()));
    const name = `t${++this.#cells}`;
    if (policy.kernel.preload.length > 0) this.#logger.info("preloading modules", { modules: policy.kernel.preload });
    // A session with a file system of its own gets it passed. Others' mounts must not be copied into its cell.
    const places = { name, workspacesRoot: policy.proc.exactDisk ? undefined : spec.workspace?.root };
    const template = await Template.start(
      {
        host,
        python,
        kernelDirectory,
        policy,
        mounts,
        uid,
        lease: ownUid === undefined ? undefined : lease,
        arch: hostArch(),
        ...places,
        handsOver: this.#handsOver(spec),
        takesMounts: process.getuid?.() === 0,
      },
      signal,
    );
    this.#cleanup.defer(() => template[Symbol.asyncDispose]());
    return template;
  }

  #handsOver({ policy }: CellSpec): boolean {
    return policy.net.enabled && this.#options.carrier !== "streams";
  }

  /** A failure is not cached, because the machine may have been busy, or may be fixed meanwhile. */
  async #bubblewrap(limitMs: number): ReturnType<RememberedProbe["find"]> {
    this.#probe ??= this.#prober.find(limitMs);
    const found = await this.#probe;
    if (!found.available) this.#probe = undefined;
    return found;
  }

  #openHost(): Promise<Host> {
    const open = async () => {
      const found = await this.#bubblewrap(trialMs.patient);
      if (found.available) return openHost(found, this.#options, this.#cleanup, this.#trial);
      this.#host = undefined;
      throw new CodecellError("runner_unavailable", found.reason, { hint: found.hint });
    };
    this.#host ??= open();
    return this.#host;
  }
}

/** The session's own directory, unless the policy names another one. */
function ownDirectory({ policy, workspace }: CellSpec): string | undefined {
  return workspace && policy.fs.workspace === undefined ? join(workspace.root, workspace.name) : undefined;
}
