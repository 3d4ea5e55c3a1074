import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { visibleMounts } from "../artifacts/visible-mounts.ts";
import { denyNothing, openWorkspaceFiles, type WorkspaceFiles } from "../artifacts/workspace-files.ts";
import { type Audit, silentAudit } from "../audit/audit.ts";
import { ObservedAudit } from "../audit/observed-audit.ts";
import { type EgressOptions, EgressProcess } from "../egress/process/egress-process.ts";
import { type InterpreterEvents, KernelClient } from "../kernel/client.ts";
import type { KernelSetup } from "../kernel/messages.ts";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError, messageOf } from "../lib/errors.ts";
import { type Logger, silentLogger } from "../lib/log/logger.ts";
import type { RequestedRules } from "../policy/change/live-rules.ts";
import { policyHash } from "../policy/hash.ts";
import { denyMatcher } from "../policy/paths/deny.ts";
import type { Policy } from "../policy/schema.ts";
import { receiptWithPackages } from "../runners/cell-packages.ts";
import { ChosenRunner } from "../runners/chosen-runner.ts";
import { releaseDisk } from "../runners/linux/disk/image/session-disk.ts";
import type { EnforcedRule, EnforcementReceipt } from "../runners/receipt.ts";
import type { Choice, PassedOver } from "../runners/registry.ts";
import type { Cell, SandboxRunner, SessionWorkspace } from "../runners/runner.ts";
import { endedEarly } from "./ended-early.ts";
import { kernelFiles } from "./files/kernel-files.ts";
import { InterpreterLosses } from "./interpreter/interpreter-losses.ts";
import { LiveSession } from "./live-session.ts";
import { CellNetwork } from "./network/cell-network.ts";
import type { WantedPackages } from "./packages/inside-installs.ts";
import type { SessionPackages } from "./packages/session-packages.ts";
import { inPolicyOrder } from "./rules/host-rules.ts";
import { type PolicyReload, reloadedPolicy } from "./rules/reloaded-policy.ts";
import { SessionAudit } from "./session-audit.ts";
import { newSessionId } from "./session-id.ts";
import { SharedCell } from "./shared-cell.ts";

/** Options of `LiveSessions.open`. */
export interface LiveSessionsOptions {
  readonly policy: Policy;
  /** the runners to choose from; disposed with this object */
  readonly runners: readonly SandboxRunner[];
  /** where events are recorded; the caller disposes it. Absent: nothing is recorded */
  readonly audit?: Audit;
  /** how the egress proxy is set up, if the policy opens the network */
  readonly egress?: EgressOptions;
  readonly logger?: Logger;
  /** what `kernel.packages` gives to cells; absent: nothing */
  readonly packages?: SessionPackages;
  /** receipt rows of the rules that the caller enforces: `session.*` and `audit.*` */
  readonly hostRules?: (runner: SandboxRunner) => readonly EnforcedRule[];
}

/** How one session is opened. */
export interface OpenLiveSessionOptions {
  /** default: an unguessable id */
  readonly id?: string;
  /** a host directory for this session alone; ignored by runners that do not mount one */
  readonly workspace?: SessionWorkspace;
  readonly signal?: AbortSignal;
  /** @internal called when the cell's process runs; its interpreter takes a while longer */
  readonly onStarted?: () => void;
  /** @internal the caller records itself that the session opened and closed */
  readonly isManaged?: boolean;
  /** @internal the rules that were requested for this session in another cell */
  readonly requestedRules?: RequestedRules | undefined;
}

/** What connects a running cell with the host. */
interface CellTies {
  readonly events: InterpreterEvents;
  readonly network: CellNetwork | undefined;
}

/** A cell whose interpreter is ready for code. */
interface ReadyCell {
  readonly cell: Cell;
  readonly kernel: KernelClient;
  readonly runner: SandboxRunner;
  readonly receipt: EnforcementReceipt;
}

/** Opens sessions under one policy, in the runner that was chosen for it. */
export class LiveSessions implements AsyncDisposable {
  /** the policy that cells start under; later changes of live rules are applied after the start */
  readonly #started: Policy;
  #policy: Policy;
  readonly #chosen: ChosenRunner;
  readonly #runners: readonly SandboxRunner[];
  readonly #sessions = new Set<LiveSession>();
  /** @internal records what sessions do; undefined if nothing is recorded */
  readonly audit: SessionAudit | undefined;
  readonly #egress: EgressProcess;
  readonly #packages: SessionPackages | undefined;
  readonly #hostRules: (runner: SandboxRunner) => readonly EnforcedRule[];
  #closing: Promise<void> | undefined;

