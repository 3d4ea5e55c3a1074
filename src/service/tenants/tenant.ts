import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import { sharedAbort } from "../../lib/waiting/shared-abort.ts";
import type { Codecell } from "../../sessions/codecell.ts";
import { gatewayTag } from "../gateways/gateway-tag.ts";
import { LazySandbox } from "../lazy-sandbox.ts";
import type { Links } from "../links/links.ts";
import type { ModelSource } from "../rlm/model-source.ts";
import type { SessionTrajectories } from "../rlm/session-trajectories.ts";
import type { ReleaseSlot } from "../runs/run-registry.ts";
import { StartedOnce } from "../runs/started-once.ts";
import type { Sandbox } from "../sandbox.ts";
import { policyFacts } from "../tools/policy-facts.ts";
import { hostEffects } from "../tools/tool-hints.ts";
import { OpenRequests } from "./open-requests.ts";
import { TenantSessions } from "./tenant-sessions.ts";

export interface TenantParts {
  readonly namespace: string;
  /** limit of its sessions */
  readonly quota: number;
  readonly codecell: Codecell;
  readonly projectDir: string;
  readonly fileLinks: Links;
  /** the operator's models; each tenant has a budget of its own */
  readonly models?: ModelSource | undefined;
  /** directory of the trajectories of its sessions; absent: they are not recorded */
  readonly trajectories?: SessionTrajectories | undefined;
  /** limit of its concurrent runs */
  readonly maxRuns: number;
  /** acquires one of the concurrent runs of the whole service */
  readonly acquireSlot: () => ReleaseSlot;
  /** id of this gateway; absent: the service is alone */
  readonly gateway?: string | undefined;
  /** Called when a limit of the tenant refuses a run. */
  readonly onRefused?: () => void;
}

/** The session of tools that name none, where several gateways serve a tenant. */
export const defaultSessionId = "default";

/** No request has it. */
const noSecret = "none";

/** What a tenant did since the service started, or since its first request. */
export interface TenantCounts {
  readonly running: number;
  readonly runs: number;
  readonly refused: number;
  readonly costUsd: number;
}

/** Limits of the ended runs of one tenant that are kept in memory. */
const keptRuns = { keepRuns: 200, keepBytes: 64 * 1024 * 1024 };

/** The sessions and runs of one token. Tenants share nothing but the machine. */
export class Tenant implements AsyncDisposable {
  readonly namespace: string;
  readonly sessions: TenantSessions;
  readonly requests = new OpenRequests();
  /** requests with links that it made: not by it, so they do not use up its own */
  readonly linked = new OpenRequests();
  /** one list of files at a time; the next waits */
  readonly listings = new SerialQueue();
  /** the outputs of one history at a time, which may take many megabytes; the next waits */
  readonly exports = new SerialQueue();
  /** the same for links: readers that take nothing must not keep the tenant's own requests waiting */
  readonly linkedExports = new SerialQueue();
  /** runs that were started with an idempotency key */
  readonly starts = new StartedOnce();
  /** for the tools of this tenant */
  readonly lazySandbox: LazySandbox;
  readonly #parts: TenantParts;
  readonly #over = sharedAbort();
  readonly #cleanup = new Cleanup();
  #runs = 0;
  #ended = 0;
  #refused = 0;
  #costUsd = 0;

  constructor(parts: TenantParts) {
    this.#parts = parts;
    this.namespace = parts.namespace;
    this.sessions = new TenantSessions(parts.codecell, parts.namespace, parts.quota);
    const { projectDir, fileLinks, namespace } = parts;
    const runs = { ...keptRuns, acquireSlot: () => this.#acquireSlot() };
    const effects = hostEffects(parts.codecell.policy);
    const facts = policyFacts(parts.codecell.policy);
    const open = async () => this.sessions;
    const links =
      async ({ id }: { readonly id: string }) =>
      (artifact: { name: string; sha256: string }) =>
        fileLinks.url(namespace, { session: id, ...artifact }).url;
    this.lazySandbox = new LazySandbox({
      open,
      projectDir,
      links,
      runs,
      effects,
      facts,
      isForGuests: true,
      models: parts.models,
      trajectories: parts.trajectories,
      gateway:
        parts.gateway === undefined
          ? undefined
          : { idTag: gatewayTag(parts.gateway), defaultSession: defaultSessionId },
    });
    this.#cleanup.defer(() => this.lazySandbox[Symbol.asyncDispose]());
  }

  /** The sandbox that the tools use, too: a run started by a tool can be watched by its id. */
  async sandbox(): Promise<Sandbox> {
    const sandbox = await this.lazySandbox.open();
    await sandbox.sessions();
    return sandbox;
  }

  /** Disposes `resource` before the sandbox. */
  own(resource: AsyncDisposable): void {
    this.#cleanup.defer(() => resource[Symbol.asyncDispose]());
  }

  /** Aborted when the tenant's token is removed or expires, to end its streams. */
  get ended(): AbortSignal {
    return this.#over.signal;
  }

  get counts(): TenantCounts {
    return { running: this.#runs, runs: this.#ended, refused: this.#refused, costUsd: this.#costUsd };
  }

  /** A limit refused a request of it. */
  refused(): void {
    this.#refused++;
  }

  /** A model call of one of its sessions cost this. */
  spent(costUsd: number): void {
    this.#costUsd += costUsd;
  }

  /** Waits for the runs that are still running. */
  async settled(): Promise<void> {
    const runs = this.lazySandbox.opened?.runs;
    const running = runs?.list().filter(({ status }) => status === "running") ?? [];
    await Promise.allSettled(running.map(({ runId }) => runs?.wait(runId)));
  }

  /** Stops its runs. The owner of the `Codecell` saves and closes the sessions. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    this.linked.endOthers(noSecret);
    await this.#cleanup[Symbol.asyncDispose]();
  }

  #acquireSlot(): ReleaseSlot {
    const { maxRuns } = this.#parts;
    if (this.#runs >= maxRuns) {
      this.refused();
      this.#parts.onRefused?.();
      throw new CodecellError("run_limit", `${maxRuns} runs are running, which is the limit of this token`, {
        hint: "wait for one, or cancel it",
      });
    }
    const release = this.#parts.acquireSlot();
    this.#runs++;
    return (end) => {
      this.#runs--;
      if (end !== undefined) this.#ended++;
      release(end);
    };
  }
}
