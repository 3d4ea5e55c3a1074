import { randomBytes, randomInt } from "node:crypto";
import type { Logger } from "../../../lib/log/logger.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import type { PodWatch } from "../client/pod-watch.ts";
import { deletePod } from "../pod/delete-pod.ts";
import type { PodKeeping, PodOrder } from "../pod/started-pod.ts";
import type { KubernetesSettings } from "../settings.ts";

/** Uids that no node gives to its own users or to containers of others. */
const uids = { first: 1_000_000_000, count: 1_000_000_000 } as const;

/** What all pods of one gateway process share: its name, its watch and its numbers. */
export class GatewayPods {
  readonly gateway: string;
  readonly api: ClusterApi;
  readonly watch: PodWatch;
  readonly settings: KubernetesSettings;
  readonly logger: Logger;
  readonly #held = new Set<string>();
  #pods = 0;
  /** random, so that pods of several gateways on one node rarely share a uid */
  #uid = randomInt(uids.count);

  constructor(parts: Pick<GatewayPods, "gateway" | "api" | "watch" | "settings" | "logger">) {
    this.gateway = parts.gateway;
    this.api = parts.api;
    this.watch = parts.watch;
    this.settings = parts.settings;
    this.logger = parts.logger;
  }

  newName(): string {
    return `codecell-${this.gateway}-${++this.#pods}`;
  }

  /** RLIMIT_NPROC counts per uid on a node. Two pods with one uid would have fewer processes each, never more. */
  newUser(): { readonly uid: number; readonly gid: number } {
    this.#uid = (this.#uid + 1) % uids.count;
    const uid = uids.first + this.#uid;
    return { uid, gid: uid };
  }

  /** Deletes what is left when the gateway ends, such as pods whose start was aborted. */
  async removeAll(): Promise<void> {
    const { api, logger } = this;
    await Promise.all(
      this.watch.pods.map(({ metadata: { name, uid } }) =>
        deletePod(api, name, { uid }).catch((error: unknown) => {
          logger.warn("a pod could not be deleted", { pod: name, error });
        }),
      ),
    );
  }

  order(pod: PodOrder["pod"], signal?: AbortSignal): PodOrder {
    return { ...this.keeping(signal), pod };
  }

  keeping(signal?: AbortSignal): PodKeeping {
    const { api, watch, logger, settings } = this;
    return { api, watch, logger, startMs: settings.startMs, held: this.#held, ...(signal ? { signal } : {}) };
  }
}

export function newGatewayId(): string {
  return randomBytes(5).toString("hex");
}
