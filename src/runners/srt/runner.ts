import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import { type CellPython, linuxPython } from "../cell-packages.ts";
import { ChannelCell, noUsage } from "../channel-cell.ts";
import { enforcedReceipt } from "../enforced-receipt.ts";
import { CellDisks } from "../linux/disk/cell-disks.ts";
import { DiskWatch } from "../linux/disk/disk-watch.ts";
import { imageDisk } from "../linux/disk/image/image-disk.ts";
import type { ImageSupport } from "../linux/disk/image/image-support.ts";
import { namespaceGuarantees } from "../linux/guarantees.ts";
import { prepareKernelFiles } from "../linux/kernel-files.ts";
import { type CellMount, resolveMounts } from "../linux/mounts/mounts.ts";
import { prepareWorkspace } from "../linux/mounts/prepare-workspace.ts";
import { missingModuleHint } from "../linux/python/missing-module.ts";
import { probeTimeoutMs, pythonFinder, pythonWithPackages } from "../linux/python/python.ts";
import { hostArch, noFilterHere } from "../linux/seccomp/host-arch.ts";
import { killNotifyFilter } from "../linux/seccomp/seccomp.ts";
import type { EnforcementPlan } from "../receipt.ts";
import type { Cell, CellSpec, Guarantee, Probe, ProbeOptions, SandboxRunner, StartOptions } from "../runner.ts";
import { cellCommand, hostPaths, pythonOnHost } from "./cell-command.ts";
import { srtCellConfig, srtKernelSetup } from "./cell-setup.ts";
import { openSrtHost, type SrtHost, type SrtHostOptions } from "./host.ts";
import { srtVersion } from "./package.ts";
import { planSrt } from "./plan.ts";
import { trialMs, trySrt } from "./probe.ts";
import { srtSettings } from "./settings.ts";
import { spawnWrapped } from "./spawn-wrapped.ts";

/** Options of the srt runner. All have defaults. */
export interface SrtRunnerOptions extends SrtHostOptions {
  readonly logger?: Logger;
}

const guarantees: readonly Guarantee[] = [...namespaceGuarantees, "syscall-filter"];

/** Anthropic's sandbox-runtime, an optional peer dependency. Creating the runner starts nothing. */
export function srtRunner(options: SrtRunnerOptions = {}): SandboxRunner {
  return new SrtRunner(options);
}

class SrtRunner implements SandboxRunner {
  readonly name = "srt";
  readonly isolation = "srt";
  readonly takesWorkspace = true;
  readonly insideSandbox = "blocked";
  readonly #options: SrtRunnerOptions;
  readonly #logger: Logger;
  readonly #cleanup = new Cleanup();
  readonly #disks: CellDisks;
  readonly #python = pythonFinder(process.getuid?.() === 0);
  #host: Promise<SrtHost> | undefined;
  #trial: Promise<void> | undefined;
  #cells = 0;

  constructor(options: SrtRunnerOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
    this.#disks = new CellDisks({ runtimeDir: options.runtimeDir, logger: this.#logger });
    this.#cleanup.defer(() => this.#disks[Symbol.asyncDispose]());
  }

  async probe({ isWanted = false, isPatient = false }: ProbeOptions = {}): Promise<Probe> {
    if (process.platform !== "linux") {
      const reason = "the kernel inside the cell needs Linux: /proc, inotify and packets between processes";
      return { available: false, reason, hint: "use the wasm runner" };
    }
    const unheld = noFilterHere();
    if (unheld) return unheld;
    try {
      const host = await this.#openHost();
      const patience = isWanted || isPatient ? "patient" : "quick";
      await this.#python(undefined, { timeoutMs: probeTimeoutMs[patience] });
      this.#trial ??= trySrt(host, trialMs[patience]);
      await this.#trial;
    } catch (error) {
      this.#trial = undefined;
      if (!(error instanceof CodecellError)) throw error;
      return { available: false, reason: error.message, hint: error.hint ?? "" };
    }
    return { available: true, version: `sandbox-runtime ${srtVersion}`, guarantees };
  }