  private constructor(options: LiveSessionsOptions, chosen: ChosenRunner) {
    const { policy, runners, audit, egress, hostRules = () => [] } = options;
    this.#hostRules = hostRules;
    this.#packages = options.packages;
    this.#started = policy;
    this.#policy = policy;
    this.#chosen = chosen;
    this.#runners = runners;
    const isWritten = audit !== undefined && audit !== silentAudit;
    const isSeen = isWritten && (policy.audit.enabled || audit instanceof ObservedAudit);
    this.audit = isSeen ? new SessionAudit(audit, policy) : undefined;
    this.#egress = new EgressProcess(egress);
  }

  static async open(options: LiveSessionsOptions): Promise<LiveSessions> {
    await using cleanup = new Cleanup();
    for (const runner of options.runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
    assertWrittenDown(options);
    const chosen = await ChosenRunner.choose(options.runners, options.policy, options.logger ?? silentLogger);
    cleanup.move();
    return new LiveSessions(options, chosen);
  }

  /** The runner that new sessions get, and why stronger ones were skipped. */
  get choice(): Choice {
    return this.#chosen.choice;
  }

  get runner(): string {
    return this.choice.runner.name;
  }

  /** The policy that sessions are opened under. */
  get policy(): Policy {
    return this.#policy;
  }

  /**
   * Applies a new policy to every session and to later ones, as far as rules can change while cells run. Returns when these
   * rules are enforced, and lists the others.
   */
  async reloadPolicy(next: Policy): Promise<PolicyReload> {
    const { policy, changes, later } = reloadedPolicy({ started: this.#started, current: this.#policy }, next);
    if (this.audit) {
      if (changes.length > 0) await this.audit.policyChanging("policy file", { hash: policyHash(policy), changes });
      this.audit.policy = policy;
    }
    this.#policy = policy;
    // Sessions that are opening apply the new policy when they are open.
    await Promise.all([...this.#sessions].map((session) => this.#follow(session)));
    return { changes, later };
  }

  /** A session with requested rules has a policy of its own, so the audit records its change too. */
  async #follow({ id, rules }: LiveSession): Promise<void> {
    const isOwn = Object.keys(rules.requestedRules).length > 0;
    await rules.follow(this.#policy, async (coming) => {
      if (isOwn) await this.audit?.policyChanging("policy file", coming, id);
    });
  }

  /** A fresh cell with its interpreter ready. */
  async openSession(options: OpenLiveSessionOptions = {}): Promise<LiveSession> {
    if (this.#closing) throw new CodecellError("session_closed", "this codecell is closed");
    const id = options.id ?? newSessionId();
    const policy = this.#started;
    await using cleanup = new Cleanup();
    const losses = new InterpreterLosses();
    let session: LiveSession | undefined;
    const events: InterpreterEvents = {
      onLost: (message) => {
        losses.happenedBetweenRuns(message.notes);
        session?.lostBetweenRuns();
        if (message.state === "lost") session?.interpreter.lost();
      },
      onGone: (name) => session?.interpreter.copyEnded(name),
    };
    const network = policy.net.enabled ? await CellNetwork.open(this.#egress, policy) : undefined;
    cleanup.defer(() => network?.[Symbol.asyncDispose]());
    // A cell that does not start must not leave its disk mounted.
    cleanup.defer(() => options.workspace && releaseDisk(options.workspace));
    const started = await this.#chosen.start((choice) =>
      unlessGivenUp(options.signal, () => this.#startIn(choice, id, options, { events, network })),
    );
    const { cell, kernel, runner } = started;
    cleanup.defer(() => cell[Symbol.asyncDispose]());
    // The host's own directory first: every kernel can serve files, and a directory needs no interpreter to be read.
    const directory = await this.#openDirectory(runner, options.workspace);
    const files = directory ?? (kernel.info.features.includes("files") ? kernelFiles(kernel.files) : undefined);
    cleanup.move();
    const audit = options.isManaged ? undefined : this.audit;
    const onClose = (closed: LiveSession) => {
      this.#sessions.delete(closed);
    };
    const onClosed = (closed: LiveSession) => audit?.sessionClosed(closed.id, false);
    const cellShare = new SharedCell(
      cell,
      started.receipt,
      policy,
      async () => {
        await files?.[Symbol.asyncDispose]();
        // after the last open file: what is in use cannot be unmounted
        if (options.workspace) await releaseDisk(options.workspace);
      },
      network,
      () => kernel.usage(),
    );
    const onFork = (fork: LiveSession) => {
      this.#sessions.add(fork);
      audit?.sessionOpened(fork.id, cell.receipt.runner, "fork", id);
    };
    const packages = policy.kernel.packages.inside ? this.#packages : undefined;
    const preparePackages = packages && ((wanted: WantedPackages) => packages.forProgram(runner, policy, wanted));
    const filesStayInCell = directory === undefined;
    const parts = { id, kernel, losses, onClose, onClosed, onFork, cell: cellShare, preparePackages, filesStayInCell };
    session = new LiveSession({ ...parts, ...(files ? { files } : {}), ...(this.audit ? { audit: this.audit } : {}) });
    this.#sessions.add(session);
    await this.#putInForce(session, options.requestedRules);
    audit?.sessionOpened(id, cell.receipt.runner, "new");
    return session;
  }

  /** Applies what changed since the cells' policy was fixed, before any code runs. */
  async #putInForce(session: LiveSession, requestedRules: RequestedRules | undefined): Promise<void> {
    if (requestedRules === undefined && this.#policy === this.#started) return;
    try {
      await session.rules.resume(requestedRules ?? {});
      await this.#follow(session);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  async #startIn(
    { runner, passedOver }: Choice,
    id: string,
    { workspace, signal, onStarted }: OpenLiveSessionOptions,
    { events, network }: CellTies,
  ): Promise<ReadyCell> {
    const policy = this.#started;
    const directory = workspace && runner.takesWorkspace ? { workspace } : {};
    const signals = signal ? { signal } : {};
    await using cleanup = new Cleanup();
    const packages = await this.#packages?.forRunner(runner, policy, signal);
    const cell = await runner.start(
      { id, policy, policyHash: policyHash(policy), ...directory, ...(packages ? { packages } : {}) },
      signals,
    );
    cleanup.defer(() => cell[Symbol.asyncDispose]());
    onStarted?.();
    const setup = withInstalls(policy, network ? network.setup(cell.setup) : cell.setup);
    const wayOut = await network?.connect(cell);
    const kernel = await KernelClient.connect(cell.channel, setup, { ...signals, ...wayOut, events }).catch(
      async (error: unknown) => {
        throw await endedEarly(error, cell);
      },
    );
    cell.isReady?.();
    cleanup.move();
    const rows = inPolicyOrder(policy, [...cell.receipt.rules, ...this.#hostRules(runner)]);
    const receipt = receiptOf(cell, passedOver, rows);
    return { cell, kernel, runner, receipt: packages ? receiptWithPackages(receipt, packages) : receipt };
  }

  /** The host's directory that is the workspace; undefined if the cell keeps its files itself. */
  async #openDirectory(runner: SandboxRunner, own: SessionWorkspace | undefined): Promise<WorkspaceFiles | undefined> {
    const { fs } = this.policy;
    if (fs.workspace) {
      const root = await realpath(fs.workspace);
      const mounts = await visibleMounts(root);
      return openWorkspaceFiles(root, { deny: denyMatcher(fs.deny).below(root), mounts });
    }
    if (!own || !runner.takesWorkspace) return undefined;
    return openWorkspaceFiles(await realpath(join(own.root, own.name)), { deny: denyNothing });
  }

  /** Stops downloads and builds of packages, and returns when the cells of builds are gone: they are in these runners too. */
  async stopPreparing(): Promise<void> {
    await this.#packages?.[Symbol.asyncDispose]();
  }

  /** Closes every session and the runners; the same as disposing, for code without `await using`. */
  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await using cleanup = new Cleanup();
    for (const runner of this.#runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
    cleanup.defer(() => this.#egress[Symbol.asyncDispose]());
    await Promise.all([this.stopPreparing(), ...[...this.#sessions].map((session) => session[Symbol.asyncDispose]())]);
  }
}

/** What a saved session had installed is on the path before its variables come back: they may be of its classes. */
function withInstalls({ kernel }: Policy, setup: KernelSetup): KernelSetup {
  if (!kernel.packages.inside) return setup;
  const { HOME = "/workspace" } = setup.env ?? {};
  return { ...setup, path: [...(setup.path ?? []), `${HOME}/.codecell-packages`] };
}

/** Turns every failure after an abort into `aborted`: the abort is the cause. */
async function unlessGivenUp<Started>(
  signal: AbortSignal | undefined,
  start: () => Promise<Started>,
): Promise<Started> {
  try {
    signal?.throwIfAborted();
    return await start();
  } catch (error) {
    if (!signal?.aborted) throw error;
    throw new CodecellError("aborted", `the start was aborted: ${messageOf(signal.reason)}`, { cause: error });
  }
}

/** The receipt with the stronger runners that were skipped, and why. */
function receiptOf(
  { receipt }: Cell,
  passedOver: readonly PassedOver[],
  rules: readonly EnforcedRule[],
): EnforcementReceipt {
  return {
    ...receipt,
    rules,
    notes: [...receipt.notes, ...passedOver.map(({ runner, reason }) => `not ${runner}: ${reason}`)],
  };
}

/** Refuses a policy with `audit.durable` if the program records nothing. */
function assertWrittenDown({ policy: { audit: rules }, audit }: LiveSessionsOptions): void {
  if (!rules.enabled || !rules.durable || audit?.isDurable === true) return;
  throw new CodecellError("policy_refused", "audit.durable is true, but this program writes no audit", {
    hint: "pass openAudit(policy, { stateDir }) as the audit, or remove audit.durable from the policy",
    details: { rule: "audit.durable" },
  });
}
