import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ModuleHint } from "../../kernel/preload-failure.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { PromiseCache } from "../../lib/waiting/promise-cache.ts";
import { policyHash } from "../../policy/hash.ts";
import type { IsolationLevel } from "../../policy/isolation.ts";
import type { Policy } from "../../policy/schema.ts";
import { type CellPython, linuxPython, packagesTarget, pathWithPackages } from "../cell-packages.ts";
import { ChannelCell } from "../channel-cell.ts";
import { enforcedReceipt, policyRefused } from "../enforced-receipt.ts";
import type { ImageKernel } from "../images/image-kernel.ts";
import { ImageKernels } from "../images/image-kernels.ts";
import { CellDisks } from "../linux/disk/cell-disks.ts";
import { DiskWatch } from "../linux/disk/disk-watch.ts";
import { imageDisk } from "../linux/disk/image/image-disk.ts";
import type { ImageSupport } from "../linux/disk/image/image-support.ts";
import { namespaceGuarantees } from "../linux/guarantees.ts";
import { linuxKernelSetup } from "../linux/kernel-setup.ts";
import { type CellMount, closedWorkspace, packagesMount, resolveMounts } from "../linux/mounts/mounts.ts";
import { prepareWorkspace } from "../linux/mounts/prepare-workspace.ts";
import { socketLimits } from "../linux/socket-limits.ts";
import type { EnforcementPlan } from "../receipt.ts";
import type { Cell, CellSpec, Guarantee, Probe, ProbeOptions, SandboxRunner, StartOptions } from "../runner.ts";
import { CellChannel } from "./cell/cell-channel.ts";
import { type CellListener, listenForCell } from "./cell/cell-listener.ts";
import { usageReader } from "./cell/cell-usage.ts";
import { type StartedContainer, startContainer } from "./cell/container.ts";
import { containerSpec, memoryFilesBytes } from "./cell/container-spec.ts";
import { type ContainerUser, containerUser, writeIdentity } from "./cell/container-user.ts";
import { refuseNested, withNestedRefused } from "./cell/nested-binds.ts";
import { removeOrphanContainers } from "./cell/orphans.ts";
import { Removals } from "./cell/removals.ts";
import { startFailure } from "./cell/start-failure.ts";
import { type Engine, engineVersion } from "./engine/engine.ts";
import { EngineRefusal } from "./engine/engine-client.ts";
import { EngineFinder, type EngineFinderOptions } from "./engine/engine-finder.ts";
import { defaultImage } from "./image/default-image.ts";
import { containerForImage } from "./image/image-command.ts";
import { type ImageInEngine, imageInEngine } from "./image/image-list.ts";
import { type ContainerFacts, planContainer } from "./plan.ts";
import { openRunnerHome, type RunnerHome } from "./runner-home.ts";
import { chooseRuntime, type RuntimeKind, runtimeKinds } from "./runtime-kind.ts";

/** An engine that has not created a container in this time may be stuck. */
const stuckMs = 300;
/** `auto` skips an engine that could not start anything for this long. */
const refusalMs = 60_000;

/** Options of the container runner. All have defaults. */
export interface ContainerRunnerOptions extends EngineFinderOptions {
  /** default: the image that `codecell image build` builds */
  readonly image?: string;
  readonly logger?: Logger;
}

/** Docker or Podman. Creating the runner starts nothing. */
export function containerRunner(options: ContainerRunnerOptions = {}): SandboxRunner {
  return new ContainerRunner(runtimeKinds.container, options);
}

/** The container runner with gVisor: the cell has its own OS kernel, which handles its system calls. */
export function gvisorRunner(options: ContainerRunnerOptions = {}): SandboxRunner {
  return new ContainerRunner(runtimeKinds.gvisor, options);
}

/** The container runner with Kata Containers: the cell is a virtual machine. */
export function kataRunner(options: ContainerRunnerOptions = {}): SandboxRunner {
  return new ContainerRunner(runtimeKinds.kata, options);
}

