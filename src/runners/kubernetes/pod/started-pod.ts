import { CodecellError } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { deadline } from "../../../lib/waiting/deadline.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import type { PodListener, PodWatch } from "../client/pod-watch.ts";
import { deletePod } from "./delete-pod.ts";
import type { HardenedPod } from "./hardened-pod.ts";
import { changedPod, changedPodHint, podDifference } from "./pod-difference.ts";
import { deletedEnding, endingOf, isOnLostNode, isOver, type PodEnding, starting, tooLate } from "./pod-state.ts";
import type { WatchedPod } from "./watched-pod.ts";

const createMs = 30_000;
/** A kubelet that lives ends and reports a pod within this time. */
const goodbyeMs = 15_000;
const forcedMs = 5_000;

/** What a pod needs of its gateway. */
export interface PodKeeping {
  readonly api: ClusterApi;
  readonly watch: PodWatch;
  readonly logger: Logger;
  readonly startMs: number;
  readonly signal?: AbortSignal | undefined;
  /** uids of this gateway's pods that have a StartedPod: each has one owner */
  readonly held: Set<string>;
  /** Gives up what would replace the pod if only the pod was deleted. */
  readonly release?: () => Promise<void>;
}

export interface PodOrder extends PodKeeping {
  /** the body of the request, and what the pod has to be like */
  readonly pod: HardenedPod;
}

/** A pod of this gateway, from its creation until its object is gone. */
export class StartedPod {
  readonly name: string;
  readonly uid: string;
  /** the first sign that it ended, from the cluster or from codecell */
  readonly ending: Promise<PodEnding>;
  readonly #order: PodKeeping;
  /** no process of it runs any more */
  readonly #ended: Promise<void>;
  /** its object is gone */
  readonly #gone: Promise<void>;
  #isGone = false;
  #isOwn: boolean;
  #last: WatchedPod | undefined;
  #isRemoving = false;
  #removal: Promise<void> | undefined;