  async plan(policy: Policy): Promise<EnforcementPlan> {
    return planSrt(policy, { hasSessionDirectory: true, images: await this.#support(policy, true) });
  }

  async python({ kernel }: Policy): Promise<CellPython> {
    const { version, libc } = await this.#python(kernel.python);
    return linuxPython(version, process.arch, libc);
  }

  async start(spec: CellSpec, { signal }: StartOptions = {}): Promise<Cell> {
    const hasSessionDirectory = spec.workspace !== undefined;
    const plan = planSrt(spec.policy, {
      hasSessionDirectory: true,
      images: await this.#support(spec.policy, hasSessionDirectory),
    });
    const runnerVersion = `sandbox-runtime ${srtVersion}`;
    const receipt = enforcedReceipt(plan, { runner: this.name, runnerVersion, policyHash: spec.policyHash });
    const host = await this.#openHost();
    const python = pythonWithPackages(await this.#python(spec.policy.kernel.python), spec.packages);
    const mounts = await resolveMounts(spec.policy);
    refuseMoved(mounts);
    const guard = killNotifyFilter(hostArch());
    const kernelDirectory = await prepareKernelFiles(host.runtimeDir, python, guard);
    await using cleanup = new Cleanup();
    const pinned = await this.#disks.pin(spec);
    cleanup.defer(() => pinned?.letGo());
    const owner = { mounts, policyHash: spec.policyHash, workspace: pinned?.directory ?? ownWorkspace(spec) };
    const uid = await host.users?.forCell(owner, cleanup);
    const workspace = await this.#workspace(spec, host, mounts, uid, cleanup, pinned?.directory);
    const onHost = pythonOnHost(python);
    const programs = [...host.programs, ...onHost.directories, kernelDirectory];
    const isHeld = pinned !== undefined && spec.policy.proc.exactDisk;
    const watch = isHeld ? undefined : await DiskWatch.open(workspace, spec.policy.proc.diskBytes, this.#logger);
    const disk = watch ?? imageDisk(workspace);
    const isReadOnly = watch?.isReadOnly === true;
    const settings = srtSettings({ programs, workspace, isReadOnly, ...hostPaths(mounts) });
    const config = await srtCellConfig({ policy: spec.policy, workspace, mounts, arch: hostArch(), guard });
    // one per policy: the command does not depend on whose the workspace is
    const wrapUid = host.users?.forPolicy(owner);
    const command = cellCommand(python.executable, kernelDirectory, config);
    const { wrapped, service } = await host.services.wrap(wrapUid, command, settings, signal);
    cleanup.defer(() => service.ended());
    const process = spawnWrapped(wrapped, uid);
    cleanup.defer(process.kill);
    return new ChannelCell({
      id: spec.id,
      ...process,
      ...{ disk, moduleHint: missingModuleHint(python) },
      usage: async () => noUsage,
      setup: srtKernelSetup(spec.policy, onHost, workspace, spec.packages?.directory),
      receipt,
      cleanup: cleanup.move(),
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }

  /** The cell's workspace: the policy's directory, the session's own, or one that is removed with the cell. */
  async #workspace(
    spec: CellSpec,
    host: SrtHost,
    mounts: readonly CellMount[],
    uid: number | undefined,
    cleanup: Cleanup,
    mounted: string | undefined,
  ): Promise<string> {
    const workspace = mounts.find(({ rule }) => rule === "fs.workspace");
    if (workspace) return workspace.source;
    const own = mounted ?? ownWorkspace(spec);
    const directory = own ?? join(host.ownDir, `w${++this.#cells}`);
    if (own === undefined) {
      await mkdir(directory, { mode: 0o700 });
      cleanup.defer(() => removeTree(directory));
    }
    await prepareWorkspace(directory, uid);
    return directory;
  }

  /** A cell without a session has a directory that is removed with it, and no disk of its own. */
  async #support(policy: Policy, hasSessionDirectory: boolean): Promise<ImageSupport | undefined> {
    if (hasSessionDirectory || !policy.proc.exactDisk) return this.#disks.support(policy);
    return {
      isAvailable: false,
      reason: "this cell has no session",
      hint: "open a session, or set proc.exactDisk to false",
    };
  }

  #openHost(): Promise<SrtHost> {
    this.#host ??= openSrtHost(this.#options, this.#cleanup).catch((error: unknown) => {
      this.#host = undefined; // a package that is installed later can then be found
      throw error;
    });
    return this.#host;
  }
}

function ownWorkspace({ workspace }: CellSpec): string | undefined {
  return workspace && join(workspace.root, workspace.name);
}

/** Refuses a mount whose path contains a symlink, because its real path is not the one in the policy. */
function refuseMoved(mounts: readonly CellMount[]): void {
  const moved = mounts.find(({ rule, source, target }) => rule === "fs.mounts" && source !== target);
  if (!moved) return;
  const message = `fs.mounts: sandbox-runtime cannot map paths, but the real path of ${moved.target} is ${moved.source}`;
  throw new CodecellError("policy_refused", message, {
    hint: `write ${moved.source} as source and target, or use the process runner`,
    details: { rule: "fs.mounts" },
  });
}