class ContainerRunner implements SandboxRunner {
  readonly name: RuntimeKind["name"];
  readonly isolation: IsolationLevel;
  readonly takesWorkspace = true;
  readonly insideSandbox = "needs engine";
  readonly controlsMachine = true;
  readonly #kind: RuntimeKind;
  readonly #options: ContainerRunnerOptions;
  readonly #logger: Logger;
  readonly #cleanup = new Cleanup();
  readonly #finder: EngineFinder;
  readonly #removals: Removals;
  readonly #disks: CellDisks;
  readonly #homes = new PromiseCache<RunnerHome>();
  readonly #kernels: ImageKernels;
  readonly #identities = new PromiseCache<string>();
  /** the image that each name pointed to when a cell was last started in it */
  readonly #images = new Map<string, ImageInEngine>();
  /** the engine that refused to examine an image, and until when it is skipped */
  #refusal:
    | { readonly from: string; readonly reason: string; readonly hint: string; readonly untilMs: number }
    | undefined;
  #cells = 0;

  constructor(kind: RuntimeKind, options: ContainerRunnerOptions) {
    this.name = kind.name;
    this.isolation = kind.isolation;
    this.#kind = kind;
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
    this.#finder = new EngineFinder(options, kind.hasOwnKernel, this.#cleanup);
    this.#removals = new Removals(this.#logger);
    this.#kernels = new ImageKernels(this.#logger);
    this.#disks = new CellDisks({ runtimeDir: options.runtimeDir, logger: this.#logger });
    this.#cleanup.defer(() => this.#disks[Symbol.asyncDispose]());
  }