  private constructor(order: PodKeeping, pod: WatchedPod, isOwn: boolean) {
    this.name = pod.metadata.name;
    this.uid = pod.metadata.uid;
    this.#order = order;
    this.#isOwn = isOwn;
    this.#last = pod;
    order.held.add(this.uid);
    let tellEnded: () => void = () => {};
    let tellGone: () => void = () => {};
    this.#ended = new Promise((resolve) => {
      tellEnded = resolve;
    });
    this.#gone = new Promise((resolve) => {
      tellGone = resolve;
    });
    this.ending = new Promise((resolve) => {
      let listening: Disposable | undefined;
      const onChange: PodListener = (now) => {
        // agent-sandbox's controller creates a pod of the same name as soon as this one is gone
        const own = now?.metadata.uid === this.uid ? now : undefined;
        if (own) this.#last = own;
        const ending = this.#endingOf(own);
        if (ending) resolve(ending);
        if (!own || own.status.containerStatuses?.[0]?.state?.terminated) tellEnded();
        if (own) return;
        listening?.[Symbol.dispose]();
        this.#isGone = true;
        order.held.delete(this.uid);
        tellGone();
      };
      listening = order.watch.listen(this.name, onChange);
      // Deleted between the moment in which a claim's pod was seen and this one: the watch has told of it already.
      if (!this.#isGone && order.watch.get(this.name) === undefined) onChange(undefined);
      if (this.#isGone) listening[Symbol.dispose](); // it was so before `listen` returned
    });
  }

  /** Creates a pod, and deletes it again if the cluster made another one of it, before anything connects to it. */
  static async create(order: PodOrder): Promise<StartedPod> {
    const { answer, created } = await createPod(order);
    const pod = new StartedPod(order, created, true);
    const differs = podDifference(order.pod, answer);
    if (differs === undefined) return pod;
    await pod.remove();
    throw new CodecellError("cell_start_failed", `${changedPod}: ${differs}`, { hint: changedPodHint });
  }

  /** A pod that a controller named. Undefined: it is held already. It is not deleted with this start until `own()` is called. */
  static adopt(keeping: PodKeeping, pod: WatchedPod): StartedPod | undefined {
    return keeping.held.has(pod.metadata.uid) ? undefined : new StartedPod(keeping, pod, false);
  }

  /** The pod has accepted this start's ticket, so it is nobody else's. */
  own(): void {
    this.#isOwn = true;
  }

  get node(): string | undefined {
    return this.#last?.spec.nodeName;
  }

  get last(): WatchedPod | undefined {
    return this.#last;
  }

  /** Waits until the container runs. Returns the id of its image. */
  async running(): Promise<{ readonly imageId: string }> {
    const { startMs, signal, watch } = this.#order;
    using limit = deadline(startMs, signal);
    return await new Promise((resolve, reject) => {
      let listening: Disposable | undefined;
      const denying = watch.whenDenied((error) => settle(() => reject(error)));
      const settle = (act: () => void) => {
        denying[Symbol.dispose]();
        listening?.[Symbol.dispose]();
        limit.signal.removeEventListener("abort", late);
        act();
      };
      const late = () =>
        settle(() =>
          reject(
            signal?.aborted
              ? new CodecellError("aborted", "the start was aborted", { cause: signal.reason })
              : tooLate(this.#last, startMs),
          ),
        );
      const onPod = (pod: WatchedPod | undefined) => {
        if (pod?.metadata.uid !== this.uid) return settle(() => reject(deletedEnding(this.#last).error));
        const state = starting(pod);
        if (state.kind === "running") settle(() => resolve(state));
        else if (state.kind === "failed") settle(() => reject(state.error));
      };
      limit.signal.addEventListener("abort", late, { once: true });
      listening = watch.listen(this.name, onPod);
      if (this.#isGone) onPod(undefined);
      if (limit.signal.aborted) late();
    });
  }

  #endingOf(pod: WatchedPod | undefined): PodEnding | undefined {
    if (pod === undefined) return this.#isRemoving ? removed(this.#last) : deletedEnding(this.#last);
    if (pod.status.containerStatuses?.[0]?.state?.terminated || isOver(pod)) return endingOf(pod);
    return pod.metadata.deletionTimestamp && !this.#isRemoving ? endingOf(pod) : undefined;
  }

  /**
   * Deletes the pod and returns when its object is gone, after its kubelet has ended every process, unless its node is lost.
   * The attack: a controller that names the pod of another session, so that a start which fails ends that session. So a pod that
   * is not this start's own is only released.
   */
  remove(): Promise<void> {
    this.#isRemoving = true;
    this.#removal ??= this.#remove();
    return this.#removal;
  }

  async #remove(): Promise<void> {
    const { api, logger, release } = this.#order;
    await release?.();
    if (!this.#isOwn) return;
    const isLost = this.#last !== undefined && isOnLostNode(this.#last);
    const steps = [
      // Its kubelet ends the processes. That they ended is enough: some kubelets take long to clean up behind a pod.
      { wait: () => within(this.#ended, goodbyeMs), options: { uid: this.uid } },
      { wait: () => within(this.#gone, forcedMs), options: { uid: this.uid, graceSeconds: 0 } },
    ];
    for (const { wait, options } of isLost ? steps.slice(1) : steps) {
      try {
        if ((await deletePod(api, this.name, options)) === "gone") return;
      } catch (error) {
        logger.warn("a pod could not be deleted", { pod: this.name, error });
      }
      await wait();
      if (this.#isGone) return;
    }
    logger.warn("a pod is still there; the next gateway that finds it deletes it", { pod: this.name });
  }
}

/** Returns the pod as the server admitted it. What a request leaves behind whose answer is lost is deleted by its name. */
async function createPod({ api, watch, pod, signal }: PodOrder): Promise<{ answer: unknown; created: WatchedPod }> {
  const request = { verb: "create", resource: "pods", path: api.path("pods"), timeoutMs: createMs } as const;
  try {
    const answer = await api.json({ ...request, body: pod, signal });
    return { answer, created: watch.created(answer) };
  } catch (error) {
    if (!(error instanceof ApiRefusal)) {
      void deletePod(api, pod.metadata.name, {}).catch(() => {}); // the server may carry it out all the same
    }
    if (signal?.aborted) throw new CodecellError("aborted", "the start was aborted", { cause: error });
    throw api.explain(error, request);
  }
}

async function within(event: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([event, late]).finally(() => clearTimeout(timer));
}

function removed(last: WatchedPod | undefined): PodEnding {
  const { error, ...ending } = deletedEnding(last);
  return { ...ending, error: new CodecellError("cell_lost", "the cell was closed", { cause: error }) };
}
