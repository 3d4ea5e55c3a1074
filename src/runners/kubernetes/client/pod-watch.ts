import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { CodecellError } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { podSchema, type WatchedPod } from "../pod/watched-pod.ts";
import { ApiRefusal } from "./api-refusal.ts";
import type { ClusterApi } from "./cluster-api.ts";

/** The server ends a watch after this time, and a new one begins where it ended. */
const watchSeconds = 300;
const idleMs = (watchSeconds + 30) * 1000;
const listMs = 30_000;
const longestPauseMs = 10_000;
const gone = 410;
const denied: ReadonlySet<number> = new Set([401, 403]);

const eventSchema = z.object({ type: z.string(), object: z.unknown() });
const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const statusSchema = z.object({ code: z.number(), message: z.string().catch("") });
const listSchema = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  items: z.array(z.unknown()),
});

/** Called with each state of a pod, and with undefined when it is deleted. */
export type PodListener = (pod: WatchedPod | undefined) => void;

/** One watch for all pods of a gateway. It resumes where it ended, and lists the pods again if the server has forgotten that place. */
export class PodWatch implements AsyncDisposable {
  readonly #api: ClusterApi;
  readonly #selector: string;
  readonly #logger: Logger;
  readonly #pods = new Map<string, WatchedPod>();
  readonly #listeners = new Map<string, Set<PodListener>>();
  readonly #onDenied = new Set<(error: CodecellError) => void>();
  readonly #stop = new AbortController();
  #following: Promise<void> | undefined;
  #version = "";

  constructor(api: ClusterApi, selector: string, logger: Logger) {
    this.#api = api;
    this.#selector = selector;
    this.#logger = logger;
  }

  /** Lists the pods once, so that a missing right is an error of the start, and follows them from there. */
  async open(): Promise<this> {
    await this.#list();
    this.#following = this.#follow();
    return this;
  }

  get pods(): readonly WatchedPod[] {
    return [...this.#pods.values()];
  }

  get(name: string): WatchedPod | undefined {
    return this.#pods.get(name);
  }

  /** Tells the listener what is known of the pod, if anything, and then every change. */
  listen(name: string, listener: PodListener): Disposable {
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener));
    const known = this.#pods.get(name);
    if (known) listener(known);
    return {
      [Symbol.dispose]: () => {
        all.delete(listener);
        // Disposed of twice, it must not remove the listeners who came after it.
        if (all.size === 0 && this.#listeners.get(name) === all) this.#listeners.delete(name);
      },
    };
  }

  /** Tells whoever waits for a pod that nothing will be heard of it: a right is missing, or was taken away. */
  whenDenied(listener: (error: CodecellError) => void): Disposable {
    this.#onDenied.add(listener);
    return { [Symbol.dispose]: () => void this.#onDenied.delete(listener) };
  }

  /** The answer to a create: the watch may tell of it later than the answer arrives. */
  created(pod: unknown): WatchedPod {
    const parsed = podSchema.parse(pod);
    if (!this.#pods.has(parsed.metadata.name)) this.#pods.set(parsed.metadata.name, parsed);
    return parsed;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    let pauseMs = 0;
    while (!signal.aborted) {
      try {
        if (this.#version === "") await this.#list();
        await this.#watch();
        pauseMs = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiRefusal && error.status === gone) {
          this.#version = ""; // too old for the server: list again
          continue;
        }
        if (error instanceof ApiRefusal && denied.has(error.status)) {
          const explained = this.#api.explain(error, { verb: "watch", resource: "pods" });
          for (const listener of [...this.#onDenied]) listener(explained);
        }
        pauseMs = Math.min(Math.max(250, pauseMs * 2), longestPauseMs);
        this.#logger.warn("the watch of the cells' pods failed and is tried again", { error, pauseMs });
        await pause(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
      }
    }
  }

  async #list(): Promise<void> {
    const request = { verb: "list", resource: "pods", path: this.#api.path("pods"), timeoutMs: listMs } as const;
    const query = { labelSelector: this.#selector };
    const known = [...this.#pods.keys()]; // a pod that is created after the server made its list is not in it, and not gone
    const answer = await this.#api.json({ ...request, query, signal: this.#stop.signal }).catch((error: unknown) => {
      throw error instanceof ApiRefusal && error.status === gone ? error : this.#api.explain(error, request);
    });
    const { items, metadata } = listSchema.parse(answer);
    const pods = items.map((item) => podSchema.parse(item));
    const names = new Set(pods.map((pod) => pod.metadata.name));
    for (const name of known) if (!names.has(name)) this.#tell(name, undefined);
    for (const pod of pods) this.#tell(pod.metadata.name, pod);
    this.#version = metadata.resourceVersion;
  }

  async #watch(): Promise<void> {
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      labelSelector: this.#selector,
      resourceVersion: this.#version,
      timeoutSeconds: watchSeconds,
    };
    const request = { verb: "watch", resource: "pods", path: this.#api.path("pods"), query } as const;
    for await (const line of this.#api.lines({ ...request, signal: this.#stop.signal }, idleMs)) {
      const { type, object } = eventSchema.parse(line);
      if (type === "ERROR") {
        const { code, message } = statusSchema.parse(object);
        throw new ApiRefusal(code, "", message);
      }
      this.#version = versionSchema.parse(object).metadata.resourceVersion;
      if (type === "BOOKMARK") continue;
      const pod = podSchema.parse(object);
      this.#tell(pod.metadata.name, type === "DELETED" ? undefined : pod);
    }
  }

  #tell(name: string, pod: WatchedPod | undefined): void {
    if (pod) this.#pods.set(name, pod);
    else this.#pods.delete(name);
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(pod);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }
}