  async probe(options: ProbeOptions = {}): Promise<Probe> {
    const found = await this.#finder.find(options);
    if (!found.available) return found;
    const { engine } = found;
    const refusal = this.#refusal;
    if (refusal?.from === engine.client.address.shown && performance.now() < refusal.untilMs)
      return { available: false, reason: refusal.reason, hint: refusal.hint };
    const { runtime, hint } = chooseRuntime(this.#kind, engine);
    if (hint !== undefined) return { available: false, reason: noSuchRuntime(engine), hint };
    const own: Guarantee = this.#kind.hasOwnKernel ? "own-kernel" : "syscall-filter";
    const limited: Guarantee[] = engine.limits.memory ? ["os-memory-limit"] : [];
    const guarantees: Guarantee[] = [...namespaceGuarantees, ...limited, own];
    return { available: true, version: engineVersion(engine, runtime), guarantees };
  }

  async plan(policy: Policy): Promise<EnforcementPlan> {
    const engine = await this.#finder.need();
    try {
      const name = this.#image(policy);
      const image = await imageInEngine(engine.client, name);
      const facts = this.#facts(engine, name, image?.id, policy.fs.workspace === undefined);
      const plan = planContainer(policy, { ...facts, images: await this.#imageSupport(engine, policy) });
      return engine.isRootless ? await withNestedRefused(policy, plan) : plan;
    } catch (error) {
      const failure = startFailure(error, engine.client.address.name);
      if (!(error instanceof EngineRefusal)) throw failure;
      // The engine answers but does not list its images. Another runner may work.
      const { message, hint = "" } = failure;
      throw new CodecellError("runner_unavailable", message, { hint, cause: error });
    }
  }

  async start(spec: CellSpec, options: StartOptions = {}): Promise<Cell> {
    const engine = await this.#finder.known();
    try {
      return await this.#startInImage(engine, spec, options);
    } catch (error) {
      const failure = startFailure(error, engine.client.address.name);
      if (failure.code === "runner_unavailable") this.#finder.forget();
      throw failure;
    }
  }

  async #startInImage(engine: Engine, spec: CellSpec, options: StartOptions): Promise<Cell> {
    const name = this.#image(spec.policy);
    const known = this.#images.get(name);
    const cell = known === undefined ? undefined : await this.#startInKnown(engine, spec, options, known);
    if (cell) return cell;
    this.#images.delete(name);
    const image = await imageInEngine(engine.client, name);
    const started = await this.#startIn(engine, spec, options, image);
    if (image !== undefined) this.#images.set(name, image);
    return started;
  }

  /**
   * Starts a cell in the image that the name pointed to last, and checks meanwhile that it still does. Checking first would
   * delay every start, and the image rarely changes. Undefined if the name points to another image now.
   */
  async #startInKnown(
    engine: Engine,
    spec: CellSpec,
    options: StartOptions,
    known: ImageInEngine,
  ): Promise<Cell | undefined> {
    const wrong = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, wrong.signal]) : wrong.signal;
    const starting = this.#startIn(engine, spec, { ...options, signal }, known);
    const asking = settledOrLate(starting, stuckMs).then(() => imageInEngine(engine.client, known.name));
    asking.then(
      (image) => image?.id !== known.id && wrong.abort(),
      () => wrong.abort(), // the engine does not answer this request either
    );
    const [started, current] = await Promise.allSettled([starting, asking]);
    if (current.status === "fulfilled" && current.value?.id === known.id) {
      if (started.status === "rejected") throw started.reason;
      return started.value;
    }
    if (started.status === "fulfilled") await started.value[Symbol.asyncDispose]();
    if (current.status === "rejected") throw current.reason;
    return undefined;
  }

  async #startIn(
    engine: Engine,
    spec: CellSpec,
    options: StartOptions,
    image: ImageInEngine | undefined,
  ): Promise<Cell> {
    const { policy } = spec;
    const own =
      spec.workspace && policy.fs.workspace === undefined ? join(spec.workspace.root, spec.workspace.name) : undefined;
    const facts = this.#facts(engine, this.#image(policy), image?.id, own !== undefined);
    const plan = planContainer(policy, { ...facts, images: await this.#imageSupport(engine, policy) });
    const runnerVersion = engineVersion(engine, facts.runtime);
    const receipt = enforcedReceipt(plan, { runner: this.name, runnerVersion, policyHash: spec.policyHash });
    if (image === undefined) throw policyRefused(this.name, plan);
    const opening = this.#home(engine);
    const mounts = await this.#mounts(spec).catch(async (error: unknown) => {
      await opening.catch(() => {}); // a runner that is disposed now would remove its directory while it is being filled
      throw error;
    });
    const home = await opening;
    refuseNested(engine, mounts);
    await using cleanup = new Cleanup();
    const pinned = await this.#disks.pin(spec);
    cleanup.defer(() => pinned?.letGo());
    const workspace = pinned?.directory ?? own;
    const owner = { mounts, policyHash: spec.policyHash, workspace };
    const user = containerUser(engine, await home.users?.forCell(owner, cleanup));
    // the same for all cells of a policy, because examining an image takes longer than starting a cell
    const examiner = containerUser(engine, home.users?.forPolicy(owner));
    const watched = policy.fs.workspace ?? workspace;
    const isHeld = pinned !== undefined && policy.proc.exactDisk;
    const watch = watched && !isHeld ? await DiskWatch.open(watched, policy.proc.diskBytes, this.#logger) : undefined;
    const disk = isHeld ? imageDisk(pinned.directory) : watch;
    const isReadOnly = watch?.isReadOnly === true;
    const number = ++this.#cells;
    const listening = this.#listener(engine, facts, user, join(home.directory, `c${number}`));
    cleanup.defer(async () => (await listening.catch(() => undefined))?.[Symbol.asyncDispose]());
    const { runtime, hasOwnKernel } = facts;
    const [kernel, identityDirectory, listener] = await Promise.all([
      this.#kernel(engine, image, facts, home, examiner, number),
      this.#identities.get(String(user.uid), () => writeIdentity(home.directory, user)),
      listening,
      prepareWorkspace(workspace, engine.isRootless ? undefined : user.uid),
    ]);
    const container = await startContainer({
      ...{ client: engine.client, removals: this.#removals, name: `codecell-${home.tag}-${number}` },
      ...(options.signal ? { signal: options.signal } : {}),
      spec: containerSpec({
        ...{
          policy,
          engine: engine.kind,
          image,
          python: kernel.python,
          runtime,
          hasOwnKernel,
          user,
          mounts: closedWorkspace(mounts, isReadOnly),
          workspace,
          isReadOnly,
        },
        ...{ identityDirectory, emptyDirectory: home.emptyDirectory, labels: home.labels },
        ...{ closedFile: home.closedFile, closedDirectory: home.closedDirectory },
        kernelDirectory: kernel.directory,
        socketDirectory: listener?.directory,
        checksIdentities: !hasOwnKernel && engine.isLocal,
        filter: "cell.bpf",
        usesHostUsers: engine.remapsUsers,
        usesHostLabels: engine.labelsFiles,
        processLimit: home.processLimit,
        // an engine on another machine may allow less
        fileLimit: engine.isLocal ? home.fileLimit : undefined,
        processors: engine.processors,
        limitsSockets: engine.limits.sockets,
      }),
    });
    cleanup.defer(() => this.#remove(engine, container));
    const channel = listener ? new CellChannel(container.stream, listener.connection) : container.stream;
    return new ChannelCell({
      ...{ id: spec.id, channel, exited: container.exited, usage: usageReader(engine.client, container.id) },
      setup: linuxKernelSetup(policy, {
        path: pathWithPackages(kernel.path, spec.packages && packagesTarget),
        packages: spec.packages && packagesTarget,
        env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        ...(hasOwnKernel
          ? {
              watchMemoryBytes: policy.proc.memoryBytes,
              watchTotalBytes: policy.proc.memoryBytes + memoryFilesBytes(policy, workspace !== undefined),
              watchProcesses: policy.proc.pids,
            }
          : { watchSocketBytes: socketLimits(policy.proc.memoryBytes).watchBytes }),
      }),
      receipt,
      ...{ disk, moduleHint },
      kill: () => {
        channel.destroy();
        void this.#removals.end(engine.client, container.id);
      },
      cleanup: cleanup.move(),
    });
  }

  async #mounts({ policy, packages }: CellSpec): Promise<CellMount[]> {
    const mounts = await resolveMounts(policy);
    return packages === undefined ? mounts : [...mounts, await packagesMount(packages.directory)];
  }

  /** An engine on another machine does not see what is mounted on this one. */
  async #imageSupport({ isLocal }: Engine, policy: Policy): Promise<ImageSupport | undefined> {
    if (isLocal || !policy.proc.exactDisk) return this.#disks.support(policy);
    const hint = "use an engine on this machine, or set proc.exactDisk to false";
    return { isAvailable: false, reason: "the engine runs on another machine", hint };
  }

  /** The Python of an image, with the kernel compiled for it. */
  async #kernel(
    engine: Engine,
    image: ImageInEngine,
    { runtime, hasOwnKernel }: ContainerFacts,
    { runtimeDir, labels, processLimit, emptyDirectory, tag }: RunnerHome,
    user: ContainerUser,
    number: number,
  ): Promise<ImageKernel> {
    const run = containerForImage({
      ...{ engine, runtime, hasOwnKernel, image, user, labels, processLimit, emptyDirectory },
      ...{ name: `codecell-${tag}-${number}-image`, removals: this.#removals },
    });
    const examined = { image, uid: user.uid, arch: engine.arch ?? "x64", hasOwnKernel, runtimeDir, run } as const;
    return this.#kernels.get(examined).catch((error: unknown) => this.#cannotExamine(engine, error));
  }

  async python(policy: Policy): Promise<CellPython> {
    const engine = await this.#finder.known();
    const name = this.#image(policy);
    const image = await imageInEngine(engine.client, name);
    const facts = this.#facts(engine, name, image?.id, policy.fs.workspace === undefined);
    if (image === undefined) throw policyRefused(this.name, planContainer(policy, facts));
    const home = await this.#home(engine);
    const owner = { mounts: await resolveMounts(policy), policyHash: policyHash(policy), workspace: undefined };
    const examiner = containerUser(engine, home.users?.forPolicy(owner));
    const { version, libc } = await this.#kernel(engine, image, facts, home, examiner, ++this.#cells);
    return linuxPython(version, engine.arch ?? "x64", libc ?? undefined);
  }

  /**
   * An engine that refuses the container that examines an image cannot start cells either, for example because it does not
   * see codecell's files. That container has no content of a session, so no session can make other sessions skip an engine.
   */
  #cannotExamine({ client }: Engine, error: unknown): never {
    if (!(error instanceof CodecellError) || error.details.isRefusal !== true) throw error;
    const { message, hint = "" } = error;
    this.#refusal = { from: client.address.shown, reason: message, hint, untilMs: performance.now() + refusalMs };
    throw new CodecellError("runner_unavailable", message, { hint, cause: error });
  }

  /** The engine removes a container that has exited. This asks for it too, unless the engine does not answer. */
  async #remove({ client }: Engine, { id, exited }: StartedContainer): Promise<void> {
    const { reason } = await exited;
    if (reason?.code !== "runner_unavailable") return this.#removals.remove(client, id);
    this.#finder.forget();
    this.#removals.later(client, id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#removals[Symbol.asyncDispose]();
    await this.#cleanup[Symbol.asyncDispose]();
  }

  #image(policy: Policy): string {
    return policy.kernel.image ?? this.#options.image ?? defaultImage();
  }

  #facts(engine: Engine, image: string, id: string | undefined, hasSessionDirectory: boolean): ContainerFacts {
    const { runtime, hint } = chooseRuntime(this.#kind, engine);
    // An engine may restart without this runtime. Its default runtime would then share the host's OS kernel.
    if (hint !== undefined) throw new CodecellError("runner_unavailable", noSuchRuntime(engine), { hint });
    const { hasOwnKernel } = this.#kind;
    const name = engine.client.address.name;
    return { engine: { ...engine, name }, runtime, hasOwnKernel, image, imageId: id, hasSessionDirectory };
  }

  /** A cell that shares the host's OS kernel can connect to a socket of the host directly. */
  async #listener(
    engine: Engine,
    { hasOwnKernel }: ContainerFacts,
    { uid }: ContainerUser,
    directory: string,
  ): Promise<CellListener | undefined> {
    if (hasOwnKernel || !engine.isLocal) return undefined;
    return await listenForCell(directory, process.getuid?.() === 0 && !engine.isRootless ? uid : undefined);
  }

  #home(engine: Engine): Promise<RunnerHome> {
    return this.#homes.get("", async () => {
      const home = await openRunnerHome(this.#options.runtimeDir, this.#cleanup);
      removeOrphanContainers(engine.client, home.machine, this.#removals, this.#logger).catch((error: unknown) => {
        this.#logger.warn("could not search for containers of processes that have exited", { error });
      });
      return home;
    });
  }
}

const moduleHint: ModuleHint = () =>
  "set kernel.image to an image that has it (`codecell image build` makes one with numpy, pandas, scipy and matplotlib), or remove it from kernel.preload";

function noSuchRuntime({ client, runtimes }: Engine): string {
  return `${client.address.name} does not have this runtime (it has ${runtimes.join(", ")})`;
}

async function settledOrLate(promise: Promise<unknown>, lateMs: number): Promise<void> {
  const late = new AbortController();
  await Promise.race([promise, pause(lateMs, undefined, { signal: late.signal })]).catch(() => {});
  late.abort();
}
